//! `JMeter`'s results, as CSV and as XML: a line or an element for every sample.

mod transactions;

use super::ImportError;
use super::csv::Table;
use super::figures::{Clients, Figures, Tool};
use super::samples::Samples;
use transactions::{Sum, Transactions, is_sum};

const TOOL: &str = "JMeter JTL";
/// The order of columns where the file does not name them.
const USUAL: [&str; 12] = [
    "timeStamp",
    "elapsed",
    "label",
    "responseCode",
    "responseMessage",
    "threadName",
    "dataType",
    "success",
    "failureMessage",
    "bytes",
    "grpThreads",
    "allThreads",
];
/// Threads all start within the ramp-up; where fewer than this share of samples saw most of them, they kept changing.
const HELD_SHARE: f64 = 0.5;
/// Before the class of what went wrong, where no answer came.
const SILENT: &str = "Non HTTP response code: ";

pub(super) fn is_csv(text: &str) -> bool {
    let table = Table::read(text);
    table.find(&["timeStamp"]).is_some() && table.find(&["elapsed"]).is_some()
}

/// A time stamp, a duration, and whether it succeeded in its usual place.
pub(super) fn is_bare_csv(text: &str) -> bool {
    let first = Table::bare(text, &USUAL).next();
    first.is_some_and(|(_, row)| {
        let is_number = |at: usize| {
            row.get(at)
                .is_some_and(|field| field.parse::<u64>().is_ok())
        };
        let is_flag = |field: &String| field == "true" || field == "false";
        row.first().is_some_and(|stamp| stamp.len() == 13)
            && is_number(0)
            && is_number(1)
            && row.get(7).is_some_and(is_flag)
    })
}

pub(super) fn is_xml(text: &str) -> bool {
    text.starts_with('<') && text.contains("<testResults")
}

pub(super) fn bare_csv(text: &str) -> Result<Figures, ImportError> {
    rows(Table::bare(text, &USUAL))
}

pub(super) fn csv(text: &str) -> Result<Figures, ImportError> {
    rows(Table::read(text))
}

/// One sample, in the words of the file.
#[derive(Debug, Default)]
struct Sample {
    /// Milliseconds since 1970.
    began: Option<f64>,
    elapsed: f64,
    status: String,
    is_ok: bool,
    bytes: f64,
    threads: Option<f64>,
    /// The one that sent it.
    thread: String,
}

#[derive(Debug, Default)]
struct Log {
    figures: Figures,
    samples: Samples,
    transactions: Transactions,
    threads: Vec<f64>,
}

fn rows(table: Table<'_>) -> Result<Figures, ImportError> {
    let began = table.need(TOOL, "timeStamp")?;
    let elapsed = table.need(TOOL, "elapsed")?;
    let success = table.need(TOOL, "success")?;
    let status = table.find(&["responseCode"]);
    let message = table.find(&["responseMessage"]);
    let bytes = table.find(&["bytes"]);
    let threads = table.find(&["allThreads"]);
    let thread = table.find(&["threadName"]);
    let idle = table.find(&["IdleTime"]);
    let mut log = Log::default();
    for (line, row) in table {
        let text = |at: Option<usize>| at.and_then(|at| row.get(at)).map_or("", String::as_str);
        let number = |at: Option<usize>| text(at).parse::<f64>().ok();
        if is_sum(text(message)) {
            log.transactions.sum(Sum {
                thread: text(thread).to_owned(),
                began: number(Some(began)),
                elapsed: number(Some(elapsed)).unwrap_or(0.0),
                idle: number(idle),
                samples_count: Sum::count(text(message)),
            });
            continue;
        }
        let Some(millis) = number(Some(elapsed)) else {
            let problem = format!("`elapsed` is no number: {}", text(Some(elapsed)));
            return Err(ImportError::Line {
                tool: TOOL,
                line,
                problem,
            });
        };
        log.add(&Sample {
            began: number(Some(began)),
            elapsed: millis,
            status: text(status).to_owned(),
            is_ok: text(Some(success)).eq_ignore_ascii_case("true"),
            bytes: number(bytes).unwrap_or(0.0),
            threads: number(threads),
            thread: text(thread).to_owned(),
        });
    }
    log.figures("success", "save the results as XML")
}

pub(super) fn xml(text: &str) -> Result<Figures, ImportError> {
    let mut log = Log::default();
    // Whether each of the elements around is a transaction.
    let mut open: Vec<bool> = Vec::new();
    for tag in text.split('<').skip(1) {
        let Some((tag, _)) = tag.split_once('>') else {
            continue;
        };
        let name = tag
            .split([' ', '/', '\n', '\t'])
            .find(|part| !part.is_empty());
        if !name.is_some_and(|name| ["httpSample", "sample"].contains(&name)) {
            continue;
        }
        if tag.starts_with('/') {
            open.pop();
            continue;
        }
        let text = |name| attribute(tag, name).unwrap_or_default();
        let number = |name| text(name).parse::<f64>().ok();
        let is_transaction = is_sum(text("rm"));
        if is_transaction {
            log.transactions.sum(Sum {
                thread: text("tn").to_owned(),
                began: number("ts"),
                elapsed: number("t").unwrap_or(0.0),
                idle: number("it"),
                samples_count: Sum::count(text("rm")),
            });
        } else if open.iter().all(|is_transaction| *is_transaction) {
            // Samples inside of one are parts of it; inside of a transaction each is one of its own.
            log.add(&Sample {
                began: number("ts"),
                elapsed: number("t").unwrap_or(f64::NAN),
                status: text("rc").to_owned(),
                is_ok: text("s") == "true",
                bytes: number("by").unwrap_or(0.0),
                threads: number("na"),
                thread: text("tn").to_owned(),
            });
        }
        if !tag.ends_with('/') {
            open.push(is_transaction);
        }
    }
    log.figures("httpSample", "save sub-results with the others")
}

/// Of ` t="155" lt="120"` the text of one name.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = tag;
    while let Some((before, after)) = rest.split_once('=') {
        let quote = after.chars().next()?;
        let (value, next) = after.get(1..)?.split_once(quote)?;
        if before.split_whitespace().next_back() == Some(name) {
            return Some(value);
        }
        rest = next;
    }
    None
}

impl Log {
    fn add(&mut self, sample: &Sample) {
        let figures = &mut self.figures;
        figures.attempts = Some(figures.attempts.unwrap_or(0) + 1);
        figures.bytes_received = Some(figures.bytes_received.unwrap_or(0.0) + sample.bytes);
        self.samples.add(sample.elapsed, sample.is_ok);
        self.transactions.sample(&sample.thread, sample.began);
        if let Some(began) = sample.began {
            self.samples.at(began / 1e3);
            self.samples.at((began + sample.elapsed) / 1e3);
        }
        self.threads.extend(sample.threads);
        match (sample.is_ok, sample.status.parse::<u16>()) {
            (true, status) => {
                *figures.counted_successes.get_or_insert(0) += 1;
                figures.accepted_count += u64::from(status == Ok(202));
            }
            (false, Ok(status)) if status >= 400 => figures.answer(status, 1),
            (false, Err(_)) if sample.status.is_empty() || sample.status.starts_with(SILENT) => {
                let kind = sample.status.trim_start_matches(SILENT);
                let kind = kind.rsplit('.').next().unwrap_or_default();
                let kind = if kind.is_empty() { "no answer" } else { kind };
                figures.failures.no_answer(kind, 1);
            }
            // An answer that an assertion refused, or what a database or a queue says: that is no silence.
            (false, _) => figures.failures.other_answers += 1,
        }
    }

    /// Without `field` there is no sample; `way` is how else to save what is hidden in transactions.
    fn figures(mut self, field: &'static str, way: &str) -> Result<Figures, ImportError> {
        let missing_count = std::mem::take(&mut self.transactions).missing_count();
        if missing_count > 0 {
            return Err(ImportError::Refused {
                tool: TOOL,
                problem: format!(
                    "{missing_count} samples are only in the sums of their transactions, and so are their failures: {way}, or switch off \"Generate parent sample\""
                ),
            });
        }
        if self.figures.attempts.is_none() {
            return Err(ImportError::Missing { tool: TOOL, field });
        }
        self.figures.tool = Tool::JMeter;
        // Timers between samples are not in the file; nor is whether a thread group was paced by a rate.
        self.figures.has_pauses = true;
        self.figures.failures.add_up();
        let most = self.threads.iter().copied().reduce(f64::max);
        let low = self.threads.iter().copied().reduce(f64::min);
        if let (Some(low), Some(high)) = (low, most) {
            let held = self.threads.iter().filter(|at| **at >= 0.9 * high).count();
            if (held as f64) < HELD_SHARE * self.threads.len() as f64 {
                self.figures.clients = Clients::Changing { low, high };
            }
            self.figures.settings.push(("threads", high.to_string()));
        }
        self.figures.in_flight = most;
        self.figures.in_flight_is_sampled = true;
        self.samples.fill(&mut self.figures);
        Ok(self.figures)
    }
}
