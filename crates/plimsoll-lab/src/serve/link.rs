//! The network between two tiers: bytes arrive `delay` after they were sent, in either direction, or up to two
//! milliseconds later, by the runtime's clock; none is lost.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep_until};

use super::clock::now;
use super::{Context, Watch, stop};
use crate::LabError;

/// Reads under way in one direction of a connection; then the sender's own buffers fill, as before a real network.
const UNDER_WAY: usize = 256;
const READ: usize = 16 << 10;

pub(crate) fn start(context: Context) -> Result<(), LabError> {
    let upstream = context.upstream()?;
    let delay = context.values.millis("delay");
    stop::one_thread()?.block_on(async {
        let stop = stop::requested()?;
        context.ready_over("tcp", &[Watch::Port("upstream", upstream)])?;
        let listener = TcpListener::from_std(context.listener)
            .map_err(LabError::io("watch the listening socket"))?;
        tokio::select! {
            () = stop => Ok(()),
            () = accept(&listener, upstream, delay) => Ok(()),
        }
    })
}

async fn accept(listener: &TcpListener, upstream: SocketAddr, delay: Duration) {
    loop {
        let Ok((near, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        tokio::spawn(async move {
            // Nobody behind: the near side sees its connection closed.
            if let Ok(far) = TcpStream::connect(upstream).await {
                join(near, far, delay).await;
            }
        });
    }
}

/// Both directions, until each has come to its end.
async fn join(near: TcpStream, far: TcpStream, delay: Duration) {
    // A peer that is gone already fails below.
    drop(near.set_nodelay(true));
    drop(far.set_nodelay(true));
    let (near_reads, near_writes) = near.into_split();
    let (far_reads, far_writes) = far.into_split();
    tokio::join!(
        carry(near_reads, far_writes, delay),
        carry(far_reads, near_writes, delay),
    );
}

async fn carry(from: impl AsyncRead + Unpin, to: impl AsyncWrite + Unpin, delay: Duration) {
    let (sender, receiver) = channel(UNDER_WAY);
    tokio::join!(take(from, sender, delay), deliver(receiver, to));
}

async fn take(mut from: impl AsyncRead + Unpin, sender: Sender<(Instant, Bytes)>, delay: Duration) {
    let mut read = BytesMut::new();
    loop {
        read.reserve(READ);
        match from.read_buf(&mut read).await {
            // An end, clean or not, is the last that the other side hears.
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let due = Instant::from_std(now()) + delay;
        if sender.send((due, read.split().freeze())).await.is_err() {
            return;
        }
    }
}

async fn deliver(mut receiver: Receiver<(Instant, Bytes)>, mut to: impl AsyncWrite + Unpin) {
    while let Some((due, bytes)) = receiver.recv().await {
        // The runtime's timer wakes at its next tick, also for what is due now.
        if due > Instant::from_std(now()) {
            sleep_until(due).await;
        }
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
    drop(to.shutdown().await);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_in_order_and_late_and_so_does_the_end() {
        let runtime = stop::one_thread().unwrap();
        let (begun, delay) = (now(), Duration::from_millis(30));
        runtime.block_on(async {
            // Chunk by chunk, and each as late: not one after another.
            let (mut sends, from) = tokio::io::duplex(64);
            let (to, mut hears) = tokio::io::duplex(64);
            tokio::spawn(carry(from, to, delay));
            let all: Vec<u8> = (0..1000_u32).map(|i| i as u8).collect();
            let sent = all.clone();
            tokio::spawn(async move { sends.write_all(&sent).await });
            let mut heard = Vec::new();
            hears.read_to_end(&mut heard).await.unwrap();
            assert_eq!(heard, all);
            let late = begun.elapsed();
            assert!(late >= delay && late < 8 * delay, "{late:?} for 16 chunks");
            let (mut sends, from) = tokio::io::duplex(64);
            let (to, mut hears) = tokio::io::duplex(64);
            let at_once = tokio::spawn(carry(from, to, Duration::ZERO));
            sends.write_all(b"ab").await.unwrap();
            assert_eq!(hears.read_u16().await.unwrap(), 0x6162);
            drop(sends);
            at_once.await.unwrap();
        });
    }
}
