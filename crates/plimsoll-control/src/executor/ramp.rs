//! The number of VUs over the stages, as steps of one.

use plimsoll_core::Nanos;
use plimsoll_core::scenario::Stage;

/// On a straight line from a to b over d, the j-th step of one comes at d·j ÷ |b − a|; exact in
/// integers. A stage without duration takes all its steps at once.
#[derive(Debug)]
pub(super) struct Ramp {
    stages: Vec<Stage>,
    /// Stages before it have begun.
    next_stage: usize,
    leg: Option<Leg>,
    count: u32,
    leg_start: Nanos,
}

#[derive(Debug)]
struct Leg {
    duration: Nanos,
    from: u32,
    to: u32,
    /// Steps taken.
    taken: u32,
}

impl Leg {
    fn steps(&self) -> u32 {
        self.from.abs_diff(self.to)
    }

    fn time_of(&self, step: u32) -> Nanos {
        let part = u128::from(self.duration.0) * u128::from(step);
        Nanos((part / u128::from(self.steps().max(1))) as u64)
    }
}

impl Ramp {
    pub(super) fn new(start: Nanos, vus: u32, stages: &[Stage]) -> Self {
        let mut ramp = Self {
            stages: stages.to_vec(),
            next_stage: 0,
            leg: None,
            count: vus,
            leg_start: start,
        };
        ramp.next_leg();
        ramp
    }

    /// Moves on to the next stage that has steps.
    fn next_leg(&mut self) {
        loop {
            if let Some(leg) = self.leg.take() {
                self.leg_start += leg.duration;
            }
            let Some(stage) = self.stages.get(self.next_stage) else {
                return;
            };
            self.next_stage += 1;
            let leg = Leg {
                duration: stage.duration_ns,
                from: self.count,
                to: stage.target as u32,
                taken: 0,
            };
            let has_steps = leg.steps() > 0;
            self.leg = Some(leg);
            if has_steps {
                return;
            }
        }
    }

    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// When the number of VUs changes next.
    pub(super) fn next_step(&self) -> Option<Nanos> {
        let leg = self.leg.as_ref()?;
        Some(self.leg_start + leg.time_of(leg.taken + 1))
    }

    pub(super) fn take_step(&mut self) {
        let Some(leg) = &mut self.leg else { return };
        leg.taken += 1;
        self.count = if leg.to > leg.from {
            self.count + 1
        } else {
            self.count - 1
        };
        if leg.taken == leg.steps() {
            self.next_leg();
        }
    }
}
