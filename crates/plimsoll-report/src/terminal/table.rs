//! Cells in columns that fit the page: where it is narrow the gaps go first, and then whole columns.

/// Columns that are left, and how wide each is with the gap before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    kept: Vec<(usize, usize)>,
}

impl Columns {
    /// For these rows, within `room`. Each column would like to be as wide as `wanted` says; `dropped_first` names those that
    /// may go, the least useful first.
    pub(super) fn fit<T: AsRef<str>>(
        rows: &[&[T]],
        wanted: &[usize],
        room: usize,
        dropped_first: &[usize],
    ) -> Self {
        let widest = |index: usize| {
            let cells = rows.iter().filter_map(|row| row.get(index));
            let widths = cells.map(|cell| cell.as_ref().chars().count());
            widths.max().unwrap_or(0)
        };
        let mut kept: Vec<(usize, usize)> = wanted.iter().copied().enumerate().collect();
        let mut droppable = dropped_first.iter();
        loop {
            let wish = |&(index, width): &(usize, usize)| (index, width.max(widest(index) + 1));
            let wide = kept.iter().map(wish).collect();
            let with_gap = |gap: usize| {
                let columns = kept.iter().map(|(index, _)| (*index, widest(*index) + gap));
                columns.collect::<Vec<_>>()
            };
            let fits = |columns: &Vec<(usize, usize)>| sum(columns) <= room;
            if let Some(kept) = [wide, with_gap(2), with_gap(1)].into_iter().find(fits) {
                return Self { kept };
            }
            let Some(next) = droppable.next() else {
                let kept = with_gap(1);
                return Self { kept };
            };
            kept.retain(|(index, _)| index != next);
        }
    }

    /// The cells of a row that are left, each with the width of its column.
    pub(super) fn of<'a, T: AsRef<str>>(
        &self,
        row: &'a [T],
    ) -> impl Iterator<Item = (usize, &'a str, usize)> {
        let cells = self.kept.iter();
        cells.filter_map(|(index, width)| Some((*index, row.get(*index)?.as_ref(), *width)))
    }

    /// A row of numbers, under each other.
    pub(super) fn right<T: AsRef<str>>(&self, row: &[T]) -> String {
        let mut line = String::new();
        for (_, cell, width) in self.of(row) {
            put!(line, "{cell:>width$}");
        }
        line
    }
}

fn sum(columns: &[(usize, usize)]) -> usize {
    columns.iter().map(|(_, width)| width).sum()
}
