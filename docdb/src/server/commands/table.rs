//! The table of the commands that a connection answers itself, and the list of all commands.

use std::collections::BTreeMap;

use bson::{Document, doc};

use super::{Respond, end_sessions, facts, hello, list_databases, login, operations, users};
use crate::command::{self, Command, rows};
use crate::error::Result;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

/// Every command that no shard carries out, in order of names.
pub(crate) static TABLE: &[Command<Respond>] = rows! {
    Connection "buildInfo" or "buildinfo", facts::build_info, "Tells the version that is spoken.";
    Connection "connectionStatus", login::connection_status, "Tells who is logged in on this connection.";
    Cluster "createUser", users::create_user, "Creates a user.";
    Cluster "currentOp", operations::current, "Lists the commands that take long, with the number that `killOp` takes.";
    Cluster "dropUser", users::drop_user, "Drops a user.";
    Cluster "endSessions", end_sessions::respond, "Ends sessions and closes their cursors.";
    Connection "getCmdLineOpts", facts::get_cmd_line_opts, "Tells the server's options.";
    Connection "getLog", facts::get_log, "Returns recent messages of the server.";
    Connection "getParameter", facts::get_parameter, "Tells parameters of the server.";
    Connection "hello" or "isMaster" or "ismaster", hello::respond, "Tells a driver what this server is and can.";
    Connection "hostInfo", facts::host_info, "Tells about the machine.";
    Cluster "killOp", operations::kill, "Ends a command that `currentOp` lists.";
    Cluster "killSessions", end_sessions::respond, "Ends sessions and closes their cursors.";
    Connection "listCommands", list_commands, "Lists the commands.";
    Cluster "listDatabases", list_databases::respond, "Lists the databases.";
    Connection "logout", login::logout, "Ends a login.";
    Connection "ping", facts::ping, "Answers.";
    Cluster "refreshSessions", end_sessions::refresh, "Keeps sessions alive; here they do not end by themselves.";
    Connection "saslContinue", login::go_on, "Goes on with a login.";
    Connection "saslStart", login::start, "Begins a login (SCRAM-SHA-256).";
    Connection "serverStatus", facts::server_status, "Tells counters of the server.";
    Cluster "updateUser", users::update_user, "Changes a user.";
    Cluster "usersInfo", users::users_info, "Tells about users.";
    Connection "whatsmyuri", login::whats_my_uri, "Tells the client's address.";
};

/// Every command there is, in order of names, as others may know it.
pub fn listed() -> Vec<Command<()>> {
    let own = TABLE.iter().map(Command::without_function);
    let of_shards = command::TABLE.iter().map(Command::without_function);
    let all: BTreeMap<_, _> = own.chain(of_shards).map(|one| (one.name, one)).collect();
    all.into_values().collect()
}

/// `listCommands`: the names of all commands, with what each does.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the signature of Respond, which others fail through"
)]
fn list_commands(_: &Shared, _: &mut Session, _: &Request) -> Result<Document> {
    let row = |one: Command<()>| {
        let row = doc! { "help": one.help, "apiVersions": [] };
        (one.name.to_owned(), row.into())
    };
    let commands: Document = listed().into_iter().map(row).collect();
    Ok(doc! { "commands": commands })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::command::{CommandKind, find};

    fn check<F>(table: &'static [Command<F>], kinds: [CommandKind; 2], all: &mut BTreeSet<&str>) {
        let names: Vec<&str> = table.iter().map(|entry| entry.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        for one in table {
            for name in one.aliases.iter().chain([&one.name]) {
                assert!(all.insert(*name), "{name} twice");
                assert_eq!(find(table, name).map(|found| found.name), Some(one.name));
            }
            assert!(kinds.contains(&one.kind), "{}", one.name);
            assert!(one.help.ends_with('.'), "{}", one.name);
        }
        assert!(find(table, "mapReduce").is_none());
    }

    #[test]
    fn the_tables_are_in_order_and_every_name_is_found_once() {
        let mut all = BTreeSet::new();
        check(
            TABLE,
            [CommandKind::Connection, CommandKind::Cluster],
            &mut all,
        );
        check(
            command::TABLE,
            [CommandKind::DatabaseRead, CommandKind::DatabaseWrite],
            &mut all,
        );
        assert_eq!(listed().len(), TABLE.len() + command::TABLE.len());
    }
}
