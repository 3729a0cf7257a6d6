//! What came over the wire, request by request, at a server or proxy of the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a request is answered with.
pub(crate) type Answer = fn(&Asked) -> &'static str;

pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

pub(crate) fn ok(_: &Asked) -> &'static str {
    OK
}

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    /// The next one; none once the peer has ended.
    pub(crate) fn read(from: &mut impl BufRead) -> Option<Self> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if from.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let mut lines = lines.into_iter();
        let line = lines.next()?;
        let headers = lines.filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_owned(), value.trim().to_owned()))
        });
        let mut asked = Self {
            line,
            headers: headers.collect(),
            body: Vec::new(),
        };
        let length = asked.header("content-length");
        let length = length.map_or(0, |value| value.parse().unwrap());
        asked.body = vec![0; length];
        from.read_exact(&mut asked.body).ok()?;
        Some(asked)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// The requests that came, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Asked>>>);

impl Heard {
    pub(crate) fn add(&self, asked: Asked) {
        self.0.lock().unwrap().push(asked);
    }

    pub(crate) fn all(&self) -> Vec<Asked> {
        self.0.lock().unwrap().clone()
    }

    /// Hears and answers each request of a connection, up to an answer that says that it is the last one.
    pub(crate) fn talk(&self, stream: impl Read + Write, answer: Answer) {
        let mut stream = BufReader::new(stream);
        while let Some(asked) = Asked::read(&mut stream) {
            let answer = answer(&asked);
            self.add(asked);
            let sent = stream.get_mut().write_all(answer.as_bytes());
            if sent.is_err() || answer.contains("Connection: close") {
                return;
            }
        }
    }
}

/// A server without TLS.
pub(crate) struct Wire {
    pub(crate) port: u16,
    pub(crate) heard: Heard,
}

impl Wire {
    pub(crate) fn start(answer: Answer) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), answer)
    }

    pub(crate) fn on(listener: TcpListener, answer: Answer) -> Self {
        Self::with(listener, move |stream, heard| heard.talk(stream, answer))
    }

    /// Each connection on a thread of its own.
    pub(crate) fn with<F>(listener: TcpListener, serve: F) -> Self
    where
        F: Fn(TcpStream, &Heard) + Clone + Send + 'static,
    {
        let port = listener.local_addr().unwrap().port();
        let heard = Heard::default();
        let ears = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (ears, serve) = (ears.clone(), serve.clone());
                std::thread::spawn(move || serve(stream, &ears));
            }
        });
        Self { port, heard }
    }

    pub(crate) fn all(&self) -> Vec<Asked> {
        self.heard.all()
    }
}
