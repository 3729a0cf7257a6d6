//! Every attempt of a URL by itself, as CSV, beside what is counted of all: written while the load runs.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use anyhow::{Context as _, Result};
use plimsoll_engine::{Listed, Options};

use crate::output;

const HEAD: &str = "start_s,response_ms,service_ms,outcome,status,bytes,level";

/// Plays with options that tell each attempt, and writes them to `path`.
pub(super) fn listed(
    path: &Path,
    options: &Options,
    play: impl FnOnce(&Options) -> Result<()>,
) -> Result<()> {
    let written = || format!("write the attempts to {}", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(written)?);
    writeln!(file, "{HEAD}").with_context(written)?;
    let (sender, attempts) = channel();
    let writer = std::thread::Builder::new()
        .name("attempts".to_owned())
        .spawn(move || write(&mut file, &attempts))?;
    let mut options = options.clone();
    options.listing = Some(sender);
    let played = play(&options);
    // The workers are gone, and with these options the last sender is.
    drop(options);
    if let Ok(Err(error)) = writer.join() {
        // What was asked for is the measurement: a full disk does not cost it.
        output::error(&anyhow::Error::new(error).context(written()));
    }
    played
}

fn write(file: &mut BufWriter<File>, attempts: &Receiver<Vec<Listed>>) -> std::io::Result<()> {
    for batch in attempts {
        for one in batch {
            let service = one
                .service
                .map_or(String::new(), |time| format!("{:.3}", time.as_millis_f64()));
            let status = match one.status {
                0 => String::new(),
                status => status.to_string(),
            };
            writeln!(
                file,
                "{:.6},{:.3},{service},{},{status},{},{}",
                one.intended.as_secs_f64(),
                one.response.as_millis_f64(),
                one.outcome.name(),
                one.bytes,
                one.level,
            )?;
        }
    }
    file.flush()
}
