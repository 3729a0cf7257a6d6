//! The page of an experiment: the verdict, all load lines in one picture, the variants side by side, and the proof.

use std::collections::BTreeMap;

use maud::{Markup, html};
use plimsoll_core::comparison::Comparison;
use plimsoll_core::experiment::{Judged, LimitClaim, Run};
use plimsoll_core::verdict::{Gate, GateState, Verdict};

use super::parts::{self, chips, folded, gate_class, note, status, table, table_under};
use super::{bars, chart_admission, chart_pairs, chart_panels, chart_shares, chart_variants};
use crate::format::{self, quoted};
use crate::variants::Shown;
use crate::variants::rows::{Row, RowKind};
use crate::view::{View, confidence_sentence, sentence, state_sign, state_word, unbroken};

/// The page; `version` is the program's that made it.
///
/// Every name is escaped, so that a hostile experiment file stays text.
pub fn experiment(shown: &Shown<'_>, version: &str) -> String {
    let (judged, answer) = (shown.judged, &shown.answer);
    let comparison = judged.experiment.comparison.as_ref();
    let body = html! {
        (parts::headline(&answer.headline))
        p.lede { (answer.findings.join(" ")) }
        p.t { (answer.caveats.join(" ")) }
        (chips(facts(shown)))
        // A variant's name keeps its case.
        @for remark in &shown.remarks { (note(format!("{}.", remark.trim_end_matches('.')))) }
        @for note in &shown.notes { p.t { (note) } }
        (load_lines(judged))
        (chart_admission::of_variants(judged))
        (side_by_side(shown))
        (published(judged))
        (chart_shares::failures(judged))
        (limits(shown))
        @if let Some(comparison) = comparison { (chart_pairs::section(&of_primary(comparison))) }
        (chart_shares::cost(judged))
        (advice(shown))
        (gates(judged))
        (runs(judged))
        (method(shown))
    };
    let title = format!("{}: {}", shown.title, answer.headline);
    super::page(&title, &masthead(judged), &body, version)
}

/// What every variant did under its load, second by second or level by level.
pub(super) fn load_lines(judged: &Judged<'_>) -> Markup {
    let lines = judged.meaning.lines.as_ref();
    html! {
        @if let Some(lines) = lines.filter(|lines| lines.is_drawable()) {
            (chart_variants::section(&judged.experiment, lines))
            (chart_panels::section(judged, lines))
        }
    }
}

/// Somebody else's figures of the same, as the experiment quotes them.
fn published(judged: &Judged<'_>) -> Markup {
    let mut labs = all_runs(judged).filter_map(|(_, run)| run.record.header.lab.as_ref());
    let Some(published) = labs.find_map(|lab| lab.published.as_ref()) else {
        return html! {};
    };
    let headings: Vec<&str> = published.columns.iter().map(String::as_str).collect();
    let rows = html! {
        @for row in &published.rows {
            tr { @for number in row { td { (format::number(*number)) } } }
        }
    };
    html! {
        section {
            h2 { "What was published" }
            p.t { "Figures of " (published.source) ", as they stand there; nothing here was worked out from them. " (published.differs) }
            (table("", &headings, rows))
        }
    }
}

/// The figure that the experiment is decided by; the others stand in the table.
fn of_primary(comparison: &Comparison) -> Comparison {
    let mut shown = comparison.clone();
    shown
        .contrasts
        .retain(|contrast| Some(contrast.figure) == comparison.primary);
    shown
}

/// Every run with the name of its variant.
fn all_runs<'j, 'a>(judged: &'j Judged<'a>) -> impl Iterator<Item = (&'a str, &'j Run<'a>)> {
    let variants = judged.experiment.variants.iter();
    variants.flat_map(|variant| variant.runs.iter().map(|run| (variant.name, run)))
}

fn masthead(judged: &Judged<'_>) -> Markup {
    let variants = judged.experiment.variants.len() as u64;
    let runs = all_runs(judged).count() as u64;
    html! {
        header {
            span { b { "plimsoll lab" } }
            span { "experiment " b { (judged.experiment.title) } }
            span {
                (format::plural(variants, "variant", "variants")) ", " (format::plural(runs, "run", "runs"))
            }
            @if let Some((_, run)) = all_runs(judged).next() {
                span { (format::date(&run.record.header.started_at)) }
            }
        }
    }
}

fn facts(shown: &Shown<'_>) -> Vec<Markup> {
    let judged = shown.judged;
    let all = all_runs(judged).count();
    let valid = all_runs(judged).filter(|(_, run)| run.is_valid()).count();
    let runs = format::plural(all as u64, "run", "runs");
    let mut facts = vec![
        if valid == all {
            status("pass", "✓ all runs valid")
        } else {
            status("fail", format!("✕ {} of {runs} not valid", all - valid))
        },
        html! { (shown.replication) },
    ];
    if let Some((_, run)) = all_runs(judged).next() {
        let view = View::new(run.record);
        let objective = view.objective();
        facts.extend(objective.map(|objective| html! { "objective " b { (objective) } }));
        let level = view.deciding_level();
        facts.extend(level.map(|level| html! { (level.load_words()) }));
    }
    facts
}

fn side_by_side(shown: &Shown<'_>) -> Markup {
    let heads = html! {
        th.l {}
        @for variant in &shown.judged.experiment.variants {
            th.l { b { (variant.name) } br; (variant.about) }
        }
    };
    let rows = shown.rows.iter().filter(|row| !row.kind.is_detail());
    let rows = html! { @for row in rows { (row_of(row)) } };
    html! {
        section {
            h2 { "Side by side" }
            p.t {
                (sentence(&shown.replication))
                " A failure counts as infinitely late: a percentile beyond the share that succeeded is "
                b { "never" } "."
            }
            (table_under("vt", heads, rows))
        }
    }
}

fn row_of(row: &Row) -> Markup {
    let is_part = row.kind.is_part();
    html! {
        tr.line[row.kind == RowKind::Goodput] {
            td.l.s[is_part] { (row.kind.name()) }
            @for cell in &row.cells {
                td.l.s[is_part].fail[cell.is_never] { (bars::share(cell.busy)) (unbroken(&cell.text)) }
            }
        }
    }
}

/// The first limit of each variant with its evidence, and what is expected next.
pub(super) fn limits(shown: &Shown<'_>) -> Markup {
    let heads = html! {
        th.l { "variant" }
        th.l style="width:20%" { "first limit" }
        th.l style="width:30%" { "evidence" }
        th.l style="width:40%" { "ruled out" }
    };
    let rows = html! {
        @for ((variant, meaning), words) in shown.judged.variants().zip(&shown.words) {
            tr {
                td.l { b { (variant.name) } }
                @match (&meaning.limits.first, &words.limit) {
                    (Some(claim), Some(words)) => { (limit(claim, words)) }
                    _ => { td.l { "not said" } td {} td {} }
                }
            }
        }
    };
    html! {
        section {
            h2 { "What gives way first, and how that is known" }
            (table_under("vt", heads, rows))
        }
    }
}

fn limit(claim: &LimitClaim, words: &str) -> Markup {
    let mut limit = claim.limit.clone();
    limit.confidence = claim.confidence;
    let known = limit.cause.is_known().then(|| confidence_sentence(&limit));
    let agree = (claim.of_runs_count > 1)
        .then(|| format!(" ({} of {} runs)", claim.runs_count, claim.of_runs_count));
    html! {
        td.l {
            b { (words) } (agree.unwrap_or_default()) br;
            span.s { (limit.process.as_deref().unwrap_or_default()) " " (known.unwrap_or_default()) }
        }
        td.l { (lines(limit.evidence.iter().map(|line| line.text.as_str()))) }
        td.l.s { (lines(limit.ruled_out.iter().map(String::as_str))) }
    }
}

fn lines<'t>(texts: impl Iterator<Item = &'t str>) -> Markup {
    html! {
        @for (index, text) in texts.enumerate() { @if index > 0 { br; } (unbroken(text)) }
    }
}

/// What each variant is advised, said once where it is the same.
fn advice(shown: &Shown<'_>) -> Markup {
    let mut given: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for (variant, words) in shown.judged.experiment.variants.iter().zip(&shown.words) {
        let first = variant.verdicts().next();
        for advice in first.into_iter().flat_map(|verdict| &verdict.advice) {
            let mut known = given.iter_mut();
            match known.find(|(action, ..)| *action == advice.action) {
                Some((.., names)) => names.push(&words.name),
                None => given.push((&advice.action, &advice.because, vec![&words.name])),
            }
        }
    }
    html! {
        @if !given.is_empty() {
            section {
                h2 { "Advice" }
                ol.adv {
                    @for (action, because, names) in given {
                        li {
                            b { (sentence(&unbroken(action))) }
                            span {
                                (sentence(&unbroken(because))) " "
                                span.s { "From " (names.join(", ")) "." }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn all_gates<'j>(judged: &'j Judged<'_>) -> impl Iterator<Item = (&'j str, &'j Gate)> {
    all_runs(judged).flat_map(|(name, run)| {
        let verdict = run.record.verdict.iter();
        verdict.flat_map(move |verdict| verdict.gates.iter().map(move |gate| (name, gate)))
    })
}

/// Gates of all runs by number and state, each with the variants it concerns; the passes are left out.
fn noticed<'j>(judged: &'j Judged<'_>) -> BTreeMap<(u8, &'static str), (&'j Gate, Vec<&'j str>)> {
    let mut noticed: BTreeMap<_, (&Gate, Vec<&str>)> = BTreeMap::new();
    for (name, gate) in all_gates(judged) {
        if matches!(gate.state, GateState::Pass | GateState::NotApplicable) {
            continue;
        }
        let key = (gate.id.number(), state_word(gate.state));
        let (_, names) = noticed.entry(key).or_insert((gate, Vec::new()));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    noticed
}

/// Every gate that is not a pass, with the variants it concerns; the passes are counted.
fn gates(judged: &Judged<'_>) -> Markup {
    let passed = all_gates(judged).filter(|(_, gate)| gate.state == GateState::Pass);
    let passed = format::count(passed.count() as u64);
    let noticed = noticed(judged);
    let rows = html! {
        @for (gate, names) in noticed.values() {
            tr {
                td.l { (gate.id.number()) " " (gate.name) }
                td.l { (status(
                    gate_class(gate.state),
                    html! { (state_sign(gate.state)) " " (state_word(gate.state)) },
                )) }
                td.l { (names.join(", ")) }
                td.l { (gate.note) }
            }
        }
    };
    let heads = ["<gate", "<result", "<in", "<what it means here"];
    html! {
        section {
            h2 { "Gates over all runs: " (passed) " passed" }
            @if !noticed.is_empty() { (table("vt", &heads, rows)) }
            p.s style="margin-top:6px" {
                "Each record’s own report lists every gate with the numbers that were compared."
            }
        }
    }
}

fn runs(judged: &Judged<'_>) -> Markup {
    let heads = [
        "<variant",
        "<record",
        "<started",
        "attempts",
        "goodput",
        "throughput",
        "<valid",
    ];
    let rows = html! { @for (name, run) in all_runs(judged) { (run_of(name, run)) } };
    html! { section { h2 { "The runs" } (table("d", &heads, rows)) } }
}

fn run_of(name: &str, run: &Run<'_>) -> Markup {
    let verdict = run.record.verdict.as_ref();
    let figure = |of: fn(&Verdict) -> String| verdict.map_or(format::ABSENT.to_owned(), of);
    html! {
        tr {
            td.l { (name) }
            td.l { (run.path) }
            td.l { (format::date(&run.record.header.started_at)) }
            td { (figure(|f| format::count(f.attempts_count))) }
            td { (figure(|f| format::rate(f.goodput_per_s))) }
            td { (figure(|f| format::rate(f.throughput_per_s))) }
            td.l {
                @if run.is_valid() { (status("pass", "✓ yes")) }
                @else { (status("fail", "✕ no")) }
            }
        }
    }
}

fn method(shown: &Shown<'_>) -> Markup {
    let judged = shown.judged;
    let mut facts: Vec<(String, String)> = Vec::new();
    for ((variant, meaning), words) in judged.variants().zip(&shown.words) {
        let name = &words.name;
        facts.extend(variant.base.map(|base| {
            let changes = if variant.changes.is_empty() {
                "nothing".to_owned()
            } else {
                variant.changes.join("; ")
            };
            (format!("{name} other than {}", quoted(base)), changes)
        }));
        facts.extend(meaning.tiers.each.iter().map(|tier| {
            (
                format!("{} of {name}", tier.tier),
                tier.isolation.join(", "),
            )
        }));
        let predicted = variant.predicted.as_ref();
        facts.extend(predicted.map(|it| (format!("prediction for {name}"), it.why.clone())));
    }
    if let Some((_, run)) = all_runs(judged).next() {
        let header = &run.record.header;
        let machine = &header.machine;
        let cores = format::plural(machine.cores_count.into(), "core", "cores");
        facts.push((
            "machine".to_owned(),
            format!(
                "{}, {}, {cores}, {}",
                machine.host, machine.cpu, machine.kernel
            ),
        ));
        let seed = header.test.generator.seed.to_string();
        facts.push(("seed of the first repetition".to_owned(), seed));
    }
    facts.push(("records".to_owned(), judged.experiment.folder.clone()));
    let words = WORDS.map(|(word, meaning)| (word.to_owned(), meaning.to_owned()));
    facts.extend(words);
    html! {
        section {
            h2 { "How it was measured" }
            (folded("Changes, shares, machine and words", parts::facts(facts)))
        }
    }
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
