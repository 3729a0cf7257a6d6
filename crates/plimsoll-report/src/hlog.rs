//! A record as a histogram log (`HdrHistogram` log format 1.3), which existing plotters and log processors read.
//!
//! One line per window of the record in memory (a second; in a run of more than a minute several, as in
//! the report) and class: `response.ok`, `service.ok`, `response.timeout` and so on, because
//! successes and failures share no percentile. Source: the `HistogramLogWriter` of `HdrHistogram`.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use plimsoll_core::Histogram;
use plimsoll_core::record::Record;

/// V2, compressed, with the word-size nibble that V2 writers set to 1.
const COOKIE: u32 = 0x1c84_9314;

/// The whole log. `start_unix_s` is the zero of the run's clock, in seconds since 1970.
pub fn log(record: &Record, start_unix_s: f64) -> String {
    let mut out = String::new();
    putln!(out, "#[Histogram log format version 1.3]");
    putln!(
        out,
        "#[StartTime: {start_unix_s:.3} (seconds since epoch), {}]",
        record.header.started_at
    );
    putln!(out, "#[BaseTime: {start_unix_s:.3} (seconds since epoch)]");
    putln!(
        out,
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
    );
    for window in &record.windows {
        let (start, length) = (
            window.start_ns.as_secs_f64(),
            window.length_ns.as_secs_f64(),
        );
        for (outcome, class) in window.total().occurred() {
            for (what, times) in [("response", &class.response), ("service", &class.service)] {
                let Some(most) = times.max().filter(|_| !times.is_empty()) else {
                    continue;
                };
                putln!(
                    out,
                    "Tag={what}.{},{start:.3},{length:.3},{:.3},{}",
                    outcome.name(),
                    most.as_millis_f64(),
                    compressed(times)
                );
            }
        }
    }
    out
}

fn compressed(times: &Histogram) -> String {
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    let packed = zlib
        .write_all(&times.to_hdr_v2())
        .and_then(|()| zlib.finish())
        .expect("invariant: a vector takes any bytes");
    let mut bytes = Vec::with_capacity(8 + packed.len());
    bytes.extend(COOKIE.to_be_bytes());
    bytes.extend((packed.len() as u32).to_be_bytes());
    bytes.extend(packed);
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use plimsoll_core::Nanos;

    use super::*;

    #[test]
    fn a_compressed_histogram_reads_back() {
        let mut times = Histogram::new();
        for n in 1..2000 {
            times.record(Nanos::from_micros(n * n));
        }
        let bytes = STANDARD.decode(compressed(&times)).unwrap();
        assert_eq!(bytes[..4], COOKIE.to_be_bytes());
        assert_eq!(bytes[4..8], ((bytes.len() - 8) as u32).to_be_bytes());
        let mut payload = Vec::new();
        let mut zlib = flate2::read::ZlibDecoder::new(&bytes[8..]);
        zlib.read_to_end(&mut payload).unwrap();
        let read = Histogram::from_hdr_v2(&payload).unwrap();
        assert_eq!(
            (read.count(), read.quantile(0.5)),
            (times.count(), times.quantile(0.5))
        );
    }
}
