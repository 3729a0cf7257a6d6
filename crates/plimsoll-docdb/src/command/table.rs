//! The table of commands: dispatch, help and the generated docs come from here.

use super::Run;
use super::{
    aggregate, coll_mod, count, create, create_indexes, delete, distinct, drop, drop_indexes,
    explain, find, find_and_modify, get_more, insert, kill_cursors, list_collections, list_indexes,
    rename_collection, stats, update, validate,
};

use crate::server::commands::{
    Respond, build_info, connection_status, create_user, drop_user, end_sessions,
    get_cmd_line_opts, get_log, get_parameter, hello, host_info, list_commands, list_databases,
    logout, ping, sasl, server_status, update_user, users_info, whats_my_uri,
};

/// Who answers a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The connection itself: handshake, authentication, sessions, facts of the server.
    Connection,
    /// The shard of the database; nothing changes.
    DatabaseRead,
    /// The shard of the database.
    DatabaseWrite,
    /// All shards.
    Cluster,
}

/// One command.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// What it does, in one sentence.
    pub help: &'static str,
    pub kind: Kind,
    /// How a shard carries it out; `None` for what is answered outside of shards.
    pub(crate) run: Option<Run>,
    /// How a connection answers it; `None` for what a shard carries out.
    pub(crate) respond: Option<Respond>,
}

/// The command of that name or alias.
pub fn entry(name: &str) -> Option<&'static Entry> {
    match TABLE.binary_search_by(|entry| entry.name.cmp(name)) {
        Ok(at) => TABLE.get(at),
        Err(_) => TABLE.iter().find(|entry| entry.aliases.contains(&name)),
    }
}

const fn connection(name: &'static str, help: &'static str, respond: Respond) -> Entry {
    Entry {
        name,
        aliases: &[],
        help,
        kind: Kind::Connection,
        run: None,
        respond: Some(respond),
    }
}

const fn cluster(name: &'static str, help: &'static str, respond: Respond) -> Entry {
    Entry {
        kind: Kind::Cluster,
        ..connection(name, help, respond)
    }
}

const fn read(name: &'static str, help: &'static str, run: Run) -> Entry {
    Entry {
        name,
        aliases: &[],
        help,
        kind: Kind::DatabaseRead,
        run: Some(run),
        respond: None,
    }
}

const fn write(name: &'static str, help: &'static str, run: Run) -> Entry {
    Entry {
        kind: Kind::DatabaseWrite,
        ..read(name, help, run)
    }
}

impl Entry {
    const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }
}

/// Every command there is, in order of names.
pub static TABLE: &[Entry] = &[
    read(
        "aggregate",
        "Runs an aggregation pipeline over a collection.",
        aggregate::run,
    ),
    connection(
        "buildInfo",
        "Tells the version that is spoken.",
        build_info::respond,
    )
    .or(&["buildinfo"]),
    write(
        "collMod",
        "Changes `expireAfterSeconds` of a TTL index.",
        coll_mod::run,
    ),
    read(
        "collStats",
        "Tells sizes and counts of a collection.",
        stats::collection,
    )
    .or(&["collstats"]),
    connection(
        "connectionStatus",
        "Tells who is logged in on this connection.",
        connection_status::respond,
    ),
    read(
        "count",
        "Counts the documents that match a filter.",
        count::run,
    ),
    write("create", "Creates a collection.", create::run),
    write(
        "createIndexes",
        "Creates indexes and fills them from existing documents.",
        create_indexes::run,
    ),
    cluster("createUser", "Creates a user.", create_user::respond),
    read(
        "dataSize",
        "Tells the bytes of a collection's documents.",
        stats::data_size,
    ),
    read(
        "dbStats",
        "Tells sizes and counts of a database.",
        stats::database,
    )
    .or(&["dbstats"]),
    write(
        "delete",
        "Deletes documents that match filters.",
        delete::run,
    ),
    read(
        "distinct",
        "Lists the different values of a field.",
        distinct::run,
    ),
    write(
        "drop",
        "Drops a collection with its indexes.",
        drop::collection,
    ),
    write(
        "dropDatabase",
        "Drops a database with all its collections.",
        drop::database,
    ),
    write(
        "dropIndexes",
        "Drops indexes by name, by key or all of them.",
        drop_indexes::run,
    )
    .or(&["deleteIndexes"]),
    cluster("dropUser", "Drops a user.", drop_user::respond),
    cluster(
        "endSessions",
        "Ends sessions and closes their cursors.",
        end_sessions::respond,
    ),
    read(
        "explain",
        "Tells how a command would find its documents.",
        explain::run,
    ),
    read(
        "find",
        "Finds documents and opens a cursor over them.",
        find::run,
    ),
    write(
        "findAndModify",
        "Changes or removes one document and returns it.",
        find_and_modify::run,
    )
    .or(&["findandmodify"]),
    connection(
        "getCmdLineOpts",
        "Tells the server's options.",
        get_cmd_line_opts::respond,
    ),
    connection(
        "getLog",
        "Returns recent messages of the server.",
        get_log::respond,
    ),
    read(
        "getMore",
        "Returns the next batch of a cursor.",
        get_more::run,
    ),
    connection(
        "getParameter",
        "Tells parameters of the server.",
        get_parameter::respond,
    ),
    connection(
        "hello",
        "Tells a driver what this server is and can.",
        hello::respond,
    )
    .or(&["isMaster", "ismaster"]),
    connection("hostInfo", "Tells about the machine.", host_info::respond),
    write("insert", "Inserts documents.", insert::run),
    read("killCursors", "Closes cursors.", kill_cursors::run),
    cluster(
        "killSessions",
        "Ends sessions and closes their cursors.",
        end_sessions::respond,
    ),
    read(
        "listCollections",
        "Lists the collections of a database.",
        list_collections::run,
    ),
    connection(
        "listCommands",
        "Lists the commands.",
        list_commands::respond,
    ),
    cluster(
        "listDatabases",
        "Lists the databases.",
        list_databases::respond,
    ),
    read(
        "listIndexes",
        "Lists the indexes of a collection.",
        list_indexes::run,
    ),
    connection("logout", "Ends a login.", logout::respond),
    connection("ping", "Answers.", ping::respond),
    cluster(
        "refreshSessions",
        "Keeps sessions alive; here they do not end by themselves.",
        end_sessions::refresh,
    ),
    write(
        "renameCollection",
        "Gives a collection another name in its database.",
        rename_collection::run,
    ),
    connection("saslContinue", "Goes on with a login.", sasl::go_on),
    connection("saslStart", "Begins a login (SCRAM-SHA-256).", sasl::start),
    connection(
        "serverStatus",
        "Tells counters of the server.",
        server_status::respond,
    ),
    write(
        "update",
        "Changes documents that match filters.",
        update::run,
    ),
    cluster("updateUser", "Changes a user.", update_user::respond),
    cluster("usersInfo", "Tells about users.", users_info::respond),
    read(
        "validate",
        "Checks that documents, indexes and counts agree.",
        validate::run,
    ),
    connection(
        "whatsmyuri",
        "Tells the client's address.",
        whats_my_uri::respond,
    ),
];
