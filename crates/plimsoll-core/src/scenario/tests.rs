//! Options as scripts, files, variables and flags write them, and what is refused.

use serde_json::{Value, json};

use super::*;

fn script(options: &Value) -> Layer {
    Layer::from_object(Origin::Script, options, Strictness::Normal).unwrap()
}

fn resolved(options: &Value) -> Options {
    Options::from_layers(&[script(options)]).unwrap()
}

fn refused(options: &Value) -> String {
    let layer = Layer::from_object(Origin::Script, options, Strictness::Normal);
    let options = layer.and_then(|layer| Options::from_layers(&[layer]));
    options.unwrap_err().to_string()
}

fn executor_of(options: &Value) -> Executor {
    let options = resolved(options);
    assert_eq!(options.scenarios.len(), 1);
    options.scenarios.named("default").unwrap().executor.clone()
}

fn said(executor: &Executor) -> String {
    let scenario = Scenario {
        name: "s".to_owned(),
        executor: executor.clone(),
        start_ns: Nanos::ZERO,
        graceful_stop_ns: Nanos::from_secs(30),
        exec: "default".to_owned(),
        env: BTreeMap::new(),
        tags: BTreeMap::new(),
        extra: None,
    };
    scenario.describe()
}

#[test]
fn shortcuts_stand_for_scenarios() {
    for (options, words) in [
        (json!({}), "1 iteration for each of 1 VU, at most 10m0s"),
        (
            json!({ "stages": [], "scenarios": {} }),
            "1 iteration for each of 1 VU",
        ),
        (json!({ "vus": 5 }), "5 iterations shared among 5 VUs"),
        (
            json!({ "vus": 2, "scenarios": {
                "a": { "executor": "constant-vus", "vus": 9, "duration": "5s" } } }),
            "2 iterations shared among 2 VUs",
        ),
        (
            json!({ "vus": 5, "iterations": 10 }),
            "10 iterations shared among 5 VUs, at most 10m0s",
        ),
        (
            json!({ "vus": 5, "iterations": 10, "duration": "1m" }),
            "10 iterations shared among 5 VUs, at most 1m0s",
        ),
        (
            json!({ "vus": "10", "duration": "30s" }),
            "10 looping VUs for 30s",
        ),
        (
            json!({ "stages": [{ "duration": "10s", "target": 5 }, { "duration": 5000, "target": 0 }] }),
            "up to 5 looping VUs for 15s over 2 stages",
        ),
    ] {
        assert!(said(&executor_of(&options)).contains(words), "{words}");
    }
}

#[test]
fn a_scenario_of_every_executor() {
    let arriving = json!({ "preAllocatedVUs": 10, "maxVUs": 50 });
    let with = |mut own: Value, rest: &Value| {
        own.as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        own
    };
    let nothing = json!({});
    for (scenario, words) in [
        (
            with(
                json!({ "executor": "per-vu-iterations", "vus": 3, "iterations": 4 }),
                &nothing,
            ),
            "main: 4 iterations for each of 3 VUs, at most 10m0s (gracefulStop: 30s)",
        ),
        (
            with(
                json!({ "executor": "ramping-vus", "startVUs": 0, "exec": "login",
                        "stages": [{ "duration": "30s", "target": 10 }] }),
                &nothing,
            ),
            "main: up to 10 looping VUs for 30s over 1 stage \
             (gracefulRampDown: 30s, exec: login, gracefulStop: 30s)",
        ),
        (
            with(
                json!({ "executor": "constant-arrival-rate", "rate": 300, "timeUnit": "1m",
                        "duration": "30s", "startTime": "10s", "arrivals": "poisson" }),
                &arriving,
            ),
            "main: 300 iterations/1m (Poisson) for 30s, 10 to 50 VUs \
             (startTime: 10s, gracefulStop: 30s)",
        ),
        (
            with(
                json!({ "executor": "ramping-arrival-rate", "startRate": 5, "gracefulStop": 0,
                        "stages": [{ "duration": "1m", "target": 100 }] }),
                &arriving,
            ),
            "main: up to 100 iterations/s for 1m0s over 1 stage, 10 to 50 VUs (gracefulStop: 0s)",
        ),
    ] {
        let options = resolved(&json!({ "scenarios": { "main": scenario } }));
        let main = options.scenarios.named("main").unwrap();
        assert_eq!(main.describe(), words);
        let again = json!({ "scenarios": { "main": main.to_json() } });
        let arrivals = scenario.get("arrivals").is_some();
        if !arrivals {
            assert_eq!(resolved(&again).scenarios, options.scenarios, "{words}");
        }
    }
}

#[test]
fn higher_tiers_replace_the_load_below() {
    let below = script(&json!({
        "scenarios": { "a": { "executor": "constant-vus", "vus": 2, "duration": "10s" } },
        "userAgent": "mine", "batch": 7,
    }));
    let flags = Layer::from_flags([("duration", "5s"), ("vus", "3")]).unwrap();
    let options = Options::from_layers(&[below.clone(), flags]).unwrap();
    let only = options.scenarios.named("default").unwrap();
    assert!(only.describe().starts_with("default: 3 looping VUs for 5s"));
    assert_eq!(options.settings.user_agent.as_deref(), Some("mine"));
    assert!(
        options
            .warnings
            .iter()
            .any(|warning| warning.to_string() == "--duration replaces `scenarios` of the script")
    );

    let vus_alone = Layer::from_flags([("vus", "4")]).unwrap();
    let options = Options::from_layers(&[below, vus_alone]).unwrap();
    let only = options.scenarios.named("default").unwrap();
    assert!(
        only.describe()
            .starts_with("default: 4 iterations shared among 4 VUs")
    );
}

#[test]
fn every_value_keeps_its_origin() {
    let file = json!({ "batch": 3, "rps": 5 });
    let file = Layer::from_object(Origin::ConfigFile, &file, Strictness::Normal).unwrap();
    let environment = [
        ("K6_BATCH", "9"),
        ("K6_WEB_DASHBOARD", "true"),
        ("HOME", "/"),
    ];
    let environment = Layer::from_environment(Origin::Environment, environment).unwrap();
    let own = [("PLIMSOLL_USER_AGENT", "ours"), ("PLIMSOLL_OUT", "x")];
    let own = Layer::from_environment(Origin::OwnEnvironment, own).unwrap();
    let flags = Layer::from_flags([("tag", "a=1"), ("tag", "b=2=3"), ("throw", "")]).unwrap();
    let of_script = script(&json!({ "batch": 5, "duration": "1m30s" }));
    let options = Options::from_layers(&[file, of_script, environment, own, flags]).unwrap();
    let explained: Vec<String> = options
        .explained()
        .map(|(spec, value, origin)| format!("{} {value} {origin}", spec.name))
        .collect();
    for line in [
        "batch 9 environment",
        "userAgent ours environment",
        "rps 5 file",
        "duration 1m30s script",
        "tags {\"a\":\"1\",\"b\":\"2=3\"} flag",
        "throw true flag",
        "maxRedirects 10 default",
        "setupTimeout 1m0s default",
    ] {
        assert!(
            explained.iter().any(|shown| shown == line),
            "{line} in {explained:#?}"
        );
    }
    assert!(options.settings.is_set(Flag::Throw));
    assert!(!options.settings.is_set(Flag::NoSetup));
    assert_eq!(options.settings.batch, 9);
}

#[test]
fn what_a_script_sees_of_its_options() {
    let seen = resolved(&json!({ "vus": 2, "duration": "5s", "tags": { "a": "b" } })).to_json();
    assert_eq!(seen["tags"], json!({ "a": "b" }));
    assert_eq!(seen["vus"], Value::Null);
    assert_eq!(seen["scenarios"]["default"]["executor"], "constant-vus");
    assert_eq!(seen["scenarios"]["default"]["vus"], 2);
    assert_eq!(seen["throw"], Value::Null);
}

#[test]
fn flags_and_variables_read_what_scripts_write() {
    let flags = [
        ("stage", "10s:5"),
        ("stage", "1m:10,5s:0"),
        ("summary-trend-stats", "avg, p(99.9)"),
        ("dns", "ttl=inf,policy=onlyIPv4"),
        ("no-setup", "true"),
    ];
    let options = Options::from_layers(&[Layer::from_flags(flags).unwrap()]).unwrap();
    let only = options.scenarios.named("default").unwrap();
    assert!(
        only.describe()
            .contains("up to 10 looping VUs for 1m15s over 3 stages")
    );
    let settings = options.settings;
    assert_eq!(settings.summary_trend_stats[1].name(), "p(99.9)");
    assert_eq!(settings.dns.ttl_ns, None);
    assert_eq!(settings.dns.policy, "onlyIPv4");
    assert_eq!(settings.dns.select, "random");
    assert!(settings.is_set(Flag::NoSetup));
}

/// Each line: options that no test can be made from, and what the message must say.
#[test]
fn refused_options_say_place_and_fix() {
    let cases = [
        (json!({ "vus": "ten" }), ["options.vus", "whole number"]),
        (json!({ "vus": 1.5 }), ["options.vus", "whole number"]),
        (
            json!({ "duration": "10" , "vus": 1}),
            ["10ms is too short", "bare number"],
        ),
        (json!({ "duration": "10x" }), ["options.duration", "30s"]),
        (
            json!({ "iterations": 1, "vus": 2 }),
            ["options.iterations", "as many VUs as"],
        ),
        (
            json!({ "duration": "1m", "stages": [{ "duration": "1s", "target": 1 }] }),
            ["duration and stages", "keep one"],
        ),
        (
            json!({ "iterations": 1, "scenarios": { "a": { "executor": "x" } } }),
            ["iterations and scenarios", "keep one"],
        ),
        (
            json!({ "stages": [{ "duration": "1s", "tarjet": 1 }] }),
            ["stages[0]", "`target`"],
        ),
        (
            json!({ "stages": [{ "target": 1 }] }),
            ["stages[0]", "`duration` is missing"],
        ),
    ];
    check_refusals(&cases);
}

#[test]
fn refused_settings_say_place_and_fix() {
    let cases = [
        (
            json!({ "throw": "yes" }),
            ["options.throw", "true or false"],
        ),
        (
            json!({ "summaryTrendStats": ["p99"] }),
            ["summaryTrendStats", "p(95)"],
        ),
        (
            json!({ "summaryTimeUnit": "m" }),
            ["summaryTimeUnit", "s, ms or us"],
        ),
        (
            json!({ "dns": { "select": "last" } }),
            ["options.dns.select", "roundRobin"],
        ),
        (
            json!({ "executionSegment": "0:1/3x" }),
            ["executionSegment", "1/4:2/4"],
        ),
        (
            json!({ "executionSegment": "0:2/3" }),
            ["equal parts", "1/4:2/4"],
        ),
        (
            json!({ "scenarios": { "a b": {} } }),
            ["`a b`", "letters, digits"],
        ),
    ];
    check_refusals(&cases);
}

fn check_refusals(cases: &[(Value, [&str; 2])]) {
    for (options, parts) in cases {
        let message = refused(options);
        for part in parts {
            assert!(message.contains(part), "{options}: {message}");
        }
    }
}

#[test]
fn refused_scenarios_say_place_and_fix() {
    let scenario = |fields: Value| json!({ "scenarios": { "a": fields } });
    let cases = [
        (
            scenario(json!({})),
            ["options.scenarios.a", "`executor` is missing"],
        ),
        (
            scenario(json!({ "executor": "constant-vu" })),
            ["constant-vu", "did you mean"],
        ),
        (
            scenario(json!({ "executor": "externally-controlled" })),
            ["externally-controlled", "version 2"],
        ),
        (
            scenario(json!({ "executor": "constant-vus", "duration": "1s", "rate": 5 })),
            ["unknown field `rate`", "scenarios.a"],
        ),
        (
            scenario(json!({ "executor": "constant-vus", "duration": "500ms" })),
            ["500ms is too short", "at least 1s"],
        ),
        (
            scenario(json!({ "executor": "constant-vus" })),
            ["`duration` is missing", "'30s'"],
        ),
        (
            scenario(json!({ "executor": "constant-vus", "duration": "1s", "vus": 0 })),
            ["`vus` is zero", "at least 1"],
        ),
        (
            scenario(json!({ "executor": "ramping-vus", "startVUs": 0,
                             "stages": [{ "duration": "1s", "target": 0 }] })),
            ["no stage has any VU", "positive target"],
        ),
        (
            scenario(
                json!({ "executor": "constant-arrival-rate", "rate": 0, "duration": "1s",
                             "preAllocatedVUs": 1 }),
            ),
            ["`rate` is zero", "positive whole number"],
        ),
        (
            scenario(json!({ "executor": "constant-arrival-rate", "rate": 1, "duration": "1s" })),
            ["`preAllocatedVUs` is missing", "before the start"],
        ),
        (
            scenario(
                json!({ "executor": "constant-arrival-rate", "rate": 1, "duration": "1s",
                             "preAllocatedVUs": 5, "maxVUs": 2 }),
            ),
            ["maxVUs 2 is below", "raise maxVUs"],
        ),
        (
            scenario(
                json!({ "executor": "ramping-arrival-rate", "preAllocatedVUs": 5,
                             "timeUnit": 0, "stages": [{ "duration": "1s", "target": 5 }] }),
            ),
            ["`timeUnit` is zero", "1m"],
        ),
    ];
    check_refusals(&cases);
}

#[test]
fn unknown_options_follow_the_strictness() {
    let options = json!({ "treshold": {}, "cloud": { "projectID": 1 } });
    let layer = script(&options);
    let warnings: Vec<String> = layer.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "options.cloud: `cloud` has no effect: results go to no cloud",
            "options: unknown option `treshold` is ignored; did you mean `thresholds`?",
        ]
    );
    let strict = Layer::from_object(Origin::Script, &options, Strictness::Strict);
    assert!(matches!(strict, Err(OptionError::UnknownOption { .. })));
    let misplaced = json!({ "rate": 5 });
    let normal = Layer::from_object(Origin::Script, &misplaced, Strictness::Normal).unwrap();
    let warning = normal.warnings[0].to_string();
    assert!(warning.contains("ignored here, as k6 does"), "{warning}");
    let strict = Layer::from_object(Origin::Script, &misplaced, Strictness::Strict);
    let refusal = strict.unwrap_err().to_string();
    assert!(
        refusal.contains("scenarios: { main: { rate: … } }"),
        "{refusal}"
    );
    assert!(
        Layer::from_flags([("vu", "1")])
            .unwrap_err()
            .to_string()
            .contains("`vus`")
    );
}

#[test]
fn a_missing_function_is_named_before_the_start() {
    let options = resolved(&json!({ "scenarios": {
        "a": { "executor": "constant-vus", "duration": "1s", "exec": "logn" } } }));
    assert!(
        options
            .scenarios
            .check_functions(&["default", "logn"])
            .is_ok()
    );
    let error = options
        .scenarios
        .check_functions(&["default", "login"])
        .unwrap_err();
    assert!(
        error.to_string().contains("did you mean `login`?"),
        "{error}"
    );
}

#[test]
fn segments_are_equal_parts() {
    for (segment, part) in [
        ("0:1", (0, 1)),
        ("0:1/3", (0, 3)),
        ("1/3:2/3", (1, 3)),
        ("1/2:3/4", (2, 4)),
    ] {
        let options = resolved(&json!({ "executionSegment": segment }));
        assert_eq!(options.settings.part, part, "{segment}");
    }
}

#[test]
fn names_in_the_table_are_unique() {
    let unique = |names: Vec<&str>| {
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len());
    };
    unique(OPTIONS.iter().map(|spec| spec.name).collect());
    unique(OPTIONS.iter().filter_map(|spec| spec.env).collect());
    unique(OPTIONS.iter().filter_map(|spec| spec.flag).collect());
}

/// The manual page of options is the tables; `UPDATE_DOCS=1 cargo test -p plimsoll-core` writes it.
#[test]
fn the_page_of_options_is_the_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/script-options.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/script-options.md is not the tables; see this test's comment"
    );
}

fn page() -> String {
    use std::fmt::Write as _;
    let mut page = String::from(
        "# Options of scripts\n\nGenerated from the tables that also read them. A value on the command line wins over \
         `PLIMSOLL_*`, that over `K6_*`,\nthe script, the configuration file and the default. What says by itself which \
         iterations start (`duration`, `iterations`,\n`stages`, `scenarios`) replaces everything of the kind that stands \
         below it. Durations are written `1d12h`, `1m30s`, `500ms`;\na bare number is milliseconds.\n\n\
         | option | variable | flag | default | |\n|---|---|---|---|---|\n",
    );
    let code = |text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            format!("`{text}`")
        }
    };
    for spec in &OPTIONS {
        let short = spec
            .short
            .map_or(String::new(), |letter| format!("`-{letter}`, "));
        let help = match spec.kind {
            Kind::NoEffect(why) => format!("accepted, without effect: {why}"),
            _ => spec.help.to_owned(),
        };
        writeln!(
            page,
            "| `{}` | {} | {short}{} | {} | {help} |",
            spec.name,
            code(&spec.env.map_or(String::new(), |name| format!("K6_{name}"))),
            code(&spec.flag.map_or(String::new(), |name| format!("--{name}"))),
            code(spec.default),
        )
        .unwrap();
    }
    let mut fields = |title: &str, help: &str, fields: &[FieldSpec]| {
        write!(
            page,
            "\n## {title}\n\n{help}.\n\n| field | default | |\n|---|---|---|\n"
        )
        .unwrap();
        for field in fields {
            let default = field.default.map_or("required".to_owned(), code);
            writeln!(page, "| `{}` | {default} | {} |", field.name, field.help).unwrap();
        }
    };
    fields(
        "Every scenario",
        "An unknown field is an error",
        &COMMON_FIELDS,
    );
    for spec in &EXECUTORS {
        fields(&format!("`{}`", spec.name), spec.help, spec.fields);
    }
    page.push_str("\n## Built-in metrics\n\n| metric | kind | |\n|---|---|---|\n");
    for spec in crate::metrics::BUILT_IN {
        writeln!(
            page,
            "| `{}` | {} | {} |",
            spec.name,
            spec.kind.name(),
            spec.help
        )
        .unwrap();
    }
    page
}
