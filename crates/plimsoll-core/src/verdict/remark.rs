//! What a search could not decide and why: figures for programs, a sentence for people.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::health::Reading;
use crate::units::three_digits;

/// The size of a load in what the search varies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadSize {
    PerS(f64),
    Vus(f64),
}

/// `412/s`, `64 VUs`
impl fmt::Display for LoadSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PerS(rate) if rate < 5.0 => write!(f, "{rate:.3}/s"),
            Self::PerS(rate) => write!(f, "{rate:.0}/s"),
            Self::Vus(vus) if vus < 1.5 => f.write_str("1 VU"),
            Self::Vus(vus) => write!(f, "{vus:.0} VUs"),
        }
    }
}

/// Why the recovery probe was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotProbed {
    /// The highest rate allowed is no overload.
    NoOverload,
    NoTime,
    /// The target was not normal before the pulse.
    NotNormal,
}

/// What kept a search from offering more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CeilingKind {
    MaxRate,
    Generator,
    MaxVus,
}

/// One thing that the search wants known; its figures are fields, its words are [`fmt::Display`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum SearchRemark {
    /// The backlog of `after` was not worked off at `at`: the search ended.
    DidNotComeBack {
        after: LoadSize,
        seconds: f64,
        at: LoadSize,
    },
    GeneratorTooWeak {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<LoadSize>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reading: Option<Reading>,
    },
    WarmUpFailed {
        failures_count: u64,
    },
    /// The closed loop filled a thread of the generator.
    AnchorGeneratorBound,
    AnchorFailed,
    /// The time ran out while the bounds were this far apart.
    BoundsApart {
        ratio: f64,
    },
    /// Where the limit lies no load was played for long enough, or what was played there breaks the objective together, or
    /// something else speaks against it: a failure at less, a queue that grew.
    NothingHeld {
        /// What the limit is probably near.
        at: LoadSize,
        /// From just below it to a little above.
        seconds: f64,
        /// What was bad there, as a multiple of what the objective allows.
        budgets_ratio: f64,
        /// A rate is played for so long before it is claimed.
        least_seconds: f64,
    },
    RecoveryNotProbed {
        because: NotProbed,
    },
    DidNotRecover,
    SlowRecovery {
        seconds: f64,
        expected_seconds: f64,
    },
    /// The first level, repeated at the end, was slower (above zero) or faster by this share.
    Drifted {
        ratio: f64,
    },
    /// The closed loop of the beginning, played again at the end, served less by this share.
    SlowsDown {
        ratio: f64,
        over_seconds: f64,
    },
    /// After an overload nothing came in time at a low load, for much longer than the backlog explains.
    StaysOverloaded {
        after: LoadSize,
        at: LoadSize,
        seconds: f64,
        expected_seconds: f64,
    },
    /// The same closed loop, played several times, was served faster at one time than at another.
    PaceVaries {
        least_per_s: f64,
        most_per_s: f64,
        over_seconds: f64,
        /// By so little that a rate is held; it was put lower by this share. Absent: nothing is held for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lower_ratio: Option<f64>,
    },
    NoTimeForSoak {
        seconds: f64,
    },
    FailsEvenAt {
        at: LoadSize,
    },
    /// What is bad at low load is as bad at high load: no rate meets the objective.
    NoLoadMeets {
        clause: String,
        bad_ratio: f64,
        lowest: LoadSize,
        highest: LoadSize,
    },
    /// Levels contradict each other unless the target changed in between: it scaled, slowed down or warmed up.
    Changed {
        /// Since the search began.
        at_seconds: f64,
        /// What it probably carried until then, and carries now.
        before: LoadSize,
        now: LoadSize,
    },
    /// The target was slow for a while although the load was carried before or after.
    SlowSpells {
        count: u32,
        longest_seconds: f64,
        /// Since the search began.
        first_at_seconds: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        apart_seconds: Option<f64>,
        /// Such spells use up the objective's budget unless they are rarer than this.
        rarer_than_seconds: f64,
        watched_seconds: f64,
        /// The rate that holds outside of them, where it does not hold through them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outside: Option<LoadSize>,
    },
    /// How long the claim was watched: what comes more rarely was not seen.
    Watched {
        at: LoadSize,
        seconds: f64,
        /// From the first to the last of them.
        over_seconds: f64,
        is_enough: bool,
    },
    SetByStalls {
        interval_seconds: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lower: Option<LoadSize>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        upper: Option<LoadSize>,
        soak_intervals: f64,
    },
    AtLeast {
        held: LoadSize,
        limited_by: CeilingKind,
    },
    /// Rates are of requests, of which an iteration of the script sends so many.
    Iterations {
        requests_mean: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capacity_per_s: Option<f64>,
    },
    /// A sentence of another version.
    #[serde(skip)]
    Other(String),
}

impl fmt::Display for SearchRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DidNotComeBack { after, seconds, at } => write!(
                f,
                "after {after} the target did not recover within {seconds:.0} s at {at}, so the search ended there"
            ),
            Self::GeneratorTooWeak { at, reading } => {
                f.write_str("the generator could not sustain the load")?;
                at.iter().try_for_each(|at| write!(f, " at {at}"))?;
                f.write_str(", not even when the level was repeated: ")?;
                reading.iter().try_for_each(|reading| reading.fmt(f))
            }
            Self::WarmUpFailed { failures_count } => write!(
                f,
                "no attempt succeeded during the warm-up and {failures_count} failed: check the target first"
            ),
            Self::AnchorGeneratorBound => f.write_str(
                "in the closed loop a thread of the generator was the limit: the target may carry more than was measured there",
            ),
            Self::AnchorFailed => f.write_str("no attempt succeeded in the closed loop with which the search begins"),
            Self::BoundsApart { ratio } => write!(
                f,
                "the time was used up while the bounds were {:.0} % apart: allow more with --within",
                ratio * 100.0
            ),
            Self::NothingHeld { .. } => self.fmt_nothing_held(f),
            Self::NoTimeForSoak { seconds } => {
                write!(f, "no time was left for a soak of {seconds:.0} s")
            }
            Self::FailsEvenAt { at } => write!(f, "the objectives fail even at {at}"),
            Self::Other(text) => f.write_str(text),
            Self::Changed {
                at_seconds,
                before,
                now,
            } => write!(
                f,
                "the target changed at about {}: until then it carried about {before}, since then {now}; search again when it stands still",
                clock_time(*at_seconds)
            ),
            Self::NoLoadMeets { .. }
            | Self::SlowSpells { .. }
            | Self::Watched { .. } => self.fmt_seen(f),
            Self::Drifted { .. }
            | Self::SlowsDown { .. }
            | Self::PaceVaries { .. }
            | Self::StaysOverloaded { .. } => self.fmt_speed(f),
            of_the_end => of_the_end.fmt_end(f),
        }
    }
}

impl SearchRemark {
    pub(crate) fn is_hopeless(&self) -> bool {
        matches!(self, Self::NoLoadMeets { .. } | Self::FailsEvenAt { .. })
    }

    /// Recovery, and what qualifies the capacity.
    fn fmt_end(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RecoveryNotProbed { because } => write!(
                f,
                "recovery was not probed: {}",
                match because {
                    NotProbed::NoOverload =>
                        "the highest rate allowed does not overload the target",
                    NotProbed::NoTime => "no time was left",
                    NotProbed::NotNormal =>
                        "the target was not back to normal when it should begin",
                }
            ),
            Self::DidNotRecover => f.write_str(
                "the target did not recover while it was watched, although the load was low again",
            ),
            Self::SlowRecovery {
                seconds,
                expected_seconds,
            } => write!(
                f,
                "recovery took {seconds:.0} s, of which the backlog explains only {expected_seconds:.1} s"
            ),
            Self::SetByStalls { .. } => self.fmt_stalls(f),
            Self::AtLeast { held, limited_by } => {
                let (reason, fix) = match limited_by {
                    CeilingKind::MaxRate => ("the highest rate allowed", "allow a higher one"),
                    CeilingKind::Generator => ("the generator", "use more cores or agents"),
                    CeilingKind::MaxVus => ("the most virtual users allowed", "allow more with -c"),
                };
                write!(
                    f,
                    "the target carries at least {held}; {reason} kept the search from offering more: {fix} to find the limit"
                )
            }
            Self::Iterations {
                requests_mean,
                capacity_per_s,
            } => {
                write!(
                    f,
                    "rates count requests, and an iteration of the script sends {requests_mean:.2} of them"
                )?;
                capacity_per_s.iter().try_for_each(|rate| {
                    let iterations = rate / requests_mean;
                    write!(
                        f,
                        ", so {rate:.0}/s are {iterations:.1} iterations per second"
                    )
                })
            }
            _ => Ok(()),
        }
    }

    fn fmt_nothing_held(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::NothingHeld {
            at,
            seconds,
            budgets_ratio,
            least_seconds,
        } = self
        else {
            return Ok(());
        };
        let (seconds, least) = (seconds.floor(), least_seconds.ceil());
        if seconds < 1.0 {
            return write!(
                f,
                "no load is held: the limit is probably near {at}, and nothing was played there: allow more with --within"
            );
        }
        write!(
            f,
            "no load is held: the {seconds:.0} s that were played near {at} "
        )?;
        if *budgets_ratio > 1.0 {
            write!(
                f,
                "have {} times as many bad attempts as the objective allows, and no load a little below met it for {least:.0} s",
                three_digits(*budgets_ratio)
            )?;
        } else if seconds < least {
            write!(
                f,
                "meet the objective, but a load must do so for {least:.0} s"
            )?;
        } else {
            f.write_str("meet the objective, but a lower load broke it, or the queue grew")?;
        }
        f.write_str(": allow more with --within")
    }

    /// The target was not as fast all the time.
    fn fmt_speed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drifted { ratio } => write!(
                f,
                "the first level, repeated at the end, was {:.0} % {}: the target changed meanwhile",
                ratio.abs() * 100.0,
                if *ratio > 0.0 { "slower" } else { "faster" }
            ),
            Self::SlowsDown {
                ratio,
                over_seconds,
            } => write!(
                f,
                "the target slows down: {} after the closed loop of the beginning the same one got {:.0} % less, so this rate was carried only meanwhile; search again with more time in --within",
                clock_time(*over_seconds),
                ratio * 100.0
            ),
            Self::StaysOverloaded {
                after,
                at,
                seconds,
                expected_seconds,
            } => write!(
                f,
                "after {after} nothing was answered in time at {at} for {seconds:.0} s, of which the backlog explains {expected_seconds:.0} s: the target stays overloaded by itself (retries, work that grows with the queue) or was slow just then, so near its limit a load holds only until something tips it over"
            ),
            Self::PaceVaries {
                least_per_s,
                most_per_s,
                over_seconds,
                lower_ratio,
            } => {
                write!(
                    f,
                    "the target's own speed varies: within {over_seconds:.0} s the same closed loop was served at {} at one time and at {} at another",
                    LoadSize::PerS(*least_per_s),
                    LoadSize::PerS(*most_per_s)
                )?;
                match lower_ratio {
                    Some(ratio) => write!(
                        f,
                        "; for this the rate is put {:.1} % lower than what was held, and it holds as long as the target gets no slower than it was seen",
                        ratio * 100.0
                    ),
                    None => f.write_str(
                        "; that is so much that what it carried meanwhile it may not carry later, so nothing is held: search longer with --within",
                    ),
                }
            }
            _ => Ok(()),
        }
    }

    /// What was seen that no load explains, and how long was looked.
    fn fmt_seen(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLoadMeets {
                clause,
                bad_ratio,
                lowest,
                highest,
            } => write!(
                f,
                "no load meets {clause}: {} % of the attempts break it at {lowest} as at {highest}",
                three_digits(bad_ratio * 100.0)
            ),
            Self::SlowSpells {
                count,
                longest_seconds,
                first_at_seconds,
                apart_seconds,
                rarer_than_seconds,
                watched_seconds,
                outside,
            } => {
                let at = clock_time(*first_at_seconds);
                if *count == 1 {
                    write!(
                        f,
                        "the target was slow for {longest_seconds:.0} s at {at}, and the load was not the reason"
                    )?;
                } else {
                    write!(
                        f,
                        "the target was slow {count} times, for {longest_seconds:.0} s at most and first at {at}, and the load was not the reason"
                    )?;
                }
                apart_seconds.iter().try_for_each(|seconds| {
                    write!(f, "; the spells were about {seconds:.0} s apart")
                })?;
                match outside {
                    Some(rate) => write!(
                        f,
                        "; {rate} holds outside of them, and through them only if they come less often than every {rarer_than_seconds:.0} s"
                    ),
                    None => write!(
                        f,
                        "; the objective holds as long as they come less often than every {rarer_than_seconds:.0} s"
                    ),
                }?;
                write!(f, " ({watched_seconds:.0} s were watched)")
            }
            Self::Watched {
                at,
                seconds,
                over_seconds,
                is_enough,
            } => {
                write!(
                    f,
                    "{at} was watched for {seconds:.0} s within {over_seconds:.0} s: slow spells that come more rarely, burst credits that last longer and leaks that show later were not excluded: run this load for half an hour to see whether there are any"
                )?;
                if *is_enough {
                    Ok(())
                } else {
                    f.write_str("; that was too few attempts to be sure of the objective")
                }
            }
            _ => Ok(()),
        }
    }

    fn fmt_stalls(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::SetByStalls {
            interval_seconds,
            lower,
            upper,
            soak_intervals,
        } = self
        else {
            return Ok(());
        };
        write!(
            f,
            "rare stalls, about one every {interval_seconds:.0} s, set the limit; "
        )?;
        if let (Some(LoadSize::PerS(lower) | LoadSize::Vus(lower)), Some(upper)) = (lower, upper) {
            write!(f, "it lies between {lower:.0} and {upper}; ")?;
        }
        write!(
            f,
            "a soak of at least {soak_intervals:.0} times that interval ({:.0} min) would say where",
            (interval_seconds * soak_intervals / 60.0).ceil()
        )
    }
}

/// `2:26`
fn clock_time(seconds: f64) -> String {
    let seconds = seconds as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// Remarks in a record: each with its sentence beside its figures. Versions before wrote the sentence alone.
pub(super) mod written {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::SearchRemark;

    #[derive(Serialize)]
    #[serde(untagged)]
    enum Write<'a> {
        Sentence(&'a str),
        Typed {
            #[serde(flatten)]
            figures: &'a SearchRemark,
            text: String,
        },
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Read {
        Sentence(String),
        Typed(SearchRemark),
        /// Of a later version: its sentence is all that can be said.
        Newer {
            text: String,
        },
    }

    pub(in super::super) fn serialize<S: Serializer>(
        remarks: &[SearchRemark],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(remarks.iter().map(|remark| match remark {
            SearchRemark::Other(text) => Write::Sentence(text),
            figures => Write::Typed {
                figures,
                text: figures.to_string(),
            },
        }))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<SearchRemark>, D::Error> {
        let read = Vec::<Read>::deserialize(deserializer)?;
        let remarks = read.into_iter().map(|read| match read {
            Read::Typed(remark) => remark,
            Read::Sentence(text) | Read::Newer { text } => SearchRemark::Other(text),
        });
        Ok(remarks.collect())
    }
}

#[cfg(test)]
mod tests;
