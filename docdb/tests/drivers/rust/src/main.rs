//! Everyday operations by the official Rust driver against any server: docdb-rust-driver URI.

use std::process::ExitCode;

use mongodb::bson::{Document, doc};
use mongodb::error::{Error, ErrorKind};
use mongodb::options::{IndexOptions, ReturnDocument};
use mongodb::sync::{Client, Collection, Database};
use mongodb::{IndexModel, error::Result};

type Case = (&'static str, fn(&Client, &Database) -> Result<()>);

const CASES: &[Case] = &[
    ("ping and list databases", ping),
    ("insert, find, update, replace, delete", crud),
    ("upsert and find one and update", upsert),
    ("a cursor over several batches", cursor),
    ("aggregate, count and distinct", aggregate),
    ("indexes and a duplicate key", indexes),
    ("a session; a transaction is refused", session),
    ("insert many with an error in the middle", bulk),
    ("compressed messages", compressed),
];

fn main() -> ExitCode {
    let Some(uri) = std::env::args().nth(1) else {
        eprintln!("usage: docdb-rust-driver URI");
        return ExitCode::from(2);
    };
    let client = match Client::with_uri_str(&uri) {
        Ok(client) => client,
        Err(error) => {
            eprintln!("{uri}: {error}");
            return ExitCode::from(2);
        }
    };
    let mut passed = 0;
    for (index, (name, body)) in CASES.iter().enumerate() {
        let database = client.database(&format!("case_rust_{index}"));
        let outcome = body(&client, &database).and_then(|()| database.drop().run());
        passed += usize::from(outcome.is_ok());
        match outcome {
            Ok(()) => println!("ok   rust: {name}"),
            Err(error) => println!("FAIL rust: {name}\n       {error}"),
        }
    }
    println!("total: {passed} of {} pass", CASES.len());
    ExitCode::from(u8::from(passed != CASES.len()))
}

fn equal<T: PartialEq + std::fmt::Debug>(found: T, expected: T) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::custom(format!("found {found:?}, expected {expected:?}")))
}

fn ships(database: &Database) -> Collection<Document> {
    database.collection("ships")
}

/// The code of an error of the server, 0 for any other.
fn code(error: &Error) -> i32 {
    match error.kind.as_ref() {
        ErrorKind::Command(found) => found.code,
        ErrorKind::Write(mongodb::error::WriteFailure::WriteError(found)) => found.code,
        ErrorKind::InsertMany(found) => found
            .write_errors
            .as_ref()
            .and_then(|list| list.first())
            .map_or(0, |one| one.code),
        _ => 0,
    }
}

fn refused<T>(outcome: Result<T>, codes: &[i32]) -> Result<()> {
    match outcome {
        Err(error) if codes.contains(&code(&error)) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(Error::custom(format!("expected one of {codes:?}, but it succeeded"))),
    }
}

fn ping(client: &Client, database: &Database) -> Result<()> {
    database.run_command(doc! { "ping": 1 }).run()?;
    ships(database).insert_one(doc! {}).run()?;
    let names = client.list_database_names().run()?;
    equal(names.contains(&database.name().to_owned()), true)
}

fn crud(_: &Client, database: &Database) -> Result<()> {
    let ships = ships(database);
    ships.insert_many([doc! { "_id": 1, "tons": 5 }, doc! { "_id": 2, "tons": 7 }]).run()?;
    equal(ships.find_one(doc! { "tons": { "$gt": 5 } }).run()?, Some(doc! { "_id": 2, "tons": 7 }))?;
    let changed = ships.update_many(doc! {}, doc! { "$inc": { "tons": 1 } }).run()?;
    equal((changed.matched_count, changed.modified_count), (2, 2))?;
    ships.replace_one(doc! { "_id": 1 }, doc! { "sails": 3 }).run()?;
    equal(ships.find_one(doc! { "_id": 1 }).run()?, Some(doc! { "_id": 1, "sails": 3 }))?;
    equal(ships.delete_many(doc! {}).run()?.deleted_count, 2)
}

fn upsert(_: &Client, database: &Database) -> Result<()> {
    let ships = ships(database);
    let made = ships.update_one(doc! { "_id": "a" }, doc! { "$set": { "n": 1 } }).upsert(true).run()?;
    equal(made.upserted_id, Some("a".into()))?;
    let after = ships
        .find_one_and_update(doc! { "_id": "a" }, doc! { "$inc": { "n": 1 } })
        .return_document(ReturnDocument::After)
        .run()?;
    equal(after, Some(doc! { "_id": "a", "n": 2 }))
}

fn cursor(_: &Client, database: &Database) -> Result<()> {
    let ships = ships(database);
    ships.insert_many((0..500).map(|n| doc! { "_id": n })).run()?;
    let found = ships.find(doc! {}).sort(doc! { "_id": -1 }).batch_size(40).run()?;
    let ids: Result<Vec<i32>> = found.map(|one| Ok(one?.get_i32("_id").unwrap_or(-1))).collect();
    equal(ids?, (0..500).rev().collect())
}

fn aggregate(_: &Client, database: &Database) -> Result<()> {
    let ships = ships(database);
    ships.insert_many((0..10).map(|n| doc! { "_id": n, "odd": n % 2 == 1 })).run()?;
    let stages = [doc! { "$group": { "_id": "$odd", "n": { "$sum": "$_id" } } }, doc! { "$sort": { "_id": 1 } }];
    let found: Result<Vec<Document>> = ships.aggregate(stages).run()?.collect();
    equal(found?, vec![doc! { "_id": false, "n": 20 }, doc! { "_id": true, "n": 25 }])?;
    equal(ships.count_documents(doc! { "odd": true }).run()?, 5)?;
    equal(ships.distinct("odd", doc! {}).run()?.len(), 2)
}

fn indexes(_: &Client, database: &Database) -> Result<()> {
    let ships = ships(database);
    let options = IndexOptions::builder().unique(true).build();
    let model = IndexModel::builder().keys(doc! { "mail": 1 }).options(options).build();
    equal(ships.create_index(model).run()?.index_name, "mail_1".to_owned())?;
    ships.insert_one(doc! { "mail": "a" }).run()?;
    refused(ships.insert_one(doc! { "mail": "a" }).run(), &[11000])?;
    equal(ships.list_index_names().run()?, vec!["_id_".to_owned(), "mail_1".to_owned()])?;
    ships.drop_index("mail_1").run()
}

fn session(client: &Client, database: &Database) -> Result<()> {
    let ships = ships(database);
    ships.insert_one(doc! { "_id": 0 }).run()?;
    let mut session = client.start_session().run()?;
    ships.insert_one(doc! { "_id": 1 }).session(&mut session).run()?;
    session.start_transaction().run()?;
    refused(ships.insert_one(doc! { "_id": 2 }).session(&mut session).run(), &[20, 263, 72, 115])?;
    equal(ships.count_documents(doc! {}).run()?, 2)
}

fn bulk(_: &Client, database: &Database) -> Result<()> {
    let ships = ships(database);
    let documents = [1, 2, 1, 3].map(|n| doc! { "_id": n });
    refused(ships.insert_many(documents).ordered(false).run(), &[11000])?;
    equal(ships.count_documents(doc! {}).run()?, 3)
}

fn compressed(_: &Client, database: &Database) -> Result<()> {
    let uri = std::env::args().nth(1).unwrap_or_default();
    let joint = if uri.contains('?') { '&' } else { '?' };
    for name in ["snappy", "zlib"] {
        let client = Client::with_uri_str(format!("{uri}{joint}compressors={name}"))?;
        let collection = ships(&client.database(database.name()));
        let cargo = "coal ".repeat(2_000);
        collection.insert_one(doc! { "_id": name, "cargo": &cargo }).run()?;
        let found = collection.find_one(doc! { "_id": name }).run()?;
        equal(found, Some(doc! { "_id": name, "cargo": cargo }))?;
    }
    Ok(())
}
