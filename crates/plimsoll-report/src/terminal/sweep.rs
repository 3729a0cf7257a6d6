//! A sweep on the terminal: the answer, a table for each line with its curve, a heat map, models and advice.

use plimsoll_core::sweep::{Line, Sweep};

use super::Style;
use super::table::Columns;
use crate::format;
use crate::ink::{Ink, Page, Role};
use crate::view::sweep as words;

/// Columns of the table: the value, then those of the words.
const WIDTHS: [usize; 9] = [8, 10, 12, 10, 10, 10, 9, 9, 8];
/// On a page that has no room for all.
const DROPPED_FIRST: [usize; 5] = [3, 7, 8, 2, 5];
const SHADES: [&str; 5] = ["·", "░", "▒", "▓", "█"];
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// The whole page, ending in a line break.
pub fn sweep(sweep: &Sweep, style: &Style) -> String {
    let mut page = Page::new(style.colour, style.width);
    page.blank();
    let role = if sweep.is_valid() {
        Role::Bold
    } else {
        Role::Fail
    };
    page.paragraph(&Ink::new(role, words::headline(sweep)));
    if let Some(stopped) = words::stopped(sweep) {
        page.paragraph(&Ink::new(Role::Warn, "! ").and(Role::Plain, stopped));
    }
    page.paragraph(&Ink::new(Role::Dim, &sweep.test));
    page.blank();
    for line in &sweep.lines {
        table(&mut page, sweep, line);
        curve(&mut page, sweep, line);
        models(&mut page, line);
        page.blank();
    }
    heat_map(&mut page, sweep);
    advice(&mut page, sweep);
    closing(&mut page, sweep);
    super::shared::paths(&mut page, None, style);
    page.finish()
}

fn table(page: &mut Page, sweep: &Sweep, line: &Line) {
    if !line.name.is_empty() {
        page.line(&Ink::new(Role::Bold, &line.name));
    }
    let head: Vec<String> = std::iter::once(words::axis(sweep))
        .chain(words::COLUMNS)
        .map(str::to_owned)
        .collect();
    let rows: Vec<Vec<String>> = words::along(sweep, line)
        .map(|(index, value, point)| {
            let cells = words::cells(point.figures.as_ref(), words::efficiency(line, index));
            std::iter::once(value.to_owned()).chain(cells).collect()
        })
        .collect();
    let all: Vec<&[String]> = std::iter::once(&head)
        .chain(&rows)
        .map(|row| &row[..])
        .collect();
    let columns = Columns::fit(&all, &WIDTHS, page.room(), &DROPPED_FIRST);
    page.line(&Ink::new(Role::Dim, columns.right(&head)));
    for row in &rows {
        page.line(&Ink::plain(columns.right(row)));
    }
}

/// A bar for each point; where a model was chosen, a stroke where it says the end should be.
fn curve(page: &mut Page, sweep: &Sweep, line: &Line) {
    let highest = words::highest(sweep);
    if highest <= 0.0 {
        return;
    }
    page.blank();
    let widest = words::along(sweep, line).map(|(_, value, _)| value.chars().count());
    let widest = widest.max().unwrap_or(0);
    let room = page.room().saturating_sub(widest + 14);
    let best = line.modelled.fits.first();
    for (_, value, point) in words::along(sweep, line) {
        let Some(figures) = &point.figures else {
            page.line(&Ink::new(Role::Warn, format!("{value:>widest$}  not used")));
            continue;
        };
        let bar = bar(figures.carried_per_s / highest, room);
        let place = figures.concurrency.zip(best).and_then(|(n, fit)| {
            let near = fit
                .curve
                .iter()
                .min_by(|a, b| (a.0 - n).abs().total_cmp(&(b.0 - n).abs()));
            near.map(|(_, x)| ((x / highest) * room as f64).round() as usize)
        });
        let ink = Ink::new(Role::Dim, format!("{value:>widest$}  "))
            .and(Role::Good, marked(&bar, place, room))
            .and(
                Role::Plain,
                format!("  {}", format::rate(figures.carried_per_s)),
            );
        page.line(&ink);
    }
    if let Some(fit) = best {
        let key = format!(
            "{:>widest$}  │ is where {} has it, late answers too",
            "", fit.model
        );
        page.line(&Ink::new(Role::Dim, key));
    }
}

/// So much of the room, to an eighth of a letter.
fn bar(share: f64, room: usize) -> Vec<char> {
    let eighths = (share.clamp(0.0, 1.0) * room as f64 * 8.0).round() as usize;
    let mut bar = vec!['█'; eighths / 8];
    let rest = EIGHTHS.get(eighths % 8).copied().unwrap_or(' ');
    if bar.len() < room {
        bar.push(rest);
    }
    bar
}

fn marked(bar: &[char], place: Option<usize>, room: usize) -> String {
    let mut letters: Vec<char> = bar.to_vec();
    letters.resize(room + 1, ' ');
    if let Some(letter) = place.and_then(|place| letters.get_mut(place)) {
        *letter = '│';
    }
    letters.into_iter().collect()
}

fn models(page: &mut Page, line: &Line) {
    page.blank();
    for (index, fit) in line.modelled.fits.iter().enumerate() {
        let label = if index == 0 { "models" } else { "" };
        let role = if index == 0 { Role::Bold } else { Role::Plain };
        let ink = Ink::new(role, fit.model.name())
            .and(Role::Plain, format!("  {}  ", words::coefficients(fit)))
            .and(Role::Dim, words::goodness(fit));
        page.row(label, &ink);
    }
    let mut last = "";
    for (label, text) in words::notes(line) {
        let shown = if label == last { "" } else { label };
        page.row(shown, &Ink::plain(text));
        last = label;
    }
}

/// All lines of a matrix under each other, darker where more is carried.
fn heat_map(page: &mut Page, sweep: &Sweep) {
    let highest = words::highest(sweep);
    if sweep.lines.len() < 2 || highest <= 0.0 {
        return;
    }
    let Some(first) = sweep.lines.first() else {
        return;
    };
    let head: Vec<String> = std::iter::once(format!("carried by {}", words::axis(sweep)))
        .chain(words::along(sweep, first).map(|(_, value, _)| value.to_owned()))
        .collect();
    let rows: Vec<Vec<String>> = sweep
        .lines
        .iter()
        .map(|line| {
            let cells = words::along(sweep, line).map(|(_, _, point)| match &point.figures {
                Some(figures) => {
                    let carried = figures.carried_per_s;
                    format!("{} {}", shade(carried / highest), format::number(carried))
                }
                None => "not used".to_owned(),
            });
            std::iter::once(line.name.clone()).chain(cells).collect()
        })
        .collect();
    let all: Vec<&[String]> = std::iter::once(&head)
        .chain(&rows)
        .map(|row| &row[..])
        .collect();
    let wanted = vec![10; head.len()];
    let columns = Columns::fit(&all, &wanted, page.room(), &[]);
    page.line(&Ink::new(Role::Dim, columns.right(&head)));
    for row in &rows {
        page.line(&Ink::plain(columns.right(row)));
    }
    page.blank();
}

fn shade(share: f64) -> &'static str {
    let last = SHADES.len() - 1;
    let place = (share * last as f64).round() as usize;
    SHADES.get(place.min(last)).copied().unwrap_or("")
}

fn advice(page: &mut Page, sweep: &Sweep) {
    for (index, advice) in words::advised(sweep).enumerate() {
        let ink =
            Ink::new(Role::Bold, &advice.action).and(Role::Dim, format!("  {}", advice.because));
        page.row(if index == 0 { "advice" } else { "" }, &ink);
    }
    for (index, (names, needs)) in words::not_advised(sweep).into_iter().enumerate() {
        let ink = Ink::plain(format!("{names}: ")).and(Role::Dim, needs);
        page.row(if index == 0 { "not advised" } else { "" }, &ink);
    }
    page.blank();
}

fn closing(page: &mut Page, sweep: &Sweep) {
    if let Some(drift) = &sweep.drift {
        let role = if drift.is_exceeded {
            Role::Fail
        } else {
            Role::Plain
        };
        page.row("drift", &Ink::new(role, words::drift_words(drift)));
    }
    for line in words::excluded(sweep) {
        page.row("not used", &Ink::new(Role::Warn, line));
    }
    for remark in &sweep.remarks {
        page.row("note", &Ink::plain(remark));
    }
}
