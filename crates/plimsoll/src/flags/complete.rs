//! Completions for a shell, from the same rows.

use anyhow::{Result, anyhow};
use clap_complete::Shell;

/// The script that the shell reads; the parser lets three of them through.
pub(crate) fn script(shell: &str) -> Result<String> {
    let shell: Shell = shell.parse().map_err(|problem| anyhow!("{problem}"))?;
    let mut command = super::parse::root(true);
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "plimsoll", &mut text);
    Ok(String::from_utf8_lossy(&text).into_owned())
}
