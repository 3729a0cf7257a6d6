//! The table of the commands that a connection answers itself, and the list of all commands.

use std::collections::BTreeMap;

use bson::{Document, doc};

use super::{
    Respond, build_info, connection_status, create_user, drop_user, end_sessions,
    get_cmd_line_opts, get_log, get_parameter, hello, host_info, list_databases, logout, ping,
    sasl, server_status, update_user, users_info, whats_my_uri,
};
use crate::command::{self, Command, rows};
use crate::error::Result;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

/// Every command that no shard carries out, in order of names.
pub(crate) static TABLE: &[Command<Respond>] = rows! {
    Connection "buildInfo" or "buildinfo", build_info::respond, "Tells the version that is spoken.";
    Connection "connectionStatus", connection_status::respond, "Tells who is logged in on this connection.";
    Cluster "createUser", create_user::respond, "Creates a user.";
    Cluster "dropUser", drop_user::respond, "Drops a user.";
    Cluster "endSessions", end_sessions::respond, "Ends sessions and closes their cursors.";
    Connection "getCmdLineOpts", get_cmd_line_opts::respond, "Tells the server's options.";
    Connection "getLog", get_log::respond, "Returns recent messages of the server.";
    Connection "getParameter", get_parameter::respond, "Tells parameters of the server.";
    Connection "hello" or "isMaster" or "ismaster", hello::respond, "Tells a driver what this server is and can.";
    Connection "hostInfo", host_info::respond, "Tells about the machine.";
    Cluster "killSessions", end_sessions::respond, "Ends sessions and closes their cursors.";
    Connection "listCommands", list_commands, "Lists the commands.";
    Cluster "listDatabases", list_databases::respond, "Lists the databases.";
    Connection "logout", logout::respond, "Ends a login.";
    Connection "ping", ping::respond, "Answers.";
    Cluster "refreshSessions", end_sessions::refresh, "Keeps sessions alive; here they do not end by themselves.";
    Connection "saslContinue", sasl::go_on, "Goes on with a login.";
    Connection "saslStart", sasl::start, "Begins a login (SCRAM-SHA-256).";
    Connection "serverStatus", server_status::respond, "Tells counters of the server.";
    Cluster "updateUser", update_user::respond, "Changes a user.";
    Cluster "usersInfo", users_info::respond, "Tells about users.";
    Connection "whatsmyuri", whats_my_uri::respond, "Tells the client's address.";
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
    use crate::command::{Kind, find};

    fn check<F>(table: &'static [Command<F>], kinds: [Kind; 2], all: &mut BTreeSet<&str>) {
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
        check(TABLE, [Kind::Connection, Kind::Cluster], &mut all);
        check(
            command::TABLE,
            [Kind::DatabaseRead, Kind::DatabaseWrite],
            &mut all,
        );
        assert_eq!(listed().len(), TABLE.len() + command::TABLE.len());
    }
}
