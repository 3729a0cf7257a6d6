//! A trend in a record: its exact figures, and its counters in the form of the house's histograms.
//!
//! The counters of one sign are a row of numbers by rising magnitude, from the smallest there is: the counts as zig-zag
//! LEB128, runs of empty counters as negative numbers, all in base64. It is what HDR Histogram V2 does.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{FRACTION_BITS, PAGE, PAGE_BITS, Side, Sum, Trend};
use crate::histogram::{read_zigzag, write_zigzag};

/// Counters of one sign: those of every finite number.
const COUNTERS: u64 = 2047 << FRACTION_BITS;
/// More samples than a year of a hundred million per second: sums of such counts fit in 64 bits.
const COUNT_MAX: u64 = 1 << 52;

#[derive(Serialize, Deserialize)]
struct Wire {
    count: u64,
    sum: Sum,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max: Option<f64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    zeros: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    positive: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    negative: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Side {
    fn written(&self) -> String {
        let mut bytes = Vec::new();
        let mut next = 0;
        for page in &self.0 {
            let first = u64::from(page.head) << PAGE_BITS;
            for (key, n) in (first..).zip(page.counts.iter()).filter(|(_, n)| **n > 0) {
                if key > next {
                    write_zigzag(&mut bytes, -(key - next).cast_signed());
                }
                write_zigzag(&mut bytes, n.cast_signed());
                next = key + 1;
            }
        }
        STANDARD.encode(bytes)
    }

    /// With the number of samples in it.
    fn read(text: &str) -> Result<(Self, u64), &'static str> {
        let bytes = STANDARD.decode(text).map_err(|_| "is not base64")?;
        let (mut side, mut rest) = (Self::default(), &bytes[..]);
        let (mut key, mut count) = (0_u64, 0_u64);
        while !rest.is_empty() {
            let n = read_zigzag(&mut rest).ok_or("ends in the middle of a number")?;
            if n < 0 {
                key = key.saturating_add(n.unsigned_abs());
                continue;
            }
            count = count.saturating_add(n.unsigned_abs());
            if key >= COUNTERS || count > COUNT_MAX {
                return Err("has more counters or samples than there can be");
            }
            let page = side.page((key >> PAGE_BITS) as u16);
            page.counts[key as usize % PAGE] += n.unsigned_abs();
            key += 1;
        }
        Ok((side, count))
    }
}

impl Trend {
    /// Whether sum, smallest and largest value are in the counters, too.
    fn agrees(&self) -> bool {
        // A counter is shown by a number within one part in 2,048 of every value in it.
        const WIDTH: f64 = 1.0 / (1 << FRACTION_BITS) as f64;
        if self.count == 0 {
            return true;
        }
        let (mut sum, mut size) = (0.0, 0.0);
        for (side, sign) in [(&self.negative, -1.0), (&self.positive, 1.0)] {
            for (value, n) in side.iter() {
                sum += sign * value * n as f64;
                size += value * n as f64;
            }
        }
        let shown = |value: Option<(f64, u64)>| value.map(|(value, _)| value);
        let zero = (self.zeros > 0).then_some(0.0);
        let negative = || self.negative.iter();
        let least = shown(negative().next_back()).map(|value| -value);
        let least = least.or(zero).or(shown(self.positive.iter().next()));
        let most = shown(self.positive.iter().next_back()).or(zero);
        let most = most.or(shown(negative().next()).map(|value| -value));
        let close = |exact: f64, counted: Option<f64>| {
            counted.is_some_and(|counted| (exact - counted).abs() <= counted.abs() * WIDTH)
        };
        // Sums are kept in units of 10⁻¹² and end at what an i128 of them holds.
        let room = size * WIDTH + 1e-12 * self.count as f64;
        let is_kept = size < 1e25;
        close(self.min, least)
            && close(self.max, most)
            && (!is_kept || (self.sum() - sum).abs() <= room)
    }
}

impl TryFrom<Wire> for Trend {
    type Error = &'static str;

    fn try_from(wire: Wire) -> Result<Self, Self::Error> {
        let (positive, above) = Side::read(&wire.positive)?;
        let (negative, below) = Side::read(&wire.negative)?;
        if wire.zeros > COUNT_MAX || above + below + wire.zeros != wire.count {
            return Err("counts samples that its counters do not hold");
        }
        let (min, max) = match (wire.min, wire.max) {
            (Some(min), Some(max)) if wire.count > 0 && min <= max => (min, max),
            (None, None) if wire.count == 0 => (f64::INFINITY, f64::NEG_INFINITY),
            _ => return Err("has a smallest and a largest value that its samples do not"),
        };
        let read = Self {
            negative,
            positive,
            zeros: wire.zeros,
            count: wire.count,
            sum: wire.sum,
            min,
            max,
        };
        if read.agrees() {
            Ok(read)
        } else {
            Err("has a sum or extremes that its counters do not allow")
        }
    }
}

impl Serialize for Trend {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let end = |value: f64| (self.count > 0).then_some(value);
        let wire = Wire {
            count: self.count,
            sum: self.sum,
            min: end(self.min),
            max: end(self.max),
            zeros: self.zeros,
            positive: self.positive.written(),
            negative: self.negative.written(),
        };
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Trend {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        Self::try_from(wire).map_err(|why| D::Error::custom(format!("a trend {why}")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_read_back_is_what_was_written(
            values in prop::collection::vec(prop_oneof![-1e6f64..1e6, 0.0f64..1e-3, Just(0.0)], 0..80)
        ) {
            let mut trend = Trend::new();
            for value in &values {
                trend.record(*value);
            }
            let text = serde_json::to_string(&trend).unwrap();
            let read: Trend = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read.count(), trend.count());
            prop_assert!((read.sum() - trend.sum()).abs() <= trend.sum().abs() * 1e-15);
            for q in [0.0, 0.5, 0.95, 1.0] {
                prop_assert_eq!(read.quantile(q).to_bits(), trend.quantile(q).to_bits());
            }
        }
    }

    #[test]
    fn a_trend_that_contradicts_itself_is_refused() {
        let mut trend = Trend::new();
        for value in [3.0, 0.0, -2.0] {
            trend.record(value);
        }
        let good = serde_json::to_string(&trend).unwrap();
        for (from, to) in [
            ("\"count\":3", "\"count\":4"),
            ("\"zeros\":1", "\"zeros\":18446744073709551615"),
            ("\"min\":-2.0", "\"min\":9.0"),
            ("\"positive\":\"", "\"positive\":\"////"),
        ] {
            assert!(good.contains(from), "{from} is not in {good}");
            assert!(
                serde_json::from_str::<Trend>(&good.replace(from, to)).is_err(),
                "{to}"
            );
        }
    }
}
