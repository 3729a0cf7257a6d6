//! Placeholders: what `${app.address}` and its kin stand for once every port is known.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plimsoll_core::nearest::hint;

/// An instance of a tier as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    pub port: u16,
    /// Its own folder, empty at the start of every run.
    pub folder: PathBuf,
    /// What its tier takes at once, by name.
    pub limits: BTreeMap<String, String>,
}

/// Fills placeholders: of all tiers, and of one instance if it is filled for one.
#[derive(Debug, Clone, Default)]
pub struct Filler {
    peers: BTreeMap<String, Vec<Peer>>,
    own: Option<(String, usize)>,
    /// The experiment's folder.
    folder: PathBuf,
}

/// One placeholder, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked<'a> {
    /// `${port}`, `${address}`, `${dir}`, `${instance}` of the instance itself.
    Own(&'a str),
    /// `${folder}`: of the experiment.
    Folder,
    /// `${limits.slots}`: a limit that the tier itself declares.
    Limit(&'a str),
    /// `${app.address}` of the first instance, `${app.2.address}` of the second.
    Of(&'a str, usize, &'a str),
    /// `${app.*.address}`: the text is repeated for every instance.
    Each(&'a str, &'a str),
    /// `${app.addresses}`: all, with commas.
    All(&'a str),
}

const FIELDS: [&str; 3] = ["port", "address", "dir"];
/// What `limits` may name, besides `per_request`.
pub(super) const LIMITS: [&str; 5] = ["slots", "per_request", "pool", "queue", "connections"];
const OWN: [&str; 5] = ["port", "address", "dir", "instance", "folder"];

impl Filler {
    pub fn new(peers: BTreeMap<String, Vec<Peer>>, folder: PathBuf) -> Self {
        Self {
            peers,
            own: None,
            folder,
        }
    }

    /// The same, for what belongs to one instance.
    #[must_use]
    pub fn of(&self, tier: &str, index: u32) -> Self {
        Self {
            own: Some((tier.to_owned(), index as usize)),
            ..self.clone()
        }
    }

    /// Port and folder of the instance that this was made for.
    pub(crate) fn own(&self) -> Option<(u16, &Path)> {
        let (tier, index) = self.own.as_ref()?;
        let peer = self.peers.get(tier)?.get(*index)?;
        Some((peer.port, &peer.folder))
    }

    /// The text with every placeholder filled. The error is a sentence without its place.
    pub fn fill(&self, text: &str) -> Result<String, String> {
        self.filled(text, None)
    }

    /// As many texts as `${TIER.*.…}` has instances; one if there is no such placeholder.
    pub fn fill_each(&self, text: &str) -> Result<Vec<String>, String> {
        let each = placeholders(text)?.find_map(|asked| match asked {
            Ok(Asked::Each(tier, _)) => Some(tier),
            _ => None,
        });
        let Some(tier) = each else {
            return Ok(vec![self.filled(text, None)?]);
        };
        let count = self.instances(tier)?.len();
        (0..count)
            .map(|index| self.filled(text, Some(index)))
            .collect()
    }

    /// A file line by line: a line with `${TIER.*.…}` is repeated for each instance.
    pub fn fill_lines(&self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        for (index, line) in text.lines().enumerate() {
            let lines = self
                .fill_each(line)
                .map_err(|problem| format!("line {}: {problem}", index + 1))?;
            for line in lines {
                filled.push_str(&line);
                filled.push('\n');
            }
        }
        Ok(filled)
    }

    fn filled(&self, text: &str, each: Option<usize>) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            // `$${` is a literal `${`.
            if let Some(before) = before.strip_suffix('$') {
                filled.push_str(before);
                filled.push_str("${");
                rest = after;
                continue;
            }
            let (name, after) = after
                .split_once('}')
                .ok_or_else(|| format!("`${{{after}` has no end; write $${{ for the characters"))?;
            filled.push_str(before);
            filled.push_str(&self.value(asked(name)?, each)?);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn value(&self, asked: Asked<'_>, each: Option<usize>) -> Result<String, String> {
        match asked {
            Asked::Folder => Ok(self.folder.display().to_string()),
            Asked::Limit(name) => {
                let (tier, index) = self.own.as_ref().ok_or_else(|| {
                    format!("`${{limits.{name}}}` belongs into a tier, and is one of its own")
                })?;
                let peer = self.instances(tier)?.get(*index);
                let limit = peer.and_then(|peer| peer.limits.get(name));
                limit.cloned().ok_or_else(|| undeclared(name))
            }
            Asked::Own(field) => {
                let Some((tier, index)) = &self.own else {
                    return Err(format!(
                        "`${{{field}}}` belongs into a tier; here name one, as in `${{TIER.{field}}}`"
                    ));
                };
                if field == "instance" {
                    return Ok((index + 1).to_string());
                }
                self.field(tier, *index, field)
            }
            Asked::Of(tier, index, field) => self.field(tier, index, field),
            Asked::Each(tier, field) => match each {
                Some(index) => self.field(tier, index, field),
                None => Err(format!(
                    "`${{{tier}.*.{field}}}` may stand in args and files only; elsewhere write `${{{tier}.addresses}}`"
                )),
            },
            Asked::All(tier) => {
                let all = self.instances(tier)?.iter();
                let all: Vec<String> = all.map(|peer| address(peer.port)).collect();
                Ok(all.join(","))
            }
        }
    }

    fn instances(&self, tier: &str) -> Result<&[Peer], String> {
        let found = self.peers.get(tier).map(Vec::as_slice);
        found.ok_or_else(|| {
            let known = self.peers.keys().map(String::as_str);
            format!("no tier `{tier}` is started{}", hint(tier, known))
        })
    }

    fn field(&self, tier: &str, index: usize, field: &str) -> Result<String, String> {
        let peers = self.instances(tier)?;
        let peer = peers.get(index).ok_or_else(|| {
            format!(
                "`{tier}` has {} instances and no number {}",
                peers.len(),
                index + 1
            )
        })?;
        Ok(match field {
            "port" => peer.port.to_string(),
            "address" => address(peer.port),
            _ => peer.folder.display().to_string(),
        })
    }
}

/// Every tier listens on the loopback.
fn address(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

/// The tiers that a text asks for.
pub(super) fn tiers_in(text: &str) -> Result<Vec<&str>, String> {
    let mut tiers = Vec::new();
    for asked in placeholders(text)? {
        match asked? {
            Asked::Of(tier, ..) | Asked::Each(tier, _) | Asked::All(tier) => tiers.push(tier),
            Asked::Own(_) | Asked::Folder | Asked::Limit(_) => {}
        }
    }
    Ok(tiers)
}

/// The limits of its own that a text asks for.
pub(super) fn limits_in(text: &str) -> Result<Vec<&str>, String> {
    let mut limits = Vec::new();
    for asked in placeholders(text)? {
        if let Asked::Limit(name) = asked? {
            limits.push(name);
        }
    }
    Ok(limits)
}

pub(super) fn undeclared(limit: &str) -> String {
    format!(
        "the tier declares no limit `{limit}`: write limits = {{ {limit} = … }}, of {}",
        LIMITS.join(", ")
    )
}

fn placeholders(text: &str) -> Result<impl Iterator<Item = Result<Asked<'_>, String>>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        rest = after;
        if before.ends_with('$') {
            continue;
        }
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| format!("`${{{after}` has no end; write $${{ for the characters"))?;
        found.push(asked(name));
        rest = after;
    }
    Ok(found.into_iter())
}

fn asked(name: &str) -> Result<Asked<'_>, String> {
    let wrong = |near: String| {
        format!(
            "`${{{name}}}` is no placeholder{near} There are ${{port}}, ${{address}}, ${{dir}}, ${{instance}} of the tier itself, \
             ${{limits.NAME}} that it declares, ${{TIER.port}}, ${{TIER.address}}, ${{TIER.2.address}}, ${{TIER.*.address}}, ${{TIER.addresses}}, and ${{folder}} of the file; \
             write $${{ for the characters"
        )
    };
    let near = |word: &str, known: &[&'static str]| {
        let hint = hint(word, known.iter().copied());
        if hint.is_empty() {
            ";".to_owned()
        } else {
            hint
        }
    };
    let parts: Vec<&str> = name.split('.').collect();
    match parts.as_slice() {
        ["folder"] => Ok(Asked::Folder),
        ["limits", name] if LIMITS.contains(name) => Ok(Asked::Limit(name)),
        ["limits", name] => Err(wrong(near(name, &LIMITS))),
        [field] if OWN.contains(field) => Ok(Asked::Own(field)),
        [field] => Err(wrong(near(field, &OWN))),
        [tier, "addresses"] => Ok(Asked::All(tier)),
        [tier, field] if FIELDS.contains(field) => Ok(Asked::Of(tier, 0, field)),
        [tier, "*", field] if FIELDS.contains(field) => Ok(Asked::Each(tier, field)),
        [tier, number, field] if FIELDS.contains(field) => match number.parse::<usize>() {
            Ok(number) if number > 0 => Ok(Asked::Of(tier, number - 1, field)),
            _ => Err(wrong(";".to_owned())),
        },
        [.., field] => Err(wrong(near(field, &FIELDS))),
        [] => Err(wrong(";".to_owned())),
    }
}

#[cfg(test)]
mod tests;
