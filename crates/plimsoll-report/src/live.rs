//! The run while it runs: a frame of text made from the windows so far.

mod page;
pub(crate) mod spark;
mod writer;

pub use page::{end, page};
pub use writer::{LiveWriter, Mode};

use std::collections::{BTreeMap, VecDeque};

use plimsoll_core::health::{Condition, Loop, Meter};
use plimsoll_core::record::{Header, Observation, Seen};
use plimsoll_core::step::{Step, StepLoad};
use plimsoll_core::tally::{Quantile, Tally};
use plimsoll_core::{Nanos, Objectives, Window};

use crate::format;
use crate::format::clean;
use crate::ink::{Ink, Role};
use crate::view::{Lane, load_words, phase_word};

/// Windows kept for the sparklines; wider terminals show no more.
const HISTORY: usize = 60;
const LABEL: usize = 11;

/// What the live view knows. Windows and levels go in; frames come out; no clock, no terminal.
#[derive(Debug, Clone)]
pub struct Live {
    command: &'static str,
    title: String,
    request: String,
    is_script: bool,
    step: Option<Step>,
    /// Time left as told when the level began, and the elapsed time then.
    left: Option<(Nanos, Nanos)>,
    elapsed: Nanos,
    /// The level has no window yet; what is shown below its name is the level before.
    begins: bool,
    last: Option<Window>,
    level_tally: Tally,
    meter: Meter,
    /// The tightest of the objectives.
    bound: Option<Nanos>,
    history: VecDeque<Point>,
    /// Of a script: virtual users at work, and those that exist.
    vus: Option<(u32, u32)>,
    /// Of a script with its own load: iterations that came to their end, and those that were cut off.
    iterations: Option<(u64, u64)>,
    /// Of a script: each threshold and whether it holds so far.
    thresholds: Vec<(String, bool)>,
    /// Cores that each watched tier kept busy in its last second.
    tiers: BTreeMap<String, (Nanos, f64)>,
}

/// One window of the sparklines.
#[derive(Debug, Clone, Copy)]
struct Point {
    goodput_per_s: f64,
    /// `None` for never and for a window without attempts.
    p99: Option<Nanos>,
}

impl Live {
    pub fn new(header: &Header) -> Self {
        let bound = header
            .test
            .objectives()
            .and_then(Objectives::tightest_bound);
        Self {
            command: header.test.command(),
            title: clean(&header.title),
            request: clean(&header.test.what.to_string()),
            is_script: header.test.is_script(),
            step: None,
            left: None,
            elapsed: Nanos::ZERO,
            begins: true,
            last: None,
            level_tally: Tally::default(),
            meter: Meter::new(bound),
            bound,
            history: VecDeque::with_capacity(HISTORY),
            vus: None,
            iterations: None,
            thresholds: Vec::new(),
            tiers: BTreeMap::new(),
        }
    }

    /// How many virtual users a script has at work, and how many exist.
    pub fn vus(&mut self, active: u32, existing: u32) {
        self.vus = Some((active, existing));
    }

    /// How many iterations of a script came to their end, and how many were cut off.
    pub fn iterations(&mut self, complete: u64, interrupted: u64) {
        self.iterations = Some((complete, interrupted));
    }

    /// Each threshold as written, and whether it holds so far.
    pub fn thresholds(&mut self, judged: impl IntoIterator<Item = (String, bool)>) {
        self.thresholds = judged.into_iter().collect();
    }

    /// Something was seen of a tier.
    pub fn observation(&mut self, observation: &Observation) {
        if let Seen::Process(process) = &observation.seen {
            let threads = process.threads.iter().chain([&process.others]);
            let run: f64 = threads.map(|thread| thread.run_ns.as_secs_f64()).sum();
            let length = observation.length_ns.as_secs_f64().max(1e-9);
            let cores = run / length;
            let tier = self.tiers.entry(clean(&observation.tier)).or_default();
            // A tier may be several processes, sampled at the same instant.
            if tier.0 == observation.at_ns {
                tier.1 += cores;
            } else {
                *tier = (observation.at_ns, cores);
            }
        }
    }

    /// A level begins. `time_left` is the time the whole run still needs, where that is known.
    pub fn level(&mut self, step: &Step, time_left: Option<Nanos>) {
        self.step = Some(step.clone());
        self.left = time_left.map(|left| (left, self.elapsed));
        self.begins = true;
    }

    /// A window ended.
    pub fn window(&mut self, window: &Window) {
        if std::mem::take(&mut self.begins) {
            self.level_tally = Tally::default();
            self.meter = Meter::new(self.bound);
        }
        self.elapsed = window.end_ns();
        let tally = window.total();
        let seconds = window.length_ns.as_secs_f64().max(1e-9);
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(Point {
            goodput_per_s: tally.good() as f64 / seconds,
            p99: tally.response_quantile(0.99).and_then(Quantile::finite),
        });
        self.level_tally.merge(&tally);
        self.meter.add(window);
        self.last = Some(window.clone());
    }

    /// Elapsed time as far as windows tell.
    pub fn elapsed(&self) -> Nanos {
        self.elapsed
    }

    pub fn time_left(&self) -> Option<Nanos> {
        self.left
            .map(|(left, since)| left.saturating_sub(self.elapsed.saturating_sub(since)))
    }

    /// A frame for a terminal of `width` columns; no line is longer. Lines end in `\n`.
    pub fn frame(&self, width: usize, colour: bool) -> String {
        let mut lines = vec![self.head(width), self.level_line()];
        if let Some(window) = &self.last {
            lines.push(self.goodput_line(window, width));
            lines.push(self.response_line(width));
            lines.push(in_flight_line(window));
            lines.push(self.outcome_line());
            lines.push(self.generator_line(window));
            lines.extend(self.script_line());
            lines.extend(self.tiers_line());
        } else {
            lines.push(Ink::new(
                Role::Dim,
                format!("{:LABEL$}first window comes after a second", ""),
            ));
        }
        let mut frame = String::new();
        for line in lines {
            frame.push_str(line.line(colour, width).trim_end());
            frame.push('\n');
        }
        frame
    }

    /// The same in one line without colour, for logs.
    pub fn line(&self) -> String {
        let mut parts = vec![self.running()];
        parts.extend(
            self.time_left()
                .map(|left| format!("{} left", format::clock(left))),
        );
        if let (Some(step), None) = (&self.step, self.iterations) {
            parts.push(format!(
                "{} {}",
                phase_word(step.phase),
                load_words(&step.load, self.is_script)
            ));
        }
        if let (Some(window), Some(point)) = (&self.last, self.history.back()) {
            parts.push(format!("goodput {}", format::rate(point.goodput_per_s)));
            parts.push(format!(
                "p50 {}",
                format::quantile(self.level_tally.response_quantile(0.5))
            ));
            parts.push(format!(
                "p99 {}",
                format::quantile(self.level_tally.response_quantile(0.99))
            ));
            parts.push(format!(
                "in flight {}",
                format::number(window.in_flight_mean)
            ));
            parts.push(format!(
                "failed {}",
                format::count(self.level_tally.failures())
            ));
        }
        parts.join("  ").replace(format::NBSP, " ")
    }

    /// The time; of a script as its users know it: `running (05.0s), 10/10 VUs, 42 complete and 0 interrupted iterations`.
    fn running(&self) -> String {
        let (Some((active, existing)), Some(iterations)) = (self.vus, self.iterations) else {
            return format::clock(self.elapsed);
        };
        format!(
            "running ({}), {active}/{existing} VUs, {}",
            clock_of_k6(self.elapsed),
            iteration_words(iterations)
        )
    }

    /// Whether it is a script that plays its own load: lines come as often as those of k6.
    pub(super) const fn is_own_load(&self) -> bool {
        self.iterations.is_some()
    }

    fn head(&self, width: usize) -> Ink {
        let mut clock = format::clock(self.elapsed);
        if let Some(left) = self.time_left() {
            put!(clock, "  {} left", format::clock(left));
        }
        let room = width.saturating_sub(clock.chars().count() + 2);
        let name = format!("plimsoll {}", self.command);
        let place = format!("  {}  {}", self.title, self.request);
        let place: String = place
            .chars()
            .take(room.saturating_sub(name.chars().count()))
            .collect();
        let used = name.chars().count() + place.chars().count();
        let gap = " ".repeat(width.saturating_sub(used + clock.chars().count()));
        Ink::new(Role::Bold, name)
            .and(Role::Plain, place)
            .and(Role::Plain, gap)
            .and(Role::Bold, clock)
    }

    fn level_line(&self) -> Ink {
        let Some(step) = &self.step else {
            return labelled("level").and(Role::Dim, "none yet");
        };
        let ink = labelled(phase_word(step.phase))
            .and(Role::Plain, load_words(&step.load, self.is_script));
        // The lines below stay until the first window, so that the frame keeps its height.
        if self.begins && self.last.is_some() {
            return ink.and(Role::Dim, ", begins; below, the level before");
        }
        ink
    }

    fn goodput_line(&self, window: &Window, width: usize) -> Ink {
        let seconds = window.length_ns.as_secs_f64().max(1e-9);
        let good = self.history.back().map_or(0.0, |point| point.goodput_per_s);
        let offered = format!(
            "of {} offered",
            format::rate(window.due_count as f64 / seconds)
        );
        let values: Vec<Option<f64>> = self.history.iter().map(|p| Some(p.goodput_per_s)).collect();
        labelled("goodput")
            .and(Role::Bold, format!("{:<12}", format::rate(good)))
            .and(Role::Plain, format!("{offered:<22}"))
            .and(
                Role::Good,
                spark::line(&values, width.saturating_sub(LABEL + 34)),
            )
    }

    fn response_line(&self, width: usize) -> Ink {
        let of = |q| format::quantile(self.level_tally.response_quantile(q));
        let values: Vec<Option<f64>> = self
            .history
            .iter()
            .map(|p| p.p99.map(Nanos::as_millis_f64))
            .collect();
        labelled("response")
            .and(Role::Plain, format!("{:<16}", format!("p50 {}", of(0.5))))
            .and(Role::Bold, format!("{:<18}", format!("p99 {}", of(0.99))))
            .and(
                Role::Plain,
                spark::line(&values, width.saturating_sub(LABEL + 34)),
            )
    }

    /// This level by class; late answers are told apart from good ones.
    fn outcome_line(&self) -> Ink {
        let mut ink = labelled("outcomes");
        let mut first = true;
        for lane in Lane::all() {
            let n = lane.count(&self.level_tally);
            if n == 0 && lane != Lane::Good {
                continue;
            }
            let role = match lane {
                Lane::Good => Role::Good,
                Lane::Late => Role::Warn,
                Lane::Class(outcome) if !outcome.is_failure() => Role::Plain,
                Lane::Class(_) => Role::Fail,
            };
            if !first {
                ink = ink.and(Role::Dim, " · ");
            }
            ink = ink.and(role, format!("{} {}", lane.name(), format::count(n)));
            first = false;
        }
        ink
    }

    /// Virtual users and thresholds of a script.
    fn script_line(&self) -> Option<Ink> {
        let (active, existing) = self.vus?;
        let ink = labelled("VUs").and(Role::Plain, format!("{active} of {existing}"));
        let ink = match self.iterations {
            Some(iterations) => ink.and(Role::Plain, format!(" · {}", iteration_words(iterations))),
            None => ink,
        };
        if self.thresholds.is_empty() {
            return Some(ink);
        }
        let broken: Vec<&str> = self
            .thresholds
            .iter()
            .filter(|(_, ok)| !ok)
            .map(|(text, _)| text.as_str())
            .collect();
        let all = self.thresholds.len();
        Some(if broken.is_empty() {
            ink.and(Role::Good, format!(" · all {all} thresholds hold"))
        } else {
            ink.and(Role::Fail, format!(" · broken: {}", broken.join(", ")))
        })
    }

    fn tiers_line(&self) -> Option<Ink> {
        if self.tiers.is_empty() {
            return None;
        }
        let busy = |(name, (_, cores)): (&String, &(Nanos, f64))| {
            format!("{name} {}", format::number(*cores))
        };
        let tiers: Vec<String> = self.tiers.iter().map(busy).collect();
        Some(labelled("tiers").and(Role::Plain, format!("cores busy: {}", tiers.join(" · "))))
    }

    /// How the generator fared in this level, by the judgement that the gate and the search use too,
    /// and why it is behind if it is.
    fn condition(&self) -> (Condition, Option<String>) {
        let closed =
            matches!(&self.step, Some(step) if matches!(step.load, StepLoad::Closed { .. }));
        let model = if closed { Loop::Closed } else { Loop::Open };
        let assessment = self.meter.assess(model);
        let is_off = matches!(assessment.condition, Condition::Breached | Condition::Late);
        let worst = assessment.worst().filter(|_| is_off);
        (assessment.condition, worst.map(ToString::to_string))
    }

    fn generator_line(&self, window: &Window) -> Ink {
        let (condition, why) = self.condition();
        let role = match condition {
            Condition::Clean => Role::Good,
            Condition::GeneratorBound | Condition::Late => Role::Warn,
            Condition::Breached => Role::Fail,
            Condition::Unknown => Role::Dim,
        };
        let mut parts: Vec<String> = why.into_iter().collect();
        if !matches!(condition, Condition::Breached | Condition::Late) {
            let lag = window.health.lag.quantile(0.99);
            parts.extend(lag.map(|lag| format!("lag p99 {}", format::time(lag))));
            parts.extend(
                busiest_worker(window).map(|busy| format!("worker {} busy", format::percent(busy))),
            );
        }
        let open = window.health.connections_open.into();
        parts.push(format::plural(open, "connection", "connections"));
        labelled("generator")
            .and(role, condition_words(condition))
            .and(Role::Plain, format!(" · {}", parts.join(" · ")))
    }
}

fn iteration_words((complete, interrupted): (u64, u64)) -> String {
    format!("{complete} complete and {interrupted} interrupted iterations")
}

/// `05.3s`, `1m05.3s`
fn clock_of_k6(time: Nanos) -> String {
    let tenths = time.0 / 100_000_000;
    let seconds = format!("{:02}.{}s", tenths % 600 / 10, tenths % 10);
    match tenths / 600 {
        0 => seconds,
        minutes => format!("{minutes}m{seconds}"),
    }
}

/// How the generator fares, in words.
const fn condition_words(condition: Condition) -> &'static str {
    match condition {
        Condition::Clean => "clean",
        Condition::GeneratorBound => "its own thread is full",
        Condition::Late => "late",
        Condition::Breached => "behind",
        Condition::Unknown => "unknown",
    }
}

fn labelled(label: &str) -> Ink {
    Ink::new(Role::Dim, format!("{label:LABEL$}"))
}

fn in_flight_line(window: &Window) -> Ink {
    labelled("in flight")
        .and(
            Role::Plain,
            format!("{:<12}", format::number(window.in_flight_mean)),
        )
        .and(
            Role::Dim,
            format!(
                "at most {}, {} at the end",
                format::count(window.in_flight_max),
                format::count(window.in_flight_end)
            ),
        )
}

fn busiest_worker(window: &Window) -> Option<f64> {
    let run = window.health.worker_run_ns.iter().max()?;
    (window.length_ns > Nanos::ZERO).then(|| run.0 as f64 / window.length_ns.0 as f64)
}
