//! What a sweep plays and in which order, worked out and checked before anything is sent.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;
use plimsoll_core::sweep::Dimension;
use plimsoll_report::format;

use super::file::{self, Kept};
use crate::args::Args;
use crate::form::Form;
use crate::prepared::Prepared;
use crate::recipe::Recipe;
use crate::{flags, from_args, output, secrets};

/// Nobody waits for more.
const RUNS_MAX: usize = 5_000;
/// Between the end of a run and the start of the next: what is in flight ends, the record is written.
const BETWEEN: Nanos = Nanos::from_secs(1);
/// The stream of the order among those of a seed.
const STREAM: u64 = 6;

pub(super) struct Plan {
    pub(super) dimensions: Vec<Dimension>,
    /// Places of values, the last dimension running fastest.
    pub(super) points: Vec<Vec<usize>>,
    /// Beside the points.
    pub(super) recipes: Vec<Recipe>,
    pub(super) users: Vec<Option<f64>>,
    pub(super) runs: Vec<Run>,
    /// The test of the first point, as it is known before the first run.
    pub(super) first: Prepared,
    /// Of one run at most.
    length: Nanos,
    seed: u64,
    repeat: u32,
    pub(super) folder: PathBuf,
    shows_secrets: bool,
    said: Said,
}

/// The command as it was given.
struct Said {
    line: Vec<OsString>,
    names_folder: bool,
    resumes: bool,
}

/// One run of a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) point: usize,
    pub(super) seed: u64,
    /// The first run of all again: it is held against that and counts for nothing else.
    pub(super) is_repeat: bool,
}

pub(super) fn of(args: &Args) -> Result<Plan> {
    let folder = match &args.output.out {
        Some(folder) => folder.clone(),
        None => output::fresh_folder("plimsoll-sweep"),
    };
    let dimensions = dimensions(args)?;
    let points = product(&dimensions);
    let repeat = args.sweep.repeat;
    let count = points.len() * repeat as usize;
    ensure!(
        count <= RUNS_MAX,
        "{} points {repeat} times are more than {RUNS_MAX} runs: fewer values, or a smaller --repeat",
        points.len()
    );
    let seed = match (args.sweep.resume, args.seed) {
        (false, _) => args.seed(),
        (true, said) => file::seed(&folder, said)?,
    };
    let (mut recipes, mut users, mut first, mut length) =
        (Vec::new(), Vec::new(), None, Nanos::ZERO);
    for point in &points {
        let values = values(&dimensions, point);
        let name = name(&values);
        let own = flags::parse_point(&args.sweep.line, &values)?;
        let recipe = from_args::swept(&own).with_context(|| format!("point {name}"))?;
        // What cannot be played is refused now and not an hour later.
        let prepared = recipe
            .prepare(seed)
            .with_context(|| format!("point {name}"))?;
        length = length.max(prepared.test.length().unwrap_or_default());
        users.push(users_of(&values));
        recipes.push(recipe);
        first.get_or_insert(prepared);
    }
    Ok(Plan {
        runs: runs(points.len(), repeat, seed),
        first: first.context("no point")?,
        dimensions,
        points,
        recipes,
        users,
        length,
        seed,
        repeat,
        folder,
        shows_secrets: args.output.show_secrets,
        said: Said {
            line: args.sweep.line.clone(),
            names_folder: args.output.out.is_some(),
            resumes: args.sweep.resume,
        },
    })
}

fn dimensions(args: &Args) -> Result<Vec<Dimension>> {
    let mut dimensions: Vec<Dimension> = Vec::new();
    for vary in &args.sweep.vary {
        if dimensions.iter().any(|known| known.name == vary.name) {
            bail!(
                "--vary {} is given twice: give its values together",
                vary.name
            );
        }
        dimensions.push(Dimension {
            name: vary.name.clone(),
            values: vary.values.clone(),
        });
    }
    if product(&dimensions).len() < 2 {
        bail!(
            "--vary has one value: that is plimsoll run; give several, such as connections=1,2,4,8"
        );
    }
    if args.form == Some(Form::Script) && args.word()? == "-" {
        bail!("standard input can be read once, and every run reads its script: give a file");
    }
    Ok(dimensions)
}

/// Every choice of one value in each dimension.
fn product(dimensions: &[Dimension]) -> Vec<Vec<usize>> {
    let mut points = vec![Vec::new()];
    for dimension in dimensions {
        let with = |point: &Vec<usize>| {
            let each = 0..dimension.values.len().min(RUNS_MAX);
            let point = point.clone();
            each.map(move |value| [&point[..], &[value]].concat())
                .collect::<Vec<_>>()
        };
        // More than anybody plays is refused by its number, and need not be made.
        points = points.iter().take(RUNS_MAX + 1).flat_map(with).collect();
    }
    points
}

fn values<'d>(dimensions: &'d [Dimension], point: &[usize]) -> Vec<(&'d str, &'d str)> {
    let each = dimensions.iter().zip(point);
    let each = each.filter_map(|(dimension, value)| {
        let text = dimension.values.get(*value)?;
        Some((dimension.name.as_str(), text.as_str()))
    });
    each.collect()
}

/// `connections=4, workers=2`
fn name(values: &[(&str, &str)]) -> String {
    let each = values.iter().map(|(name, value)| format!("{name}={value}"));
    each.collect::<Vec<_>>().join(", ")
}

/// Virtual users of a script, where they are what is varied.
fn users_of(values: &[(&str, &str)]) -> Option<f64> {
    let vus = values.iter().find(|(name, _)| *name == "vus");
    vus.and_then(|(_, value)| value.parse().ok())
}

/// Each repetition plays every point, in an order of its own that is drawn, so that whatever the machine does meanwhile meets
/// all points alike. The first run of all is played once more at the very end.
fn runs(points: usize, repeat: u32, seed: u64) -> Vec<Run> {
    let mut rng = Rng::new(seed, STREAM);
    let mut runs = Vec::new();
    for round in 0..repeat {
        let seed = seed.wrapping_add(round.into());
        let order = rng.order(points).into_iter();
        runs.extend(order.map(|point| Run {
            point,
            seed,
            is_repeat: false,
        }));
    }
    let first = runs.first().copied();
    runs.extend(first.map(|first| Run {
        is_repeat: true,
        ..first
    }));
    runs
}

impl Plan {
    pub(super) fn kept(&self) -> Kept<'_> {
        Kept {
            test: self.test(),
            spellings: [true, false].map(|shows| secrets::line(&self.first.test, shows)),
            dimensions: &self.dimensions,
            repeat: self.repeat,
            seed: self.seed,
        }
    }

    /// In one line, as it is kept and shown.
    pub(super) fn test(&self) -> String {
        secrets::line(&self.first.test, self.shows_secrets)
    }

    pub(super) fn name(&self, point: usize) -> String {
        let values = self
            .points
            .get(point)
            .map(|point| values(&self.dimensions, point));
        name(&values.unwrap_or_default())
    }

    /// `007-connections-4`, without what a file system minds.
    pub(super) fn file(&self, number: usize, run: Run) -> String {
        let name = self.name(run.point);
        let letter = |letter: char| match letter {
            letter if letter.is_ascii_alphanumeric() || letter == '.' => letter,
            _ => '-',
        };
        let name: String = name
            .replace(", ", "-")
            .chars()
            .map(letter)
            .take(80)
            .collect();
        format!("{number:03}-{name}")
    }

    pub(super) fn time_left(&self, played: usize) -> Nanos {
        let left = self.runs.len().saturating_sub(played) as u64;
        Nanos(left * (self.length + BETWEEN).0)
    }

    /// What will happen, and how long it takes, before it begins.
    pub(super) fn announce(&self) {
        let times = match self.repeat {
            1 => "once".to_owned(),
            repeat => format!("{repeat} times"),
        };
        output::progress(&format!(
            "sweep: {} points, each {times} in a drawn order, and the first once more: {} runs of {}, about {} in all",
            self.points.len(),
            self.runs.len(),
            format::duration(self.length),
            format::duration(self.time_left(0))
        ));
        for dimension in &self.dimensions {
            output::progress(&format!(
                "  {:<12} {}",
                dimension.name,
                dimension.values.join(" ")
            ));
        }
        output::progress(&format!("  {:<12} {}", "records", self.folder.display()));
    }

    /// What a reader must know of how it was played.
    pub(super) fn remarks(&self, args: &Args) -> Vec<String> {
        let mut remarks = Vec::new();
        if args.sweep.before.is_none() && args.form == Some(Form::Workload) {
            remarks.push(
                "Before each run its databases were dropped and filled anew, and the server kept running. --before COMMAND starts it \
                 anew, too."
                    .to_owned(),
            );
        } else if args.sweep.before.is_none() {
            remarks.push(
                "Between points connections were closed and the target kept running: what it caches, stores and remembers carries \
                 over. --before COMMAND starts it anew."
                    .to_owned(),
            );
        }
        if self.repeat == 1 {
            remarks.push(
                "Each point was played once: no figure has an interval. --repeat 3 gives them."
                    .to_owned(),
            );
        }
        remarks
    }

    /// The command that plays what is missing.
    pub(super) fn resumed(&self) -> String {
        let mut words: Vec<String> = self
            .said
            .line
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        if let Some(program) = words.first_mut() {
            "plimsoll".clone_into(program);
        }
        if !self.said.names_folder {
            words.extend(["-o".to_owned(), self.folder.display().to_string()]);
        }
        if !self.said.resumes {
            words.push("--resume".to_owned());
        }
        let quoted = words.iter().map(|word| {
            let quoted = shlex::try_quote(word);
            quoted.map_or_else(|_| word.clone(), Cow::into_owned)
        });
        quoted.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dimension(name: &str, count: usize) -> Dimension {
        Dimension {
            name: name.to_owned(),
            values: (1..=count).map(|value| value.to_string()).collect(),
        }
    }

    #[test]
    fn a_matrix_has_every_choice_once() {
        let points = product(&[dimension("a", 2), dimension("b", 3)]);
        assert_eq!(points, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        let huge = [
            dimension("a", 1000),
            dimension("b", 1000),
            dimension("c", 1000),
        ];
        assert!(product(&huge).len() > RUNS_MAX, "and it is not made");
    }

    #[test]
    fn the_command_that_goes_on_names_the_folder_once_and_resumes() {
        let resumed = |last: &[&str]| {
            let first = [
                "plimsoll",
                "sweep",
                "http://127.0.0.1:9/",
                "--vary=rate=1,2",
            ];
            let words = first.iter().chain(last).map(OsString::from);
            let (_, args) = flags::parse(words).unwrap();
            of(&args).unwrap().resumed()
        };
        for (said, expected) in [
            (&["--out=kept"][..], "--out=kept --resume"),
            (&["-okept"], "-okept --resume"),
            (&["-o", "kept"], "-o kept --resume"),
        ] {
            let whole = resumed(said).replace('\'', "");
            assert!(
                whole.ends_with(&format!("rate=1,2 {expected}")),
                "{said:?}: {whole}"
            );
        }
        assert!(resumed(&[]).contains(" -o plimsoll-sweep-"));
    }

    #[test]
    fn what_is_kept_of_a_store_is_without_its_password() {
        let words = [
            "plimsoll",
            "sweep",
            "mongodb://admin:s3cret@127.0.0.1:27017",
            "--vary=connections=1,2",
        ];
        let (_, args) = flags::parse(words.map(OsString::from)).unwrap();
        let plan = of(&args).unwrap();
        assert_eq!(plan.kept().test, plan.test());
        assert!(
            plan.test()
                .ends_with(" mongodb://admin:***@127.0.0.1:27017"),
            "{}",
            plan.test()
        );
    }

    #[test]
    fn every_round_plays_every_point_and_the_first_run_comes_again() {
        let runs = runs(5, 3, 9);
        assert_eq!(runs.len(), 16);
        for round in runs[..15].chunks(5) {
            let mut points: Vec<usize> = round.iter().map(|run| run.point).collect();
            points.sort_unstable();
            assert_eq!(points, [0, 1, 2, 3, 4]);
            assert!(
                round
                    .iter()
                    .all(|run| run.seed == round[0].seed && !run.is_repeat)
            );
        }
        let (first, last) = (runs[0], runs[15]);
        assert!(last.is_repeat && (last.point, last.seed) == (first.point, first.seed));
        let orders: Vec<Vec<usize>> = runs[..15]
            .chunks(5)
            .map(|round| round.iter().map(|run| run.point).collect())
            .collect();
        assert!(
            orders[0] != orders[1] || orders[1] != orders[2],
            "{orders:?}"
        );
    }
}
