//! What a workload file may say: every key once, with its type, an example and its meaning. The reader, the check of unknown
//! keys and the table of `docs/workload.md` follow from it.

use std::collections::BTreeMap;
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use plimsoll_core::Nanos;
use plimsoll_core::nearest::nearest;
use plimsoll_core::objective::Objectives;
use plimsoll_core::schedule::Arrivals;
use plimsoll_core::test::workload::{Keys, Mix, Phase};
use plimsoll_core::units::{parse_duration, parse_rate};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, ValueDeserializer};

use crate::asked::{Asked, AskedClient, AskedLoad, Named, PlanError};
use crate::values;

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}: {problem}")]
pub struct FileError {
    file: String,
    line: usize,
    problem: String,
}

/// Keys that stand together.
#[derive(Debug)]
struct Section {
    /// As the file writes it.
    name: &'static str,
    keys: &'static [Key],
}

#[derive(Debug)]
struct Key {
    name: &'static str,
    #[cfg(test)]
    example: &'static str,
    #[cfg(test)]
    about: &'static str,
}

const SECTIONS: [&Section; 4] = [
    &File::SECTION,
    &ClientSpec::SECTION,
    &DatabaseSpec::SECTION,
    &PhaseSpec::SECTION,
];

/// The struct that a section is read into, and its [`Section`].
macro_rules! section {
    (
        $spec:ident = $written:literal {
            $($(#[doc = $about:literal])+ $key:ident : $type:ty = $example:literal,)+
        }
    ) => {
        #[derive(Debug, Clone, Default, Deserialize)]
        #[serde(default)]
        struct $spec {
            $($key: $type,)+
        }

        impl $spec {
            const SECTION: Section = Section {
                name: $written,
                keys: &[$(Key {
                    name: stringify!($key),
                    #[cfg(test)]
                    example: $example,
                    #[cfg(test)]
                    about: concat!($($about),+),
                }),+],
            };
        }
    };
}

section! {
    File = "the top of the file" {
        /// where the store is, with its scheme; names and passwords as its driver reads them
        store: Option<String> = "\"mongodb://127.0.0.1:27017\"",
        /// how many databases; as many as have a table `[[database]]` unless given, or 1
        databases: Option<NonZeroU32> = "6",
        /// connections of the pool of each database; 10 unless given
        connections: Option<NonZeroU32> = "10",
        /// concurrent callers of each database; as many as connections unless given
        workers: Option<NonZeroU32> = "10",
        /// percent of each operation; 40, 30, 20 and 10 unless given
        mix: Option<MixValue> = "{ read = 40, insert = 30, update = 20, delete = 10 }",
        /// documents of each database before the load; 1000 unless given
        documents: Option<u32> = "10000",
        /// size of a document as the store keeps it; 1KiB unless given
        document_size: Option<SizeValue> = "\"1KiB\"",
        /// which documents are asked for: `uniform`, `zipf` (a few of them most of the time) or `latest` (those that
        /// were inserted last most of the time), with an exponent behind a colon; uniform unless given
        keys: Option<KeysValue> = "\"zipf:0.99\"",
        /// documents of one operation; 1 unless given
        batch: Option<NonZeroU32> = "10",
        /// how long the load lasts; as long as its phases unless given, or 10s
        duration: Option<TimeValue> = "\"30s\"",
        /// how many operations, instead of how long
        operations: Option<NonZeroU64> = "100000",
        /// arrival rate of all databases together: operations start on time, however long the answers take; without it
        /// each worker starts the next when its last has ended
        rate: Option<RateValue> = "\"2000/s\"",
        /// arrival rate that changes evenly over the duration
        ramp: Option<RampValue> = "\"100/s..2000/s\"",
        /// spacing of arrivals: `poisson` or `uniform`; poisson unless given
        arrivals: Option<Arrivals> = "\"uniform\"",
        /// longest wait of a client for an operation with all its tries, from its intended start; 10s unless given
        timeout: Option<TimeValue> = "\"10s\"",
        /// load threads; each has databases of its own; half of the cores for a store on this host unless given, and no
        /// more than databases
        threads: Option<NonZeroU32> = "2",
        /// seed of all randomness; drawn unless given
        seed: Option<u64> = "7",
        /// objectives for a pass or fail
        slo: Option<ObjectivesValue> = "\"p99<50ms,errors<0.1%\"",
        /// after the load every document is read once and held against what was acknowledged (gate 12); true unless given
        verify: Option<bool> = "false",
        /// leave the databases as they are when the run is over, instead of dropping them
        keep: Option<bool> = "true",
        /// how the client behaves
        client: ClientSpec = "[client]",
        /// databases with a name, in their order
        database: Vec<DatabaseSpec> = "[[database]]",
        /// parts of the time line
        phase: Vec<PhaseSpec> = "[[phase]]",
    }
}

section! {
    ClientSpec = "[client]" {
        /// longest wait of one try; as long as the operation may take unless given
        try_timeout: Option<TimeValue> = "\"1s\"",
        /// longest wait for a free connection of the pool; an operation that gets none is dropped
        pool_wait: Option<TimeValue> = "\"100ms\"",
        /// further tries of an operation that failed and may be tried again; 0 unless given
        retries: Option<u32> = "3",
        /// pause before each of them; none unless given
        retry_pause: Option<TimeValue> = "\"50ms\"",
        /// the driver's own retries; true unless given, as drivers have it
        driver_retries: Option<bool> = "false",
    }
}

section! {
    DatabaseSpec = "[[database]]" {
        /// its name behind `plimsoll_`; its number unless given
        name: Option<String> = "\"orders\"",
        /// percent of each operation; that of the file unless given
        mix: Option<MixValue> = "{ read = 90, update = 10 }",
        /// documents before the load; those of the file unless given
        documents: Option<u32> = "500",
        /// size of a document; that of the file unless given
        document_size: Option<SizeValue> = "\"4KiB\"",
    }
}

section! {
    PhaseSpec = "[[phase]]" {
        /// what it is, for people
        name: Option<String> = "\"writes grow\"",
        /// how long it lasts
        duration: Option<TimeValue> = "\"20s\"",
        /// percent of each operation meanwhile; that of each database unless given
        mix: Option<MixValue> = "{ read = 100 }",
        /// where the mix goes evenly until the end of the phase
        mix_to: Option<MixValue> = "{ insert = 100 }",
    }
}

/// A value that is text in the file; what is wrong with it is said with its line.
macro_rules! value {
    ($name:ident($type:ty), $what:literal, $read:expr) => {
        #[derive(Debug, Clone)]
        struct $name($type);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Reader;
                impl Visitor<'_> for Reader {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($what)
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        let read: Result<$type, String> = $read(text);
                        read.map($name).map_err(E::custom)
                    }

                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$name, E> {
                        self.visit_str(&number.to_string())
                    }
                }
                deserializer.deserialize_any(Reader)
            }
        }
    };
}

fn said<T, E: fmt::Display>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

value!(TimeValue(Nanos), "a time such as \"30s\"", |text| said(
    parse_duration(text)
));
value!(RateValue(f64), "a rate such as \"200/s\"", |text| said(
    parse_rate(text)
));
value!(SizeValue(u32), "a size such as \"1KiB\"", |text| said(
    values::size(text)
));
value!(KeysValue(Keys), "a distribution such as \"zipf\"", |text| {
    said(values::keys(text))
});
value!(
    ObjectivesValue(Objectives),
    "objectives such as \"p99<50ms\"",
    |text| said(Objectives::parse(text))
);
value!(
    RampValue((f64, f64)),
    "a ramp such as \"100/s..2000/s\"",
    ramp
);

fn ramp(text: &str) -> Result<(f64, f64), String> {
    let ends = text.split_once("..");
    let (from, to) = ends.ok_or_else(|| format!("`{text}` is no ramp: write 100/s..2000/s"))?;
    Ok((said(parse_rate(from))?, said(parse_rate(to))?))
}

/// A table of percentages.
#[derive(Debug, Clone)]
struct MixValue(Mix);

impl<'de> Deserialize<'de> for MixValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let shares = BTreeMap::<String, f64>::deserialize(deserializer)?;
        let pairs: Vec<(String, f64)> = shares.into_iter().collect();
        values::mix_of(&pairs).map(Self).map_err(de::Error::custom)
    }
}

/// A file that was read, for messages that name its lines.
#[derive(Debug, Clone)]
pub struct WorkloadFile {
    pub asked: Asked,
    name: String,
    text: String,
    /// Offset of each key by its path: `client.retries`, `database.0.name`.
    keys: BTreeMap<String, usize>,
}

impl WorkloadFile {
    /// Reads the text of a file that messages call `name`.
    pub fn read(name: &str, text: &str) -> Result<Self, FileError> {
        let mut file = Self {
            asked: Asked::default(),
            name: name.to_owned(),
            text: text.to_owned(),
            keys: BTreeMap::new(),
        };
        let parsed = DeTable::parse(text).map_err(|error| file.of_toml(&error))?;
        let table = parsed.into_inner();
        file.learn("", &table);
        file.check("", &File::SECTION, &table)?;
        let value = Spanned::new(0..0, DeValue::Table(table));
        let read = File::deserialize(ValueDeserializer::from(value));
        let read = read.map_err(|error| file.of_toml(&error))?;
        file.asked = file.asked_for(read)?;
        Ok(file)
    }

    /// A plan that is refused, with the line of the key that says it.
    pub fn locate(&self, error: &PlanError) -> FileError {
        let mut path = error.key.as_str();
        loop {
            if let Some(offset) = self.keys.get(path) {
                return self.wrong(
                    *offset,
                    format!("`{}`: {}", last(&error.key), error.problem),
                );
            }
            match path.rsplit_once('.') {
                Some((above, _)) => path = above,
                None => return self.wrong(0, error.problem.clone()),
            }
        }
    }

    fn wrong(&self, offset: usize, problem: String) -> FileError {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        FileError {
            file: self.name.clone(),
            line: before.matches('\n').count() + 1,
            problem,
        }
    }

    fn of_toml(&self, error: &toml::de::Error) -> FileError {
        let offset = error.span().map_or(0, |span| span.start);
        let key = self
            .keys
            .iter()
            .filter(|(_, at)| **at <= offset)
            .max_by_key(|(_, at)| **at);
        let message = error.message().trim_end();
        match key.filter(|_| error.span().is_some()) {
            Some((key, _)) => self.wrong(offset, format!("`{}`: {message}", last(key))),
            None => self.wrong(offset, message.to_owned()),
        }
    }

    fn learn(&mut self, path: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let path = joined(path, name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) => self.learn(&path, inner),
                DeValue::Array(inner) => {
                    for (place, at, table) in tables(inner) {
                        let path = joined(&path, &place.to_string());
                        self.keys.insert(path.clone(), at);
                        self.learn(&path, table);
                    }
                }
                _ => {}
            }
            self.keys.insert(path, name.span().start);
        }
    }

    /// Refuses the first unknown key. What is no table is left to the typed reader.
    fn check(&self, path: &str, known: &Section, table: &DeTable<'_>) -> Result<(), FileError> {
        for (key, value) in table {
            let name: &str = key.get_ref();
            if known.keys.iter().all(|known| known.name != name) {
                let problem = format!("unknown key `{path}{name}`; {}", fix(name, known));
                return Err(self.wrong(key.span().start, problem));
            }
            let inner = match name {
                "client" => &ClientSpec::SECTION,
                "database" => &DatabaseSpec::SECTION,
                "phase" => &PhaseSpec::SECTION,
                _ => continue,
            };
            let path = format!("{path}{name}.");
            match value.get_ref() {
                DeValue::Table(table) => self.check(&path, inner, table)?,
                DeValue::Array(all) => {
                    for (.., table) in tables(all) {
                        self.check(&path, inner, table)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn asked_for(&self, file: File) -> Result<Asked, FileError> {
        let exclusive = [
            (file.rate.is_some() && file.ramp.is_some(), "rate", "ramp"),
            (
                file.duration.is_some() && file.operations.is_some(),
                "operations",
                "duration",
            ),
        ];
        for (both, key, other) in exclusive {
            if both {
                let offset = self.keys.get(key).copied().unwrap_or(0);
                return Err(self.wrong(
                    offset,
                    format!("`{key}` and `{other}` together: give one of them"),
                ));
            }
        }
        let phases = self.phases(&file.phase)?;
        let of_phases = phases
            .iter()
            .fold(Nanos::ZERO, |sum, phase| sum + phase.length_ns);
        let of_phases =
            Some(of_phases).filter(|sum| *sum > Nanos::ZERO && file.operations.is_none());
        let named = file.database.into_iter().map(|database| Named {
            name: database.name.unwrap_or_default(),
            mix: database.mix.map(|mix| mix.0),
            documents: database.documents,
            document_bytes: database.document_size.map(|size| size.0),
        });
        let client = file.client;
        Ok(Asked {
            store: file.store,
            databases: file.databases,
            connections: file.connections,
            workers: file.workers,
            mix: file.mix.map(|mix| mix.0),
            documents: file.documents,
            document_bytes: file.document_size.map(|size| size.0),
            keys: file.keys.map(|keys| keys.0),
            batch: file.batch,
            keep: file.keep,
            verify: file.verify,
            named: named.collect(),
            phases,
            client: AskedClient {
                try_timeout: client.try_timeout.map(|time| time.0),
                pool_wait: client.pool_wait.map(|time| time.0),
                retries: client.retries,
                retry_pause: client.retry_pause.map(|time| time.0),
                driver_retries: client.driver_retries,
            },
            load: AskedLoad {
                duration: file.duration.map(|time| time.0).or(of_phases),
                operations: file.operations,
                rate_per_s: file.rate.map(|rate| rate.0),
                ramp_per_s: file.ramp.map(|ramp| ramp.0),
                arrivals: file.arrivals,
                timeout: file.timeout.map(|time| time.0),
                threads: file.threads,
                seed: file.seed,
                objectives: file.slo.map(|slo| slo.0),
            },
        })
    }

    fn phases(&self, phases: &[PhaseSpec]) -> Result<Vec<Phase>, FileError> {
        let each = phases.iter().enumerate().map(|(place, phase)| {
            let at = || {
                self.keys
                    .get(&format!("phase.{place}"))
                    .copied()
                    .unwrap_or(0)
            };
            let missing = || {
                self.wrong(
                    at(),
                    "a phase needs a `duration`, such as \"20s\"".to_owned(),
                )
            };
            Ok(Phase {
                name: phase
                    .name
                    .clone()
                    .unwrap_or_else(|| (place + 1).to_string()),
                length_ns: phase
                    .duration
                    .as_ref()
                    .map(|time| time.0)
                    .ok_or_else(missing)?,
                mix: phase.mix.as_ref().map(|mix| mix.0),
                mix_to: phase.mix_to.as_ref().map(|mix| mix.0),
            })
        });
        each.collect()
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

fn fix(name: &str, known: &Section) -> String {
    let names = || known.keys.iter().map(|key| key.name);
    if let Some(near) = nearest(name, names()) {
        return format!("did you mean `{near}`?");
    }
    let elsewhere = |section: &&&Section| section.keys.iter().any(|known| known.name == name);
    if let Some(section) = SECTIONS.iter().find(elsewhere) {
        return format!("it belongs into {}", section.name);
    }
    format!(
        "{} has {}",
        known.name,
        names().collect::<Vec<_>>().join(", ")
    )
}

/// The tables of an array with their places in it and in the text; what else is there is left to the typed reader.
fn tables<'a, 'i>(array: &'a DeArray<'i>) -> impl Iterator<Item = (usize, usize, &'a DeTable<'i>)> {
    let all = array.iter().enumerate();
    all.filter_map(|(place, inner)| match inner.get_ref() {
        DeValue::Table(table) => Some((place, inner.span().start, table)),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
