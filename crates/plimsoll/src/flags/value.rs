//! How the value of a flag is read: each of these gives the type of a field, or says what would do.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::Read as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use plimsoll_control::admission::Rule;
use plimsoll_core::Nanos;
use plimsoll_core::comparison::Figure;
use plimsoll_core::objective::Objectives;
use plimsoll_core::schedule::RateProfile;
use plimsoll_core::test::workload::{Consistency, Keys, Mix};
use plimsoll_core::test::{Generator, Http, Until};
use plimsoll_core::units::{parse_count, parse_duration, parse_rate, parse_ratio};
use plimsoll_docdb::server::Durability;
use plimsoll_guard::{LogTo, Place, settings};
use plimsoll_net::h1::parse_header;
use plimsoll_net::resolve::ConnectTo;
use plimsoll_observe::Watch;
use plimsoll_report::k6;
use plimsoll_workload::values;

use crate::script::console::LogPlace;
use crate::vary::Vary;

pub(super) fn utf8(word: &OsStr) -> Result<&str> {
    word.to_str()
        .with_context(|| format!("`{}` is not UTF-8", word.display()))
}

pub(super) fn text(word: &OsStr) -> Result<String> {
    utf8(word).map(str::to_owned)
}

#[expect(clippy::unnecessary_wraps, reason = "every row reads alike")]
pub(super) fn file(word: &OsStr) -> Result<PathBuf> {
    Ok(word.into())
}

/// What a type reads itself; `such_as` says what would do.
pub(super) fn parsed<T: FromStr<Err: Display>>(
    such_as: &'static str,
) -> impl Fn(&OsStr) -> Result<T> {
    move |word| {
        let text = utf8(word)?;
        let read = text.parse();
        read.map_err(|error| anyhow!("`{text}` is not {such_as}: {error}"))
    }
}

pub(super) fn whole<const LEAST: u32, const MOST: u32>(word: &OsStr) -> Result<u32> {
    let number = parsed::<u32>("a whole number")(word)?;
    if number < LEAST || number > MOST {
        bail!("{number} is not between {LEAST} and {MOST}");
    }
    Ok(number)
}

/// Shares of the operations of a workload.
pub(super) fn mix(word: &OsStr) -> Result<Mix> {
    Ok(values::mix(utf8(word)?)?)
}

/// How many copies must have answered.
pub(super) fn consistency(word: &OsStr) -> Result<Consistency> {
    Ok(values::consistency(utf8(word)?)?)
}

/// Which documents a workload asks for.
pub(super) fn keys(word: &OsStr) -> Result<Keys> {
    Ok(values::keys(utf8(word)?)?)
}

/// Of a document.
pub(super) fn size(word: &OsStr) -> Result<u32> {
    Ok(values::size(utf8(word)?)?)
}

pub(super) fn count(word: &OsStr) -> Result<NonZeroU64> {
    let count = parse_count(utf8(word)?)?;
    NonZeroU64::new(count).context("it is zero")
}

pub(super) fn small_count(word: &OsStr) -> Result<NonZeroU32> {
    let count = count(word)?.try_into();
    count.with_context(|| format!("`{}` is too large", word.display()))
}

pub(super) fn pairs(word: &OsStr) -> Result<u32> {
    /// Nobody waits for more, and the tests are not made for more.
    const MOST: u32 = 200;
    match small_count(word)?.get() {
        pairs if pairs <= MOST => Ok(pairs),
        pairs => bail!("{pairs} pairs are more than the {MOST} allowed"),
    }
}

pub(super) fn workers(word: &OsStr) -> Result<NonZeroU32> {
    Ok(Generator::workers(parse_count(utf8(word)?)?)?)
}

pub(super) fn streams(word: &OsStr) -> Result<NonZeroU32> {
    Ok(Http::streams(parse_count(utf8(word)?)?)?)
}

pub(super) fn time(word: &OsStr) -> Result<Nanos> {
    Ok(parse_duration(utf8(word)?)?)
}

/// Of a load, which takes some.
pub(super) fn length(word: &OsStr) -> Result<Nanos> {
    let length = time(word)?;
    Until::after(length)?;
    Ok(length)
}

pub(super) fn timeout(word: &OsStr) -> Result<Nanos> {
    Ok(Generator::timeout(time(word)?)?)
}

pub(super) fn rate(word: &OsStr) -> Result<f64> {
    Ok(parse_rate(utf8(word)?)?)
}

pub(super) fn steady(word: &OsStr) -> Result<RateProfile> {
    Ok(RateProfile::constant(rate(word)?)?)
}

/// `100/s..2000/s`
pub(super) fn ramp(word: &OsStr) -> Result<(f64, f64)> {
    let text = utf8(word)?;
    let Some((from, to)) = text.split_once("..") else {
        bail!("`{text}` is not FROM..TO, such as 100/s..2000/s");
    };
    Ok((parse_rate(from)?, parse_rate(to)?))
}

pub(super) fn ratio(word: &OsStr) -> Result<f64> {
    Ok(parse_ratio(utf8(word)?)?)
}

pub(super) fn margin(word: &OsStr) -> Result<f64> {
    let margin = ratio(word)?;
    if margin <= 0.0 || margin >= 1.0 {
        bail!("{} is not between 0 and 100 %, such as 5%", word.display());
    }
    Ok(margin)
}

pub(super) fn scale(word: &OsStr) -> Result<f64> {
    let scale = parsed("a factor")(word)?;
    if !(scale > 0.0 && scale <= 1.0) {
        bail!("{scale}: a factor above 0 and at most 1, such as 0.25");
    }
    Ok(scale)
}

pub(super) fn objectives(word: &OsStr) -> Result<Objectives> {
    Ok(Objectives::parse(utf8(word)?)?)
}

pub(super) fn figure(word: &OsStr) -> Result<Figure> {
    let text = utf8(word)?;
    let known = || Figure::PLAIN.map(Figure::key).join(", ");
    Figure::from_key(text).with_context(|| format!("`{text}` is no figure; there are {}", known()))
}

pub(super) fn header(word: &OsStr) -> Result<(String, String)> {
    Ok(parse_header(utf8(word)?)?)
}

/// As it is, or what is in `@FILE`, or on standard input.
pub(super) fn body(word: &OsStr) -> Result<Vec<u8>> {
    let text = utf8(word)?;
    match text.strip_prefix('@') {
        None => Ok(text.into()),
        Some("-") => {
            let mut body = Vec::new();
            std::io::stdin().read_to_end(&mut body)?;
            Ok(body)
        }
        Some(path) => std::fs::read(path).with_context(|| text.to_owned()),
    }
}

pub(super) fn connect_to(word: &OsStr) -> Result<ConnectTo> {
    let text = utf8(word)?;
    let read = ConnectTo::parse(text);
    read.with_context(|| {
        format!("`{text}`: write HOST1:PORT1:HOST2:PORT2, such as shop.test:443:127.0.0.1:8443; an empty part fits all")
    })
}

/// `NAME=VALUE`
pub(super) fn variable(word: &OsStr) -> Result<(String, String)> {
    let text = utf8(word)?;
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    Ok((name.to_owned(), value.to_owned()))
}

pub(super) fn varied(word: &OsStr) -> Result<Vary> {
    Vary::parse(utf8(word)?)
}

pub(super) fn truth(word: &OsStr) -> Result<bool> {
    match utf8(word)? {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        other => bail!("`{other}` is neither true nor false"),
    }
}

pub(super) fn watch(word: &OsStr) -> Result<Watch> {
    Ok(Watch::parse(utf8(word)?)?)
}

pub(super) fn samples(word: &OsStr) -> Result<k6::Output> {
    Ok(k6::Output::parse(utf8(word)?)?)
}

pub(super) fn log_place(word: &OsStr) -> Result<LogPlace> {
    LogPlace::parse(utf8(word)?)
}

pub(super) fn address(word: &OsStr) -> Result<SocketAddr> {
    let text = utf8(word)?;
    let mut found = text
        .to_socket_addrs()
        .with_context(|| format!("`{text}`: write HOST:PORT, such as 127.0.0.1:27017"))?;
    found
        .next()
        .with_context(|| format!("`{text}`: the name has no address"))
}

/// `:8080` is every address of this host.
pub(super) fn listening(word: &OsStr) -> Result<SocketAddr> {
    settings::address(utf8(word)?).map_err(|problem| anyhow!(problem))
}

/// The same, or a socket in the file system.
pub(super) fn guard_listen(word: &OsStr) -> Result<Place> {
    settings::place(utf8(word)?).map_err(|problem| anyhow!(problem))
}

/// Standard output for `-`.
pub(super) fn log_to(word: &OsStr) -> Result<LogTo> {
    if word.is_empty() {
        bail!("write a file, or - for standard output");
    }
    Ok(if word == "-" {
        LogTo::Stdout
    } else {
        LogTo::File(word.into())
    })
}

/// A service as it is written; the guard looks its name up.
pub(super) fn upstream(word: &OsStr) -> Result<String> {
    let text = utf8(word)?;
    settings::origin(text).map_err(|problem| anyhow!(problem))?;
    Ok(text.to_owned())
}

pub(super) fn header_name(word: &OsStr) -> Result<String> {
    let text = utf8(word)?;
    let (name, _) = parse_header(&format!("{text}:"))
        .map_err(|_| anyhow!("`{text}`: write the name of a header, such as X-Class"))?;
    Ok(name)
}

pub(super) fn limit_rule(word: &OsStr) -> Result<Rule> {
    let text = utf8(word)?;
    Rule::parse(text).with_context(|| {
        format!("`{text}`: write half-load, fixed:16 (a number of your own), aimd, vegas, gradient2 or envoy")
    })
}

pub(super) fn pause(word: &OsStr) -> Result<Duration> {
    Ok(Duration::from_nanos(time(word)?.0))
}

pub(super) fn durability(word: &OsStr) -> Result<Durability> {
    let text = utf8(word)?;
    match text.split_once('=') {
        None if text == "always" => Ok(Durability::Always),
        Some(("interval", interval)) => match pause(OsStr::new(interval))?.as_millis() {
            0 => bail!("`{text}`: the shortest interval is 1ms"),
            millis => Ok(Durability::Interval(
                u64::try_from(millis).unwrap_or(u64::MAX),
            )),
        },
        _ => bail!("`{text}`: write always, or interval=50ms"),
    }
}

/// Bytes of so many MiB.
pub(super) fn mebibytes(word: &OsStr) -> Result<u64> {
    Ok(u64::from(whole::<8, { u32::MAX }>(word)?) << 20)
}

pub(super) fn room(word: &OsStr) -> Result<usize> {
    Ok(whole::<1, { u32::MAX }>(word)? as usize)
}

pub(super) fn shards(word: &OsStr) -> Result<usize> {
    Ok(whole::<1, 256>(word)? as usize)
}
