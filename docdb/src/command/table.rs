//! The table of the commands that a shard carries out; those of connections and of the server as a whole have a table beside
//! their own files. Dispatch, help and the manual come from both.

use super::Run;
use super::row::{Command, rows};
use super::{
    aggregate, coll_mod, count, create, create_indexes, delete, distinct, drop, drop_indexes,
    explain, find, find_and_modify, get_more, insert, kill_cursors, list_collections, list_indexes,
    rename_collection, stats, update, validate,
};

/// Every command of a shard, in order of names.
pub(crate) static TABLE: &[Command<Run>] = rows! {
    DatabaseRead "aggregate", aggregate::run, "Runs an aggregation pipeline over a collection.";
    DatabaseWrite "collMod", coll_mod::run, "Changes `expireAfterSeconds` of a TTL index.";
    DatabaseRead "collStats" or "collstats", stats::collection, "Tells sizes and counts of a collection.";
    DatabaseRead "count", count::run, "Counts the documents that match a filter.";
    DatabaseWrite "create", create::run, "Creates a collection.";
    DatabaseWrite "createIndexes", create_indexes::run, "Creates indexes and fills them from existing documents.";
    DatabaseRead "dataSize", stats::data_size, "Tells the bytes of a collection's documents.";
    DatabaseRead "dbStats" or "dbstats", stats::database, "Tells sizes and counts of a database.";
    DatabaseWrite "delete", delete::run, "Deletes documents that match filters.";
    DatabaseRead "distinct", distinct::run, "Lists the different values of a field.";
    DatabaseWrite "drop", drop::collection, "Drops a collection with its indexes.";
    DatabaseWrite "dropDatabase", drop::database, "Drops a database with all its collections.";
    DatabaseWrite "dropIndexes" or "deleteIndexes", drop_indexes::run, "Drops indexes by name, by key or all of them.";
    DatabaseRead "explain", explain::run, "Tells how a command would find its documents.";
    DatabaseRead "find", find::run, "Finds documents and opens a cursor over them.";
    DatabaseWrite "findAndModify" or "findandmodify", find_and_modify::run, "Changes or removes one document and returns it.";
    DatabaseRead "getMore", get_more::run, "Returns the next batch of a cursor.";
    DatabaseWrite "insert", insert::run, "Inserts documents.";
    DatabaseRead "killCursors", kill_cursors::run, "Closes cursors.";
    DatabaseRead "listCollections", list_collections::run, "Lists the collections of a database.";
    DatabaseRead "listIndexes", list_indexes::run, "Lists the indexes of a collection.";
    DatabaseWrite "renameCollection", rename_collection::run, "Gives a collection another name in its database.";
    DatabaseWrite "update", update::run, "Changes documents that match filters.";
    DatabaseRead "validate", validate::run, "Checks that documents, indexes and counts agree.";
};
