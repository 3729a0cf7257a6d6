//! Targets that mislead a search for a moment: an answer that happens to be late, a script that sends less than it did.

use super::*;

/// Virtual users who get an answer a second each, in 10 ms for up to `most` of them, in a second beyond.
struct Users {
    most: u32,
    /// One answer of the first level of one user is late.
    is_unlucky: bool,
    windows: u64,
}

impl Users {
    fn window(&mut self, step: &Step, index: u32) -> Window {
        /// A second of the first level that is judged.
        const JUDGED: u32 = 4;
        let StepLoad::Closed { in_flight: users } = step.load else {
            panic!("virtual users are a closed load");
        };
        let is_first = step.phase == Phase::Bracket && users == 1 && index == JUDGED;
        let is_late = users > self.most || is_first && std::mem::take(&mut self.is_unlucky);
        let time = Nanos::from_millis(if is_late { 1_000 } else { 10 });
        let mut tally = Tally::default();
        for _ in 0..users {
            let bounds = [Nanos::from_millis(100)];
            tally.record(Outcome::Ok, time, Some(time), 100, &bounds);
        }
        self.windows += 1;
        Window {
            level: step.level,
            start_ns: Nanos::from_secs(self.windows),
            length_ns: Nanos::from_secs(1),
            due_count: u64::from(users),
            sent_count: u64::from(users),
            in_flight_mean: f64::from(users) * time.as_secs_f64(),
            in_flight_end: 0,
            operations: vec![tally],
            ..Window::default()
        }
    }
}

impl StepRunner for Users {
    fn play(&mut self, step: &Step, judge: &mut dyn FnMut(&Window) -> Go) -> Result<(), StepError> {
        for index in 0..step.windows_max {
            if judge(&self.window(step, index)) == Go::Stop {
                break;
            }
        }
        Ok(())
    }
}

#[test]
fn one_late_answer_of_five_is_no_objective_that_fails() {
    for most in [1, 64] {
        let mut target = Users {
            most,
            is_unlucky: true,
            windows: 0,
        };
        let config = Config {
            over: Over::Vus {
                iteration: Nanos::from_secs(1),
            },
            ..config()
        };
        let mut search = Search::new(config).unwrap();
        let found = drive(&mut search, &mut target, &mut Log::default()).unwrap();
        assert!(!target.is_unlucky, "it was late");
        assert!(!found.is_hopeless(), "{:?}", found.remarks);
        let capacity = found.capacity_vus.unwrap().estimate;
        let wanted = f64::from(most);
        assert!(
            (0.9 * wanted..=1.05 * wanted).contains(&capacity),
            "{found:?}"
        );
    }
}

/// Its closed loop made ten requests of nine iterations, its levels make nine.
#[test]
fn a_rate_that_did_not_arrive_is_not_claimed() {
    let mut target = Ideal {
        arriving: 0.9,
        ..Ideal::new(640.0)
    };
    let (found, log) = played(config(), &mut target);
    let lower = found.capacity_per_s.unwrap().lower.unwrap();
    assert!((0.95 * 640.0..=1.005 * 640.0).contains(&lower), "{lower}");
    assert!(
        log.rate_max() > 1.05 * 640.0,
        "what was asked: {}",
        log.rate_max()
    );
}

/// From a second on rates above `carried` are late; closed loops are served `full`.
struct Later {
    target: Ideal,
    from: u64,
    carried: f64,
    full: f64,
}

impl StepRunner for Later {
    fn play(&mut self, step: &Step, judge: &mut dyn FnMut(&Window) -> Go) -> Result<(), StepError> {
        if self.target.windows >= self.from {
            self.target.capacity = match step.load {
                StepLoad::Open { .. } => self.carried,
                StepLoad::Closed { .. } => self.full,
            };
        }
        self.target.play(step, judge)
    }
}

/// Levels that contradict those before them are a change of the target where closed loops are slower since, and bad luck where
/// they are served as before.
#[test]
fn a_closed_loop_that_is_served_as_before_says_that_nothing_changed() {
    for (full, changes) in [(450.0, true), (640.0, false)] {
        let mut target = Later {
            target: Ideal::new(640.0),
            from: 120,
            carried: 450.0,
            full,
        };
        let mut search = Search::new(config()).unwrap();
        let found = drive(&mut search, &mut target, &mut Log::default()).unwrap();
        let is_change = |remark: &SearchRemark| matches!(remark, SearchRemark::Changed { .. });
        let said = found.remarks.iter().any(is_change);
        assert_eq!(said, changes, "{full}/s: {:?}", found.remarks);
        let held = found.capacity_per_s.unwrap().lower;
        let is_carried = held.is_none_or(|held| held < 1.005 * target.carried);
        assert!(is_carried, "{full}/s: {held:?}");
    }
}
