//! What a test says of its end: where accepted work waits, and where it is stored.

use plimsoll_core::Nanos;

/// With placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AfterLoad {
    /// `mongodb://HOST:PORT/DATABASE.COLLECTION`: one document for each good or accepted answer.
    pub stored: Vec<String>,
    /// `http://HOST:PORT/PATH#SERIES`: gauges of what is not done yet.
    pub backlog: Vec<String>,
    /// Counters of what was taken in, in the same form.
    pub taken: Vec<String>,
    /// Longest wait until they are 0.
    pub within: Nanos,
}

/// Address, database and collection.
pub(crate) fn collection(text: &str) -> Result<(&str, &str, &str), String> {
    let parsed = text.strip_prefix("mongodb://").and_then(|rest| {
        let (address, name) = rest.split_once('/')?;
        let (database, collection) = name.split_once('.')?;
        let parts = [address, database, collection];
        let plain = parts
            .iter()
            .all(|part| !part.is_empty() && !part.contains('/'));
        plain.then_some((address, database, collection))
    });
    parsed.ok_or_else(|| {
        format!(
            "`{text}` names no collection; write mongodb://${{TIER.address}}/DATABASE.COLLECTION"
        )
    })
}

/// The page and the series on it.
pub(crate) fn gauge(text: &str) -> Result<(&str, &str), String> {
    let parsed = text
        .split_once('#')
        .filter(|(page, series)| page.starts_with("http://") && !series.is_empty());
    parsed.ok_or_else(|| {
        format!("`{text}` names no gauge; write http://${{TIER.address}}/metrics#SERIES")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_and_gauges_are_taken_apart() {
        assert_eq!(
            collection("mongodb://${db.*.address}/shop.orders.old"),
            Ok(("${db.*.address}", "shop", "orders.old"))
        );
        for wrong in [
            "shop.orders",
            "mongodb://a/b",
            "mongodb:///a.b",
            "mongodb://a/.b",
        ] {
            assert!(
                collection(wrong)
                    .unwrap_err()
                    .contains("names no collection"),
                "{wrong}"
            );
        }
        assert_eq!(
            gauge("http://${list.address}/metrics#queue{name=\"a\"}"),
            Ok(("http://${list.address}/metrics", "queue{name=\"a\"}"))
        );
        for wrong in ["http://a/metrics", "http://a/metrics#", "queue#length"] {
            assert!(
                gauge(wrong).unwrap_err().contains("names no gauge"),
                "{wrong}"
            );
        }
    }
}
