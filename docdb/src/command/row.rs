//! A row of a table of commands.

/// Who answers a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandKind {
    /// The connection itself: handshake, authentication, sessions, facts of the server.
    Connection,
    /// The shard of the database; nothing changes.
    DatabaseRead,
    /// The shard of the database.
    DatabaseWrite,
    /// All shards.
    Cluster,
}

/// One command, with the function that carries it out.
#[derive(Debug, Clone, Copy)]
pub struct Command<F> {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// What it does, in one sentence.
    pub help: &'static str,
    pub kind: CommandKind,
    pub(crate) run: F,
}

/// The rows of a table: who answers, the name, other names, the function, and what it does in one sentence.
macro_rules! rows {
    ($($kind:ident $name:literal $(or $alias:literal)*, $run:expr, $help:literal;)*) => {
        &[$($crate::command::Command {
            name: $name,
            aliases: &[$($alias),*],
            help: $help,
            kind: $crate::command::CommandKind::$kind,
            run: $run,
        }),*]
    };
}
pub(crate) use rows;

/// The command of that name or alias in a table that is in order of names.
pub(crate) fn find<F>(table: &'static [Command<F>], name: &str) -> Option<&'static Command<F>> {
    match table.binary_search_by(|entry| entry.name.cmp(name)) {
        Ok(at) => table.get(at),
        Err(_) => table.iter().find(|entry| entry.aliases.contains(&name)),
    }
}

impl<F: Copy> Command<F> {
    /// The same row without its function, for lists.
    pub(crate) const fn without_function(&self) -> Command<()> {
        Command {
            name: self.name,
            aliases: self.aliases,
            help: self.help,
            kind: self.kind,
            run: (),
        }
    }
}
