//! The one table of script options: names, environment variables, flags, kinds and defaults.

/// How a value is written and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number of VUs.
    Vus,
    /// A whole number.
    Count,
    /// A number, fractions allowed.
    Number,
    Duration,
    /// True or false.
    Flag(Flag),
    Text,
    /// A list of texts; comma-separated on a command line.
    Texts,
    /// Names and texts; `name=value` on a command line.
    TextMap,
    /// Legs of a ramp; `10s:5,1m:10` on a command line.
    Stages,
    /// Named scenarios; only in a script or a file.
    Scenarios,
    /// Expressions by metric; only in a script or a file.
    Thresholds,
    /// `ttl=5m,select=random,policy=preferIPv4` on a command line.
    Dns,
    /// Taken as it is; only in a script or a file.
    Json,
    /// Accepted for old scripts, with a notice that it has no effect.
    NoEffect(&'static str),
}

/// Options that are true or false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    InsecureSkipTlsVerify,
    NoConnectionReuse,
    NoVuConnectionReuse,
    NoCookiesReset,
    Throw,
    DiscardResponseBodies,
    Paused,
    NoSetup,
    NoTeardown,
    NoThresholds,
    Linger,
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    /// As scripts and configuration files write it.
    pub name: &'static str,
    /// Behind `K6_`; `None` where a variable could not hold it.
    pub env: Option<&'static str>,
    /// Long flag without dashes; `None` where the command line cannot say it.
    pub flag: Option<&'static str>,
    pub short: Option<char>,
    pub kind: Kind,
    /// As a script would write it; empty where the option is off.
    pub default: &'static str,
    pub help: &'static str,
}

const fn option(
    name: &'static str,
    names: (Option<&'static str>, Option<&'static str>),
    kind: Kind,
    default: &'static str,
    help: &'static str,
) -> OptionSpec {
    OptionSpec {
        name,
        env: names.0,
        flag: names.1,
        short: None,
        kind,
        default,
        help,
    }
}

const fn short(spec: OptionSpec, letter: char) -> OptionSpec {
    OptionSpec {
        short: Some(letter),
        ..spec
    }
}

type Names = (Option<&'static str>, Option<&'static str>);

const fn both(env: &'static str, flag: &'static str) -> Names {
    (Some(env), Some(flag))
}

const SCRIPT_ONLY: Names = (None, None);

/// The tags that samples carry unless `systemTags` says otherwise.
pub const SYSTEM_TAGS: &str = "proto,subproto,status,method,url,name,group,check,error,\
                               error_code,tls_version,scenario,service,expected_response";

const CLOUD: &str = "results go to no cloud";
const NO_BUFFER: &str = "samples are folded where they arise";
const NO_REPORTS: &str = "there is no usage report";

/// Every option, in the order of the manual.
#[rustfmt::skip]
pub const OPTIONS: [OptionSpec; 48] = [
    short(option("vus", both("VUS", "vus"), Kind::Vus, "1", "number of VUs"), 'u'),
    short(option("duration", both("DURATION", "duration"), Kind::Duration, "", "how long the VUs loop"), 'd'),
    short(option("iterations", both("ITERATIONS", "iterations"), Kind::Count, "", "iterations that the VUs share"), 'i'),
    short(option("stages", both("STAGES", "stage"), Kind::Stages, "", "legs of a ramp of VUs"), 's'),
    option("scenarios", SCRIPT_ONLY, Kind::Scenarios, "", "named workloads, each with its executor"),
    option("thresholds", SCRIPT_ONLY, Kind::Thresholds, "", "expressions over metrics that decide the exit code"),
    option("setupTimeout", (Some("SETUP_TIMEOUT"), None), Kind::Duration, "60s", "longest time for setup"),
    option("teardownTimeout", (Some("TEARDOWN_TIMEOUT"), None), Kind::Duration, "60s", "longest time for teardown"),
    option("handleSummaryTimeout", (Some("HANDLE_SUMMARY_TIMEOUT"), None), Kind::Duration, "2m", "longest time for handleSummary"),
    option("maxRedirects", both("MAX_REDIRECTS", "max-redirects"), Kind::Count, "10", "redirects to follow"),
    option("batch", both("BATCH", "batch"), Kind::Count, "20", "parallel requests of one batch"),
    option("batchPerHost", both("BATCH_PER_HOST", "batch-per-host"), Kind::Count, "6", "parallel requests of one batch per host; 0 is unlimited"),
    option("rps", both("RPS", "rps"), Kind::Count, "0", "most requests per second over all VUs; 0 is unlimited"),
    option("userAgent", both("USER_AGENT", "user-agent"), Kind::Text, "", "the User-Agent header"),
    option("httpDebug", both("HTTP_DEBUG", "http-debug"), Kind::Text, "", "log requests and responses; `full` with bodies"),
    option("insecureSkipTLSVerify", both("INSECURE_SKIP_TLS_VERIFY", "insecure-skip-tls-verify"), Kind::Flag(Flag::InsecureSkipTlsVerify), "false", "do not verify certificates"),
    option("tlsAuth", SCRIPT_ONLY, Kind::Json, "", "client certificates by host"),
    option("tlsVersion", SCRIPT_ONLY, Kind::Json, "", "TLS version, or { min, max }"),
    option("tlsCipherSuites", SCRIPT_ONLY, Kind::Texts, "", "cipher suites to offer"),
    option("noConnectionReuse", both("NO_CONNECTION_REUSE", "no-connection-reuse"), Kind::Flag(Flag::NoConnectionReuse), "false", "a new connection for every request"),
    option("noVUConnectionReuse", both("NO_VU_CONNECTION_REUSE", "no-vu-connection-reuse"), Kind::Flag(Flag::NoVuConnectionReuse), "false", "new connections for every iteration"),
    option("noCookiesReset", both("NO_COOKIES_RESET", "no-cookies-reset"), Kind::Flag(Flag::NoCookiesReset), "false", "keep cookies between iterations"),
    option("minIterationDuration", both("MIN_ITERATION_DURATION", "min-iteration-duration"), Kind::Duration, "0s", "shortest time of an iteration"),
    short(option("throw", both("THROW", "throw"), Kind::Flag(Flag::Throw), "false", "failed requests throw"), 'w'),
    option("blacklistIPs", both("BLACKLIST_IPS", "blacklist-ip"), Kind::Texts, "", "address ranges never to connect to"),
    option("blockHostnames", both("BLOCK_HOSTNAMES", "block-hostnames"), Kind::Texts, "", "host patterns never to connect to"),
    option("hosts", SCRIPT_ONLY, Kind::TextMap, "", "addresses of host names, instead of DNS"),
    option("dns", both("DNS", "dns"), Kind::Dns, "ttl=5m,select=random,policy=preferIPv4", "how names are resolved"),
    option("localIPs", both("LOCAL_IPS", "local-ips"), Kind::Texts, "", "addresses to connect from"),
    option("summaryTrendStats", both("SUMMARY_TREND_STATS", "summary-trend-stats"), Kind::Texts, "avg,min,med,max,p(90),p(95)", "figures of a trend in the summary"),
    option("summaryTimeUnit", both("SUMMARY_TIME_UNIT", "summary-time-unit"), Kind::Text, "", "unit of times in the summary: s, ms or us"),
    option("systemTags", both("SYSTEM_TAGS", "system-tags"), Kind::Texts, SYSTEM_TAGS, "tags that samples carry"),
    option("tags", both("TAGS", "tag"), Kind::TextMap, "", "tags on every sample"),
    option("discardResponseBodies", both("DISCARD_RESPONSE_BODIES", "discard-response-bodies"), Kind::Flag(Flag::DiscardResponseBodies), "false", "read bodies and throw them away"),
    option("executionSegment", both("EXECUTION_SEGMENT", "execution-segment"), Kind::Text, "", "this instance's part of the test, 0:1/2"),
    option("executionSegmentSequence", both("EXECUTION_SEGMENT_SEQUENCE", "execution-segment-sequence"), Kind::Text, "", "all parts of the test, 0,1/2,1"),
    short(option("paused", both("PAUSED", "paused"), Kind::Flag(Flag::Paused), "false", "wait before the start"), 'p'),
    option("noSetup", both("NO_SETUP", "no-setup"), Kind::Flag(Flag::NoSetup), "false", "do not run setup"),
    option("noTeardown", both("NO_TEARDOWN", "no-teardown"), Kind::Flag(Flag::NoTeardown), "false", "do not run teardown"),
    option("noThresholds", both("NO_THRESHOLDS", "no-thresholds"), Kind::Flag(Flag::NoThresholds), "false", "do not evaluate thresholds"),
    option("consoleOutput", both("CONSOLE_OUTPUT", "console-output"), Kind::Text, "", "file for console messages"),
    short(option("linger", both("LINGER", "linger"), Kind::Flag(Flag::Linger), "false", "stay after the end until interrupted"), 'l'),
    option("summaryExport", both("SUMMARY_EXPORT", "summary-export"), Kind::Text, "", "file for the flat summary"),
    option("metricSamplesBufferSize", (Some("METRIC_SAMPLES_BUFFER_SIZE"), None), Kind::NoEffect(NO_BUFFER), "", "accepted"),
    option("noUsageReport", both("NO_USAGE_REPORT", "no-usage-report"), Kind::NoEffect(NO_REPORTS), "", "accepted"),
    option("cloud", SCRIPT_ONLY, Kind::NoEffect(CLOUD), "", "accepted"),
    option("ext", SCRIPT_ONLY, Kind::NoEffect(CLOUD), "", "accepted"),
    option("summaryMode", both("SUMMARY_MODE", "summary-mode"), Kind::Text, "compact", "compact, full or disabled"),
];

/// The option of that script name.
pub(super) fn named(name: &str) -> Option<&'static OptionSpec> {
    OPTIONS.iter().find(|spec| spec.name == name)
}

impl OptionSpec {
    /// Whether the option decides which iterations start.
    pub fn is_load(&self) -> bool {
        matches!(
            self.name,
            "vus" | "duration" | "iterations" | "stages" | "scenarios"
        )
    }
}
