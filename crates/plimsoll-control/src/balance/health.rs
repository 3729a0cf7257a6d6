//! Whether an upstream is used: taken out after failures in a row, or when it fails much more than the others; back after
//! a while that grows, on probation, and slowly at first.

use plimsoll_core::Nanos;

/// Failures in a row that take one out. (Envoy: 5, Linkerd: 7.)
const IN_A_ROW: u32 = 5;
/// How long it is out at first, and at most; twice as long each time.
const OUT_FIRST: Nanos = Nanos::from_secs(1);
const OUT_MOST: Nanos = Nanos::from_secs(60);
/// An upstream that is back is given its share again over this time, from a tenth of it.
const SLOW_START_LEAST: f64 = 0.1;
/// Answers in a window that say something, and how much more of them must be bad than of the others'.
const WINDOW_ANSWERS: u32 = 20;
const WORSE_BY: f64 = 0.3;
/// Checks that must fail in a row.
const CHECKS: u32 = 2;

/// Why one is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Out {
    /// It answered badly, in a row or much more often than others.
    Failing,
    /// Nobody could connect to it.
    Unreachable,
    /// Its check failed.
    Unwell,
}

impl Out {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Unreachable => "unreachable",
            Self::Unwell => "unwell",
        }
    }
}

/// How a request to an upstream ended, as far as its health is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    Good,
    /// An answer that was no success (500, or it said that it has too much): counted when upstreams are compared.
    Poor,
    /// No whole answer, or a gateway's failure (502, 504): counted in a row, too.
    Bad,
    Unreachable,
}

#[derive(Debug, Clone)]
pub struct Health {
    slow_start: Nanos,
    in_a_row: u32,
    /// Why the last failures in a row were ones.
    last: Out,
    /// Out until then.
    out: Option<(Out, Nanos)>,
    /// How long it was out the last time: twice that the next time.
    out_for: Nanos,
    /// Back since; the first failure on probation takes it out again.
    back: Option<Nanos>,
    is_on_probation: bool,
    checks_failed: u32,
    answers: u32,
    bad: u32,
    ejected: u64,
}

impl Health {
    pub fn new(slow_start: Nanos) -> Self {
        Self {
            slow_start,
            in_a_row: 0,
            last: Out::Failing,
            out: None,
            out_for: Nanos::ZERO,
            back: None,
            is_on_probation: false,
            checks_failed: 0,
            answers: 0,
            bad: 0,
            ejected: 0,
        }
    }

    /// How long it takes from now on until one that comes back has its whole share.
    pub fn set_slow_start(&mut self, slow_start: Nanos) {
        self.slow_start = slow_start;
    }

    /// A request to it is over.
    pub fn replied(&mut self, now: Nanos, reply: Reply) {
        self.turn(now);
        self.answers += 1;
        self.bad += u32::from(reply != Reply::Good);
        match reply {
            Reply::Good => {
                self.in_a_row = 0;
                self.is_on_probation = false;
                let was_good_for = self.back.map_or(Nanos::ZERO, |since| now - since);
                if was_good_for > self.out_for {
                    self.out_for = Nanos::ZERO;
                }
            }
            Reply::Poor => {}
            Reply::Bad | Reply::Unreachable => {
                self.in_a_row += 1;
                self.last = if reply == Reply::Bad {
                    Out::Failing
                } else {
                    Out::Unreachable
                };
                if self.in_a_row >= IN_A_ROW || self.is_on_probation {
                    self.eject(now, self.last);
                }
            }
        }
    }

    /// A check of it is over.
    pub fn checked(&mut self, now: Nanos, is_well: bool) {
        self.turn(now);
        self.checks_failed = if is_well { 0 } else { self.checks_failed + 1 };
        if self.checks_failed >= CHECKS {
            if self.out.is_none() {
                self.ejected += 1;
            }
            // Until a check succeeds.
            self.out = Some((Out::Unwell, Nanos::MAX));
        } else if is_well && matches!(self.out, Some((Out::Unwell | Out::Unreachable, _))) {
            self.returns(now);
        }
    }

    /// No longer checked, so that nothing would bring it back.
    pub fn unchecked(&mut self, now: Nanos) {
        self.checks_failed = 0;
        if matches!(self.out, Some((Out::Unwell, _))) {
            self.returns(now);
        }
    }

    fn eject(&mut self, now: Nanos, why: Out) {
        if self.out.is_some() {
            return;
        }
        self.out_for = Nanos(self.out_for.0 * 2).clamp(OUT_FIRST, OUT_MOST);
        self.out = Some((why, now + self.out_for));
        self.ejected += 1;
        self.in_a_row = 0;
        self.is_on_probation = false;
    }

    fn returns(&mut self, now: Nanos) {
        self.out = None;
        self.back = Some(now);
        self.is_on_probation = true;
        self.in_a_row = 0;
    }

    fn turn(&mut self, now: Nanos) {
        if let Some((_, until)) = self.out
            && now >= until
        {
            self.returns(now);
        }
    }

    /// Why it is out now, if it is.
    pub fn out(&mut self, now: Nanos) -> Option<Out> {
        self.turn(now);
        self.out.map(|(why, _)| why)
    }

    /// What it is given of what it can take, 0 to 1: less for a while after it has come back.
    pub fn weight(&self, now: Nanos) -> f64 {
        let Some(since) = self.back else { return 1.0 };
        let share = (now - since).as_secs_f64() / self.slow_start.as_secs_f64().max(1e-9);
        share.clamp(SLOW_START_LEAST, 1.0)
    }

    /// How often it was taken out.
    pub fn ejected(&self) -> u64 {
        self.ejected
    }
}

/// The end of a window for all of a group, every few seconds: one that fails much more often than the others together is
/// taken out.
pub fn compare(now: Nanos, all: &mut [&mut Health]) {
    let answers: u32 = all.iter().map(|one| one.answers).sum();
    let bad: u32 = all.iter().map(|one| one.bad).sum();
    for one in all.iter_mut() {
        let others = answers - one.answers;
        if one.answers >= WINDOW_ANSWERS && others >= WINDOW_ANSWERS {
            let own = f64::from(one.bad) / f64::from(one.answers);
            let of_others = f64::from(bad - one.bad) / f64::from(others);
            if own > of_others + WORSE_BY {
                one.eject(now, Out::Failing);
            }
        }
    }
    for one in all {
        one.answers = 0;
        one.bad = 0;
    }
}
