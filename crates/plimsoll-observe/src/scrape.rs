//! Fetches a metrics endpoint on a thread of its own: an overloaded service must not hold up sampling.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::time::Duration;

use crate::metrics::{Scrape, parse, parse_metrics};
use crate::watch::MetricsUrl;

/// An overloaded event loop answers late, and that answer is the most valuable one.
const PATIENCE: Duration = Duration::from_secs(5);
const BYTES_MAX: usize = 4 << 20;
/// Ends a peer that sends a byte at a time.
const READS_MAX: usize = 4096;

/// Asks when told to and keeps the last answer.
#[derive(Debug)]
pub(crate) struct Scraper {
    pub(crate) url: MetricsUrl,
    ask: SyncSender<()>,
    answers: Receiver<Result<Scrape, String>>,
    pub(crate) earlier: Option<Scrape>,
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
    pub(crate) fn spawn(url: MetricsUrl) -> io::Result<Self> {
        let (ask, asked) = sync_channel::<()>(1);
        let (answer, answers) = sync_channel(1);
        let target = url.clone();
        std::thread::Builder::new()
            .name("plimsoll-scrape".to_owned())
            .spawn(move || {
                while asked.recv().is_ok() {
                    let result = fetch(&target).map(|text| parse(&text));
                    if answer.send(result).is_err() {
                        break;
                    }
                }
            })?;
        Ok(Self {
            url,
            ask,
            answers,
            earlier: None,
        })
    }

    /// Takes the last answer, if it came, and asks again.
    pub(crate) fn exchange(&mut self) -> Answer {
        let answer = match self.answers.try_recv() {
            Ok(Ok(scrape)) => Answer::Fresh(scrape),
            Ok(Err(reason)) => Answer::Failed(reason),
            Err(TryRecvError::Empty) => Answer::Pending,
            Err(TryRecvError::Disconnected) => Answer::Failed("the scraper ended".to_owned()),
        };
        match self.ask.try_send(()) {
            // Full: the question before is still open; one at a time.
            Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => answer,
        }
    }
}

/// The series of an endpoint as they stand now, by their names with labels; for a look beside a run.
pub fn read_metrics(url: &MetricsUrl) -> Result<BTreeMap<String, f64>, String> {
    fetch(url).map(|text| parse_metrics(&text))
}

/// One GET by HTTP/1.0, which needs neither keep-alive nor chunks.
pub(crate) fn fetch(url: &MetricsUrl) -> Result<String, String> {
    let text = |error: io::Error| format!("{url}: {error}");
    let address = (url.host.as_str(), url.port)
        .to_socket_addrs()
        .map_err(text)?
        .next()
        .ok_or_else(|| format!("{url}: the name has no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(text)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(text)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(text)?;
    let request = format!(
        "GET {} HTTP/1.0\r\nHost: {}\r\nAccept: text/plain\r\nConnection: close\r\n\r\n",
        url.path, url.host
    );
    stream.write_all(request.as_bytes()).map_err(text)?;
    let answer = read_answer(&mut stream).map_err(text)?;
    body_of(&answer).map_err(|reason| format!("{url}: {reason}"))
}

fn read_answer(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    let mut chunk = [0_u8; 16 << 10];
    for _ in 0..READS_MAX {
        let read = stream.read(&mut chunk)?;
        answer.extend_from_slice(chunk.get(..read).unwrap_or_default());
        if read == 0 || answer.len() > BYTES_MAX || is_complete(&answer) {
            return Ok(answer);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        "the endpoint sends too slowly",
    ))
}

/// A peer that keeps the connection open although asked not to still says how long its answer is.
fn is_complete(answer: &[u8]) -> bool {
    let Some((head, body)) = split_head(answer) else {
        return false;
    };
    header(&head, "content-length")
        .and_then(|value| value.parse().ok())
        .is_some_and(|length: usize| body.len() >= length)
}

fn split_head(answer: &[u8]) -> Option<(String, &[u8])> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(answer.get(..end)?).into_owned();
    Some((head, answer.get(end + 4..)?))
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn body_of(answer: &[u8]) -> Result<String, String> {
    if answer.len() > BYTES_MAX {
        return Err("the answer is longer than 4 MiB".to_owned());
    }
    let (head, body) = split_head(answer).ok_or("the answer is not HTTP")?;
    let status = head.split_ascii_whitespace().nth(1).unwrap_or_default();
    if status != "200" {
        return Err(format!("answered with status `{status}`"));
    }
    let chunked = header(&head, "transfer-encoding").is_some_and(|value| value == "chunked");
    let body = if chunked {
        unchunk(body)
    } else {
        body.to_vec()
    };
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// Servers that speak only HTTP/1.1 may send chunks even to a 1.0 client. A bad chunk ends the body.
fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|bytes| bytes == b"\r\n") {
        let line = String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).into_owned();
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).unwrap_or(0);
        let start = end + 2;
        let Some(chunk) = start
            .checked_add(length)
            .and_then(|stop| rest.get(start..stop))
        else {
            break;
        };
        if length == 0 {
            break;
        }
        body.extend_from_slice(chunk);
        rest = rest.get(start + length + 2..).unwrap_or_default();
    }
    body
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Serves one connection with `answer` and returns what `fetch` makes of it.
    fn fetched(answer: &'static [u8]) -> Result<String, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let read = stream.read(&mut request).unwrap();
            stream.write_all(answer).unwrap();
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        let url = MetricsUrl {
            host: "127.0.0.1".into(),
            port,
            path: "/m".into(),
        };
        let result = fetch(&url);
        let request = server.join().unwrap();
        assert!(request.starts_with("GET /m HTTP/1.0\r\nHost: 127.0.0.1\r\n"));
        result
    }

    #[test]
    fn answers_of_all_shapes() {
        assert_eq!(fetched(b"HTTP/1.0 200 OK\r\n\r\na 1\n").unwrap(), "a 1\n");
        let long = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\n";
        assert_eq!(fetched(long).unwrap(), "a 1\n");
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na 1\r\n1;x\r\n\n\r\n0\r\n\r\n";
        assert_eq!(fetched(chunked).unwrap(), "a 1\n");
    }

    #[test]
    fn what_is_no_endpoint_says_so() {
        assert!(
            fetched(b"HTTP/1.1 404 Not Found\r\n\r\n")
                .unwrap_err()
                .contains("`404`")
        );
        assert!(fetched(b"SSH-2.0-x\r\n").unwrap_err().contains("not HTTP"));
        assert!(fetched(b"").unwrap_err().contains("not HTTP"));
        let lying = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\na";
        assert_eq!(fetched(lying).unwrap(), "");
    }

    #[test]
    fn a_closed_port_is_an_answer_and_not_a_hang() {
        let port = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        };
        let url = MetricsUrl {
            host: "127.0.0.1".into(),
            port,
            path: "/".into(),
        };
        assert!(fetch(&url).unwrap_err().contains("refused"));
    }
}
