//! What others say in fields of their own: how long a client waits for its answer, and how full an upstream is.

use std::time::Duration;

/// How long its client waits, if a request says so: the shortest of what it says. What cannot be understood is not said.
///
/// `grpc-timeout` (up to eight digits and a unit: `H`, `M`, `S`, `m`, `u`, `n`), `X-Envoy-Expected-Rq-Timeout-Ms` (milliseconds),
/// `X-Request-Timeout` and `Request-Timeout` (seconds, or a number with `ms` or `s`).
pub(crate) fn patience<'a>(field: &dyn Fn(&str) -> Option<&'a [u8]>) -> Option<Duration> {
    let said = |name: &str, read: fn(&str) -> Option<Duration>| {
        let text = std::str::from_utf8(field(name)?).ok()?;
        read(text.trim_ascii()).filter(|time| !time.is_zero())
    };
    let all = [
        said("grpc-timeout", grpc),
        said("x-envoy-expected-rq-timeout-ms", milliseconds),
        said("x-request-timeout", seconds),
        said("request-timeout", seconds),
    ];
    all.into_iter().flatten().min()
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
