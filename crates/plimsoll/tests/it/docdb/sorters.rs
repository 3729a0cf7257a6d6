//! Queries that do not fit their share of the memory, beside whatever else a test does to the server.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use bson::{Bson, Document, doc};

use super::client::Client;

/// With this budget a sort or a group may hold one MiB, and these documents are four.
pub(crate) const MEMORY: [&str; 2] = ["--memory", "8"];
const ROWS: i32 = 4000;
const ROW_BYTES: usize = 1000;

/// The place of a document in the order of `rank`.
fn rank(id: i32) -> i32 {
    (id * 1237) % ROWS
}

/// Stores what [`sort`] and [`group`] read.
pub(crate) fn fill(client: &mut Client) {
    for part in 0..4 {
        let ids = part * ROWS / 4..(part + 1) * ROWS / 4;
        let rows: Vec<Document> = ids
            .map(|id| doc! { "_id": id, "rank": rank(id), "text": "x".repeat(ROW_BYTES) })
            .collect();
        let insert = doc! { "insert": "rows", "documents": rows, "$db": "fleet" };
        let answer = client.command(&insert).unwrap();
        assert_eq!(answer.get_i32("n").ok(), Some(ROWS / 4), "{answer}");
    }
}

/// Sorts and groups in turns until the connection breaks; what came whole is right. How many came whole.
pub(crate) fn until_killed(address: &str) -> u32 {
    let Ok(mut client) = Client::connect(address) else {
        return 0;
    };
    let mut whole = 0;
    while sort(&mut client).and_then(|()| group(&mut client)).is_ok() {
        whole += 1;
    }
    whole
}

/// All rows in order, batch by batch, while the rest waits on the disk.
pub(crate) fn sort(client: &mut Client) -> io::Result<()> {
    let find = doc! { "find": "rows", "sort": { "rank": 1 }, "batchSize": 500, "$db": "fleet" };
    let mut answer = client.command(&find)?;
    let mut ranks = Vec::new();
    loop {
        let cursor = answer.get_document("cursor").expect("a cursor");
        let batch = cursor.get("firstBatch").or_else(|| cursor.get("nextBatch"));
        let batch = batch.and_then(Bson::as_array).expect("a batch");
        let rank = |one: &Bson| one.as_document().unwrap().get_i32("rank").unwrap();
        ranks.extend(batch.iter().map(rank));
        let id = cursor.get_i64("id").unwrap();
        if id == 0 {
            break;
        }
        let more = doc! { "getMore": id, "collection": "rows", "batchSize": 500, "$db": "fleet" };
        answer = client.command(&more)?;
    }
    assert!(ranks.into_iter().eq(0..ROWS), "rows came in another order");
    Ok(())
}

/// Groups of two rows each, whose texts together are beyond the share.
pub(crate) fn group(client: &mut Client) -> io::Result<()> {
    let key = doc! { "$mod": ["$_id", ROWS / 2] };
    let group = doc! { "$group": { "_id": key, "n": { "$sum": 1 }, "all": { "$push": "$text" } } };
    let count = doc! { "$group": { "_id": "$n", "groups": { "$sum": 1 } } };
    let answer = client.command(&doc! {
        "aggregate": "rows", "pipeline": [group, count], "cursor": {}, "$db": "fleet",
    })?;
    let cursor = answer.get_document("cursor").expect("a cursor");
    let batch = cursor.get_array("firstBatch").unwrap();
    let expected = Bson::from(doc! { "_id": 2, "groups": ROWS / 2 });
    assert_eq!(batch.as_slice(), [expected], "{answer}");
    Ok(())
}

/// Bytes that the server says it spilled since it started; none if it is gone.
pub(crate) fn spilled(address: &str) -> u64 {
    page(address)
        .ok()
        .and_then(|text| value(&text))
        .unwrap_or(0)
}

fn value(page: &str) -> Option<u64> {
    let line = page
        .lines()
        .find_map(|line| line.strip_prefix("docdb_spilled_bytes_total "))?;
    line.parse().ok()
}

fn page(address: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}
