//! Fetches a metrics endpoint on a thread of its own: an overloaded service must not hold up sampling.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use plimsoll_core::Nanos;
use plimsoll_core::test::Request;
use plimsoll_net::Target;
use plimsoll_net::exchange::{Patience, exchange};

use crate::metrics::{Scrape, parse, parse_metrics};

/// An overloaded event loop answers late, and that answer is the most valuable one.
const PATIENCE: Patience = Patience {
    time: Nanos::from_secs(5),
    body_bytes_max: 4 << 20,
    insecure: false,
};

/// Asks when told to and keeps the last answer.
#[derive(Debug)]
pub(crate) struct Scraper {
    pub(crate) url: Target,
    requests: SyncSender<()>,
    answers: Receiver<Result<Scrape, String>>,
    is_asked: bool,
    /// The last answer, and when it was taken: an answer that is late counts over more than one interval.
    pub(crate) earlier: Option<(Nanos, Scrape)>,
}

/// What came back since the last question.
pub(crate) enum Answer {
    Fresh(Scrape),
    Failed(String),
    /// Still waiting for it.
    Pending,
}

impl Scraper {
    /// The thread ends when the scraper is dropped.
    pub(crate) fn spawn(url: Target) -> io::Result<Self> {
        let (requests, requested) = sync_channel::<()>(1);
        let (answer, answers) = sync_channel(1);
        let target = url.clone();
        std::thread::Builder::new()
            .name("plimsoll-scrape".to_owned())
            .spawn(move || {
                while requested.recv().is_ok() {
                    let result = fetch(&target).map(|text| parse(&text));
                    if answer.send(result).is_err() {
                        break;
                    }
                }
            })?;
        Ok(Self {
            url,
            requests,
            answers,
            is_asked: false,
            earlier: None,
        })
    }

    /// Takes the answer, if it came, and asks again then: a question before that would be answered at once after it.
    pub(crate) fn exchange(&mut self) -> Answer {
        let answer = match self.answers.try_recv() {
            Ok(Ok(scrape)) => Answer::Fresh(scrape),
            Ok(Err(reason)) => Answer::Failed(reason),
            Err(TryRecvError::Empty) => Answer::Pending,
            Err(TryRecvError::Disconnected) => Answer::Failed("the scraper ended".to_owned()),
        };
        if !self.is_asked || !matches!(answer, Answer::Pending) {
            // It fails where the thread ended, which the next answer says.
            self.is_asked = self.requests.try_send(()).is_ok();
        }
        answer
    }
}

/// The series of an endpoint as they stand now, by their names with labels; for a look beside a run.
pub fn read_metrics(url: &Target) -> Result<BTreeMap<String, f64>, String> {
    fetch(url).map(|text| parse_metrics(&text))
}

fn fetch(target: &Target) -> Result<String, String> {
    let request = Request {
        method: "GET".to_owned(),
        url: target.to_string(),
        headers: vec![("Accept".to_owned(), "text/plain".to_owned())],
        body: Vec::new(),
    };
    let response = exchange(&request, PATIENCE).map_err(|error| format!("{target}: {error}"))?;
    if response.status != 200 {
        return Err(format!(
            "{target}: answered with status `{}`",
            response.status
        ));
    }
    Ok(String::from_utf8_lossy(&response.body).into_owned())
}
