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

    /// A first attempt was let through.
    pub fn earn(&mut self) {
        self.credit = (self.credit + self.ratio).min(BURST.max(self.ratio * 100.0));
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
