//! A client of one awaited service: keep-alive connections, as many as are needed at once.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Why no answer came, as it is shown in a 502.
pub(crate) type Failure = String;

/// Idle connections to one address; clones share them.
#[derive(Clone)]
pub(crate) struct Upstream {
    address: SocketAddr,
    idle: Arc<Mutex<Vec<Connection>>>,
}

type Connection = SendRequest<Full<Bytes>>;

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Upstream {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            idle: Arc::default(),
        }
    }

    /// The answer to `GET path`.
    pub(crate) async fn get(&self, path: &str) -> Result<(StatusCode, Bytes), Failure> {
        self.ask(Method::GET, path, Bytes::new()).await
    }

    /// The answer to `POST path`.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<(StatusCode, Bytes), Failure> {
        self.ask(Method::POST, path, body.into()).await
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), Failure> {
        let mut connection = match self.take().await {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address.to_string())
            .body(Full::new(body))
            .map_err(|error| error.to_string())?;
        let answer = connection
            .send_request(request)
            .await
            .map_err(|error| error.to_string())?;
        let status = answer.status();
        let body = answer
            .into_body()
            .collect()
            .await
            .map_err(|error| error.to_string())?;
        self.put(connection);
        Ok((status, body.to_bytes()))
    }

    /// The connection used last, so that a burst's extra connections stay idle.
    async fn take(&self) -> Option<Connection> {
        loop {
            let idle = self
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop();
            let mut connection = idle?;
            // Fails if the other side closed it meanwhile.
            if connection.ready().await.is_ok() {
                return Some(connection);
            }
        }
    }

    fn put(&self, connection: Connection) {
        if !connection.is_closed() {
            self.idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(connection);
        }
    }

    async fn connect(&self) -> Result<Connection, Failure> {
        let failed = |error: &dyn fmt::Display| format!("{}: {error}", self.address);
        let stream = TcpStream::connect(self.address)
            .await
            .map_err(|error| failed(&error))?;
        drop(stream.set_nodelay(true));
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(&error))?;
        // Its end is seen by the request that was on it.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }
}
