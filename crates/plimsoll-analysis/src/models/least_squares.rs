//! Least squares with a few parameters between bounds: the method of Levenberg and Marquardt, from several starts.

/// Steps of one start; a smooth curve of three parameters takes about twenty.
const STEPS_MAX: usize = 100;
/// Damping at the start, and where no step helps any more.
const DAMPING_START: f64 = 1e-3;
const DAMPING_MAX: f64 = 1e14;
/// A step that changes no parameter by more than this share of it ends the search.
const STEP_LEAST: f64 = 1e-12;
/// Of a parameter, for its difference quotient; and its least, for one that is zero.
const NUDGE: f64 = 1e-6;
const NUDGE_LEAST: f64 = 1e-10;

/// What is fitted: measured values with their weights, and where each parameter may lie.
pub(super) struct Problem<'a, const K: usize, F: Fn(&[f64; K]) -> Vec<f64>> {
    pub(super) values: &'a [f64],
    /// Of the squares of residuals.
    pub(super) weights: &'a [f64],
    /// Gives a value for each of `values`.
    pub(super) model: F,
    pub(super) bounds: [(f64, f64); K],
}

/// The best point that any start led to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Solution<const K: usize> {
    pub(super) at: [f64; K],
    /// Weighted squares of residuals.
    pub(super) squares: f64,
    /// Standard errors from the curvature there; none of a parameter on its bound, nor where nothing is left to judge by.
    pub(super) errors: [Option<f64>; K],
}

/// The matrix `JᵀWJ` and the vector `JᵀW(y − f)` of one point.
struct Slopes<const K: usize> {
    curvature: [[f64; K]; K],
    gradient: [f64; K],
}

impl<const K: usize, F: Fn(&[f64; K]) -> Vec<f64>> Problem<'_, K, F> {
    /// `None` if no start gives a finite sum.
    pub(super) fn solve(&self, starts: &[[f64; K]]) -> Option<Solution<K>> {
        let found = starts.iter().filter_map(|start| self.descend(*start));
        let (at, squares) = found.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Solution {
            at,
            squares,
            errors: self.errors(&at, squares),
        })
    }

    fn residuals(&self, at: &[f64; K]) -> Vec<f64> {
        let predicted = (self.model)(at);
        let pairs = self.values.iter().zip(predicted);
        pairs.map(|(value, predicted)| value - predicted).collect()
    }

    fn squares(&self, at: &[f64; K]) -> f64 {
        let residuals = self.residuals(at);
        let weighted = residuals.iter().zip(self.weights);
        weighted.map(|(r, weight)| weight * r * r).sum()
    }

    fn descend(&self, start: [f64; K]) -> Option<([f64; K], f64)> {
        let mut at = self.clamped(start);
        let mut squares = self.squares(&at);
        if !squares.is_finite() {
            return None;
        }
        let mut damping = DAMPING_START;
        for _ in 0..STEPS_MAX {
            let slopes = self.slopes(&at);
            let free = self.free(&at, &slopes.gradient);
            let moved = loop {
                let step = damped(&slopes, free, damping)?;
                let mut next = at;
                for index in 0..K {
                    next[index] += step[index];
                }
                let next = self.clamped(next);
                let then = self.squares(&next);
                if then < squares {
                    damping = (damping / 10.0).max(1.0 / DAMPING_MAX);
                    let moved = largest_change(&at, &next);
                    (at, squares) = (next, then);
                    break moved;
                }
                damping *= 10.0;
                if damping > DAMPING_MAX {
                    break 0.0;
                }
            };
            if moved < STEP_LEAST {
                break;
            }
        }
        Some((at, squares))
    }

    fn clamped(&self, mut at: [f64; K]) -> [f64; K] {
        for (value, (low, high)) in at.iter_mut().zip(self.bounds) {
            *value = value.clamp(low, high);
        }
        at
    }

    /// Parameters that may move: not those on a bound that the sum pushes against.
    fn free(&self, at: &[f64; K], gradient: &[f64; K]) -> [bool; K] {
        let mut free = [true; K];
        for index in 0..K {
            let (low, high) = self.bounds[index];
            let pushed_down = at[index] <= low && gradient[index] < 0.0;
            let pushed_up = at[index] >= high && gradient[index] > 0.0;
            free[index] = !(pushed_down || pushed_up);
        }
        free
    }

    fn slopes(&self, at: &[f64; K]) -> Slopes<K> {
        let residuals = self.residuals(at);
        let mut columns: Vec<Vec<f64>> = Vec::with_capacity(K);
        for index in 0..K {
            let nudge = (at[index].abs() * NUDGE).max(NUDGE_LEAST);
            let (mut above, mut below) = (*at, *at);
            above[index] += nudge;
            below[index] -= nudge;
            let (above, below) = ((self.model)(&above), (self.model)(&below));
            let both = above.iter().zip(&below);
            columns.push(both.map(|(a, b)| (a - b) / (2.0 * nudge)).collect());
        }
        let sum = |a: &[f64], b: &[f64]| -> f64 {
            let each = a.iter().zip(b).zip(self.weights);
            each.map(|((a, b), weight)| weight * a * b).sum()
        };
        let mut slopes = Slopes {
            curvature: [[0.0; K]; K],
            gradient: [0.0; K],
        };
        for row in 0..K {
            slopes.gradient[row] = sum(&columns[row], &residuals);
            for column in 0..K {
                slopes.curvature[row][column] = sum(&columns[row], &columns[column]);
            }
        }
        slopes
    }

    /// √(s² · (JᵀWJ)⁻¹ᵢᵢ) with s² over n − K.
    fn errors(&self, at: &[f64; K], squares: f64) -> [Option<f64>; K] {
        let mut errors = [None; K];
        let left = self.values.len().saturating_sub(K);
        let slopes = self.slopes(at);
        let is_inside = |index: usize| {
            let (low, high) = self.bounds[index];
            at[index] > low && at[index] < high
        };
        if left == 0 {
            return errors;
        }
        let variance = squares / left as f64;
        let mut free = [true; K];
        for (index, free) in free.iter_mut().enumerate() {
            *free = is_inside(index);
        }
        let curvature = reduced(slopes.curvature, free);
        for (index, error) in errors.iter_mut().enumerate().filter(|(i, _)| free[*i]) {
            let mut unit = [0.0; K];
            unit[index] = 1.0;
            let column = solved(curvature, unit);
            *error = column.map(|column| (variance * column[index].max(0.0)).sqrt());
        }
        errors
    }
}

/// The step of this damping; parameters that are not free stay.
fn damped<const K: usize>(slopes: &Slopes<K>, free: [bool; K], damping: f64) -> Option<[f64; K]> {
    let (mut matrix, mut right) = (slopes.curvature, slopes.gradient);
    for row in 0..K {
        matrix[row][row] = matrix[row][row] * (1.0 + damping) + f64::MIN_POSITIVE;
        if !free[row] {
            right[row] = 0.0;
        }
    }
    solved(reduced(matrix, free), right)
}

/// Without the rows and columns of what is not free.
fn reduced<const K: usize>(mut matrix: [[f64; K]; K], free: [bool; K]) -> [[f64; K]; K] {
    for row in 0..K {
        for column in 0..K {
            if !(free[row] && free[column]) {
                matrix[row][column] = if row == column { 1.0 } else { 0.0 };
            }
        }
    }
    matrix
}

fn largest_change<const K: usize>(from: &[f64; K], to: &[f64; K]) -> f64 {
    let each = from.iter().zip(to);
    let change = |(a, b): (&f64, &f64)| (a - b).abs() / a.abs().max(b.abs()).max(NUDGE_LEAST);
    each.map(change).fold(0.0, f64::max)
}

/// Gaussian elimination with the largest pivot of each column; `None` where the rows depend on each other.
fn solved<const K: usize>(mut matrix: [[f64; K]; K], mut right: [f64; K]) -> Option<[f64; K]> {
    for column in 0..K {
        let pivot = (column..K).max_by(|a, b| {
            let size = |row: &usize| matrix[*row][column].abs();
            size(a).total_cmp(&size(b))
        })?;
        if matrix[pivot][column] == 0.0 || matrix[pivot][column].is_nan() {
            return None;
        }
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in column + 1..K {
            let factor = matrix[row][column] / matrix[column][column];
            let above = matrix[column];
            for (value, above) in matrix[row].iter_mut().zip(above).skip(column) {
                *value -= factor * above;
            }
            right[row] -= factor * right[column];
        }
    }
    for row in (0..K).rev() {
        let known: f64 = (row + 1..K).map(|c| matrix[row][c] * right[c]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right.iter().all(|value| value.is_finite()).then_some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_with_its_errors_and_a_bound_holds() {
        let line = |at: &[f64; 2]| vec![at[0], at[0] + at[1], at[0] + 2.0 * at[1]];
        let wide = [(-10.0, 10.0); 2];
        let problem = Problem {
            values: &[1.0, 3.0, 4.0],
            weights: &[1.0; 3],
            model: line,
            bounds: wide,
        };
        let found = problem.solve(&[[0.0, 0.0]]).unwrap();
        // By hand: slope 3 ÷ 2, intercept 8 ÷ 3 − 1.5, squares 1 ÷ 6 and the slope's error √(1/6 ÷ 1 ÷ 2).
        assert!((found.at[1] - 1.5).abs() < 1e-9 && (found.at[0] - 7.0 / 6.0).abs() < 1e-9);
        assert!((found.squares - 1.0 / 6.0).abs() < 1e-9);
        assert!((found.errors[1].unwrap() - (1.0f64 / 12.0).sqrt()).abs() < 1e-6);
        let bounded = Problem {
            bounds: [(-10.0, 10.0), (2.0, 10.0)],
            values: &[1.0, 3.0, 4.0],
            weights: &[1.0; 3],
            model: line,
        };
        let found = bounded.solve(&[[0.0, 5.0]]).unwrap();
        assert!((found.at[1] - 2.0).abs() < 1e-12, "the bound");
        assert!((found.at[0] - 2.0 / 3.0).abs() < 1e-9 && found.errors[1].is_none());
    }

    #[test]
    fn equations_that_say_the_same_have_no_answer() {
        assert_eq!(solved([[1.0, 2.0], [2.0, 4.0]], [1.0, 2.0]), None);
        assert_eq!(
            solved([[0.0, 2.0], [3.0, 0.0]], [4.0, 9.0]),
            Some([3.0, 2.0])
        );
    }
}
