//! Laws of the histogram: merge, error bound, encoding, agreement with the reference implementation.

use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use proptest::prelude::*;

use super::*;

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for &value in values {
        histogram.record(Nanos(value));
    }
    histogram
}

fn durations() -> impl Strategy<Value = Vec<u64>> {
    // Every magnitude from 1 ns to beyond the range, evenly.
    let one = (0u32..44, any::<u64>()).prop_map(|(bits, value)| value & ((1 << bits) - 1));
    prop::collection::vec(one, 0..200)
}

proptest! {
    #[test]
    fn merge_is_associative_commutative_and_has_an_identity(
        a in durations(), b in durations(), c in durations()
    ) {
        let (a, b, c) = (of(&a), of(&b), of(&c));
        let merged = |x: &Histogram, y: &Histogram| { let mut z = x.clone(); z.merge(y); z };
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&a, &Histogram::new()), a.clone());
        prop_assert_eq!(merged(&Histogram::new(), &a), a);
    }

    #[test]
    fn merge_equals_recording_both_streams(a in durations(), b in durations()) {
        let mut merged = of(&a);
        merged.merge(&of(&b));
        prop_assert_eq!(merged, of(&[a, b].concat()));
    }

    #[test]
    fn quantiles_are_within_a_two_thousandth(mut values in durations(), q in 0.001f64..1.0) {
        values.retain(|&value| value < HIGHEST);
        prop_assume!(!values.is_empty());
        let histogram = of(&values);
        values.sort_unstable();
        let exact = values[rank_of(q, values.len() as u64) as usize - 1];
        let got = histogram.quantile(q).unwrap().0;
        prop_assert!(got.abs_diff(exact) as f64 <= exact as f64 / 2048.0 + 0.5, "{got} for {exact}");
    }

    #[test]
    fn encoding_round_trips_and_the_reference_reads_it(values in durations()) {
        let histogram = of(&values);
        let json = serde_json::to_string(&histogram).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Histogram>(&json).unwrap(), &histogram);
        let reference: hdrhistogram::Histogram<u64> =
            Deserializer::new().deserialize(&mut histogram.to_hdr_v2().as_slice()).unwrap();
        prop_assert_eq!(reference.len(), histogram.count());
        for q in [0.5, 0.9, 0.99] {
            let ours = histogram.quantile(q).unwrap_or_default().0;
            prop_assert!(reference.equivalent(reference.value_at_quantile(q), ours.min(HIGHEST)));
        }
    }

    #[test]
    fn we_read_what_the_reference_writes(values in durations()) {
        let mut reference =
            hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST, 3).unwrap();
        for &value in &values {
            reference.saturating_record(value);
        }
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&reference, &mut bytes).unwrap();
        let read = Histogram::from_hdr_v2(&bytes).unwrap();
        prop_assert_eq!(read.count(), values.len() as u64);
    }

    #[test]
    fn packing_changes_nothing_but_the_memory(a in durations(), b in durations()) {
        let plain = of(&a);
        let mut packed = plain.clone();
        packed.pack();
        prop_assert_eq!(&packed, &plain);
        prop_assert_eq!(packed.to_hdr_v2(), plain.to_hdr_v2());
        prop_assert_eq!(packed.quantile(0.9), plain.quantile(0.9));
        let bound = Nanos(a.first().copied().unwrap_or(7));
        prop_assert_eq!(packed.count_at_most(bound), plain.count_at_most(bound));
        let mut whole = of(&b);
        whole.merge(&packed);
        for &value in &b {
            packed.record(Nanos(value));
        }
        prop_assert_eq!(&packed, &whole);
        packed.pack();
        packed.clear();
        prop_assert_eq!(&packed, &Histogram::new());
    }

    #[test]
    fn hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut framed = of(&[1, 5]).to_hdr_v2();
        framed.truncate(40);
        framed.splice(4..8, (bytes.len() as u32).to_be_bytes());
        framed.extend(&bytes);
        let _either = Histogram::from_hdr_v2(&framed);
        let _either = Histogram::from_hdr_v2(&bytes);
    }
}

#[test]
fn counters_are_contiguous_and_ordered() {
    for index in 0..COUNTERS - 1 {
        let (first, width) = range_of(index);
        assert_eq!(index_of(first), index);
        assert_eq!(index_of(first + width - 1), index);
        assert_eq!(range_of(index + 1).0, first + width);
    }
    assert_eq!(index_of(u64::MAX), COUNTERS - 1);
}

#[test]
fn clear_forgets_all_and_reuse_is_clean() {
    let mut histogram = of(&[1, 1_000_000, u64::MAX]);
    histogram.clear();
    assert_eq!(histogram, Histogram::new());
    histogram.record(Nanos(5));
    assert_eq!(histogram, of(&[5]));
}

#[test]
fn rank_follows_the_definition() {
    assert_eq!(rank_of(0.99, 100), 99);
    assert_eq!(rank_of(0.99, 101), 100);
    assert_eq!(rank_of(0.5, 1), 1);
    assert_eq!(rank_of(1.0, 7), 7);
    assert_eq!(Histogram::new().quantile(0.5), None);
}

#[test]
fn a_lie_about_the_extremes_is_refused() {
    let json = serde_json::to_string(&of(&[10, 20])).unwrap();
    let lie = json.replace("\"max_ns\":20", "\"max_ns\":99999");
    assert!(serde_json::from_str::<Histogram>(&lie).is_err());
}

/// Both lie in the only counter that is occupied, whose middle would be sought between them.
#[test]
fn a_minimum_above_the_maximum_is_refused() {
    let histogram = of(&[4097]);
    let json = serde_json::to_string(&histogram).unwrap();
    let with = |min: u64, max: u64| {
        let json = json.replace("\"min_ns\":4097", &format!("\"min_ns\":{min}"));
        json.replace("\"max_ns\":4097", &format!("\"max_ns\":{max}"))
    };
    assert_eq!(
        serde_json::from_str::<Histogram>(&with(4097, 4097)).unwrap(),
        histogram
    );
    let lie = serde_json::from_str::<Histogram>(&with(4099, 4096));
    let error = lie.unwrap_err().to_string();
    assert!(error.contains("minimum, maximum or sum"), "{error}");
}
