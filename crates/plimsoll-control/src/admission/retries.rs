//! A budget for retries: a share of what is let through, so that they cannot become most of it.

/// Retries that may come at once, however little was let through before.
const BURST: f64 = 10.0;

#[derive(Debug, Clone)]
pub struct RetryBudget {
    ratio: f64,
    credit: f64,
}

impl RetryBudget {
    /// `ratio` of the requests may be retries.
    pub fn new(ratio: f64) -> Self {
        Self {
            ratio,
            credit: BURST,
        }
    }

    /// Another share from now on; what was earned and spent stays.
    pub fn set_ratio(&mut self, ratio: f64) {
        self.ratio = ratio;
        self.credit = self.credit.min(self.most());
    }

    fn most(&self) -> f64 {
        BURST.max(self.ratio * 100.0)
    }

    /// A first attempt was let through.
    pub fn earn(&mut self) {
        self.credit = (self.credit + self.ratio).min(self.most());
    }

    /// True if one more retry is within the budget.
    pub fn spend(&mut self) -> bool {
        let granted = self.credit >= 1.0;
        if granted {
            self.credit -= 1.0;
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_share_gives_nothing_back_that_was_spent() {
        let mut budget = RetryBudget::new(0.1);
        while budget.spend() {}
        budget.set_ratio(0.5);
        assert!(!budget.spend());
        budget.earn();
        budget.earn();
        assert!(budget.spend() && !budget.spend());
    }

    #[test]
    fn retries_stay_within_their_share() {
        let mut budget = RetryBudget::new(0.2);
        let mut granted = 0;
        for _ in 0..1000 {
            budget.earn();
            granted += u32::from(budget.spend()) + u32::from(budget.spend());
        }
        assert!((200..=211).contains(&granted), "{granted}");
    }
}
