//! How many attempts tell whether a clause holds.

/// A clause is decided with this many times the attempts of which its budget allows one to be bad, at least.
///
/// The rule of three: if a share p of all attempts is bad, n of them are all fine with a chance of (1 − p)ⁿ ≈ e^(−p·n).
/// With n = 3 ÷ p that is e⁻³ = 5 %: none bad among so many, and p is below the budget with 95 % confidence
/// (Hanley and Lippman-Hand 1983; DESIGN section 7). p99, a budget of 0.01: 300 attempts; 0.1 % of errors: 3,000.
pub(crate) const ATTEMPTS_PER_BUDGET: f64 = 3.0;

/// So many attempts tell a share of bad ones from a budget.
pub fn is_enough(attempts: u64, budget: f64) -> bool {
    attempts as f64 >= ATTEMPTS_PER_BUDGET / budget
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_of_three() {
        assert!(is_enough(300, 0.01) && !is_enough(299, 0.01));
        assert!(is_enough(3_000, 0.001) && !is_enough(2_999, 0.001));
        let all_fine = |share: f64, attempts: f64| (1.0 - share).powf(attempts);
        assert!(all_fine(0.01, 300.0) < 0.05 && all_fine(0.01, 250.0) > 0.05);
    }
}
