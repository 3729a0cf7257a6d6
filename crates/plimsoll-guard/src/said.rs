//! What others say in fields of their own: how long a client waits for its answer, and how full an upstream is.

use std::time::Duration;

/// How long its client waits, if a request says so: the shortest of what it says. What cannot be understood is not said.
///
/// `grpc-timeout` (up to eight digits and a unit: `H`, `M`, `S`, `m`, `u`, `n`), `X-Envoy-Expected-Rq-Timeout-Ms` (milliseconds),
/// `X-Request-Timeout` and `Request-Timeout` (seconds, or a number with `ms` or `s`).
pub(crate) fn patience<'a>(field: &dyn Fn(&str) -> Option<&'a [u8]>) -> Option<Duration> {
    let said = |said: &Said| said.read(field(said.name)?);
    SAID.iter().filter_map(said).min()
}

/// What an upstream is told of its client's patience is less by what was spent here. `bytes` is a request from the first byte of
/// its head on.
pub(crate) fn shorten(bytes: &mut Vec<u8>, spent: Duration) {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return;
    };
    let (head, rest) = bytes.split_at(end + 2);
    let mut anew = Vec::with_capacity(bytes.len() + 16);
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        match shortened(line, spent) {
            Some(line) => anew.extend_from_slice(line.as_bytes()),
            None => anew.extend_from_slice(line),
        }
    }
    anew.extend_from_slice(rest);
    *bytes = anew;
}

/// The same line with less time, if it is about time.
fn shortened(line: &[u8], spent: Duration) -> Option<String> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at(colon);
    let said = SAID
        .iter()
        .find(|said| name.eq_ignore_ascii_case(said.name.as_bytes()))?;
    let least = Duration::from_millis(1);
    // Who waits for less than can be written stays as he is: nobody may be told that somebody waits longer, or not at all.
    let time = said.read(value.get(1..)?).filter(|time| *time >= least)?;
    let left = time.saturating_sub(spent).max(least);
    let text = (said.write)(left);
    Some(format!("{}: {text}\r\n", std::str::from_utf8(name).ok()?))
}

/// A field that says how long somebody waits.
struct Said {
    name: &'static str,
    read: fn(&str) -> Option<Duration>,
    write: fn(Duration) -> String,
}

static SAID: [Said; 4] = [
    Said {
        name: "grpc-timeout",
        read: grpc,
        write: put_grpc,
    },
    Said {
        name: "x-envoy-expected-rq-timeout-ms",
        read: milliseconds,
        write: |time| time.as_millis().to_string(),
    },
    Said {
        name: "x-request-timeout",
        read: seconds,
        write: put_seconds,
    },
    Said {
        name: "request-timeout",
        read: seconds,
        write: put_seconds,
    },
];

impl Said {
    fn read(&self, value: &[u8]) -> Option<Duration> {
        let text = std::str::from_utf8(value).ok()?;
        (self.read)(text.trim_ascii()).filter(|time| !time.is_zero())
    }
}

/// Milliseconds, or seconds where those have more than eight digits.
fn put_grpc(time: Duration) -> String {
    match time.as_millis() {
        millis @ ..=99_999_999 => format!("{millis}m"),
        _ => format!("{}S", time.as_secs().min(99_999_999)),
    }
}

/// A plain number, with a fraction where it needs one: everybody who reads the field reads that.
fn put_seconds(time: Duration) -> String {
    let text = format!("{}.{:03}", time.as_secs(), time.subsec_millis());
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

fn grpc(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let is_number = (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let count: u64 = digits.parse().ok().filter(|_| is_number)?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

fn milliseconds(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_millis)
}

fn seconds(text: &str) -> Option<Duration> {
    let (number, scale) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    let number = number.trim_ascii_end();
    // `1e9` and `inf` are numbers to some, and nobody's timeout.
    let is_plain = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = number.parse().ok().filter(|_| is_plain)?;
    Duration::try_from_secs_f64(number * scale).ok()
}

/// How full an upstream is, 0 to 1, by its `Endpoint-Load-Metrics`: what the application says of itself, or its processors.
pub(crate) fn load(value: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(value).ok()?;
    let figure = |name: &str| {
        let (before, after) = text.split_once(name)?;
        // Not the end of another name.
        let is_whole = !before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let after = after.trim_start_matches(['"', ' ', ':', '=']);
        let end = after.find(|one: char| !matches!(one, '0'..='9' | '.' | 'e' | 'E' | '-' | '+'));
        let number: f64 = after.get(..end.unwrap_or(after.len()))?.parse().ok()?;
        (is_whole && number.is_finite() && number >= 0.0).then_some(number.min(1.0))
    };
    figure("application_utilization").or_else(|| figure("cpu_utilization"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fields: &[(&str, &str)]) -> Option<Duration> {
        let field = |name: &str| {
            let mut found = fields.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| value.as_bytes())
        };
        patience(&field)
    }

    #[test]
    fn what_clients_say_of_their_patience_is_read_and_the_shortest_holds() {
        let ms = |count| Some(Duration::from_millis(count));
        assert_eq!(of(&[("grpc-timeout", "250m")]), ms(250));
        assert_eq!(of(&[("grpc-timeout", "2S")]), ms(2_000));
        assert_eq!(
            of(&[("grpc-timeout", "99999999H")]).map(|t| t.as_secs()),
            Some(359_999_996_400)
        );
        assert_eq!(of(&[("x-envoy-expected-rq-timeout-ms", "1500")]), ms(1_500));
        assert_eq!(of(&[("x-request-timeout", "0.25")]), ms(250));
        assert_eq!(
            of(&[("x-request-timeout", "5s"), ("grpc-timeout", "800m")]),
            ms(800)
        );
        assert_eq!(of(&[("request-timeout", "300 ms")]), ms(300));
    }

    #[test]
    fn an_upstream_is_told_what_is_left() {
        let shortened = |lines: &str, spent: u64| {
            let request = format!("POST / HTTP/1.1\r\n{lines}\r\nRequest-Timeout: 9\r\n\r\n");
            let mut bytes = request.into_bytes();
            shorten(&mut bytes, Duration::from_millis(spent));
            let text = String::from_utf8(bytes).unwrap();
            let text = text.strip_prefix("POST / HTTP/1.1\r\n").unwrap().to_owned();
            // The body only looks like a head.
            text.strip_suffix("\r\nRequest-Timeout: 9\r\n\r\n")
                .unwrap()
                .to_owned()
        };
        for (said, spent, left) in [
            ("grpc-timeout: 2S", 200, "grpc-timeout: 1800m"),
            ("grpc-timeout: 500u", 1, "grpc-timeout: 500u"),
            ("Grpc-Timeout: 99999999H", 1, "Grpc-Timeout: 99999999S"),
            (
                "X-Envoy-Expected-Rq-Timeout-Ms: 250",
                251,
                "X-Envoy-Expected-Rq-Timeout-Ms: 1",
            ),
            ("x-request-timeout: 5s", 1_000, "x-request-timeout: 4"),
            ("Request-Timeout: 0.5", 20, "Request-Timeout: 0.48"),
            ("Request-Timeout: 300 ms", 20, "Request-Timeout: 0.28"),
            ("Request-Timeout: soon", 20, "Request-Timeout: soon"),
            ("Host: a", 20, "Host: a"),
        ] {
            assert_eq!(
                shortened(&format!("{said}\r\n"), spent),
                format!("{left}\r\n")
            );
        }
    }

    #[test]
    fn what_is_no_time_is_not_said() {
        let wrong = [
            "",
            "-1",
            "0",
            "x",
            "1e9",
            "inf",
            "NaN",
            "1h",
            "123456789S",
            "1.5S",
            "99999999999999999999999",
        ];
        for text in wrong {
            let all = [
                "grpc-timeout",
                "x-envoy-expected-rq-timeout-ms",
                "x-request-timeout",
            ];
            let told: Vec<_> = all.iter().filter_map(|name| of(&[(*name, text)])).collect();
            assert!(
                told.iter()
                    .all(|time| !time.is_zero() && *time > Duration::from_secs(1)),
                "{text}: {told:?}"
            );
        }
        assert_eq!(of(&[("grpc-timeout", "123456789S")]), None);
        assert_eq!(of(&[("x-request-timeout", "inf")]), None);
    }

    #[test]
    fn the_load_of_an_upstream_is_read_as_text_and_as_json() {
        assert_eq!(load(b"TEXT application_utilization=0.25"), Some(0.25));
        assert_eq!(
            load(b"TEXT cpu_utilization=0.3, rps_fractional=10.0"),
            Some(0.3)
        );
        assert_eq!(
            load(br#"JSON {"cpu_utilization": 0.3, "application_utilization": 1.7}"#),
            Some(1.0)
        );
        assert_eq!(load(b"TEXT my_cpu_utilization=0.3"), None);
        assert_eq!(load(b"TEXT cpu_utilization=-1"), None);
        assert_eq!(load(b"BIN AAAA"), None);
    }
}
