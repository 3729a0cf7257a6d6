//! One run in progress: the record being written, what is shown meanwhile, Ctrl-C.

use std::fs::File;
use std::io::{BufWriter, Stderr, stderr};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use plimsoll_base::clock::Clock;
use plimsoll_core::record::{Event, EventKind, Header, LevelStart, Line, Record, SCHEMA, Writer};
use plimsoll_core::step::Step;
use plimsoll_core::test::{Test, What};
use plimsoll_core::verdict::Verdict;
use plimsoll_core::{Nanos, Window};
use plimsoll_net::Target;
use plimsoll_observe::Watch;
use plimsoll_report::live::{Live, LiveWriter, Mode};
use plimsoll_report::view::{Conclusion, View};

use crate::args::{OutputArgs, Series};
pub(crate) use crate::exit::interrupt_flag;
use crate::page::{Page, PageOptions};
use crate::watching::Watcher;
use crate::{machine, output, secrets};

const DEFAULT_NAME: &str = "run.plimsoll.jsonl";
/// A period is over when less than half a window is missing.
const HALF_A_WINDOW: Nanos = Nanos::from_millis(500);

type RecordWriter = Writer<BufWriter<File>>;

/// Everything a running command shares: clock, record on disk and in memory, progress.
pub(crate) struct Session {
    pub(crate) clock: Clock,
    /// The zero of that clock, since 1970.
    started: Duration,
    hlog: Option<PathBuf>,
    shows_secrets: bool,
    pub(crate) record: Record,
    pub(crate) path: Option<PathBuf>,
    writer: Option<RecordWriter>,
    live: Live,
    progress: Option<LiveWriter<Stderr>>,
    page: Option<PageFeed>,
    watcher: Option<Watcher>,
}

/// The live page, and the windows that its next line is made of.
struct PageFeed {
    page: Arc<Page>,
    /// It goes on after this run.
    is_shared: bool,
    gathered: Option<Window>,
}

impl Session {
    /// Creates the record before anything is sent, so that an unwritable place costs nothing.
    pub(crate) fn start(test: Test, output: &OutputArgs) -> Result<Self> {
        let test = if output.show_secrets {
            test
        } else {
            secrets::masked(test)
        };
        let title = match &test.what {
            What::Url(url) => Target::parse(&url.request.url)?.host_header(),
            What::Script(script) => script.name.clone(),
            What::Workload(workload) => workload.store.clone(),
        };
        let lab = output.lab.clone();
        let title = lab.as_ref().map_or(title, |lab| lab.variant.clone());
        let header = Header {
            schema: SCHEMA.to_owned(),
            test,
            started_at: machine::wall_time(),
            machine: machine::this_machine(),
            plimsoll_version: env!("CARGO_PKG_VERSION").to_owned(),
            title,
            note: output.note.clone(),
            lab,
        };
        let path = record_path(output);
        refuse_existing(path.as_deref(), output)?;
        let page = own_page(output)?;
        if let Some(path) = &output.hlog {
            output::writable(path)?;
        }
        let (path, writer) = match path {
            Some(path) => record(path, &header, output)?,
            None => (None, None),
        };
        let live = Live::new(&header);
        let progress = (!output.quiet).then(progress);
        let record = Record::new(header);
        let mut session = Self {
            clock: Clock::start(),
            started: machine::since_1970(),
            hlog: output.hlog.clone(),
            shows_secrets: output.show_secrets,
            record,
            path,
            writer,
            live,
            progress,
            page: None,
            watcher: None,
        };
        if let Some(page) = page {
            page.announce();
            session.tell_from_now(Arc::new(page), false);
        } else if let Some(page) = output.part_of.as_ref().and_then(|all| all.page.clone()) {
            session.tell_from_now(page, true);
        }
        Ok(session)
    }

    /// Serves the live page from now on, unless it is served already.
    pub(crate) fn show_page(&mut self, options: Option<PageOptions>) -> Result<()> {
        if let Some(options) = options.filter(|_| self.page.is_none()) {
            let page = Page::start(options)?;
            page.announce();
            self.tell_from_now(Arc::new(page), false);
        }
        Ok(())
    }

    fn tell_from_now(&mut self, page: Arc<Page>, is_shared: bool) {
        let header = &self.record.header;
        let objective = header.test.objectives().map(ToString::to_string);
        page.tell(
            &self
                .live
                .head_message(&header.started_at, objective.as_deref()),
        );
        self.page = Some(PageFeed {
            page,
            is_shared,
            gathered: None,
        });
    }

    /// Samples the tiers from now on.
    pub(crate) fn watch(&mut self, target: Option<SocketAddr>, watches: &[Watch]) -> Result<()> {
        self.watcher = Some(Watcher::start(target, watches, self.clock)?);
        Ok(())
    }

    /// Samples only what was named: a script may talk to many.
    pub(crate) fn watch_only(&mut self, watches: &[Watch]) -> Result<()> {
        if !watches.is_empty() {
            self.watcher = Some(Watcher::start(None, watches, self.clock)?);
        }
        Ok(())
    }

    pub(crate) fn append(&mut self, mut line: Line) {
        if let Line::Script(counts) = &mut line
            && !self.shows_secrets
        {
            secrets::mask_names(counts);
        }
        // A full disk costs the record, and nothing else: what was asked for is the measurement.
        if let Some(Err(error)) = self.writer.as_mut().map(|writer| writer.append(&line)) {
            self.lose_record(&error);
        }
        self.record.push(line);
    }

    /// Nothing more can be written to the record.
    fn lose_record(&mut self, error: &std::io::Error) {
        self.writer = None;
        if let Some(path) = self.path.take() {
            let shown = path.display();
            let text = format!(
                "plimsoll: the record {shown} ends here: {error}; what follows is not in it"
            );
            // Nobody may have asked for progress, and it may be over: this is no progress.
            if self.progress.is_some() {
                self.say(&text);
            } else {
                output::progress(&text);
            }
        }
    }

    pub(crate) fn level(&mut self, step: &Step, time_left: Option<Nanos>) {
        self.live.level(step, time_left);
        self.draw();
        if let Some(feed) = &self.page {
            feed.page.tell(&self.live.level_message());
        }
        let start_ns = self.clock.now();
        self.append(Line::Level(LevelStart {
            start_ns,
            step: step.clone(),
        }));
    }

    pub(crate) fn window(&mut self, window: &Window) {
        self.append(Line::Window(window.clone()));
        self.take_observations();
        self.live.window(window);
        self.draw();
        self.tell_page(window);
    }

    fn take_observations(&mut self) {
        let seen: Vec<_> = self.watcher.iter().flat_map(Watcher::take).collect();
        for observation in seen {
            self.live.observation(&observation);
            self.append(Line::Observation(observation));
        }
    }

    /// The page gets a line per period, of all windows since the last one.
    fn tell_page(&mut self, window: &Window) {
        let Some(feed) = &mut self.page else {
            return;
        };
        match &mut feed.gathered {
            Some(gathered) if gathered.level == window.level => gathered.fold(window),
            gathered => *gathered = Some(window.clone()),
        }
        // What is left when a level ends may be too short to say anything per second.
        let period = feed.page.options.period.max(Nanos::from_secs(1));
        if let Some(whole) = feed
            .gathered
            .take_if(|gathered| gathered.length_ns + HALF_A_WINDOW >= period)
        {
            feed.page.tell(&self.live.second_message(&whole));
        }
    }

    /// What the live view knows of a script.
    pub(crate) fn script(
        &mut self,
        vus: (u32, u32),
        iterations: (u64, u64),
        judged: Option<Vec<(String, bool)>>,
    ) {
        self.live.vus(vus.0, vus.1);
        self.live.iterations(iterations.0, iterations.1);
        if let Some(judged) = judged {
            self.live.thresholds(judged);
        }
    }

    fn draw(&mut self) {
        if let Some(progress) = &mut self.progress {
            // A terminal that went away is no reason to end a measurement.
            let _closed_pipe = progress.draw(&self.live, output::terminal_columns());
        }
    }

    pub(crate) fn event(&mut self, what: EventKind) {
        let detail = match what {
            EventKind::Interrupted => "by a signal",
            _ => "",
        };
        self.note(what, detail);
    }

    /// An event with its words.
    pub(crate) fn note(&mut self, what: EventKind, detail: &str) {
        let (at_ns, detail) = (self.clock.now(), detail.to_owned());
        self.append(Line::Event(Event {
            at_ns,
            what,
            detail,
        }));
    }

    /// A line on stderr that stays above the live view.
    pub(crate) fn say(&mut self, text: &str) {
        if let Some(progress) = &mut self.progress {
            let _closed_pipe = progress.keep(text);
        }
    }

    /// Ends sampling and progress; the record stays open for the verdict.
    pub(crate) fn settle(&mut self) {
        self.take_observations();
        self.watcher = None;
        if let Some(mut progress) = self.progress.take() {
            let _closed_pipe = progress.finish(&self.live);
        }
    }

    /// Writes the verdict, the summary to stdout, and then the HTML report beside the record: whatever becomes of a file,
    /// the summary has been said.
    pub(crate) fn conclude(mut self, verdict: Verdict, output: &OutputArgs) {
        self.append(Line::Verdict(verdict));
        let report = self.path.as_deref().map(report_path);
        let shown = |path: Option<&Path>| path.map(|path| path.display().to_string());
        crate::summary::print(
            &self.record,
            output,
            shown(self.path.as_deref()),
            shown(report.as_deref()),
        );
        self.write_files();
    }

    /// Writes the verdict and the HTML report beside the record; gives the path of the report.
    pub(crate) fn close(&mut self, verdict: Verdict) -> Option<PathBuf> {
        self.append(Line::Verdict(verdict));
        self.write_files()
    }

    /// The report and the histogram log, each whole or not at all; what cannot be written is said.
    fn write_files(&mut self) -> Option<PathBuf> {
        let report = self.path.as_deref().map(report_path);
        let page = self.page.take().filter(|feed| !feed.is_shared);
        let page = page.map(|feed| feed.page);
        let export = page.as_ref().and_then(|page| page.options.export.clone());
        let html = (report.is_some() || export.is_some())
            .then(|| plimsoll_report::html::render(std::slice::from_ref(&self.record)));
        for (path, html) in report.iter().chain(&export).zip(html.iter().cycle()) {
            output::keep("the report", path, html.as_bytes());
        }
        if let Some(path) = &self.hlog {
            let log = plimsoll_report::hlog::log(&self.record, self.started.as_secs_f64());
            output::keep("the histogram log", path, log.as_bytes());
        }
        if let Some(page) = page {
            let shown = report.as_ref().map(|path| path.display().to_string());
            let view = View::new(&self.record);
            let is_well = matches!(
                view.conclusion,
                Conclusion::Held | Conclusion::NotReached | Conclusion::Measured
            );
            page.end(&view.headline, is_well, shown.as_deref());
        }
        report
    }
}

impl OutputArgs {
    /// One run of several: a record there, or none at all; nothing is shown but on the page of all.
    pub(crate) fn part(out: Option<PathBuf>, page: Option<&Arc<Page>>) -> Self {
        Self {
            no_record: out.is_none(),
            out,
            quiet: true,
            part_of: Some(Series {
                page: page.cloned(),
            }),
            ..Self::default()
        }
    }
}

/// Of this run alone, if it is asked for.
fn own_page(output: &OutputArgs) -> Result<Option<Page>> {
    if output.part_of.is_some() {
        return Ok(None);
    }
    let options = PageOptions::from_environment(output.live, |name| std::env::var(name).ok())?;
    options.map(Page::start).transpose()
}

/// What an earlier run left behind is not written over: its record, the report beside that, its histogram log.
fn refuse_existing(record: Option<&Path>, output: &OutputArgs) -> Result<()> {
    let report = record.map(report_path);
    let files = [record, report.as_deref(), output.hlog.as_deref()];
    files
        .into_iter()
        .flatten()
        .try_for_each(|path| output::refuse_existing(path, output.force))
}

fn progress() -> LiveWriter<Stderr> {
    let mode = if output::stderr_is_terminal() {
        Mode::Redraw {
            colour: output::colour_allowed(),
        }
    } else {
        Mode::Lines
    };
    LiveWriter::new(stderr(), mode)
}

/// `run.plimsoll.jsonl` gets `report.html` beside it; another name `x.jsonl` gets `x.html`.
fn report_path(record: &Path) -> PathBuf {
    let name = record.file_name().unwrap_or_default().to_string_lossy();
    if name == DEFAULT_NAME {
        return record.with_file_name("report.html");
    }
    let stem = name
        .strip_suffix(".plimsoll.jsonl")
        .or(name.strip_suffix(".jsonl"));
    record.with_file_name(format!("{}.html", stem.unwrap_or(&name)))
}

fn record_path(asked: &OutputArgs) -> Option<PathBuf> {
    if asked.no_record {
        return None;
    }
    let default = || output::fresh_folder("plimsoll").join(DEFAULT_NAME);
    Some(asked.out.clone().unwrap_or_else(default))
}

/// The record, written. Where nobody named a place and the working folder cannot be written to, the test goes on without
/// one: it was asked for, the record was not.
fn record(
    path: PathBuf,
    header: &Header,
    output: &OutputArgs,
) -> Result<(Option<PathBuf>, Option<RecordWriter>)> {
    match create(&path, header) {
        Ok(writer) => Ok((Some(path), Some(writer))),
        Err(error) if output.out.is_none() => {
            output::progress(&format!(
                "plimsoll: no record is kept: {error:#}; name a place for it, or say --no-record"
            ));
            Ok((None, None))
        }
        Err(error) => Err(error),
    }
}

fn create(path: &Path, header: &Header) -> Result<RecordWriter> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("create folder {}", folder.display()))?;
    }
    let file = File::create(path).with_context(|| format!("write record {}", path.display()))?;
    Writer::start(BufWriter::new(file), header.clone())
        .with_context(|| format!("write record {}", path.display()))
}
