//! What a workload file may say: every key once, with its type, an example and its meaning. The reader, the check of unknown
//! keys and the table of `docs/workload.md` follow from it.

mod http;

use std::collections::BTreeMap;
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use plimsoll_core::keys::{Inside, Known, Misplaced, Place, Section, last};
use plimsoll_core::objective::Objectives;
use plimsoll_core::schedule::{Arrivals, Leg};
use plimsoll_core::test::MixPhase;
use plimsoll_core::test::workload::{Consistency, Keys, Mix};
use plimsoll_core::units::{parse_duration, parse_rate};
use plimsoll_core::{Nanos, section};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use toml::de::DeValue;

use crate::asked::{Asked, AskedClient, AskedLoad, Named, PlanError};
use crate::values;

use http::RequestSpec;
pub use http::{HttpMix, MixRequest};

const SECTIONS: [&Section; 5] = [
    &File::SECTION,
    &ClientSpec::SECTION,
    &DatabaseSpec::SECTION,
    &PhaseSpec::SECTION,
    &RequestSpec::SECTION,
];

fn inside(key: &str) -> Inside {
    match key {
        "client" => Inside::Keys(&ClientSpec::SECTION),
        "database" => Inside::Keys(&DatabaseSpec::SECTION),
        "phase" => Inside::Keys(&PhaseSpec::SECTION),
        "request" => Inside::Keys(&RequestSpec::SECTION),
        _ => Inside::Free,
    }
}

section! {
    #[serde(default)]
    File = "the top of the file" {
        /// where the store is, with its scheme; names and passwords as its driver reads them
        store: Option<String> = "\"mongodb://127.0.0.1:27017\"",
        /// instead of a store: the service whose requests follow
        url: Option<String> = "\"http://127.0.0.1:3000\"",
        /// of a URL: headers that each request has unless it says others
        headers: BTreeMap<String, String> = "{ Accept = \"application/json\" }",
        /// of a URL: the CSV file, beside this one, whose rows fill `{{row.COLUMN}}` in turn
        rows: Option<String> = "\"users.csv\"",
        /// how many databases; as many as have a table `[[database]]` unless given, or 1
        databases: Option<NonZeroU32> = "6",
        /// connections of the pool of each database, 10 unless given; of a URL as -c of plimsoll run
        connections: Option<NonZeroU32> = "10",
        /// concurrent callers of each database; as many as connections unless given
        workers: Option<NonZeroU32> = "10",
        /// percent of each operation, 40, 30, 20 and 10 unless given; of a URL percent of each request by its name, and
        /// each as often as any other unless given
        mix: Option<Shares> = "{ read = 40, insert = 30, update = 20, delete = 10 }",
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
        /// how many operations, or requests, instead of how long
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
        /// of CQL: how many copies must have answered before the store does: `one`, `two`, `three`, `quorum`, `all`,
        /// `local_quorum` or `local_one`; local_quorum unless given, as its driver has it
        consistency: Option<ConsistencyValue> = "\"quorum\"",
        /// of CQL: copies that the store keeps of each document; 1 unless given
        replicas: Option<NonZeroU32> = "3",
        /// how the client behaves
        client: ClientSpec = "[client]",
        /// databases with a name, in their order
        database: Vec<DatabaseSpec> = "[[database]]",
        /// parts of the time line
        phase: Vec<PhaseSpec> = "[[phase]]",
        /// of a URL: what is sent
        request: Vec<RequestSpec> = "[[request]]",
    }
}

section! {
    #[serde(default)]
    ClientSpec = "[client]" {
        /// longest wait of one try; as long as the operation may take unless given
        try_timeout: Option<TimeValue> = "\"1s\"",
        /// longest wait for a free connection of the pool; an operation that gets none is dropped
        pool_wait: Option<TimeValue> = "\"100ms\"",
        /// further tries of an operation that failed and may be tried again; 0 unless given
        retries: Option<u32> = "3",
        /// pause before each of them; none unless given
        retry_pause: Option<TimeValue> = "\"50ms\"",
        /// the driver's own retries; true unless given for MongoDB, as its driver has it, and false for CQL
        driver_retries: Option<bool> = "false",
        /// of MongoDB: what becomes of a try whose time is over: `finish` (its answer is read and thrown away, and its
        /// connection is taken until then) or `close` (its connection is closed, and the driver opens another); finish
        /// unless given
        given_up: Option<GivenUp> = "\"close\"",
        /// of CQL: operations at once on one connection; others wait. Any number unless given
        per_connection: Option<NonZeroU32> = "10",
    }
}

section! {
    #[serde(default)]
    DatabaseSpec = "[[database]]" {
        /// its name behind `plimsoll_`; its number unless given
        name: Option<String> = "\"orders\"",
        /// percent of each operation; that of the file unless given
        mix: Option<Shares> = "{ read = 90, update = 10 }",
        /// documents before the load; those of the file unless given
        documents: Option<u32> = "500",
        /// size of a document; that of the file unless given
        document_size: Option<SizeValue> = "\"4KiB\"",
    }
}

section! {
    #[serde(default)]
    PhaseSpec = "[[phase]]" {
        /// what it is, for people
        name: Option<String> = "\"writes grow\"",
        /// how long it lasts
        duration: Option<TimeValue> = "\"20s\"",
        /// percent of each operation meanwhile; that of each database unless given
        mix: Option<Shares> = "{ read = 100 }",
        /// where the mix goes evenly until the end of the phase
        mix_to: Option<Shares> = "{ insert = 100 }",
        /// arrival rate of all databases together at its start; the file's `rate` unless given; up to 5 phases have
        /// rates
        rate: Option<RateValue> = "\"500/s\"",
        /// where the rate goes evenly until the end of the phase; it stays unless given
        rate_to: Option<RateValue> = "\"5000/s\"",
    }
}

/// What becomes of a try that is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GivenUp {
    Finish,
    Close,
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
    ConsistencyValue(Consistency),
    "a consistency such as \"quorum\"",
    |text| said(values::consistency(text))
);
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

/// Percentages by name.
type Shares = BTreeMap<String, f64>;

/// The mix that a key says, in the terms of what is loaded.
fn mix<M>(
    place: &Place<'_>,
    key: &str,
    shares: Option<&Shares>,
    read: impl Fn(&Shares) -> Result<M, values::ValueError>,
) -> Result<Option<M>, Misplaced> {
    let wrong = |error| place.at(&[key], format!("`{}`: {error}", last(key)));
    shares.map(|shares| read(shares).map_err(wrong)).transpose()
}

/// Of operations.
fn operations(shares: &Shares) -> Result<Mix, values::ValueError> {
    let pairs: Vec<(String, f64)> = shares.iter().map(|(n, s)| (n.clone(), *s)).collect();
    values::mix_of(&pairs)
}

/// A file that was read, for messages that name its lines.
#[derive(Debug, Clone)]
pub struct WorkloadFile {
    pub asked: Asked,
    /// What is sent, where it loads a URL instead of a store.
    pub http: Option<HttpMix>,
    name: String,
    text: String,
}

impl WorkloadFile {
    /// Reads the text of a file that messages call `name`.
    pub fn read(name: &str, text: &str) -> Result<Self, Misplaced> {
        let place = Place::new(name, text);
        let top = place.parsed()?;
        let place = place.with_keys(&top);
        let known = Known {
            all: &SECTIONS,
            inside,
        };
        known.check(&place, &top)?;
        let mut file: File = place.read_named(top)?;
        let http = http::mix_of(&place, &mut file)?;
        Ok(Self {
            asked: asked_for(&place, file, http.is_some())?,
            http,
            name: name.to_owned(),
            text: text.to_owned(),
        })
    }

    /// What a key at the top of the file says, as one would type it, and where.
    pub fn said(&self, key: &str) -> Option<(String, String)> {
        let place = Place::new(&self.name, &self.text);
        let top = place.parsed().ok()?;
        let text = match top.get(key)?.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            _ => return None,
        };
        Some((text, place.with_keys(&top).origin(key)?))
    }

    /// A plan that is refused, with the line of the key that says it.
    pub fn locate(&self, error: &PlanError) -> Misplaced {
        let place = Place::new(&self.name, &self.text);
        // It was read before.
        let place = match place.parsed() {
            Ok(top) => place.with_keys(&top),
            Err(_) => place,
        };
        let problem = format!("`{}`: {}", last(&error.key), error.problem);
        place.at(&[&error.key], problem)
    }
}

/// Whether a file with this text loads a URL, and no store; one that cannot be read is left to its reader.
pub fn loads_url(text: &str) -> bool {
    let top = Place::new("", text).parsed();
    top.is_ok_and(|top| top.contains_key("url"))
}

fn asked_for(place: &Place<'_>, file: File, is_http: bool) -> Result<Asked, Misplaced> {
    if is_http {
        // Its requests, mixes and phases are read by themselves.
        return Ok(Asked {
            load: load_of(place, &file)?,
            connections: file.connections,
            ..Asked::default()
        });
    }
    let phases = phases(place, &file.phase, operations)?;
    let load = load_of(place, &file)?;
    let named = (1..).zip(file.database).map(|(number, database)| {
        let key = format!("database.{number}.mix");
        Ok(Named {
            name: database.name.unwrap_or_default(),
            mix: mix(place, &key, database.mix.as_ref(), operations)?,
            documents: database.documents,
            document_bytes: database.document_size.map(|size| size.0),
        })
    });
    let named = named.collect::<Result<_, Misplaced>>()?;
    let client = file.client;
    Ok(Asked {
        store: file.store,
        databases: file.databases,
        connections: file.connections,
        workers: file.workers,
        mix: mix(place, "mix", file.mix.as_ref(), operations)?,
        documents: file.documents,
        document_bytes: file.document_size.map(|size| size.0),
        keys: file.keys.map(|keys| keys.0),
        batch: file.batch,
        keep: file.keep,
        verify: file.verify,
        replicas: file.replicas,
        consistency: file.consistency.map(|consistency| consistency.0),
        named,
        phases,
        client: AskedClient {
            try_timeout: client.try_timeout.map(|time| time.0),
            pool_wait: client.pool_wait.map(|time| time.0),
            retries: client.retries,
            retry_pause: client.retry_pause.map(|time| time.0),
            driver_retries: client.driver_retries,
            per_connection: client.per_connection,
            closes_given_up: client.given_up.map(|given_up| given_up == GivenUp::Close),
        },
        load,
    })
}

/// How much of it.
fn load_of(place: &Place<'_>, file: &File) -> Result<AskedLoad, Misplaced> {
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
            let problem = format!("`{key}` and `{other}` together: give one of them");
            return Err(place.at(&[key], problem));
        }
    }
    let lengths = file.phase.iter().map(|phase| phase.duration.as_ref());
    let of_phases = lengths
        .flatten()
        .fold(Nanos::ZERO, |sum, time| sum + time.0);
    let of_phases = Some(of_phases).filter(|sum| *sum > Nanos::ZERO && file.operations.is_none());
    Ok(AskedLoad {
        duration: file.duration.as_ref().map(|time| time.0).or(of_phases),
        operations: file.operations,
        rate_per_s: file.rate.as_ref().map(|rate| rate.0),
        ramp_per_s: file.ramp.as_ref().map(|ramp| ramp.0),
        legs: legs(place, file)?,
        arrivals: file.arrivals,
        timeout: file.timeout.as_ref().map(|time| time.0),
        threads: file.threads,
        seed: file.seed,
        objectives: file.slo.as_ref().map(|slo| slo.0.clone()),
    })
}

/// The rates of phases, if any has one: then each must have one, of its own or the file's.
fn legs(place: &Place<'_>, file: &File) -> Result<Vec<Leg>, Misplaced> {
    let has_rate = |phase: &PhaseSpec| phase.rate.is_some() || phase.rate_to.is_some();
    let Some(first) = file.phase.iter().position(has_rate) else {
        return Ok(Vec::new());
    };
    let key = |place: usize, name: &str| format!("phase.{}.{name}", place + 1);
    if file.ramp.is_some() {
        let problem = "`ramp` and phases with rates together: give one of them";
        return Err(place.at(&["ramp"], problem));
    }
    if file.operations.is_some() {
        let at = key(
            first,
            if file.phase[first].rate.is_some() {
                "rate"
            } else {
                "rate_to"
            },
        );
        let problem = "phases with rates last as long as they say: leave `operations` out";
        return Err(place.at(&[&at], problem));
    }
    let each = file.phase.iter().enumerate().map(|(index, phase)| {
        let own = phase.rate.as_ref().or(file.rate.as_ref()).map(|rate| rate.0);
        let from_per_s = own.ok_or_else(|| {
            let problem = format!(
                "phase {} has no `rate`, and phase {} has{}: give each one, or a `rate` at the top of the file",
                index + 1,
                first + 1,
                if first == index { " a `rate_to`" } else { "" }
            );
            place.at(&[&format!("phase.{}", index + 1)], problem)
        })?;
        Ok(Leg {
            from_per_s,
            to_per_s: phase.rate_to.as_ref().map_or(from_per_s, |rate| rate.0),
            length_ns: phase.duration.as_ref().map(|time| time.0).unwrap_or_default(),
        })
    });
    each.collect()
}

/// Parts of the time line, with mixes in the terms of what is loaded.
fn phases<M>(
    place: &Place<'_>,
    phases: &[PhaseSpec],
    read: impl Fn(&Shares) -> Result<M, values::ValueError> + Copy,
) -> Result<Vec<MixPhase<M>>, Misplaced> {
    let each = (1..).zip(phases).map(|(number, phase)| {
        let key = format!("phase.{number}");
        let missing = || place.at(&[&key], "a phase needs a `duration`, such as \"20s\"");
        let length = phase.duration.as_ref().map(|time| time.0);
        let mix = |name: &str, shares| mix(place, &format!("{key}.{name}"), shares, read);
        Ok(MixPhase {
            name: phase.name.clone().unwrap_or_else(|| number.to_string()),
            length_ns: length.ok_or_else(missing)?,
            mix: mix("mix", phase.mix.as_ref())?,
            mix_to: mix("mix_to", phase.mix_to.as_ref())?,
        })
    });
    each.collect()
}

#[cfg(test)]
mod tests;
