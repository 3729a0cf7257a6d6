//! The sentences of a search's remarks, for people: what was seen, and what to do.

use std::fmt;

use super::{CeilingKind, LoadSize, NotProbed, SearchRemark};
use crate::units::three_digits;

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
