//! One exchange against servers that answer in every shape, or not at all.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use super::*;

const PATIENCE: Patience = Patience {
    time: Nanos::from_secs(5),
    body_bytes_max: 64,
    insecure: false,
};

fn get(url: String) -> Request {
    Request {
        method: "GET".to_owned(),
        url,
        headers: Vec::new(),
        body: Vec::new(),
    }
}

/// Serves one connection with `answer` and returns what the exchange makes of it.
fn exchanged(answer: &'static [u8], request: impl FnOnce(String) -> Request) -> Exchanged {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let read = stream.read(&mut request).unwrap();
        stream.write_all(answer).unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let result = exchange(&request(format!("http://{address}/m")), PATIENCE);
    let request = server.join().unwrap();
    Exchanged {
        request,
        result: result.map_err(|error| error.to_string()),
    }
}

struct Exchanged {
    request: String,
    result: Result<Response, String>,
}

#[test]
fn answers_of_all_shapes() {
    for answer in [
        &b"HTTP/1.0 200 OK\r\n\r\na 1\n"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na 1\r\n1;x\r\n\n\r\n0\r\n\r\n",
    ] {
        let exchanged = exchanged(answer, get);
        assert!(
            exchanged
                .request
                .starts_with("GET /m HTTP/1.1\r\nHost: 127.0.0.1:")
        );
        assert!(exchanged.request.contains("Connection: close\r\n"));
        let response = exchanged.result.unwrap();
        assert_eq!((response.status, &response.body[..]), (200, &b"a 1\n"[..]));
    }
}

#[test]
fn a_body_and_headers_are_sent() {
    let exchanged = exchanged(b"HTTP/1.1 204 No Content\r\n\r\n", |url| Request {
        method: "POST".to_owned(),
        url,
        headers: vec![("X-Of".to_owned(), "mine".to_owned())],
        body: b"abc".to_vec(),
    });
    assert!(exchanged.request.starts_with("POST /m HTTP/1.1\r\n"));
    assert!(exchanged.request.contains("Content-Length: 3\r\n"));
    assert!(exchanged.request.ends_with("X-Of: mine\r\n\r\nabc"));
    assert_eq!(exchanged.result.unwrap().status, 204);
}

#[test]
fn what_is_no_answer_says_so() {
    let failed = |answer| exchanged(answer, get).result.unwrap_err();
    assert!(failed(b"SSH-2.0-x\r\n\r\n").contains("not HTTP"));
    assert!(failed(b"").contains("without an answer"));
    let lying = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\na";
    assert!(failed(lying).contains("no valid size"), "{}", failed(lying));
    let long = b"HTTP/1.0 200 OK\r\n\r\n0123456789012345678901234567890123456789012345678901234567890123456789";
    assert!(failed(long).contains("longer than 64 bytes"));
}

#[test]
fn nobody_there_is_an_answer_and_not_a_hang() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Connected by the kernel, answered by nobody.
    let short = Patience {
        time: Nanos::from_millis(50),
        ..PATIENCE
    };
    let error = exchange(&get(format!("http://{address}/")), short).unwrap_err();
    assert!(matches!(error, ExchangeError::Late(_)), "{error}");
    drop(listener);
    let error = exchange(&get(format!("http://{address}/")), PATIENCE).unwrap_err();
    assert!(error.to_string().contains("refused"), "{error}");
}
