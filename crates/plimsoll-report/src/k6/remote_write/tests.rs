//! What Prometheus would read out of a body.

use plimsoll_core::Nanos;
use plimsoll_core::metrics::{BuiltIn, Kind, Sample};

use super::*;

/// One series as it was decoded: labels with the name, value, milliseconds.
type Decoded = (Vec<(String, String)>, f64, u64);

fn varint(bytes: &[u8], at: &mut usize) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
        shift += 7;
    }
}

/// An independent reading of the block format.
fn decompress(bytes: &[u8]) -> Vec<u8> {
    let mut at = 0;
    let length = varint(bytes, &mut at) as usize;
    let mut out = Vec::new();
    while at < bytes.len() {
        let tag = bytes[at];
        at += 1;
        if tag.is_multiple_of(4) {
            let mut length = usize::from(tag >> 2);
            if length >= 60 {
                let size = length - 59;
                let digits = bytes[at..at + size].iter().rev();
                length = digits.fold(0, |sum, byte| sum << 8 | usize::from(*byte));
                at += size;
            }
            out.extend_from_slice(&bytes[at..=at + length]);
            at += length + 1;
        } else {
            assert_eq!(
                tag & 3,
                2,
                "only copies with two bytes of distance are written"
            );
            let distance = usize::from(bytes[at]) | usize::from(bytes[at + 1]) << 8;
            at += 2;
            assert!(distance > 0 && distance <= out.len());
            for _ in 0..=(tag >> 2) {
                out.push(out[out.len() - distance]);
            }
        }
    }
    assert_eq!(out.len(), length);
    out
}

fn fields(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        let key = varint(bytes, &mut at);
        let length = match key & 7 {
            0 => {
                let value = varint(bytes, &mut at);
                found.push((key >> 3, value.to_le_bytes().to_vec()));
                continue;
            }
            1 => 8,
            _ => varint(bytes, &mut at) as usize,
        };
        found.push((key >> 3, bytes[at..at + length].to_vec()));
        at += length;
    }
    found
}

fn decode(body: &[u8]) -> Vec<Decoded> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let eight = |bytes: &[u8]| <[u8; 8]>::try_from(bytes).unwrap();
    let mut decoded = Vec::new();
    for (_, series) in fields(&decompress(body)) {
        let (mut labels, mut value, mut at) = (Vec::new(), 0.0, 0);
        for (field, bytes) in fields(&series) {
            let inner = fields(&bytes);
            if field == 1 {
                labels.push((text(&inner[0].1), text(&inner[1].1)));
            } else {
                value = f64::from_bits(u64::from_le_bytes(eight(&inner[0].1)));
                at = u64::from_le_bytes(eight(&inner[1].1));
            }
        }
        assert!(labels.is_sorted(), "{labels:?}");
        decoded.push((labels, value, at));
    }
    decoded
}

fn record(
    counts: &mut SeriesCounts,
    store: &mut Store,
    metric: BuiltIn,
    tags: &[(&str, &str)],
    value: f64,
) {
    let tags = store.tag_set(tags);
    let sample = Sample {
        metric: metric.into(),
        tags,
        at: Nanos::ZERO,
        value,
    };
    counts.record(store, &sample);
}

fn named<'a>(decoded: &'a [Decoded], name: &str) -> Vec<&'a Decoded> {
    let is_it = |decoded: &&Decoded| {
        decoded
            .0
            .iter()
            .any(|(label, value)| label == "__name__" && value == name)
    };
    decoded.iter().filter(is_it).collect()
}

#[test]
fn series_have_the_names_and_units_that_k6_sends() {
    let stats = ["p(99.9)", "avg", "count"].map(|name| TrendStat::parse(name).unwrap());
    let mut remote = RemoteWrite::new(&stats);
    // Two workers, whose stores number the same tags differently.
    for (worker, order) in [["a", "b"], ["b", "a"]].into_iter().enumerate() {
        let (mut store, mut counts) = (Store::default(), SeriesCounts::default());
        for name in order {
            let tags = [
                ("name", name),
                ("group", ""),
                ("odd-tag", "x"),
                ("Team", "t"),
            ];
            record(&mut counts, &mut store, BuiltIn::HttpReqs, &tags, 1.0);
            record(
                &mut counts,
                &mut store,
                BuiltIn::HttpReqDuration,
                &tags,
                1500.0,
            );
            record(
                &mut counts,
                &mut store,
                BuiltIn::HttpReqFailed,
                &tags,
                worker as f64,
            );
        }
        record(&mut counts, &mut store, BuiltIn::Vus, &[], 7.0);
        remote.absorb(&store, &counts);
    }
    let decoded = decode(&remote.changed(1_795_280_452_480).unwrap());
    for (name, value) in [
        ("k6_http_reqs_total", 2.0),
        ("k6_http_req_duration_p999", 1.5),
        ("k6_http_req_duration_avg", 1.5),
        ("k6_http_req_duration_count", 2.0),
        ("k6_http_req_failed_rate", 0.5),
    ] {
        let found = named(&decoded, name);
        assert_eq!(found.len(), 2, "{name}");
        for (labels, found, at) in found {
            assert!((found - value).abs() < 1e-9, "{name}: {found}");
            assert_eq!(*at, 1_795_280_452_480);
            let names: Vec<&str> = labels.iter().map(|(label, _)| label.as_str()).collect();
            assert_eq!(names, ["Team", "__name__", "name", "odd_tag"]);
        }
    }
    assert_eq!(named(&decoded, "k6_vus").len(), 1);
    assert_eq!(remote.changed(0), None, "nothing changed since");
    let stale = decode(&remote.stale(1).unwrap());
    assert_eq!(stale.len(), decoded.len());
    assert!(stale.iter().all(|(_, value, _)| value.to_bits() == STALE));
}

#[test]
fn a_script_cannot_break_the_labels() {
    for (tag, label) in [
        ("name", "name"),
        ("1st", "tag_1st"),
        ("a b-c", "a_b_c"),
        ("", "tag_"),
        ("__name__", "tag___name__"),
        ("größe", "gr__e"),
    ] {
        assert_eq!(label_name(tag), label);
    }
    let doubled = [("a-b", "1"), ("a_b", "2")];
    assert_eq!(labels(doubled.into_iter()).len(), 1, "no name twice");
}

#[test]
fn compression_is_undone_by_its_description() {
    let mut rng = plimsoll_base::random::Rng::new(3, 0);
    for length in [
        0, 1, 3, 4, 59, 60, 61, 255, 256, 257, 5_000, 70_000, 200_000,
    ] {
        for alphabet in [1, 2, 20, 256] {
            let bytes: Vec<u8> = (0..length).map(|_| rng.below(alphabet) as u8).collect();
            let packed = snappy::compress(&bytes);
            assert!(decompress(&packed) == bytes, "{length} bytes of {alphabet}");
            if alphabet == 1 && length > 5_000 {
                assert!(packed.len() < length / 10);
            }
        }
    }
}

#[test]
fn kinds_of_own_metrics_are_kept() {
    let mut store = Store::default();
    let own = store
        .register("sizes", Kind::Trend, Contains::Default)
        .unwrap();
    let tags = store.tag_set(&[]);
    let mut counts = SeriesCounts::default();
    let sample = Sample {
        metric: own,
        tags,
        at: Nanos::ZERO,
        value: 1500.0,
    };
    counts.record(&store, &sample);
    counts.record(
        &store,
        &Sample {
            value: f64::NAN,
            ..sample
        },
    );
    let mut remote = RemoteWrite::new(&[TrendStat::Max]);
    remote.absorb(&store, &counts);
    counts.clear();
    remote.absorb(&store, &counts);
    let decoded = decode(&remote.changed(5).unwrap());
    assert_eq!(decoded.len(), 1);
    assert_eq!(
        named(&decoded, "k6_sizes_max")[0].1.to_bits(),
        1500.0_f64.to_bits()
    );
}
