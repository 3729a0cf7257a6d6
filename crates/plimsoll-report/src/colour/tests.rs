//! Colours are told apart by every eye, and read on their ground.

use super::*;

/// Linear RGB of `#rrggbb`.
fn linear(hex: &str) -> [f64; 3] {
    let value = u32::from_str_radix(hex.trim_start_matches('#'), 16).unwrap();
    [16, 8, 0].map(|shift| {
        let channel = f64::from((value >> shift) & 255) / 255.0;
        if channel <= 0.040_45 {
            channel / 12.92
        } else {
            ((channel + 0.055) / 1.055).powf(2.4)
        }
    })
}

fn times(matrix: [[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum::<f64>())
}

/// CIE L*a*b* under D65.
fn lab(linear: [f64; 3]) -> [f64; 3] {
    let xyz = times(
        [
            [0.4124, 0.3576, 0.1805],
            [0.2126, 0.7152, 0.0722],
            [0.0193, 0.1192, 0.9505],
        ],
        linear,
    );
    let f = |t: f64| {
        if t > 216.0 / 24_389.0 {
            t.cbrt()
        } else {
            (24_389.0 / 27.0 * t + 16.0) / 116.0
        }
    };
    let [x, y, z] = [xyz[0] / 0.9505, xyz[1], xyz[2] / 1.089].map(f);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

type Matrix = [[f64; 3]; 3];

/// Full dichromacy in linear RGB: Machado, Oliveira and Fernandes 2009, severity 1.0.
const MACHADO: [(&str, Matrix); 3] = [
    (
        "protan",
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ),
    (
        "deutan",
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ),
    (
        "tritan",
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ),
];

/// Tritan sight after Brettel, Viénot and Mollon 1997, two half planes; the models disagree most here.
fn brettel_tritan(rgb: [f64; 3]) -> [f64; 3] {
    const NORMAL: [f64; 3] = [0.039_01, -0.027_88, -0.011_13];
    const HALVES: [Matrix; 2] = [
        [
            [1.012_77, 0.135_48, -0.148_26],
            [-0.012_43, 0.868_12, 0.144_31],
            [0.075_89, 0.805_00, 0.119_11],
        ],
        [
            [0.936_78, 0.189_79, -0.126_57],
            [0.061_54, 0.815_26, 0.123_20],
            [-0.375_62, 1.127_67, 0.247_96],
        ],
    ];
    let side: f64 = NORMAL.iter().zip(rgb).map(|(a, b)| a * b).sum();
    times(HALVES[usize::from(side < 0.0)], rgb)
}

/// What each sight makes of a colour, in L*a*b*.
fn sights(hex: &str) -> Vec<(&'static str, [f64; 3])> {
    let rgb = linear(hex);
    let mut seen = vec![("common", rgb), ("tritan (Brettel)", brettel_tritan(rgb))];
    seen.extend(MACHADO.map(|(name, matrix)| (name, times(matrix, rgb))));
    seen.into_iter()
        .map(|(name, rgb)| (name, lab(rgb.map(|v| v.clamp(0.0, 1.0)))))
        .collect()
}

#[test]
fn any_two_outcome_colours_differ_for_every_sight() {
    assert_apart(&OUTCOMES);
}

#[test]
fn any_two_variant_colours_differ_for_every_sight() {
    assert_apart(&VARIANTS);
}

fn assert_apart(tokens: &[Token]) {
    for (index, one) in tokens.iter().enumerate() {
        for other in &tokens[index + 1..] {
            for (a, b) in [(one.light, other.light), (one.dark, other.dark)] {
                for ((sight, a), (_, b)) in sights(a).into_iter().zip(sights(b)) {
                    let squares: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
                    let difference = squares.sqrt();
                    let (one, other) = (one.name, other.name);
                    assert!(
                        difference >= 25.0,
                        "{one}, {other}, {sight}: {difference:.1}"
                    );
                }
            }
        }
    }
}

fn contrast(a: &str, b: &str) -> f64 {
    let luminance = |hex| times([[0.2126, 0.7152, 0.0722]; 3], linear(hex))[0];
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn text_and_marks_stand_out_from_their_ground() {
    let of = |name: &str| REST.iter().find(|token| token.name == name).unwrap();
    let ground = of("bg");
    for name in ["ink", "ink2", "ink3", "pass", "warn", "fail"] {
        let token = of(name);
        for (text, bg) in [(token.light, ground.light), (token.dark, ground.dark)] {
            assert!(
                contrast(text, bg) >= 4.5,
                "{name}: {:.2}",
                contrast(text, bg)
            );
        }
    }
    for token in OUTCOMES.into_iter().chain(VARIANTS) {
        for (mark, bg) in [(token.light, ground.light), (token.dark, ground.dark)] {
            assert!(
                contrast(mark, bg) >= 3.0,
                "{}: {:.2}",
                token.name,
                contrast(mark, bg)
            );
        }
    }
}
