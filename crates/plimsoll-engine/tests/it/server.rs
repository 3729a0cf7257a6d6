//! A server of threads that answers well or misbehaves in one way.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Behaviour {
    Answer,
    AnswerAndClose,
    /// Answers after so many milliseconds.
    Delay(u64),
    Status(u16),
    CloseAtOnce,
    CloseMidway,
    Reset,
    Garbage,
    EndlessHead,
    EndlessBody,
    /// The same, as fast as it goes.
    Flood,
    /// A body of 20 MB.
    Large,
    BrokenChunk,
    TooShortLength,
    TooLongLength,
    Silent,
}

pub(crate) struct Server {
    pub(crate) port: u16,
    stop: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let stopped = Arc::clone(&stopped);
                std::thread::spawn(move || serve(stream, behaviour, &stopped));
            }
        });
        Self { port, stop }
    }
}

/// A server on a thread of its own, for as long as the tests run. `manner` is told the path of each request and takes as long
/// as the answer is to take; false closes the connection instead.
pub(crate) fn serve_by(manner: impl Fn(&str) -> bool + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let manner = manner.clone();
            std::thread::spawn(move || answer_by(stream, manner));
        }
    });
    port
}

fn answer_by(mut stream: TcpStream, manner: impl Fn(&str) -> bool) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = [0; 4096];
    // A request without a body comes in one piece here.
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        let head = String::from_utf8_lossy(&buffer[..read]);
        let path = head.split(' ').nth(1).unwrap_or_default();
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        if !manner(path) || stream.write_all(answer).is_err() {
            return;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the accepting thread, which then closes the listener.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn serve(mut stream: TcpStream, behaviour: Behaviour, stopped: &AtomicBool) {
    stream.set_nodelay(true).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    let mut buffer = [0; 4096];
    while !stopped.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            // Nothing for a while, or the machine stood still.
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                continue;
            }
            Err(_) => return,
        }
        if !answer(&mut stream, behaviour, stopped) {
            return;
        }
    }
}

/// False when the connection is over.
fn answer(stream: &mut TcpStream, behaviour: Behaviour, stopped: &AtomicBool) -> bool {
    let head = "HTTP/1.1 200 OK\r\n";
    let ok = format!("{head}Content-Length: 2\r\n\r\nok");
    let mut say = |text: &str| stream.write_all(text.as_bytes()).is_ok();
    match behaviour {
        Behaviour::Answer => say(&ok),
        Behaviour::Delay(milliseconds) => {
            std::thread::sleep(Duration::from_millis(milliseconds));
            say(&ok)
        }
        Behaviour::AnswerAndClose => {
            say(&format!(
                "{head}Connection: close\r\nContent-Length: 2\r\n\r\nok"
            ));
            false
        }
        Behaviour::Status(status) => {
            say(&format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n"))
        }
        Behaviour::CloseAtOnce => false,
        Behaviour::CloseMidway => {
            say(&format!("{head}Content-Length: 100\r\n\r\npart"));
            false
        }
        Behaviour::Reset => {
            // Unread bytes in the socket make the close a reset.
            say("");
            reset(stream);
            false
        }
        Behaviour::Garbage => say("220 mail.example ESMTP\r\n\r\n"),
        Behaviour::EndlessHead => {
            say(head);
            while !stopped.load(Ordering::Relaxed) && stream.write_all(&[b'x'; 8192]).is_ok() {}
            false
        }
        Behaviour::EndlessBody => {
            say(&format!("{head}\r\n"));
            while !stopped.load(Ordering::Relaxed) && stream.write_all(&[b'x'; 512]).is_ok() {
                std::thread::sleep(Duration::from_millis(10));
            }
            false
        }
        Behaviour::Flood => {
            say(&format!("{head}\r\n"));
            let part = vec![b'x'; 1 << 20];
            while !stopped.load(Ordering::Relaxed) && stream.write_all(&part).is_ok() {}
            false
        }
        Behaviour::Large => {
            say(&format!("{head}Content-Length: 20000000\r\n\r\n"))
                && stream.write_all(&vec![b'x'; 20_000_000]).is_ok()
        }
        Behaviour::BrokenChunk => say(&format!("{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n")),
        Behaviour::TooShortLength => say(&format!("{head}Content-Length: 2\r\n\r\nok and more")),
        Behaviour::TooLongLength => say(&format!("{head}Content-Length: 50\r\n\r\nok")),
        Behaviour::Silent => true,
    }
}

fn reset(stream: &TcpStream) {
    rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO)).unwrap();
}
