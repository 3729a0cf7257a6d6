//! What scripts of one worker see and feed: clock, metric store, console, counts.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_base::clock::Clock;
use plimsoll_base::mailbox::Sender;
use plimsoll_control::executor::Progress;
use plimsoll_core::Nanos;
use plimsoll_core::metrics::{BuiltIn, MetricId, Sample, TagSetId};
use plimsoll_script::host::{ConsoleLine, HttpSample, Instance};
use plimsoll_script::tags::TagTable;
use plimsoll_script::{Host, tags};

use super::script::Script;
use super::shared::{InstanceCounts, Shared};
use crate::message::{Body, LogLine, Metrics, Report};

/// The surroundings of all virtual users of one worker.
#[derive(Debug)]
pub(super) struct WorkerHost {
    worker: usize,
    clock: Clock,
    /// Wall clock at the zero of the run's clock.
    unix_zero_ms: u64,
    /// When the test began, on the run's clock: `setup` belongs to it.
    pub(super) began: Cell<Nanos>,
    /// When scenarios began, on the run's clock; executors count from there.
    pub(super) origin: Cell<Nanos>,
    pub(super) metrics: RefCell<Metrics>,
    /// The script's tag sets, known once the runtime is.
    pub(super) tags: OnceCell<Rc<RefCell<TagTable>>>,
    /// Outputs want every sample.
    keeps_samples: bool,
    reports: Sender<Report>,
    /// Of all workers.
    pub(super) counts: Arc<InstanceCounts>,
    scenarios: Vec<String>,
    /// Of each scenario in their order.
    progress: RefCell<Vec<Progress>>,
    /// Checks that failed since the virtual user at hand went on, by the call whose answer they looked at.
    pub(super) failed_checks: RefCell<Vec<Option<u64>>>,
}

impl WorkerHost {
    pub(super) fn new(
        worker: usize,
        shared: &Shared,
        script: &Script,
        reports: Sender<Report>,
    ) -> Self {
        Self {
            worker,
            clock: shared.clock,
            unix_zero_ms: shared.unix_zero_ms,
            began: Cell::default(),
            origin: Cell::default(),
            metrics: RefCell::new(Metrics::new(&script.store)),
            tags: OnceCell::new(),
            keeps_samples: script.keeps_samples,
            reports,
            counts: Arc::clone(&shared.counts),
            scenarios: script
                .scenarios
                .iter()
                .map(|one| one.name.clone())
                .collect(),
            progress: RefCell::default(),
            failed_checks: RefCell::default(),
        }
    }

    /// One value of a metric that the engine itself feeds.
    pub(super) fn count(&self, metric: BuiltIn, value: f64, tags: tags::TagSetId) {
        self.sample(metric.into(), value, tags);
    }

    /// Wall clock, in milliseconds since 1970, at a moment of the run's clock.
    pub(super) fn unix_ms_at(&self, at: Nanos) -> u64 {
        self.unix_zero_ms + at.0 / 1_000_000
    }

    fn feed(
        &self,
        metrics: &mut Metrics,
        (metric, tags): (MetricId, TagSetId),
        at: Nanos,
        value: f64,
    ) {
        metrics.store.record(metric, tags, at, value);
        if self.keeps_samples {
            metrics.samples.push(Sample {
                metric,
                tags,
                at,
                value,
            });
        }
    }

    /// The store's number of a tag set of the script's.
    fn tag_set(&self, metrics: &mut Metrics, id: tags::TagSetId) -> TagSetId {
        let index = id.0 as usize;
        if let Some(Some(found)) = metrics.tag_sets.get(index) {
            return *found;
        }
        let pairs: Vec<(Rc<str>, Rc<str>)> = match self.tags.get() {
            Some(table) => table.borrow().tags(id).to_vec(),
            None => Vec::new(),
        };
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(n, v)| (&**n, &**v)).collect();
        let found = metrics.store.tag_set(&pairs);
        if metrics.tag_sets.len() <= index {
            metrics.tag_sets.resize(index + 1, None);
        }
        metrics.tag_sets[index] = Some(found);
        found
    }

    /// What scripts are told when they ask.
    pub(super) fn tell_progress(&self, progress: impl Iterator<Item = Progress>) {
        let mut told = self.progress.borrow_mut();
        told.clear();
        told.extend(progress);
    }

    fn report(&self, body: Body) {
        // The runner is gone only when the run is over; then nobody wants the line.
        self.reports.send(Report {
            worker: self.worker,
            body,
        });
    }
}

impl Host for WorkerHost {
    fn now(&self) -> Nanos {
        self.clock.now().saturating_sub(self.began.get())
    }

    fn unix_ms(&self) -> i64 {
        self.unix_ms_at(self.clock.now()).cast_signed()
    }

    fn sample(&self, metric: MetricId, value: f64, tags: tags::TagSetId) {
        let metrics = &mut *self.metrics.borrow_mut();
        let tags = self.tag_set(metrics, tags);
        self.feed(metrics, (metric, tags), self.clock.now(), value);
    }

    fn http(&self, sample: &HttpSample<'_>) {
        let metrics = &mut *self.metrics.borrow_mut();
        let tags = self.tag_set(metrics, sample.tags);
        let user_tags = self.tag_set(metrics, sample.user_tags);
        let now = self.clock.now();
        let mut feed = |metric: BuiltIn, tags, value| {
            self.feed(metrics, (metric.into(), tags), now, value);
        };
        feed(BuiltIn::HttpReqs, tags, 1.0);
        let timings = &sample.result.timings;
        for (metric, time) in [
            (BuiltIn::HttpReqDuration, timings.duration()),
            (BuiltIn::HttpReqBlocked, timings.blocked),
            (BuiltIn::HttpReqConnecting, timings.connecting),
            (BuiltIn::HttpReqTlsHandshaking, timings.tls_handshaking),
            (BuiltIn::HttpReqSending, timings.sending),
            (BuiltIn::HttpReqWaiting, timings.waiting),
            (BuiltIn::HttpReqReceiving, timings.receiving),
        ] {
            feed(metric, tags, time.as_millis_f64());
        }
        if let Some(expected) = sample.expected {
            feed(BuiltIn::HttpReqFailed, tags, f64::from(u8::from(!expected)));
        }
        for (metric, bytes) in [
            (BuiltIn::DataSent, sample.result.sent_bytes),
            (BuiltIn::DataReceived, sample.result.received_bytes),
        ] {
            feed(metric, user_tags, bytes as f64);
        }
    }

    fn check_failed(&self, call: Option<u64>) {
        self.failed_checks.borrow_mut().push(call);
    }

    fn console(&self, line: &ConsoleLine<'_>) {
        self.report(Body::Log(LogLine {
            level: line.level,
            message: line.message.into(),
            source: line.source,
        }));
    }

    fn mark_failed(&self, message: &str) {
        self.report(Body::MarkedFailed(message.to_owned()));
    }

    fn instance(&self) -> Instance {
        self.counts.read()
    }

    fn scenario_progress(&self, scenario: &str) -> f64 {
        let now = self.clock.now().saturating_sub(self.origin.get());
        let place = self.scenarios.iter().position(|known| known == scenario);
        let progress = self.progress.borrow();
        let known = place.and_then(|place| progress.get(place));
        known.map_or(0.0, |progress| progress.at(now))
    }
}
