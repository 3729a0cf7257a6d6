//! What k6 would find on this host: variables of the process, and the configuration file of the user.

use std::path::PathBuf;
use std::sync::Once;

use plimsoll_core::nearest;
use plimsoll_core::scenario::OPTIONS;

use crate::args::ScriptSource;
use crate::script::console;

/// Variables of k6 that are not followed, each with the reason; one that ends in `_` stands for all that begin so.
const NOT_FOLLOWED: [(&str, &str); 19] = [
    ("K6_TRACES_OUTPUT", "no traces are written"),
    (
        "K6_SECRET_SOURCE",
        "secrets come as variables: -e NAME=VALUE",
    ),
    (
        "K6_PROFILING_ENABLED",
        "there is no REST API that profiles are read from",
    ),
    ("K6_FEATURES", "there are no features of k6 to switch on"),
    ("K6_CLOUD_", "results go to no cloud"),
    ("K6_BROWSER_", "there is no browser"),
    (
        "K6_STATSD_",
        "there is no such output; --out influxdb and --out opentelemetry are",
    ),
    (
        "K6_DATADOG_",
        "there is no such output; --out influxdb and --out opentelemetry are",
    ),
    (
        "K6_KAFKA_",
        "there is no such output; --out influxdb and --out opentelemetry are",
    ),
    ("K6_BINARY_PROVISIONING", NO_EXTENSIONS),
    ("K6_AUTO_EXTENSION_RESOLUTION", NO_EXTENSIONS),
    ("K6_BUILD_SERVICE_URL", NO_EXTENSIONS),
    ("K6_BUILD_SERVICE_TOKEN", NO_EXTENSIONS),
    ("K6_BINARY_CACHE", NO_EXTENSIONS),
    ("K6_CSV_SAVE_INTERVAL", "rows are written as they come"),
    ("K6_JSON_SAVE_INTERVAL", "lines are written as they come"),
    (
        "K6_WEB_DASHBOARD_RECORD",
        "the record has everything: --record FILE",
    ),
    (
        "K6_WEB_DASHBOARD_TAG",
        "the page shows the same for every run",
    ),
    (
        "K6_WEB_DASHBOARD_TAGS",
        "the page shows the same for every run",
    ),
];

const NO_EXTENSIONS: &str = "extensions of k6 are not used here";

/// Other variables that begin like options and are read elsewhere: a name near to one of these is no mistake.
const OTHERS: [&str; 11] = [
    "K6_OUT",
    "K6_CONFIG",
    "K6_LOG_OUTPUT",
    "K6_LOG_FORMAT",
    "K6_NO_COLOR",
    "K6_TYPE",
    "K6_COMPATIBILITY_MODE",
    "K6_ADDRESS",
    "K6_INCLUDE_SYSTEM_ENV_VARS",
    "K6_NEW_MACHINE_READABLE_SUMMARY",
    "K6_WEB_DASHBOARD",
];

/// What outputs read for themselves: how it begins, and how it may go on. Some of it only to say that it is not followed.
const OF_OUTPUTS: [(&str, &[&str]); 5] = [
    (
        "K6_WEB_DASHBOARD_",
        &["HOST", "PORT", "PERIOD", "OPEN", "EXPORT"],
    ),
    ("K6_CSV_", &["FILENAME", "TIME_FORMAT"]),
    (
        "K6_PROMETHEUS_RW_",
        &[
            "SERVER_URL",
            "PUSH_INTERVAL",
            "TREND_STATS",
            "TREND_AS_NATIVE_HISTOGRAM",
            "STALE_MARKERS",
            "USERNAME",
            "PASSWORD",
            "BEARER_TOKEN",
            "HTTP_HEADERS",
            "INSECURE_SKIP_TLS_VERIFY",
        ],
    ),
    (
        "K6_INFLUXDB_",
        &[
            "ADDR",
            "DB",
            "USERNAME",
            "PASSWORD",
            "INSECURE",
            "PUSH_INTERVAL",
            "RETENTION",
            "CONSISTENCY",
            "TAGS_AS_FIELDS",
            "ORGANIZATION",
            "BUCKET",
            "TOKEN",
            "PROXY",
            "HTTP_PROXY",
            "CONCURRENT_WRITES",
            "PAYLOAD_SIZE",
        ],
    ),
    (
        "K6_OTEL_",
        &[
            "HTTP_EXPORTER_ENDPOINT",
            "HTTP_EXPORTER_URL_PATH",
            "HTTP_EXPORTER_INSECURE",
            "EXPORT_INTERVAL",
            "METRIC_PREFIX",
            "SERVICE_NAME",
            "SERVICE_VERSION",
            "HEADERS",
            "TLS_INSECURE_SKIP_VERIFY",
            "EXPORTER_PROTOCOL",
            "EXPORTER_TYPE",
            "GRPC_EXPORTER_ENDPOINT",
        ],
    ),
];

/// The variables of this process that are text.
pub(super) fn variables() -> Vec<(String, String)> {
    let all = std::env::vars_os();
    all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// What `__ENV` has of them.
pub(super) fn given(source: &ScriptSource) -> Vec<(String, String)> {
    if source.system_env.unwrap_or(source.takes_surroundings) {
        variables()
    } else {
        Vec::new()
    }
}

/// `--config`, or k6's own place for it if there is a file.
pub(super) fn config_file(source: &ScriptSource) -> Option<PathBuf> {
    let folder = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let of_user = || {
        let config = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
        let path = config?.join("k6").join("config.json");
        (source.takes_surroundings && path.is_file()).then_some(path)
    };
    source.config.clone().or_else(of_user)
}

/// A variable of k6 is obeyed, or named here: never dropped without a word. Told once, also where a script is read often.
pub(super) fn warn_of_unfollowed(source: &ScriptSource) {
    static ONCE: Once = Once::new();
    let of_command = |name: &str| {
        let unfollowed = source.unfollowed.iter().find(|(known, _)| known == name);
        unfollowed.map(|(_, words)| words.clone())
    };
    ONCE.call_once(|| {
        let given = variables();
        for (name, _) in given.iter().filter(|(_, value)| !value.is_empty()) {
            if let Some(warning) = problem_of(name).or_else(|| of_command(name)) {
                console::warn(&warning);
            }
        }
    });
}

fn problem_of(name: &str) -> Option<String> {
    let rest = name.strip_prefix("K6_")?;
    let is_it = |known: &str| known == name || known.ends_with('_') && name.starts_with(known);
    if let Some((_, why)) = NOT_FOLLOWED.iter().find(|(known, _)| is_it(known)) {
        return Some(format!("{name} is not followed: {why}"));
    }
    let of_output = OF_OUTPUTS
        .iter()
        .find_map(|(begin, known)| Some((begin, known, name.strip_prefix(begin)?)));
    if let Some((begin, known, end)) = of_output {
        return (!known.contains(&end)).then(|| {
            format!(
                "{name} is not followed; what is read of {begin}… is {}",
                known.join(", ")
            )
        });
    }
    let options = OPTIONS.iter().filter_map(|spec| spec.env);
    let known: Vec<&str> = options
        .chain(OTHERS.iter().filter_map(|name| name.strip_prefix("K6_")))
        .collect();
    if known.contains(&rest) {
        return None;
    }
    // A script may have variables of its own that begin so: only what looks like a slip is told.
    let meant = nearest::nearest(rest, known)?;
    Some(format!(
        "{name} is no variable of k6; K6_{meant} is meant, perhaps"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_of_k6_is_known_or_named() {
        for (name, part) in [
            ("K6_TRACES_OUTPUT", Some("no traces are written")),
            ("K6_CLOUD_TOKEN", Some("results go to no cloud")),
            ("K6_DURATOIN", Some("K6_DURATION is meant")),
            ("K6_DURATION", None),
            ("K6_OUT", None),
            ("K6_WEB_DASHBOARD_HOST", None),
            ("K6_PROMETHEUS_RW_SERVER_URL", None),
            (
                "K6_PROMETHEUS_RW_CLIENT_CERTIFICATE",
                Some("is not followed"),
            ),
            ("K6_OTEL_FLUSH_INTERVAL", Some("EXPORT_INTERVAL")),
            ("K6_CSV_FILENAME", None),
            (
                "K6_CSV_SAVE_INTERVAL",
                Some("rows are written as they come"),
            ),
            ("K6_OF_MY_OWN_SCRIPT", None),
            ("HOME", None),
        ] {
            let problem = problem_of(name);
            match part {
                Some(part) => assert!(problem.is_some_and(|text| text.contains(part)), "{name}"),
                None => assert_eq!(problem, None, "{name}"),
            }
        }
    }
}
