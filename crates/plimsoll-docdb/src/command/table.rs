//! The table of commands: dispatch, help and the generated docs come from here.

use super::Run;
use super::{
    coll_mod, count, create, create_indexes, delete, distinct, drop, drop_indexes,
    find, find_and_modify, get_more, insert, kill_cursors, list_collections, list_indexes,
    rename_collection, stats, update, validate,
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
}

/// The command of that name or alias.
pub fn entry(name: &str) -> Option<&'static Entry> {
    match TABLE.binary_search_by(|entry| entry.name.cmp(name)) {
        Ok(at) => TABLE.get(at),
        Err(_) => TABLE.iter().find(|entry| entry.aliases.contains(&name)),
    }
}

const fn connection(name: &'static str, help: &'static str) -> Entry {
    Entry {
        name,
        aliases: &[],
        help,
        kind: Kind::Connection,
        run: None,
    }
}

const fn cluster(name: &'static str, help: &'static str) -> Entry {
    Entry {
        kind: Kind::Cluster,
        ..connection(name, help)
    }
}

const fn read(name: &'static str, help: &'static str, run: Run) -> Entry {
    Entry {
        name,
        aliases: &[],
        help,
        kind: Kind::DatabaseRead,
        run: Some(run),
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
    // `A` does not follow `a` here: the order is that of bytes.
    connection("buildInfo", "Tells the version that is spoken.").or(&["buildinfo"]),
    write("collMod", "Changes `expireAfterSeconds` of a TTL index.", coll_mod::run),
    read("collStats", "Tells sizes and counts of a collection.", stats::collection).or(&["collstats"]),
    connection("connectionStatus", "Tells who is logged in on this connection."),
    read("count", "Counts the documents that match a filter.", count::run),
    write("create", "Creates a collection.", create::run),
    write("createIndexes", "Creates indexes and fills them from existing documents.", create_indexes::run),
    cluster("createUser", "Creates a user."),
    read("dataSize", "Tells the bytes of a collection's documents.", stats::data_size),
    read("dbStats", "Tells sizes and counts of a database.", stats::database).or(&["dbstats"]),
    write("delete", "Deletes documents that match filters.", delete::run),
    read("distinct", "Lists the different values of a field.", distinct::run),
    write("drop", "Drops a collection with its indexes.", drop::collection),
    write("dropDatabase", "Drops a database with all its collections.", drop::database),
    write("dropIndexes", "Drops indexes by name, by key or all of them.", drop_indexes::run).or(&["deleteIndexes"]),
    cluster("dropUser", "Drops a user."),
    cluster("endSessions", "Ends sessions and closes their cursors."),
    read("find", "Finds documents and opens a cursor over them.", find::run),
    write("findAndModify", "Changes or removes one document and returns it.", find_and_modify::run).or(&["findandmodify"]),
    connection("getCmdLineOpts", "Tells the server's options."),
    connection("getLog", "Returns recent messages of the server."),
    read("getMore", "Returns the next batch of a cursor.", get_more::run),
    connection("getParameter", "Tells parameters of the server."),
    connection("hello", "Tells a driver what this server is and can.").or(&["isMaster", "ismaster"]),
    connection("hostInfo", "Tells about the machine."),
    write("insert", "Inserts documents.", insert::run),
    read("killCursors", "Closes cursors.", kill_cursors::run),
    cluster("killSessions", "Ends sessions and closes their cursors."),
    read("listCollections", "Lists the collections of a database.", list_collections::run),
    connection("listCommands", "Lists the commands."),
    cluster("listDatabases", "Lists the databases."),
    read("listIndexes", "Lists the indexes of a collection.", list_indexes::run),
    connection("logout", "Ends a login."),
    connection("ping", "Answers."),
    write("renameCollection", "Gives a collection another name in its database.", rename_collection::run),
    connection("saslContinue", "Goes on with a login."),
    connection("saslStart", "Begins a login (SCRAM-SHA-256)."),
    connection("serverStatus", "Tells counters of the server."),
    write("update", "Changes documents that match filters.", update::run).or(&[]),
    cluster("updateUser", "Changes a user."),
    cluster("usersInfo", "Tells about users."),
    read("validate", "Checks that documents, indexes and counts agree.", validate::run),
    connection("whatsmyuri", "Tells the client's address."),
];
