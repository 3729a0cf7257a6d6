//! Each format with the cases that once go wrong: edges of rounding, absent bounds, odd dates.

use super::*;

fn plain(text: &str) -> String {
    text.replace(NBSP, " ")
}

#[test]
fn counts_and_rates_have_thousands() {
    assert_eq!(count(0), "0");
    assert_eq!(count(999), "999");
    assert_eq!(count(1_024), "1,024");
    assert_eq!(count(12_345_678), "12,345,678");
    assert_eq!(rate(412.3), "412/s");
    assert_eq!(rate(1_240.4), "1,240/s");
    assert_eq!(rate(12.0), "12/s");
    assert_eq!(rate(0.25), "0.25/s");
    assert_eq!(number(-1_234.0), "-1,234");
    assert_eq!(number(-0.001), "0");
}

#[test]
fn a_share_is_not_rounded_to_nothing_or_everything() {
    for (ratio, text) in [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.9998, "99.98 %"),
        (0.999_999, "> 99.99 %"),
        (0.9997, "99.97 %"),
        (0.000_000_1, "< 0.001 %"),
        (0.000_07, "0.007 %"),
        (0.000_72, "0.072 %"),
        (0.0007, "0.07 %"),
        (0.001, "0.1 %"),
        (0.0123, "1.23 %"),
        (0.107, "10.7 %"),
        (0.5, "50 %"),
        (f64::NAN, "–"),
    ] {
        assert_eq!(plain(&percent(ratio)), text, "{ratio}");
    }
}

#[test]
fn bounds_say_which_side_is_open() {
    let of = |lower, upper| {
        plain(&bounds(&Bounds {
            estimate: 412.0,
            lower,
            upper,
        }))
    };
    assert_eq!(of(Some(404.0), Some(421.0)), "404–421");
    assert_eq!(of(Some(412.1), Some(412.3)), "412");
    assert_eq!(of(Some(900.0), None), "≥ 900");
    assert_eq!(of(None, Some(50.0)), "≤ 50");
    assert_eq!(of(None, None), "no bounds");
}

#[test]
fn times_keep_their_unit_on_the_line() {
    assert_eq!(time(Nanos::from_millis(243)), "243\u{a0}ms");
    assert_eq!(plain(&duration(Nanos::from_secs(592))), "9 min 52 s");
    assert_eq!(plain(&duration(Nanos::from_secs(3_600))), "1 h");
    assert_eq!(plain(&duration(Nanos::from_millis(300))), "300 ms");
    assert_eq!(plain(&seconds(4.0)), "4 s");
    assert_eq!(plain(&seconds(4.25)), "4.25 s");
    assert_eq!(plain(&seconds(120.0)), "120 s");
    assert_eq!(plain(&seconds(200.0)), "3 min 20 s");
    assert_eq!(plain(&bound(Nanos::from_millis(250))), "250 ms");
    assert_eq!(clock(Nanos::from_secs(247)), "4:07");
    assert_eq!(clock(Nanos::from_secs(3_723)), "1:02:03");
    assert_eq!(quantile(Some(Quantile::Never)), "never");
    assert_eq!(quantile(None), "–");
}

#[test]
fn dates_that_are_not_dates_pass_through() {
    assert_eq!(
        plain(&date("2026-03-12T10:12:09Z")),
        "12 March 2026, 10:12 UTC"
    );
    for odd in [
        "",
        "yesterday",
        "2026-13-01T10:12:09Z",
        "2026-03-12T1",
        "2026-00-12T10:12:09Z",
    ] {
        assert_eq!(date(odd), odd);
    }
}

#[test]
fn bytes_lists_and_plurals() {
    assert_eq!(plain(&bytes(6_412)), "6,412 B");
    assert_eq!(plain(&bytes(1_240_000)), "1.24 MB");
    assert_eq!(plain(&bytes(12_345)), "12.3 kB");
    assert_eq!(plain(&plural(1, "level", "levels")), "1 level");
    assert_eq!(plain(&plural(8, "level", "levels")), "8 levels");
    let parts: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    assert_eq!(list(&parts), "a, b and c");
    assert_eq!(list(&parts[..2]), "a and b");
    assert_eq!(list(&[]), "");
}
