//! Takes the conditions that all matches must meet out of a filter.

use super::ranges::Ranges;
use crate::query::condition::{Clause, Condition};
use crate::query::condition::{Field, Predicate};
use crate::value::path::Path;

/// What one condition says about the values at a path.
#[derive(Debug, Clone)]
pub(super) struct Restriction {
    pub(super) path: Path,
    pub(super) ranges: Ranges,
    /// A document without the path cannot match.
    pub(super) needs_value: bool,
    /// All values must be so, not just one.
    pub(super) is_negated: bool,
    /// The `$elemMatch`es around it: which, and how many components lead to its array.
    within: Vec<(usize, usize)>,
}

/// The conditions of a filter that must all hold.
#[derive(Debug, Clone)]
pub(super) struct Collected<'f> {
    pub(super) restrictions: Vec<Restriction>,
    /// The alternatives on the top level, at least one of each of which must hold.
    pub(super) ors: Vec<&'f [Predicate]>,
    /// Whether the two above say all that the filter says.
    pub(super) is_complete: bool,
    elem_matches: usize,
}

impl Default for Collected<'_> {
    fn default() -> Self {
        Self {
            restrictions: Vec::new(),
            ors: Vec::new(),
            is_complete: true,
            elem_matches: 0,
        }
    }
}

/// Where a condition stands: the path of the `$elemMatch` around it.
#[derive(Debug, Clone, Default)]
struct Nesting {
    prefix: String,
    within: Vec<(usize, usize)>,
}

impl<'f> Collected<'f> {
    pub(super) fn predicate(&mut self, predicate: &'f Predicate) {
        self.predicate_at(predicate, &Nesting::default());
    }

    fn predicate_at(&mut self, predicate: &'f Predicate, nesting: &Nesting) {
        match predicate {
            Predicate::And(predicates) => predicates
                .iter()
                .for_each(|predicate| self.predicate_at(predicate, nesting)),
            Predicate::Or(predicates) => match &predicates[..] {
                [only] => self.predicate_at(only, nesting),
                several if nesting.within.is_empty() => self.ors.push(several),
                _ => self.is_complete = false,
            },
            Predicate::Nor(predicates) => predicates
                .iter()
                .for_each(|predicate| self.negated(predicate, nesting)),
            Predicate::Not(predicate) => self.negated(predicate, nesting),
            Predicate::Field(field) => self.field(field, nesting),
            Predicate::Constant(true) => {}
            Predicate::Constant(false) | Predicate::Expression(_) => self.is_complete = false,
        }
    }

    fn negated(&mut self, predicate: &'f Predicate, nesting: &Nesting) {
        let Predicate::Field(field) = predicate else {
            self.is_complete = false;
            return;
        };
        let ranges = Ranges::outside(&field.condition);
        self.restrict(field, nesting, ranges, true);
    }

    fn field(&mut self, field: &'f Field, nesting: &Nesting) {
        match &field.condition {
            Condition::HasDocument(predicate) => {
                self.is_complete = false;
                self.restrict(
                    field,
                    nesting,
                    Ranges::from_condition(&field.condition),
                    false,
                );
                if let Some(nesting) = self.inside(field, nesting) {
                    self.predicate_at(predicate, &nesting);
                }
            }
            Condition::HasElement(clauses) => {
                self.is_complete = false;
                let ranges = clauses
                    .iter()
                    .map(from_clause)
                    .reduce(|all, one| all.intersect(&one));
                if let (Some(ranges), Some(inner)) = (ranges, self.inside(field, nesting))
                    && let Some(path) = path(&inner.prefix)
                {
                    self.restrictions.push(Restriction {
                        path,
                        ranges,
                        needs_value: true,
                        is_negated: false,
                        within: inner.within,
                    });
                }
            }
            condition => self.restrict(field, nesting, Ranges::from_condition(condition), false),
        }
    }

    /// The nesting of what is inside the `$elemMatch` at `field`.
    fn inside(&mut self, field: &Field, nesting: &Nesting) -> Option<Nesting> {
        let prefix = joined(&nesting.prefix, field.path.text());
        let length = path(&prefix)?.parts().len();
        let mut within = nesting.within.clone();
        self.elem_matches += 1;
        within.push((self.elem_matches, length));
        Some(Nesting { prefix, within })
    }

    fn restrict(&mut self, field: &Field, nesting: &Nesting, mut ranges: Ranges, is_negated: bool) {
        // Inside an `$elemMatch`, a number may be a place in an element that is an array: no key tells.
        let is_inside = !nesting.within.is_empty();
        let first = field.path.parts().first();
        let Some(path) = path(&joined(&nesting.prefix, field.path.text())) else {
            self.is_complete = false;
            return;
        };
        let has_index = path.parts().iter().any(|part| part.index.is_some());
        let matches_missing = field.condition.holds(None) != is_negated;
        if is_inside && first.is_some_and(|part| part.index.is_some()) {
            self.is_complete = false;
            return;
        }
        if has_index {
            // A number is read in two ways, and in one of them the field may be missing.
            ranges.is_exact = false;
            if matches_missing || is_negated {
                self.is_complete = false;
                return;
            }
        }
        self.restrictions.push(Restriction {
            path,
            ranges,
            needs_value: !matches_missing,
            is_negated,
            within: nesting.within.clone(),
        });
    }
}

fn from_clause(clause: &Clause) -> Ranges {
    match clause {
        Clause::Is(condition) => Ranges::from_condition(condition),
        Clause::Not(clauses) => match &clauses[..] {
            [Clause::Is(Condition::Exists)] => Ranges::missing(),
            [Clause::Is(condition)] => Ranges::outside(condition),
            _ => Ranges::from_condition(&Condition::Exists),
        },
    }
}

fn joined(prefix: &str, path: &str) -> String {
    if prefix.is_empty() {
        path.to_owned()
    } else {
        format!("{prefix}.{path}")
    }
}

fn path(text: &str) -> Option<Path> {
    Path::parse(text).ok()
}

impl Restriction {
    /// Whether both can restrict one key of a multikey index: they share no array, or one element of it.
    pub(super) fn joins(&self, other: &Self) -> bool {
        let parts = self.path.parts().iter().zip(other.path.parts());
        let common = parts.take_while(|(one, two)| one == two).count();
        let tied = self.within.iter().filter(|one| other.within.contains(one));
        common <= tied.map(|(_, length)| *length).max().unwrap_or(0)
    }
}
