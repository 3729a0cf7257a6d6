//! Random commands against a plain model: whatever indexes there are, answers are those of a walk over all documents.

use std::collections::{BTreeMap, BTreeSet};

use bson::{Bson, Document, RawDocumentBuf, doc};
use plimsoll_base::random::Rng;

use super::harness::Server;
use crate::collection::{IndexSpec, each_key};
use crate::query::{Filter, SortOrder, encode_key};

const IDS: u64 = 40;

struct Model {
    documents: BTreeMap<i32, Document>,
    indexes: BTreeMap<String, Document>,
}

fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).unwrap()
}

fn value(rng: &mut Rng) -> Option<Bson> {
    let small = |rng: &mut Rng| Bson::Int32(rng.below(6) as i32);
    Some(match rng.below(12) {
        0 => return None,
        1 => Bson::Null,
        2 => Bson::from("text"),
        3 => Bson::Double(rng.below(6) as f64),
        4 => Bson::from(doc! { "x": small(rng) }),
        5 => Bson::Array(Vec::new()),
        6 => Bson::from(vec![small(rng), small(rng)]),
        7 => Bson::from(vec![Bson::from(doc! { "x": small(rng) }), small(rng)]),
        _ => small(rng),
    })
}

fn document(rng: &mut Rng, id: i32) -> Document {
    let mut document = doc! { "_id": id };
    // Only one of the fields may be an array: others would be refused by a compound index.
    for name in ["a", "b"] {
        if let Some(value) = value(rng)
            && (name == "a" || !matches!(value, Bson::Array(_)))
        {
            document.insert(name, value);
        }
    }
    document.insert("u", rng.below(200) as i32);
    document
}

fn condition(rng: &mut Rng) -> Bson {
    let number = |rng: &mut Rng| Bson::Int32(rng.below(6) as i32);
    match rng.below(9) {
        0 => Bson::Null,
        1 => doc! { "$gt": number(rng) }.into(),
        2 => doc! { "$gte": number(rng), "$lt": number(rng) }.into(),
        3 => doc! { "$in": [number(rng), number(rng), number(rng), "text"] }.into(),
        4 => doc! { "$exists": rng.below(2) == 0 }.into(),
        5 => doc! { "$ne": number(rng) }.into(),
        6 => Bson::from(vec![number(rng), number(rng)]),
        _ => number(rng),
    }
}

fn filter(rng: &mut Rng) -> Document {
    let mut filter = Document::new();
    for name in ["a", "b", "a.x", "u", "_id"] {
        if rng.below(3) == 0 {
            filter.insert(name, condition(rng));
        }
    }
    if rng.below(8) == 0 {
        let branches = vec![doc! { "a": condition(rng) }, doc! { "b": condition(rng) }];
        filter.insert("$or", branches);
    }
    filter
}

/// Name, fields with directions, option.
type Spec = (&'static str, &'static [(&'static str, i32)], &'static str);

const SPECS: [Spec; 9] = [
    ("a", &[("a", 1)], ""),
    ("a_down", &[("a", -1)], "sparse"),
    ("ab", &[("a", 1), ("b", -1)], ""),
    ("ba", &[("b", 1), ("a", 1)], ""),
    ("ax", &[("a.x", 1)], ""),
    ("axb", &[("a.x", -1), ("b", 1)], "sparse"),
    ("b_part", &[("b", 1)], "partial"),
    ("u", &[("u", 1)], "unique"),
    ("bu", &[("b", 1), ("u", -1)], "unique"),
];

fn spec(rng: &mut Rng) -> Document {
    let (name, fields, option) = SPECS[rng.below(SPECS.len() as u64) as usize];
    let key: Document = fields
        .iter()
        .map(|(path, direction)| ((*path).to_owned(), Bson::Int32(*direction)))
        .collect();
    let mut spec = doc! { "key": key, "name": name };
    match option {
        "partial" => {
            spec.insert("partialFilterExpression", doc! { "a": { "$gt": 2 } });
        }
        "" => {}
        flag => {
            spec.insert(flag, true);
        }
    }
    spec
}

/// The keys of a document in an index.
fn keys(spec: &IndexSpec, document: &Document) -> BTreeSet<Vec<u8>> {
    let mut keys = BTreeSet::new();
    each_key(spec, &raw(document), &mut |values| {
        let mut key = Vec::new();
        encode_key(&spec.fields, values, &mut key);
        keys.insert(key);
    })
    .unwrap();
    keys
}

impl Model {
    /// Whether a unique index has another document with one of this document's keys.
    fn collides(&self, document: &Document) -> bool {
        let id = document.get_i32("_id").unwrap();
        let unique = self
            .indexes
            .values()
            .filter(|spec| spec.contains_key("unique"));
        unique.into_iter().any(|spec| {
            let spec = IndexSpec::parse(&raw(spec)).unwrap();
            let mine = keys(&spec, document);
            let others = self.documents.iter().filter(|(other, _)| **other != id);
            others
                .into_iter()
                .any(|(_, other)| !mine.is_disjoint(&keys(&spec, other)))
        })
    }

    fn matching(&self, filter: &Document) -> Vec<&Document> {
        let parsed = Filter::parse(&raw(filter)).unwrap();
        self.documents
            .values()
            .filter(|one| parsed.matches(&raw(one)))
            .collect()
    }

    fn insert(&mut self, server: &mut Server, new: Document) {
        let id = new.get_i32("_id").unwrap();
        let refused = self.documents.contains_key(&id) || self.collides(&new);
        let reply = server.ok(doc! { "insert": "c", "documents": [new.clone()] });
        assert_eq!(reply.contains_key("writeErrors"), refused, "{new}: {reply}");
        if !refused {
            self.documents.insert(id, new);
        }
    }

    fn replace(&mut self, server: &mut Server, new: Document) {
        let id = new.get_i32("_id").unwrap();
        let refused = self.documents.contains_key(&id) && self.collides(&new);
        let update = doc! { "q": { "_id": id }, "u": new.clone() };
        let reply = server.ok(doc! { "update": "c", "updates": [update] });
        assert_eq!(reply.contains_key("writeErrors"), refused, "{new}: {reply}");
        if !refused && self.documents.contains_key(&id) {
            self.documents.insert(id, new);
        }
    }

    fn change_all(&mut self, server: &mut Server, filter: &Document, b: i32) {
        if self.indexes.contains_key("bu") {
            return;
        }
        let ids: Vec<i32> = self
            .matching(filter)
            .iter()
            .map(|one| one.get_i32("_id").unwrap())
            .collect();
        let update = doc! { "q": filter.clone(), "u": { "$set": { "b": b } }, "multi": true };
        let reply = server.ok(doc! { "update": "c", "updates": [update] });
        assert_eq!(
            reply.get_i32("n").unwrap() as usize,
            ids.len(),
            "{filter}: {reply}"
        );
        for id in ids {
            self.documents.get_mut(&id).unwrap().insert("b", b);
        }
    }

    fn remove(&mut self, server: &mut Server, filter: &Document) {
        let expected = self.matching(filter).len();
        let parsed = Filter::parse(&raw(filter)).unwrap();
        let delete = doc! { "q": filter.clone(), "limit": 0 };
        let reply = server.ok(doc! { "delete": "c", "deletes": [delete] });
        assert_eq!(
            reply.get_i32("n").unwrap() as usize,
            expected,
            "{filter}: {reply}"
        );
        self.documents.retain(|_, one| !parsed.matches(&raw(one)));
    }

    fn query(&self, server: &mut Server, rng: &mut Rng, filter: &Document) {
        let expected: BTreeSet<i32> = self
            .matching(filter)
            .iter()
            .map(|one| one.get_i32("_id").unwrap())
            .collect();
        let mut find =
            doc! { "find": "c", "filter": filter.clone(), "batchSize": 1 + rng.below(5) as i32 };
        let sorts = [
            doc! { "a": 1 },
            doc! { "b": -1, "a": 1 },
            doc! { "u": 1 },
            doc! { "a.x": -1 },
            doc! { "_id": -1 },
            doc! { "a": -1 },
            doc! { "u": -1 },
            doc! { "a": -1, "b": 1 },
            doc! { "b": -1, "u": 1 },
        ];
        let sort = sorts.get(rng.below(12) as usize);
        if let Some(sort) = sort {
            find.insert("sort", sort.clone());
        }
        let found = server.find(find.clone());
        let ids: Vec<i32> = found
            .iter()
            .map(|one| one.get_i32("_id").unwrap())
            .collect();
        let once: BTreeSet<i32> = ids.iter().copied().collect();
        assert_eq!(ids.len(), once.len(), "{find}: {ids:?}");
        assert_eq!(once, expected, "{find} with {:?}", self.indexes);
        if let Some(sort) = sort {
            let order = SortOrder::parse(&raw(sort)).unwrap();
            let keys: Vec<Vec<u8>> = found.iter().map(|one| order.key(&raw(one))).collect();
            assert!(
                keys.is_sorted(),
                "{find} gives {found:?} with {:?}",
                self.indexes
            );
        }
        let count = server.ok(doc! { "count": "c", "query": filter.clone() });
        assert_eq!(count.get_i32("n").unwrap() as usize, expected.len());
    }

    fn create_index(&mut self, server: &mut Server, spec: Document) {
        let parsed = IndexSpec::parse(&raw(&spec)).unwrap();
        let mut seen = BTreeSet::new();
        let duplicate = parsed.unique
            && self
                .documents
                .values()
                .any(|one| keys(&parsed, one).into_iter().any(|key| !seen.insert(key)));
        let reply = server.run(doc! { "createIndexes": "c", "indexes": [spec.clone()] });
        let failed = reply.get_f64("ok").unwrap() == 0.0;
        assert_eq!(failed, duplicate, "{spec}: {reply}");
        if !failed {
            self.indexes.insert(parsed.name, spec);
        }
    }
}

#[test]
fn random_commands_with_random_indexes_answer_as_a_walk_over_all_documents() {
    for seed in 0..9 {
        let mut rng = Rng::new(seed, 1);
        let mut server = Server::with_slice([1, 5, 1000][seed as usize % 3]);
        let mut model = Model {
            documents: BTreeMap::new(),
            indexes: BTreeMap::new(),
        };
        for _ in 0..250 {
            let id = rng.below(IDS) as i32;
            match rng.below(20) {
                0 => model.create_index(&mut server, spec(&mut rng)),
                1 if rng.below(2) == 0 => {
                    if let Some((name, _)) = model.indexes.pop_first() {
                        server.ok(doc! { "dropIndexes": "c", "index": name });
                    }
                }
                2 => {
                    let filter = filter(&mut rng);
                    if !filter.is_empty() {
                        model.remove(&mut server, &filter);
                    }
                }
                3 => {
                    let filter = filter(&mut rng);
                    let b = rng.below(6) as i32;
                    model.change_all(&mut server, &filter, b);
                }
                4 => server.reopen(),
                5..=9 => model.insert(&mut server, document(&mut rng, id)),
                10..=12 => model.replace(&mut server, document(&mut rng, id)),
                _ => {
                    let filter = filter(&mut rng);
                    model.query(&mut server, &mut rng, &filter);
                }
            }
        }
        server.validate("c");
        server.reopen();
        server.validate("c");
        let stored = server.find(doc! { "find": "c", "sort": { "_id": 1 } });
        let expected: Vec<Document> = model.documents.into_values().collect();
        assert_eq!(stored, expected, "seed {seed}");
    }
}
