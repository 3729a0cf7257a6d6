//! A server for HTTP/1.1 and HTTP/2, whichever a client begins with, on the calling thread's event loop: for services that
//! need no other shape.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;

use crate::LabError;
use crate::serve::{Context, Watch, stop};

/// Largest request body that a service reads; more is answered with 413.
const BODY_MAX: usize = 1 << 20;

pub(crate) type Answer = Response<Full<Bytes>>;

/// A request whose body has been read.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Bytes,
}

/// Serves with `handler` until asked to stop, on the calling thread.
pub(crate) fn serve<H, F>(context: Context, watch: &[Watch], handler: H) -> Result<(), LabError>
where
    H: Fn(Received) -> F + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    serve_beside(context, watch, || {}, handler)
}

/// The same beside other work, which `begin` starts on this thread's event loop.
pub(crate) fn serve_beside<H, F>(
    context: Context,
    watch: &[Watch],
    begin: impl FnOnce(),
    handler: H,
) -> Result<(), LabError>
where
    H: Fn(Received) -> F + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    stop::one_thread()?.block_on(async {
        begin();
        until_stopped(context, watch, handler).await
    })
}

/// Serves with `handler` until asked to stop, on the runtime of the caller.
pub(crate) async fn until_stopped<H, F>(
    context: Context,
    watch: &[Watch],
    handler: H,
) -> Result<(), LabError>
where
    H: Fn(Received) -> F + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let stop = stop::requested()?;
    context.ready(watch)?;
    let handler = Arc::new(handler);
    let listener = tokio::net::TcpListener::from_std(context.listener)
        .map_err(LabError::io("watch the listening socket"))?;
    let accept = async {
        loop {
            // Out of descriptors or a peer gone before it was accepted: the next one may work,
            // after a moment that lets connections end.
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                continue;
            };
            tokio::spawn(connection(stream, Arc::clone(&handler)));
        }
    };
    tokio::select! {
        () = stop => (),
        () = accept => (),
    }
    Ok(())
}

async fn connection<H, F>(stream: TcpStream, handler: Arc<H>)
where
    H: Fn(Received) -> F + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    // Small answers must not wait for an acknowledgement; a peer gone already fails below.
    drop(stream.set_nodelay(true));
    let service = service_fn(move |request| {
        let handler = Arc::clone(&handler);
        async move { Ok::<_, Infallible>(answer(request, &*handler).await) }
    });
    // How a client ends its connection is its own affair.
    drop(
        auto::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await,
    );
}

async fn answer<H, F>(request: Request<Incoming>, handler: &H) -> Answer
where
    H: Fn(Received) -> F + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let (head, body) = request.into_parts();
    let body = if body.is_end_stream() {
        Bytes::new()
    } else {
        match Limited::new(body, BODY_MAX).collect().await {
            Ok(body) => body.to_bytes(),
            Err(_) => {
                return text(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "body above 1 MiB or cut short\n",
                );
            }
        }
    };
    handler(Received {
        method: head.method,
        path: head.uri.path().to_owned(),
        body,
    })
    .await
}

pub(crate) fn text(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    typed(status, "text/plain; charset=utf-8", body)
}

pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    typed(status, "application/json", body)
}

fn typed(status: StatusCode, media: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let media = header::HeaderValue::from_static(media);
    answer.headers_mut().insert(header::CONTENT_TYPE, media);
    answer
}

/// What every fixture says when all went well: 200 with a short constant body, so that bytes per
/// success stay the same at every load.
pub(crate) fn ok() -> Answer {
    text(StatusCode::OK, "done\n")
}
