//! Waits for the request to stop, and builds the runtimes that services run on.

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::LabError;

/// A runtime whose only thread is the calling one.
///
/// Sockets and signals are looked at after every few tasks rather than after tokio's usual 61: a
/// task here may hold the thread for milliseconds.
pub(crate) fn one_thread() -> Result<Runtime, LabError> {
    Builder::new_current_thread()
        .enable_all()
        .event_interval(4)
        .build()
        .map_err(LabError::io("start the event loop"))
}

/// Resolves at SIGTERM or SIGINT.
///
/// Registered when called, not when first polled: a signal during the start is not lost.
pub(crate) fn requested() -> Result<impl Future<Output = ()>, LabError> {
    let failed = "listen for signals";
    let mut term = signal(SignalKind::terminate()).map_err(LabError::io(failed))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(LabError::io(failed))?;
    Ok(async move {
        tokio::select! {
            _ = term.recv() => (),
            _ = interrupt.recv() => (),
        }
    })
}
