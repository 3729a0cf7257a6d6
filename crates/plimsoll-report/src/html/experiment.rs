//! The page of an experiment: the verdict, all load lines in one picture, the variants side by side, and the proof.

use std::collections::BTreeMap;

use plimsoll_core::comparison::Comparison;
use plimsoll_core::verdict::{Gate, GateState};

use super::svg::Svg;
use super::{chart_pairs, chart_panels, chart_shares, chart_variants, close, escape, open};
use crate::format;
use crate::variants::{Answer, Experiment, LoadLines, Run, rows};
use crate::view::{View, confidence_sentence, sentence, state_sign, state_word, unbroken};

const BAR: f64 = 120.0;

/// The page; `version` is the program's that made it.
///
/// Every name is escaped, so that a hostile experiment file stays text.
pub(crate) fn experiment(experiment: &Experiment<'_>, version: &str) -> String {
    let lines = LoadLines::of(experiment);
    let answer = Answer::of(experiment, lines.as_ref());
    let mut out = String::new();
    open(
        &mut out,
        &format!("{}: {}", experiment.title, answer.headline),
    );
    masthead(&mut out, experiment);
    out.push_str("<main>");
    put!(
        out,
        "<h1>{}</h1><p class=\"lede\">{}</p><p class=\"t\">{}</p>",
        escape(&answer.headline),
        escape(&answer.findings.join(" ")),
        escape(&answer.caveats.join(" "))
    );
    chips(&mut out, experiment);
    for remark in experiment.remarks() {
        // A variant's name keeps its case.
        put!(out, "<p class=\"note\"><b>!</b> {}.</p>", escape(&remark));
    }
    if let Some(lines) = lines.as_ref().filter(|lines| lines.is_drawable()) {
        chart_variants::section(&mut out, experiment, lines);
        chart_panels::section(&mut out, experiment, lines);
    }
    side_by_side(&mut out, experiment, lines.as_ref());
    chart_shares::failures(&mut out, experiment);
    limits(&mut out, experiment);
    if let Some(comparison) = &experiment.comparison {
        chart_pairs::section(&mut out, &of_primary(comparison));
    }
    chart_shares::cost(&mut out, experiment);
    advice(&mut out, experiment);
    gates(&mut out, experiment);
    runs(&mut out, experiment);
    method(&mut out, experiment);
    close(&mut out, &escape(version));
    out
}

/// The figure that the experiment is decided by; the others stand in the table.
fn of_primary(comparison: &Comparison) -> Comparison {
    let mut shown = comparison.clone();
    shown
        .contrasts
        .retain(|contrast| Some(contrast.figure) == comparison.primary);
    shown
}

fn first_run<'e, 'a>(experiment: &'e Experiment<'a>) -> Option<&'e Run<'a>> {
    experiment.variants.iter().flat_map(|v| &v.runs).next()
}

fn masthead(out: &mut String, experiment: &Experiment<'_>) {
    let runs: usize = experiment.variants.iter().map(|v| v.runs.len()).sum();
    let started = first_run(experiment).map_or(String::new(), |run| {
        let date = format::date(&run.record.header.started_at);
        format!("<span>{}</span>", escape(&date))
    });
    put!(
        out,
        "<header><span><b>plimsoll lab</b></span><span>experiment <b>{}</b></span><span>{}, {}</span>{started}</header>",
        escape(experiment.title),
        escape(&format::plural(
            experiment.variants.len() as u64,
            "variant",
            "variants"
        )),
        escape(&format::plural(runs as u64, "run", "runs"))
    );
}

fn chips(out: &mut String, experiment: &Experiment<'_>) {
    let runs = || experiment.variants.iter().flat_map(|v| &v.runs);
    let (all, valid) = (runs().count(), runs().filter(|run| run.is_valid()).count());
    let (class, text) = if valid == all {
        ("pass", "✓ all runs valid".to_owned())
    } else {
        let runs = format::plural(all as u64, "run", "runs");
        ("fail", format!("✕ {} of {runs} not valid", all - valid))
    };
    put!(
        out,
        "<ul class=\"chips\"><li><span class=\"{class}\">{}</span></li><li>{}</li>",
        escape(&text),
        escape(&experiment.replication())
    );
    if let Some(view) = first_run(experiment).map(|run| View::of(run.record)) {
        if let Some(objective) = view.objective() {
            put!(out, "<li>objective <b>{}</b></li>", escape(&objective));
        }
        if let Some(level) = view.deciding_level() {
            put!(out, "<li>{}</li>", escape(&level.load_words()));
        }
    }
    out.push_str("</ul>");
}

/// Rows that fill the table with what nobody compares; the method has them.
const FOLDED: [&str; 2] = ["confined by", "differs in"];

fn side_by_side(out: &mut String, experiment: &Experiment<'_>, lines: Option<&LoadLines>) {
    put!(
        out,
        "<section><h2>Side by side</h2><p class=\"t\">{}. A failure counts as infinitely late: a percentile beyond the share that succeeded is <b>never</b>.</p><div class=\"scroll\"><table class=\"vt\"><thead><tr><th class=\"l\"></th>",
        escape(&sentence(&experiment.replication())).trim_end_matches('.')
    );
    for variant in &experiment.variants {
        put!(
            out,
            "<th class=\"l\"><b>{}</b><br>{}</th>",
            escape(variant.name),
            escape(variant.about)
        );
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows::all(experiment, lines) {
        if FOLDED.contains(&row.name.as_str()) {
            continue;
        }
        let sub = if row.name.starts_with(' ') { " s" } else { "" };
        let main = if row.name == "goodput" {
            " class=\"line\""
        } else {
            ""
        };
        put!(
            out,
            "<tr{main}><td class=\"l{sub}\">{}</td>",
            escape(row.name.trim())
        );
        for (variant, cell) in experiment.variants.iter().zip(&row.cells) {
            let bar = row
                .name
                .strip_prefix("CPU of ")
                .map_or(String::new(), |tier| {
                    let found = variant.tiers().into_iter().find(|one| one.tier == tier);
                    found
                        .and_then(|tier| tier.busy_ratio())
                        .map_or(String::new(), bar)
                });
            let never = if cell.starts_with("never") {
                " fail"
            } else {
                ""
            };
            put!(
                out,
                "<td class=\"l{sub}{never}\">{bar}{}</td>",
                escape(&unbroken(cell))
            );
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div></section>");
}

fn bar(ratio: f64) -> String {
    let mut svg = Svg::inline(BAR, 10.0);
    let class = if ratio >= 0.9 { "bfull" } else { "bar" };
    svg.rect("bback", 0.0, 0.0, BAR, 10.0);
    svg.rect(class, 0.0, 0.0, ratio.clamp(0.0, 1.0) * BAR, 10.0);
    format!("{}<br>", svg.finish())
}

/// The first limit of each variant with its evidence, and what is expected next.
pub(super) fn limits(out: &mut String, experiment: &Experiment<'_>) {
    out.push_str("<section><h2>What gives way first, and how that is known</h2><div class=\"scroll\"><table class=\"vt\"><thead><tr><th class=\"l\">variant</th><th class=\"l\" style=\"width:20%\">first limit</th><th class=\"l\" style=\"width:30%\">evidence</th><th class=\"l\" style=\"width:40%\">ruled out</th></tr></thead><tbody>");
    for variant in &experiment.variants {
        let Some(said) = variant.first() else {
            put!(
                out,
                "<tr><td class=\"l\"><b>{}</b></td><td class=\"l\">not said</td><td></td><td></td></tr>",
                escape(variant.name)
            );
            continue;
        };
        let known = if said.is_known() {
            let mut limit = said.limit.clone();
            limit.confidence = said.confidence;
            confidence_sentence(&limit)
        } else {
            String::new()
        };
        let agree = if said.of > 1 {
            format!(" ({} of {} runs)", said.runs, said.of)
        } else {
            String::new()
        };
        let process = said.limit.process.as_deref().unwrap_or_default();
        let evidence = said.limit.evidence.iter().map(|line| line.text.as_str());
        put!(
            out,
            "<tr><td class=\"l\"><b>{}</b></td><td class=\"l\"><b>{}</b>{}<br><span class=\"s\">{} {}</span></td><td class=\"l\">{}</td><td class=\"l s\">{}</td></tr>",
            escape(variant.name),
            escape(&said.place()),
            escape(&agree),
            escape(process),
            escape(&known),
            listed(evidence),
            listed(said.limit.ruled_out.iter().map(String::as_str))
        );
    }
    out.push_str("</tbody></table></div></section>");
}

fn listed<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let lines: Vec<String> = texts.map(|text| escape(&unbroken(text))).collect();
    lines.join("<br>")
}

/// What each variant is advised, said once where it is the same.
fn advice(out: &mut String, experiment: &Experiment<'_>) {
    let mut said: Vec<(String, String, Vec<&str>)> = Vec::new();
    for variant in &experiment.variants {
        let first = variant.verdicts().next();
        for advice in first.iter().flat_map(|verdict| &verdict.advice) {
            match said
                .iter_mut()
                .find(|(action, ..)| *action == advice.action)
            {
                Some((.., names)) => names.push(variant.name),
                None => said.push((
                    advice.action.clone(),
                    advice.because.clone(),
                    vec![variant.name],
                )),
            }
        }
    }
    if said.is_empty() {
        return;
    }
    out.push_str("<section><h2>Advice</h2><ol class=\"adv\">");
    for (action, because, names) in said {
        put!(
            out,
            "<li><b>{}</b><span>{} <span class=\"s\">{}</span></span></li>",
            escape(&sentence(&unbroken(&action))),
            escape(&sentence(&unbroken(&because))),
            escape(&format!("From {}.", names.join(", ")))
        );
    }
    out.push_str("</ol></section>");
}

/// A gate that did not pass somewhere.
struct Noticed<'e> {
    gate: &'e Gate,
    /// The variants it concerns.
    names: Vec<&'e str>,
}

/// Gates of all runs by number and state, the passes left out.
fn noticed<'e>(experiment: &'e Experiment<'_>) -> BTreeMap<(u8, &'static str), Noticed<'e>> {
    let mut noticed: BTreeMap<(u8, &'static str), Noticed<'_>> = BTreeMap::new();
    for (name, gate) in all_gates(experiment) {
        if matches!(gate.state, GateState::Pass | GateState::NotApplicable) {
            continue;
        }
        let key = (gate.number, state_word(gate.state));
        let names = Vec::new();
        let known = noticed.entry(key).or_insert(Noticed { gate, names });
        if !known.names.contains(&name) {
            known.names.push(name);
        }
    }
    noticed
}

fn all_gates<'e>(experiment: &'e Experiment<'_>) -> impl Iterator<Item = (&'e str, &'e Gate)> {
    experiment.variants.iter().flat_map(|variant| {
        let verdicts = variant
            .runs
            .iter()
            .filter_map(|run| run.record.verdict.as_ref());
        verdicts
            .flat_map(|verdict| &verdict.gates)
            .map(|gate| (variant.name, gate))
    })
}

/// Every gate that is not a pass, with the variants it concerns; the passes are counted.
fn gates(out: &mut String, experiment: &Experiment<'_>) {
    let passed = all_gates(experiment)
        .filter(|(_, gate)| gate.state == GateState::Pass)
        .count();
    put!(
        out,
        "<section><h2>Gates over all runs: {} passed</h2>",
        format::count(passed as u64)
    );
    let noticed = noticed(experiment);
    if !noticed.is_empty() {
        out.push_str("<div class=\"scroll\"><table class=\"vt\"><thead><tr><th class=\"l\">gate</th><th class=\"l\">result</th><th class=\"l\">in</th><th class=\"l\">what it means here</th></tr></thead><tbody>");
    }
    for Noticed { gate, names } in noticed.values() {
        let class = match gate.state {
            GateState::Fail => "fail",
            GateState::Warning => "warn",
            _ => "off",
        };
        put!(
            out,
            "<tr><td class=\"l\">{} {}</td><td class=\"l\"><span class=\"{class}\">{} {}</span></td><td class=\"l\">{}</td><td class=\"l\">{}</td></tr>",
            gate.number,
            escape(&gate.name),
            state_sign(gate.state),
            state_word(gate.state),
            escape(&names.join(", ")),
            escape(&gate.note)
        );
    }
    if !noticed.is_empty() {
        out.push_str("</tbody></table></div>");
    }
    out.push_str("<p class=\"s\" style=\"margin-top:6px\">Each record’s own report lists all thirteen with the numbers that were compared.</p></section>");
}

fn runs(out: &mut String, experiment: &Experiment<'_>) {
    out.push_str("<section><h2>The runs</h2><div class=\"scroll\"><table class=\"d\"><thead><tr><th class=\"l\">variant</th><th class=\"l\">record</th><th class=\"l\">started</th><th>attempts</th><th>goodput</th><th>throughput</th><th class=\"l\">valid</th></tr></thead><tbody>");
    for variant in &experiment.variants {
        for run in &variant.runs {
            let (class, word) = if run.is_valid() {
                ("pass", "✓ yes")
            } else {
                ("fail", "✕ no")
            };
            let verdict = run.record.verdict.as_ref();
            let figure = |of: &dyn Fn(&plimsoll_core::verdict::Verdict) -> String| {
                escape(&verdict.map_or(format::ABSENT.to_owned(), of))
            };
            put!(
                out,
                "<tr><td class=\"l\">{}</td><td class=\"l\">{}</td><td class=\"l\">{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"l\"><span class=\"{class}\">{word}</span></td></tr>",
                escape(variant.name),
                escape(&run.path),
                escape(&format::date(&run.record.header.started_at)),
                figure(&|f| format::count(f.attempts_count)),
                figure(&|f| format::rate(f.goodput_per_s)),
                figure(&|f| format::rate(f.throughput_per_s))
            );
        }
    }
    out.push_str("</tbody></table></div></section>");
}

fn method(out: &mut String, experiment: &Experiment<'_>) {
    out.push_str("<section><h2>How it was measured</h2><details><summary>Changes, shares, machine and words</summary><dl class=\"facts\">");
    let mut fact = |name: &str, text: &str| {
        put!(out, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(text));
    };
    for variant in &experiment.variants {
        if let Some(base) = variant.base {
            let changes = if variant.changes.is_empty() {
                "nothing".to_owned()
            } else {
                variant.changes.join("; ")
            };
            fact(&format!("{} other than {base}", variant.name), &changes);
        }
        for tier in variant.tiers() {
            let name = format!("{} of {}", tier.tier, variant.name);
            fact(&name, &tier.isolation.join(", "));
        }
        if let Some(predicted) = &variant.predicted {
            fact(&format!("prediction for {}", variant.name), &predicted.why);
        }
    }
    if let Some(run) = first_run(experiment) {
        let header = &run.record.header;
        let machine = &header.machine;
        fact(
            "machine",
            &format!(
                "{}, {}, {}, {}",
                machine.host,
                machine.cpu,
                format::plural(machine.cores_count.into(), "core", "cores"),
                machine.kernel
            ),
        );
        fact(
            "seed of the first repetition",
            &header.plan.seed.to_string(),
        );
    }
    fact("records", &experiment.folder);
    for (word, meaning) in WORDS {
        fact(word, meaning);
    }
    out.push_str("</dl></details></section>");
}

const WORDS: [(&str, &str); 5] = [
    (
        "goodput",
        "attempts per second that were correct and within every bound of the objective",
    ),
    (
        "throughput",
        "answers per second, right or wrong, in time or late",
    ),
    (
        "confirmed",
        "a run that lifted or lowered the limit moved the figures as predicted",
    ),
    (
        "CPU per good answer",
        "processor seconds of all tiers that were watched while the load was on, divided by good answers",
    ),
    (
        "never",
        "a failure counts as infinitely late; the percentile lies among the failures",
    ),
];
