//! Completions for a shell, from the same rows.

use std::str::FromStr;

/// A shell that completes our words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl FromStr for Shell {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "bash" => Ok(Self::Bash),
            "zsh" => Ok(Self::Zsh),
            "fish" => Ok(Self::Fish),
            _ => Err("not one of bash, zsh, fish".to_owned()),
        }
    }
}

/// The script that the shell reads.
pub(crate) fn script(shell: Shell) -> String {
    let mut command = super::parse::root(true);
    let mut text = Vec::new();
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    clap_complete::generate(shell, &mut command, "plimsoll", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
