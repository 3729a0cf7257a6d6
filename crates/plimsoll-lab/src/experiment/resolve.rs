//! From the file as written to variants that are complete: merged, understood, ordered.

mod test;
mod tier;
mod within;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plimsoll_core::Nanos;
use plimsoll_core::nearest::hint;
use plimsoll_core::objective::Objectives;
use plimsoll_core::record::Published;
use plimsoll_core::units::parse_duration;
use toml::de::DeTable;

use super::check::check;
use super::file::{File, TierSpec, VariantSpec};
use super::layers::{Tables, inner, table};
use super::{Experiment, Facts, Load, Place, Test, Tier, Variant};
use crate::LabError;

pub(crate) use tier::{DOCDB, GUARD};
use within::Within;

const DEFAULT_RUNS: u32 = 3;
/// More runs than anybody waits for.
const RUNS_MAX: u32 = 1_000;
/// The only variant of a file that names none.
const ONLY: &str = "base";

pub(super) fn resolve(place: &Place<'_>, folder: &Path) -> Result<Experiment, LabError> {
    let top = &place.parsed()?;
    check(place, top)?;
    let place = &place.with_keys(top);
    let file: File = place.read(top.clone())?;
    let objectives = objectives(place, &file)?;
    let names = names(place)?;
    let written = Written::of(place, top)?;
    let mut laid: BTreeMap<&str, Tables<'_>> = BTreeMap::new();
    let mut variants: Vec<Variant> = Vec::new();
    let mut left_out = BTreeMap::new();
    for name in &names {
        let tables = written.tables(place, name, &names, &laid)?;
        let (spec, first) = (written.spec(name), names.first());
        let base = spec.base.or(first.filter(|first| *first != name).cloned());
        let facts = Facts::of(&tables, place)?;
        let mut earlier = variants.iter();
        let compared = earlier.find(|variant| Some(&variant.name) == base.as_ref());
        let changes = compared.map(|base| facts.changes_from(&base.facts));
        let (specs, test) = tables.read(place)?;
        let within = |path: String| Within {
            place,
            folder,
            variant: name,
            path,
            tiers: &specs,
        };
        if spec.optional
            && let Some(problem) = not_installed(&within, &specs)?
        {
            left_out.insert(name.clone(), problem);
            laid.insert(name, tables);
            continue;
        }
        let tiers = tiers(&within, &specs)?;
        let test = test::test(&within("test".to_owned()), &test, objectives.is_some())?;
        faults(&within, &tiers, &test)?;
        variants.push(Variant {
            name: name.clone(),
            about: spec.about,
            base,
            changes: changes.unwrap_or_default(),
            probe: false,
            tiers,
            test,
            objectives: objectives.clone(),
            facts,
        });
        laid.insert(name, tables);
    }
    let measured = measured(place, &variants)?;
    let remark = |(name, problem): (&String, &String)| format!("`{name}` is left out: {problem}");
    let mut experiment = Experiment {
        title: title(&file, folder),
        published: published(place, &file)?,
        folder: folder.to_owned(),
        variants,
        quick: quick(place, &file, &names, &left_out)?,
        scale: 1.0,
        remarks: left_out.iter().map(remark).collect(),
        left_out,
        measured,
        runs: runs(place, &file)?,
        pause: pause(place, &file)?,
    };
    experiment.remark_on_times();
    Ok(experiment)
}

/// The variants that `times_of` names; each must have a load of its own that can be turned into a closed one.
fn measured(place: &Place<'_>, variants: &[Variant]) -> Result<Vec<Variant>, LabError> {
    if variants.is_empty() {
        let problem = "no variant is left; at least one must not be optional";
        return Err(place.at(&["variants"], problem));
    }
    let mut measured: Vec<Variant> = Vec::new();
    for times in variants.iter().filter_map(|it| it.test.times.as_ref()) {
        let known = || variants.iter().map(|variant| variant.name.as_str());
        let found = variants.iter().find(|variant| variant.name == times.of);
        let found = found.ok_or_else(|| {
            let near = hint(&times.of, known());
            let problem = format!("there is no variant `{}`{near}", times.of);
            place.at(&["test.times_of"], problem)
        })?;
        if !matches!(found.test.load, Load::Url { .. }) {
            let problem = format!("the load of `{}` is no rate over a url", times.of);
            return Err(place.at(&["test.times_of"], problem));
        }
        if !measured.iter().any(|variant| variant.name == found.name) {
            measured.push(found.clone());
        }
    }
    Ok(measured)
}

/// The variants in the order of the file, their names and those of tiers looked at.
fn names(place: &Place<'_>) -> Result<Vec<String>, LabError> {
    for (within, what) in [("tiers", "tier"), ("variants", "variant")] {
        for name in place.in_order(within) {
            let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            if name.is_empty() || name.len() > 32 || !name.chars().all(legal) {
                let problem = format!(
                    "`{name}` is no name for a {what}: use up to 32 letters, digits, dashes and underscores"
                );
                return Err(place.at(&[&format!("{within}.{name}")], problem));
            }
        }
    }
    let names = place.in_order("variants");
    Ok(if names.is_empty() {
        vec![ONLY.to_owned()]
    } else {
        names
    })
}

/// The tables of a file, each looked at for itself: a mistake in one that no variant is made of is named, too.
struct Written<'i> {
    shared: Tables<'i>,
    variants: BTreeMap<String, (VariantSpec, Tables<'i>)>,
}

impl<'i> Written<'i> {
    fn of(place: &Place<'_>, top: &DeTable<'i>) -> Result<Self, LabError> {
        let shared = Tables::of(place, top)?;
        shared.read(place)?;
        let mut variants = BTreeMap::new();
        for (name, value) in inner(place, top, "variants")?.iter().flat_map(|t| t.iter()) {
            let own = table(place, name.get_ref(), value)?;
            let tables = Tables::of(place, own)?;
            tables.read(place)?;
            let spec: VariantSpec = place.read(own.clone())?;
            variants.insert(name.get_ref().to_string(), (spec, tables));
        }
        Ok(Self { shared, variants })
    }

    fn spec(&self, name: &str) -> VariantSpec {
        let variant = self.variants.get(name);
        variant.map(|(spec, _)| spec.clone()).unwrap_or_default()
    }

    /// The variant's tables on top of its base's, or of those that all share.
    fn tables(
        &self,
        place: &Place<'_>,
        name: &str,
        names: &[String],
        earlier: &BTreeMap<&str, Tables<'i>>,
    ) -> Result<Tables<'i>, LabError> {
        let Some((spec, own)) = self.variants.get(name) else {
            return Ok(self.shared.clone());
        };
        let at =
            |key: &str, problem: String| place.at(&[&format!("variants.{name}.{key}")], problem);
        let mut tables = match &spec.base {
            None => self.shared.clone(),
            Some(base) => earlier.get(base.as_str()).cloned().ok_or_else(|| {
                let problem = if names.contains(base) {
                    format!("`{base}` stands below `{name}`; put the variant that others are made from first")
                } else {
                    format!("there is no variant `{base}`{}", hint(base, names.iter().map(String::as_str)))
                };
                at("base", problem)
            })?,
        };
        for left_out in &spec.without {
            if tables.tiers.remove(left_out).is_none() {
                let near = hint(left_out, tables.tiers.keys().map(String::as_str));
                let problem = format!("there is no tier `{left_out}`{near}");
                return Err(at("without", problem));
            }
        }
        tables.lay_over(own);
        Ok(tables)
    }
}

/// What a variant that may be left out lacks, in words; everything else that is wrong with it is an error all the same.
fn not_installed<'a>(
    within: &impl Fn(String) -> Within<'a>,
    specs: &BTreeMap<String, TierSpec>,
) -> Result<Option<String>, LabError> {
    for (name, spec) in specs {
        if let Some((_, problem)) = tier::missing(&within(format!("tiers.{name}")), spec)? {
            return Ok(Some(problem));
        }
    }
    Ok(None)
}

/// Every tier understood, each after those that it needs.
fn tiers<'a>(
    within: &impl Fn(String) -> Within<'a>,
    specs: &BTreeMap<String, TierSpec>,
) -> Result<Vec<Tier>, LabError> {
    let within = |name: &str| within(format!("tiers.{name}"));
    let mut waiting: BTreeMap<&str, (TierSpec, BTreeSet<String>)> = BTreeMap::new();
    for (name, spec) in specs {
        let (at, stub) = (within(name), spec.in_stub());
        let mut needs = tier::needs(&at, spec)?;
        if let Some(stub) = &stub {
            needs.extend(tier::needs(&at, stub)?);
        }
        needs.remove(name);
        let played = if spec.stubbed == Some(true) {
            let problem = "there is none to take its place; say in `stub` what differs";
            stub.ok_or_else(|| at.wrong("stubbed", problem))?
        } else {
            spec.clone()
        };
        waiting.insert(name, (played, needs));
    }
    let mut ordered: Vec<Tier> = Vec::new();
    while let Some(first) = waiting.keys().next().copied() {
        let is_started = |need: &String| ordered.iter().any(|tier| tier.name == *need);
        let mut all = waiting.iter();
        let free = all.find(|(_, (_, needs))| needs.iter().all(is_started));
        let free = free.map(|(name, _)| *name);
        let Some((name, (spec, _))) = free.and_then(|name| waiting.remove_entry(name)) else {
            let stuck: Vec<&str> = waiting.keys().copied().collect();
            let at = within(first);
            let problem = format!(
                "tiers {} wait for each other; take one placeholder or `needs` out of the circle",
                stuck.join(", ")
            );
            return Err(at.place.at(&[&at.path], problem));
        };
        ordered.push(tier::tier(&within(name), name, &spec)?);
    }
    Ok(ordered)
}

/// What is done to a tier is done while there is load.
fn faults<'a>(
    within: &impl Fn(String) -> Within<'a>,
    tiers: &[Tier],
    test: &Test,
) -> Result<(), LabError> {
    let length = test.load.duration();
    for tier in tiers {
        let Some(length) = length else { continue };
        if let Some(late) = tier.faults.iter().find(|fault| fault.at >= length) {
            let problem = format!("the load is over after {length}, before {}", late.at);
            let at = within(format!("tiers.{}", tier.name));
            return Err(at.wrong(late.key(), problem));
        }
    }
    Ok(())
}

fn objectives(place: &Place<'_>, file: &File) -> Result<Option<Objectives>, LabError> {
    let slo = file.objectives.as_ref().map(|spec| &spec.slo);
    let objectives = slo.map(|slo| Objectives::parse(slo)).transpose();
    objectives.map_err(|error| place.at(&["objectives.slo"], error.to_string()))
}

fn title(file: &File, folder: &Path) -> String {
    let own = || folder.file_name().map(|name| name.to_string_lossy());
    let title = file.title.clone();
    title.unwrap_or_else(|| own().unwrap_or("experiment".into()).into_owned())
}

/// Somebody else's figures: a table without holes.
fn published(place: &Place<'_>, file: &File) -> Result<Option<Published>, LabError> {
    let Some(spec) = &file.published else {
        return Ok(None);
    };
    let columns = spec.columns.len();
    if columns == 0 || spec.rows.is_empty() {
        let problem = "needs at least a column and a row, or leave it out";
        return Err(place.at(&["published"], problem));
    }
    for (index, row) in spec.rows.iter().enumerate() {
        if row.len() != columns || !row.iter().all(|number| number.is_finite()) {
            let problem = format!(
                "row {} has {} numbers, and there are {columns} columns; a figure that is missing there cannot be left out here",
                index + 1,
                row.iter().filter(|number| number.is_finite()).count()
            );
            return Err(place.at(&["published.rows"], problem));
        }
    }
    Ok(Some(Published {
        source: spec.source.clone(),
        differs: spec.differs.clone().unwrap_or_default(),
        columns: spec.columns.clone(),
        rows: spec.rows.clone(),
    }))
}

/// The variants of the short form, all known; of those, the ones that are not left out.
fn quick(
    place: &Place<'_>,
    file: &File,
    names: &[String],
    left_out: &BTreeMap<String, String>,
) -> Result<Vec<String>, LabError> {
    let mut quick = file.quick.clone().unwrap_or_default();
    if let Some(unknown) = quick.iter().find(|name| !names.contains(name)) {
        let near = hint(unknown, names.iter().map(String::as_str));
        let problem = format!("there is no variant `{unknown}`{near}");
        return Err(place.at(&["quick"], problem));
    }
    quick.retain(|name| !left_out.contains_key(name));
    Ok(quick)
}

fn runs(place: &Place<'_>, file: &File) -> Result<u32, LabError> {
    let runs = file.repeat.runs.unwrap_or(DEFAULT_RUNS);
    if (1..=RUNS_MAX).contains(&runs) {
        return Ok(runs);
    }
    let problem = format!("{runs} runs are not between 1 and {RUNS_MAX}");
    Err(place.at(&["repeat.runs"], problem))
}

fn pause(place: &Place<'_>, file: &File) -> Result<Nanos, LabError> {
    let pause = file.repeat.pause.as_deref().map(parse_duration).transpose();
    let pause = pause.map_err(|error| place.at(&["repeat.pause"], error.to_string()))?;
    Ok(pause.unwrap_or(Nanos::ZERO))
}
