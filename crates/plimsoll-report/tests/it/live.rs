//! Frames of the live view at fixed sizes, and what the writer sends to a terminal.

use plimsoll_core::Nanos;
use plimsoll_core::record::Record;
use plimsoll_report::live::{Live, LiveWriter, Mode};

use crate::sample;

/// The view after `windows` windows of the record, levels told as they begin.
fn after(record: &Record, windows: usize) -> Live {
    let mut live = Live::new(&record.header);
    let mut level = 0;
    for window in &record.windows[..windows] {
        if window.level != level {
            level = window.level;
            let left = Nanos::from_secs(720).saturating_sub(window.start_ns);
            live.level(&record.level(level).unwrap().step, Some(left));
        }
        live.window(window);
    }
    live
}

#[test]
fn a_level_that_holds() {
    insta::assert_snapshot!(after(&sample::find(), 200).frame(100, false));
}

#[test]
fn a_level_that_sheds_on_a_narrow_terminal() {
    insta::assert_snapshot!(after(&sample::find(), 88).frame(60, false));
}

#[test]
fn a_generator_that_is_behind() {
    let record = sample::find();
    let void = record
        .windows
        .iter()
        .position(|window| window.level == 8)
        .unwrap();
    insta::assert_snapshot!(after(&record, void + 4).frame(80, false));
}

#[test]
fn the_first_second_has_no_window_yet() {
    let record = sample::find();
    let mut live = Live::new(&record.header);
    insta::assert_snapshot!(live.frame(80, false), @r"
    plimsoll find  shop-api  GET http://127.0.0.1:8080/cart?user=7&full=1       0:00
    level      none yet
               first window comes after a second
    ");
    live.level(&record.levels[0].step, Some(Nanos::from_secs(715)));
    insta::assert_snapshot!(live.frame(80, false), @r"
    plimsoll find  shop-api  GET http://127.0.0.1:8080/cart?user=7  0:00  11:55 left
    bracket    open, 120/s, Poisson arrivals
               first window comes after a second
    ");
}

#[test]
fn a_new_level_keeps_the_height_of_the_frame() {
    let record = sample::find();
    let mut live = after(&record, 30);
    let before = live.frame(80, false);
    live.level(&record.levels[1].step, None);
    let between = live.frame(80, false);
    assert_eq!(between.lines().count(), before.lines().count());
    assert!(
        between.contains("240/s, Poisson arrivals, begins"),
        "{between}"
    );
    live.window(&record.windows[30]);
    let n = record.windows[30].total().good();
    let after = live.frame(80, false);
    assert!(
        after.contains(&format!("good {n}")),
        "only the new level counts: {after}"
    );
}

#[test]
fn every_frame_fits_its_width() {
    let record = sample::find();
    for width in [20, 40, 60, 80, 200] {
        for line in after(&record, 290).frame(width, false).lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn time_left_runs_down_within_a_level() {
    let record = sample::find();
    assert_eq!(after(&record, 1).time_left(), Some(Nanos::from_secs(719)));
    assert_eq!(after(&record, 11).time_left(), Some(Nanos::from_secs(709)));
}

#[test]
fn a_log_gets_a_line_every_five_seconds() {
    let record = sample::find();
    let mut out = Vec::new();
    let mut writer = LiveWriter::new(&mut out, Mode::Lines);
    let mut live = Live::new(&record.header);
    live.level(&record.levels[0].step, None);
    for window in &record.windows[..16] {
        live.window(window);
        writer.draw(&live, 80).unwrap();
    }
    writer.finish(&live).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    insta::assert_snapshot!(text.lines().next().unwrap());
}

/// CI logs of scripts are read as those of k6: its line, every second, and the last one says what came of the iterations.
#[test]
fn a_log_of_a_script_gets_a_line_every_second_and_the_last() {
    let record = sample::find();
    let mut out = Vec::new();
    let mut writer = LiveWriter::new(&mut out, Mode::Lines);
    let mut live = Live::new(&record.header);
    for (number, window) in record.windows[..5].iter().enumerate() {
        live.window(window);
        live.vus(3, 10);
        live.iterations(7 * (number as u64 + 1), 0);
        writer.draw(&live, 80).unwrap();
    }
    live.window(&record.windows[5]);
    live.iterations(41, 2);
    writer.finish(&live).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), 6, "{text}");
    assert!(
        text.starts_with("running (01.0s), 3/10 VUs, 7 complete and 0 interrupted iterations"),
        "{text}"
    );
    let last = text.lines().last().unwrap();
    assert!(
        last.contains("41 complete and 2 interrupted iterations"),
        "{text}"
    );
}

/// A terminal just good enough for what the writer sends.
struct Screen {
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
    width: usize,
}

impl Screen {
    fn new(width: usize) -> Self {
        Self {
            rows: vec![Vec::new()],
            row: 0,
            column: 0,
            width,
        }
    }

    fn feed(&mut self, text: &str) {
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\u{1b}' => {
                    assert_eq!(letters.next(), Some('['));
                    let mut digits = String::new();
                    while letters
                        .peek()
                        .is_some_and(|c| c.is_ascii_digit() || *c == ';')
                    {
                        digits.extend(letters.next());
                    }
                    self.escape(letters.next().unwrap(), digits.parse().unwrap_or(0));
                }
                '\r' => self.column = 0,
                '\n' => {
                    self.row += 1;
                    self.column = 0;
                    self.grow();
                }
                other => self.put(other),
            }
        }
    }

    fn escape(&mut self, kind: char, n: usize) {
        match kind {
            'A' => self.row = self.row.saturating_sub(n),
            'K' => self.rows[self.row].truncate(self.column),
            'J' => {
                self.rows[self.row].truncate(self.column);
                self.rows.truncate(self.row + 1);
            }
            'm' => {}
            other => panic!("unknown escape {other}"),
        }
    }

    fn grow(&mut self) {
        while self.rows.len() <= self.row {
            self.rows.push(Vec::new());
        }
    }

    fn put(&mut self, letter: char) {
        if self.column == self.width {
            self.row += 1;
            self.column = 0;
            self.grow();
        }
        let row = &mut self.rows[self.row];
        while row.len() <= self.column {
            row.push(' ');
        }
        row[self.column] = letter;
        self.column += 1;
    }

    fn text(&self) -> String {
        let rows: Vec<String> = self
            .rows
            .iter()
            .map(|row| row.iter().collect::<String>().trim_end().to_owned())
            .collect();
        rows.join("\n").trim_end().to_owned() + "\n"
    }
}

#[test]
fn frames_replace_each_other_and_leave_nothing_behind() {
    let record = sample::find();
    let mut out = Vec::new();
    {
        let mut writer = LiveWriter::new(&mut out, Mode::Redraw { colour: true });
        writer.draw(&after(&record, 5), 80).unwrap();
        writer.keep("120/s holds").unwrap();
        writer.draw(&after(&record, 85), 80).unwrap();
        writer.draw(&after(&record, 200), 80).unwrap();
    }
    let mut screen = Screen::new(80);
    screen.feed(std::str::from_utf8(&out).unwrap());
    let expected = format!("120/s holds\n{}", after(&record, 200).frame(79, false));
    assert_eq!(screen.text(), expected);

    let mut out = Vec::new();
    {
        let mut writer = LiveWriter::new(&mut out, Mode::Redraw { colour: true });
        writer.draw(&after(&record, 85), 80).unwrap();
        writer.finish(&after(&record, 85)).unwrap();
    }
    let mut screen = Screen::new(80);
    screen.feed(std::str::from_utf8(&out).unwrap());
    assert_eq!(screen.text(), "\n", "finish leaves a clean screen");
}

#[test]
fn a_title_that_is_an_escape_sequence_stays_text() {
    let frame = Live::new(&sample::hostile().header).frame(200, false);
    assert!(
        !frame.contains('\u{1b}') && !frame.contains('\u{202e}'),
        "{frame}"
    );
}

/// On a phone nothing is wider than the page, however long a name or a reason is: columns may shrink, words may break, and
/// the figures of an axis have the room that the widest needs.
#[test]
fn the_live_page_does_not_overflow_sideways() {
    let page = plimsoll_report::live::page();
    let columns = page.matches("grid-template-columns:").count();
    let shrinking = page.matches("minmax(0, 1fr)").count() + page.matches("1fr 1fr").count();
    assert!(
        columns >= 3 && shrinking >= columns,
        "{columns} and {shrinking}"
    );
    let rule = |selector: &str| {
        let (_, rule) = page
            .split_once(selector)
            .unwrap_or_else(|| panic!("{selector}"));
        rule.split_once('}').unwrap().0.to_owned()
    };
    assert!(rule(".tiles dd span {").contains("white-space: normal"));
    assert!(
        rule("header span, .level, .state, .tiles small {").contains("overflow-wrap: anywhere")
    );
    assert!(page.contains("LEFT = marks.reduce("));
}
