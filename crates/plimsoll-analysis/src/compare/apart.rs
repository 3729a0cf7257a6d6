//! Were the variants played beside each other, or one of them on another day?
//!
//! What a machine, its neighbours and its caches are like changes with the hour. Between runs that were played in turns it cancels;
//! where one variant had its runs before the other had any, its part is in the difference, and no test over the runs can take
//! it out.

use plimsoll_base::calendar::{unix_seconds, written};
use plimsoll_core::comparison::{Design, Effect, Mismatch, Run, Variant};

use super::Question;

/// A pause is long from so many runs on, and never below ten minutes: targets may be deployed between two runs.
const LONG_RUNS: f64 = 10.0;
const LONG_SECONDS: f64 = 600.0;
/// Of so many runs of each, one order in 35 is all of one before all of the other; fewer decide nothing anyway.
const BLOCK: usize = 4;

/// When a run began and ended, in seconds since 1970.
#[derive(Debug, Clone, Copy)]
struct Played {
    start: f64,
    end: f64,
}

impl Played {
    fn of(run: &Run) -> Option<Self> {
        let start = unix_seconds(&run.started_at)?;
        let end = start + run.length_seconds.unwrap_or(0.0);
        Some(Self { start, end })
    }

    fn is_long_before(self, other: Self) -> bool {
        let long = LONG_SECONDS.max(LONG_RUNS * (self.end - self.start));
        other.start - self.end >= long
    }
}

/// `None` where runs were played in turns, or do not say when they began.
pub(super) fn mismatch(variants: &[Variant], asked: &Question) -> Option<Mismatch> {
    let mut all: Vec<Played> = variants
        .iter()
        .flat_map(Variant::usable)
        .map(Played::of)
        .collect::<Option<_>>()?;
    all.sort_by(|a, b| a.start.total_cmp(&b.start));
    let sides = asked.sides(variants);
    let says = sides.iter().find_map(|sides| {
        let one_by_one = || in_pairs(*sides, asked.design, &all);
        in_blocks(*sides).or_else(one_by_one)
    })?;
    Some(Mismatch {
        fact: "time".to_owned(),
        effect: Effect::Confounds,
        values: variants
            .iter()
            .map(|variant| (variant.name.clone(), vec![spell(variant)]))
            .collect(),
        says,
    })
}

/// All of one before all of the other.
fn in_blocks([a, b]: [&Variant; 2]) -> Option<String> {
    let (mut first, mut second) = (a, b);
    let sorted = |variant: &Variant| -> Vec<Played> {
        let mut runs: Vec<Played> = variant.usable().filter_map(Played::of).collect();
        runs.sort_by(|a, b| a.start.total_cmp(&b.start));
        runs
    };
    let (mut early, mut late) = (sorted(a), sorted(b));
    if early.first()?.start > late.first()?.start {
        (early, late) = (late, early);
        (first, second) = (b, a);
    }
    let (last, next) = (early.last()?, late.first()?);
    if last.start >= next.start {
        return None;
    }
    let is_block = early.len() >= BLOCK && late.len() >= BLOCK;
    let is_long = last.is_long_before(*next);
    (is_block || is_long).then(|| {
        let pause = if is_long {
            format!(", {} apart", length(next.start - last.end))
        } else {
            String::new()
        };
        format!(
            "all of ‘{}’ was played before all of ‘{}’{pause}: a difference found may come from what changed meanwhile; played in \
             turns it would not",
            first.name, second.name
        )
    })
}

/// Most pairs with a long pause between their two runs; other runs in between are none.
fn in_pairs([a, b]: [&Variant; 2], design: Design, all: &[Played]) -> Option<String> {
    if design == Design::Unpaired {
        return None;
    }
    let both = a.runs.iter().zip(&b.runs);
    let used = both.filter(|(a, b)| a.excluded.is_none() && b.excluded.is_none());
    let pairs: Vec<[Played; 2]> = used
        .map(|(a, b)| Some([Played::of(a)?, Played::of(b)?]))
        .collect::<Option<_>>()?;
    let is_apart = |[a, b]: &&[Played; 2]| {
        let (from, to) = (a.start.min(b.start), a.start.max(b.start));
        let inside = |run: &&Played| (from..=to).contains(&run.start);
        let inside: Vec<&Played> = all.iter().filter(inside).collect();
        let mut steps = inside.windows(2);
        steps.any(|step| step[0].is_long_before(*step[1]))
    };
    let apart = pairs.iter().filter(is_apart).count();
    (2 * apart > pairs.len()).then(|| {
        format!(
            "in {apart} of {} pairs the two runs were not played one after the other: a difference found may come from what changed \
             meanwhile",
            pairs.len()
        )
    })
}

/// `23 November 2026 10:00 to 24 November 2026 9:30`
fn spell(variant: &Variant) -> String {
    let mut starts: Vec<&str> = variant
        .usable()
        .map(|run| run.started_at.as_str())
        .collect();
    starts.sort_unstable();
    let (Some(first), Some(last)) = (starts.first(), starts.last()) else {
        return String::new();
    };
    match (written(first, ' '), written(last, ' ')) {
        (Some(first), Some(last)) if first == last => format!("{} {}", first.date, first.clock),
        (Some(first), Some(last)) if first.date == last.date => {
            format!("{} {} to {}", first.date, first.clock, last.clock)
        }
        (Some(first), Some(last)) => format!(
            "{} {} to {} {}",
            first.date, first.clock, last.date, last.clock
        ),
        _ => format!("{first} to {last}"),
    }
}

/// `40 min`, `23 h`, `6 days`
fn length(seconds: f64) -> String {
    let minutes = seconds / 60.0;
    if minutes < 120.0 {
        format!("{minutes:.0} min")
    } else if minutes < 48.0 * 60.0 {
        format!("{:.0} h", minutes / 60.0)
    } else {
        format!("{:.0} days", minutes / 1_440.0)
    }
}
