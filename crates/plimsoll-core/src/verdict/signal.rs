//! Independent signals that figures belong to: what makes two lines of evidence one or two.

use serde::{Deserialize, Serialize};

/// The enum and its words on the wire in one table.
macro_rules! signals {
    ($($(#[$doc:meta])* $name:ident => $word:literal,)*) => {
        /// What a figure was read from. Figures of one signal count once: they would be wrong together.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Signal {
            $($(#[$doc])* #[serde(rename = $word)] $name,)*
            /// Of another version.
            #[serde(untagged)]
            Other(String),
        }
    };
}

signals! {
    AcceptQueue => "accept queue",
    Bound => "bound",
    Bursts => "bursts",
    Collector => "collector",
    Connections => "connections",
    ConstantRate => "constant rate",
    DeclaredSlots => "declared slots",
    Demand => "demand",
    Descriptors => "descriptors",
    DiskState => "disk state",
    /// A limit was moved, and this is what the system did.
    Experiment => "experiment",
    Faults => "faults",
    Flat => "flat",
    Fsync => "fsync",
    Futex => "futex",
    Goodput => "goodput",
    Idle => "idle",
    IdleBefore => "idle before",
    IdleBehind => "idle behind",
    Intake => "intake",
    ListenerDrops => "listener drops",
    /// Requests in flight against throughput and time.
    Little => "little",
    LoopLag => "loop lag",
    NoAnswer => "no answer",
    NoQueue => "no queue",
    /// Not a figure: no signal was sufficient.
    None => "none",
    /// The same rate passes whatever is offered.
    Plateau => "plateau",
    PoolGauges => "pool gauges",
    Pressure => "pressure",
    ProcessorTime => "processor time",
    ProxyLog => "proxy log",
    Refusals => "refusals",
    RunQueue => "run queue",
    /// Where requests wait, counted in sockets.
    Sockets => "sockets",
    Switches => "switches",
    Thread => "thread",
    Throttling => "throttling",
    /// What was answered while the load rose.
    Throughput => "throughput",
    Turns => "turns",
    UpstreamNotReached => "upstream not reached",
    WaitTimeout => "wait timeout",
    Writes => "writes",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_its_word_and_an_unknown_one_is_kept() {
        for (signal, word) in [
            (Signal::WaitTimeout, "wait timeout"),
            (Signal::Experiment, "experiment"),
            (Signal::Other("queue".to_owned()), "queue"),
        ] {
            let written = serde_json::to_string(&signal).unwrap();
            assert_eq!(written, format!("\"{word}\""));
            assert_eq!(serde_json::from_str::<Signal>(&written).unwrap(), signal);
        }
    }
}
