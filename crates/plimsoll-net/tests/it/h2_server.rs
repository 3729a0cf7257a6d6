//! A server of another hand, the h2 crate, on a thread of its own. What it does is in the path.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use http::{HeaderMap, Response, StatusCode};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

/// Requests after which `/leave` closes a connection.
static SERVED: AtomicU32 = AtomicU32::new(0);

/// A server on a thread of its own, for as long as the tests run.
pub(crate) fn serve(streams: u32) -> SocketAddr {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(connection(socket, streams));
            }
        });
    });
    receiver.recv().unwrap()
}

async fn connection(socket: TcpStream, streams: u32) {
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(streams);
    let Ok(mut connection) = builder.handshake(socket).await else {
        return;
    };
    while let Some(Ok((request, respond))) = connection.accept().await {
        let leaves = request.uri().path() == "/leave";
        tokio::spawn(answer(request, respond));
        if leaves && SERVED.fetch_add(1, Ordering::Relaxed) % 5 == 4 {
            connection.graceful_shutdown();
        }
    }
}

/// By a thread: the runtime's own clock is not compiled in.
async fn pause(time: Duration) {
    let is_over = Arc::new(AtomicBool::new(false));
    std::future::poll_fn(move |task| {
        if is_over.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        let (is_over, waker) = (Arc::clone(&is_over), task.waker().clone());
        std::thread::spawn(move || {
            std::thread::sleep(time);
            is_over.store(true, Ordering::Release);
            waker.wake();
        });
        Poll::Pending
    })
    .await;
}

async fn answer(request: http::Request<h2::RecvStream>, mut respond: SendResponse<Bytes>) {
    let (head, mut body) = request.into_parts();
    let mut taken = Vec::new();
    while let Some(Ok(part)) = body.data().await {
        let _open = body.flow_control().release_capacity(part.len());
        taken.extend_from_slice(&part);
    }
    let path = head.uri.path();
    if path == "/hang" {
        std::future::pending::<()>().await;
    }
    if path == "/wait" {
        pause(Duration::from_millis(50)).await;
    }
    if path == "/reset" {
        respond.send_reset(h2::Reason::REFUSED_STREAM);
        return;
    }
    let status = match path {
        "/missing" => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    };
    let large = path
        .strip_prefix("/large/")
        .and_then(|text| text.parse().ok());
    let mut body = large.map_or(taken, |size: usize| vec![b'x'; size]);
    if matches!(path, "/short" | "/long") {
        body = b"some".to_vec();
    }
    let declared = match path {
        // Neither is what it says.
        "/short" => body.len() + 5,
        "/long" => 0,
        _ => body.len(),
    };
    let mut response = Response::builder()
        .status(status)
        .header("x-served-by", "h2");
    response = response.header("content-length", declared);
    if head.method == "HEAD" {
        let _gone = respond.send_response(response.body(()).unwrap(), true);
        return;
    }
    let mut stream = respond
        .send_response(response.body(()).unwrap(), false)
        .unwrap();
    // The h2 crate keeps what the windows do not take yet.
    let sent = stream.send_data(body.into(), false);
    let mut trailers = HeaderMap::new();
    trailers.insert("x-end", "1".parse().unwrap());
    let _gone = sent.and_then(|()| stream.send_trailers(trailers));
}
