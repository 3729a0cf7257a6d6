//! Serves the canned answers of the conformance scripts on a socket, for the differential run: `httpbin PORT`.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]
#![expect(
    clippy::unwrap_used,
    reason = "a program for developers of the scripted path"
)]

#[path = "../tests/it/httpbin.rs"]
mod httpbin;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::rc::Rc;

use plimsoll_core::Nanos;
use plimsoll_script::TagSetId;
use plimsoll_script::http::{BodyUse, Headers, HttpCall, RequestUrl};

fn main() {
    let port = std::env::args().nth(1).unwrap_or_else(|| "0".to_owned());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    for connection in listener.incoming().flatten() {
        std::thread::spawn(move || serve(&connection));
    }
}

/// Answers until the peer is done or sends nonsense.
fn serve(connection: &TcpStream) {
    let mut reader = BufReader::new(connection);
    let mut writer = connection;
    while let Some(call) = read_call(&mut reader) {
        let result = httpbin::answer(&call);
        let mut head = format!("HTTP/1.1 {} {}\r\n", result.status, result.reason);
        for (name, value) in result.headers.iter() {
            head.extend([name, ": ", value, "\r\n"]);
        }
        let length = result.body.len().to_string();
        head.extend(["Content-Length: ", &length, "\r\n\r\n"]);
        let sent = writer
            .write_all(head.as_bytes())
            .and_then(|()| writer.write_all(&result.body));
        if sent.is_err() {
            return;
        }
    }
}

fn read_call(reader: &mut BufReader<&TcpStream>) -> Option<HttpCall> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&n| n > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut pairs: Vec<(String, String)> = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&n| n > 0)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        pairs.push((name.to_owned(), value.trim().to_owned()));
    }
    let headers: Headers = pairs
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let length: usize = match headers.get("content-length") {
        Some(text) => text.parse().ok()?,
        None => 0,
    };
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let authority = headers.get("host").unwrap_or_default().to_owned();
    let host = authority.split(':').next().unwrap_or_default().to_owned();
    Some(HttpCall {
        method: method.as_str().into(),
        url: Rc::new(RequestUrl {
            text: format!("http://{authority}{target}").into(),
            is_tls: false,
            host: host.into(),
            port: 80,
            authority: authority.into(),
            target: target.into(),
        }),
        headers,
        body: (length > 0).then(|| body.into()),
        timeout: Nanos::from_secs(60),
        body_use: BodyUse::Keep,
        tags: TagSetId(0),
        expects_challenge: false,
        may_follow: false,
    })
}
