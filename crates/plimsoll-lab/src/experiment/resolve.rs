//! From the file as written to variants that are complete: merged, understood, ordered.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plimsoll_core::Nanos;
use plimsoll_core::nearest::hint;
use plimsoll_core::objective::Objectives;
use plimsoll_core::units::parse_duration;
use toml::de::DeTable;

use super::file::{File, TestSpec, TierSpec, VariantSpec};
use super::fill::{limits_in, tiers_in, undeclared};
use super::layers::{Tables, inner, read, table};
use super::{Experiment, Facts, Place, Test, Tier, Variant, keys};
use crate::LabError;

mod scale;
mod test;
mod tier;

use scale::Scaled;
pub(crate) use tier::DOCDB;

const DEFAULT_RUNS: u32 = 3;
/// More runs than anybody waits for.
const RUNS_MAX: u32 = 1_000;
/// The only variant of a file that names none.
const ONLY: &str = "base";

/// A variant as merged, before its values are understood.
#[derive(Debug, Clone, Default)]
pub(super) struct Merged {
    pub(super) base: Option<String>,
    about: String,
    pub(super) tiers: BTreeMap<String, TierSpec>,
    pub(super) test: TestSpec,
}

pub(super) fn resolve(
    place: &Place<'_>,
    folder: &Path,
    scale: f64,
) -> Result<Experiment, LabError> {
    let wrong = |error: &toml::de::Error| {
        let offset = error.span().map_or(0, |span| span.start);
        place.wrong(offset, error.message().trim_end())
    };
    let top = DeTable::parse(place.text).map_err(|error| wrong(&error))?;
    keys::check(place, top.get_ref())?;
    let top = top.get_ref();
    let place = place.with_keys(top);
    let file: File = read(&place, top.clone())?;
    let reader = Reader {
        place: &place,
        folder,
        file: &file,
        scale,
    };
    reader.experiment(&written(&place, top)?)
}

/// The tables of a file, each looked at for itself: a mistake in one that no variant is made of is named, too.
pub(super) struct Written<'i> {
    shared: Tables<'i>,
    variants: BTreeMap<String, (VariantSpec, Tables<'i>)>,
}

fn written<'i>(place: &Place<'_>, top: &DeTable<'i>) -> Result<Written<'i>, LabError> {
    let shared = Tables::of(place, top)?;
    shared.read(place)?;
    let mut variants = BTreeMap::new();
    for (name, value) in inner(place, top, "variants")?.iter().flat_map(|t| t.iter()) {
        let own = table(place, name.get_ref(), value)?;
        let tables = Tables::of(place, own)?;
        tables.read(place)?;
        let spec: VariantSpec = read(place, own.clone())?;
        variants.insert(name.get_ref().to_string(), (spec, tables));
    }
    Ok(Written { shared, variants })
}

/// The file with what is needed to understand and to complain.
pub(super) struct Reader<'a> {
    pub(super) place: &'a Place<'a>,
    pub(super) folder: &'a Path,
    file: &'a File,
    /// 1 for the load and the limits as they are written.
    scale: f64,
}

impl Reader<'_> {
    fn experiment(&self, written: &Written<'_>) -> Result<Experiment, LabError> {
        let names = self.names()?;
        let objectives = match &self.file.objectives {
            None => None,
            Some(said) => Some(
                Objectives::parse(&said.slo)
                    .map_err(|error| self.place.at(&["objectives.slo"], error.to_string()))?,
            ),
        };
        let mut laid: BTreeMap<String, Tables<'_>> = BTreeMap::new();
        let mut merged: BTreeMap<String, Merged> = BTreeMap::new();
        let mut variants = Vec::new();
        let mut scaled = Scaled::default();
        for name in &names {
            let tables = self.tables(name, &names, written, &laid)?;
            let all = self.merged(name, &names, written, &tables)?;
            let base = all.base.as_ref().and_then(|base| merged.get(base));
            let facts = Facts::of(&all);
            let changes = base.map(|base| facts.changes_from(&Facts::of(base)));
            let mut played = self.with_stubs(name, &all)?;
            self.scale(name, &mut played, &mut scaled)?;
            let tiers = self.tiers(name, &played)?;
            let test = self.test(name, &played)?;
            self.kills(name, &tiers, &test)?;
            let variant = Variant {
                name: name.clone(),
                about: all.about.clone(),
                base: all.base.clone(),
                changes: changes.unwrap_or_default(),
                probe: false,
                tiers,
                test,
                objectives: objectives.clone(),
                facts,
            };
            variants.push(variant);
            merged.insert(name.clone(), all);
            laid.insert(name.clone(), tables);
        }
        Ok(Experiment {
            title: self.title(),
            folder: self.folder.to_owned(),
            variants,
            quick: self.quick(&names)?,
            scale: self.scale,
            remarks: scaled.remarks(self.scale),
            runs: self.runs()?,
            pause: self.time(
                "repeat.pause",
                self.file.repeat.pause.as_deref(),
                Nanos::ZERO,
            )?,
        })
    }

    fn title(&self) -> String {
        let own = || self.folder.file_name().map(|name| name.to_string_lossy());
        let title = self.file.title.clone();
        title.unwrap_or_else(|| own().unwrap_or("experiment".into()).into_owned())
    }

    /// The variants in the order of the file, their names and those of tiers looked at.
    fn names(&self) -> Result<Vec<String>, LabError> {
        for (within, what) in [("tiers", "tier"), ("variants", "variant")] {
            for name in self.place.in_order(within) {
                let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
                if name.is_empty() || name.len() > 32 || !name.chars().all(legal) {
                    let problem = format!(
                        "`{name}` is no name for a {what}: use up to 32 letters, digits, dashes and underscores"
                    );
                    return Err(self.place.at(&[&format!("{within}.{name}")], problem));
                }
            }
        }
        let names = self.place.in_order("variants");
        Ok(if names.is_empty() {
            vec![ONLY.to_owned()]
        } else {
            names
        })
    }

    /// The variant's tables on top of its base's, or of those that all share.
    fn tables<'i>(
        &self,
        name: &str,
        names: &[String],
        written: &Written<'i>,
        earlier: &BTreeMap<String, Tables<'i>>,
    ) -> Result<Tables<'i>, LabError> {
        let Some((said, own)) = written.variants.get(name) else {
            return Ok(written.shared.clone());
        };
        let at = |key: &str, problem: String| {
            self.place.at(&[&format!("variants.{name}.{key}")], problem)
        };
        let mut tables = match &said.base {
            None => written.shared.clone(),
            Some(base) => earlier.get(base).cloned().ok_or_else(|| {
                let problem = if names.contains(base) {
                    format!("`{base}` stands below `{name}`; put the variant that others are made from first")
                } else {
                    format!("there is no variant `{base}`{}", hint(base, names.iter().map(String::as_str)))
                };
                at("base", problem)
            })?,
        };
        for left_out in &said.without {
            if tables.tiers.remove(left_out).is_none() {
                let near = hint(left_out, tables.tiers.keys().map(String::as_str));
                return Err(at(
                    "without",
                    format!("there is no tier `{left_out}`{near}"),
                ));
            }
        }
        tables.lay_over(own);
        Ok(tables)
    }

    /// The variant with its values read.
    fn merged(
        &self,
        name: &str,
        names: &[String],
        written: &Written<'_>,
        tables: &Tables<'_>,
    ) -> Result<Merged, LabError> {
        let said = written.variants.get(name).map(|(said, _)| said);
        let first = names.first().filter(|first| *first != name);
        let (tiers, test) = tables.read(self.place)?;
        Ok(Merged {
            base: said.and_then(|said| said.base.clone()).or(first.cloned()),
            about: said.map(|said| said.about.clone()).unwrap_or_default(),
            tiers,
            test,
        })
    }

    /// The variant with the stubs in place that it asks for.
    fn with_stubs(&self, variant: &str, all: &Merged) -> Result<Merged, LabError> {
        let mut played = all.clone();
        for (name, spec) in &mut played.tiers {
            if spec.stubbed == Some(true) {
                let problem = "there is none to take its place; say in `stub` what differs";
                let stub = spec.in_stub();
                *spec = stub.ok_or_else(|| self.in_tier(variant, name, "stubbed", problem))?;
            }
        }
        Ok(played)
    }

    /// Every tier understood, each after those that it needs.
    fn tiers(&self, variant: &str, all: &Merged) -> Result<Vec<Tier>, LabError> {
        let mut needs: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (name, spec) in &all.tiers {
            let mut own = self.needs(variant, name, spec, all)?;
            if let Some(stub) = spec.in_stub() {
                own.extend(self.needs(variant, name, &stub, all)?);
            }
            needs.insert(name, own);
        }
        let mut ordered: Vec<&str> = Vec::new();
        while ordered.len() < needs.len() {
            let free = needs.iter().find(|(name, needs)| {
                !ordered.contains(name) && needs.iter().all(|need| ordered.contains(&need.as_str()))
            });
            let Some((name, _)) = free else {
                let stuck: Vec<&str> = needs
                    .keys()
                    .copied()
                    .filter(|name| !ordered.contains(name))
                    .collect();
                let problem = format!(
                    "tiers {} wait for each other; take one placeholder or `needs` out of the circle",
                    stuck.join(", ")
                );
                return Err(self.place.at(&[&format!("tiers.{}", stuck[0])], problem));
            };
            ordered.push(name);
        }
        let tier = |name: &&str| self.tier(variant, name, &all.tiers[*name]);
        ordered.iter().map(tier).collect()
    }

    /// The tiers that one waits for: named, or asked for by a placeholder.
    fn needs(
        &self,
        variant: &str,
        name: &str,
        spec: &TierSpec,
        all: &Merged,
    ) -> Result<BTreeSet<String>, LabError> {
        let mut needs = BTreeSet::new();
        let mut add = |key: &str, found: Result<Vec<&str>, String>| {
            let at = |problem: String| self.in_tier(variant, name, key, problem);
            for need in found.map_err(at)? {
                if !all.tiers.contains_key(need) {
                    let near = hint(need, all.tiers.keys().map(String::as_str));
                    return Err(at(format!(
                        "variant `{variant}` has no tier `{need}`{near}"
                    )));
                }
                if need != name {
                    needs.insert(need.to_owned());
                }
            }
            Ok(())
        };
        let mut filled = |key: &str, place: &str, text: &str| {
            let at =
                |problem: String| self.in_tier(variant, name, key, format!("{place}{problem}"));
            let limits = limits_in(text).map_err(at)?;
            if let Some(limit) = limits
                .iter()
                .find(|limit| !spec.limits.contains_key(**limit))
            {
                return Err(at(undeclared(limit)));
            }
            add(key, tiers_in(text))
        };
        for text in spec.args.iter().flatten() {
            filled("args", "", text)?;
        }
        for text in spec.env.values() {
            filled("env", "", text)?;
        }
        for pattern in spec.files.values() {
            let text = self.pattern(variant, name, pattern)?;
            for line in text.lines() {
                filled("files", &format!("{pattern}: "), line)?;
            }
        }
        let named = spec.needs.iter().flatten().map(String::as_str);
        add("needs", Ok(named.collect()))?;
        Ok(needs)
    }

    /// The text of a file that is to be filled.
    pub(super) fn pattern(
        &self,
        variant: &str,
        tier: &str,
        file: &str,
    ) -> Result<String, LabError> {
        std::fs::read_to_string(self.folder.join(file)).map_err(|error| {
            self.in_tier(
                variant,
                tier,
                "files",
                format!("{file} cannot be read: {error}"),
            )
        })
    }

    /// Who is to be killed is killed while there is load.
    fn kills(&self, variant: &str, tiers: &[Tier], test: &Test) -> Result<(), LabError> {
        let Some(length) = test.load.duration() else {
            return Ok(());
        };
        for tier in tiers {
            if let Some(at) = tier.kill_at.filter(|at| *at >= length) {
                let problem = format!("the load is over after {length}, before {at}");
                return Err(self.in_tier(variant, &tier.name, "kill_at", problem));
            }
        }
        Ok(())
    }

    /// The variants of the short form, all known.
    fn quick(&self, names: &[String]) -> Result<Vec<String>, LabError> {
        let quick = self.file.quick.clone().unwrap_or_default();
        if let Some(unknown) = quick.iter().find(|name| !names.contains(name)) {
            let near = hint(unknown, names.iter().map(String::as_str));
            let problem = format!("there is no variant `{unknown}`{near}");
            return Err(self.place.at(&["quick"], problem));
        }
        Ok(quick)
    }

    fn has_objectives(&self) -> bool {
        self.file.objectives.is_some()
    }

    fn runs(&self) -> Result<u32, LabError> {
        match self.file.repeat.runs {
            None => Ok(DEFAULT_RUNS),
            Some(runs) if (1..=RUNS_MAX).contains(&runs) => Ok(runs),
            Some(runs) => Err(self.place.at(
                &["repeat.runs"],
                format!("{runs} runs are not between 1 and {RUNS_MAX}"),
            )),
        }
    }

    fn time(&self, path: &str, said: Option<&str>, default: Nanos) -> Result<Nanos, LabError> {
        let Some(text) = said else {
            return Ok(default);
        };
        parse_duration(text).map_err(|error| self.place.at(&[path], error.to_string()))
    }

    /// A problem of a tier's key, in the variant's table if that says it, else in the tier's own.
    pub(super) fn in_tier(
        &self,
        variant: &str,
        tier: &str,
        key: &str,
        problem: impl std::fmt::Display,
    ) -> LabError {
        let own = format!("tiers.{tier}.{key}");
        let over = format!("variants.{variant}.{own}");
        self.place.at(&[&over, &own], format!("{own}: {problem}"))
    }

    pub(super) fn in_test(
        &self,
        variant: &str,
        key: &str,
        problem: impl std::fmt::Display,
    ) -> LabError {
        let own = format!("test.{key}");
        let over = format!("variants.{variant}.{own}");
        self.place.at(&[&over, &own], format!("{own}: {problem}"))
    }
}
