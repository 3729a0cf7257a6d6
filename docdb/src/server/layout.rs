//! How a data directory is divided, written when it is made and kept from then on.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{Scheduler, ServerError};

const FILE: &str = "docdb.layout";
/// The layout until it is whole.
const BESIDE: &str = "docdb.layout.new";
const FIRST_LINE: &str = "plimsoll docdb, format 1";

/// The division of one data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) scheduler: Scheduler,
    /// Shards of the sharded arrangement; one otherwise.
    pub(crate) shards: usize,
}

impl Layout {
    /// Reads the directory's layout, or makes a new directory with the wanted one.
    pub(crate) fn open(
        directory: &Path,
        wanted: Self,
        shards_asked: bool,
    ) -> Result<Self, ServerError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| ServerError::Directory { path, source }
        };
        if directory.is_file() {
            let path = directory.to_path_buf();
            return Err(ServerError::NotAFolder { path });
        }
        create(directory).map_err(failed(directory))?;
        let path = directory.join(FILE);
        let found = match fs::read_to_string(&path) {
            Ok(text) => {
                Self::parse(&text).ok_or_else(|| ServerError::Layout { path: path.clone() })?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if !is_new(directory).map_err(failed(directory))? {
                    return Err(ServerError::NotOurs {
                        path: directory.to_path_buf(),
                    });
                }
                sync_above(directory).map_err(failed(directory))?;
                wanted.write(directory).map_err(failed(&path))?;
                wanted
            }
            Err(error) => return Err(failed(&path)(error)),
        };
        let other_shards = shards_asked && found.shards != wanted.shards;
        if found.scheduler != wanted.scheduler || other_shards {
            return Err(ServerError::OtherLayout {
                path: directory.to_path_buf(),
                found: found.flags(),
            });
        }
        Ok(found)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        (lines.next()? == FIRST_LINE).then_some(())?;
        let scheduler = Scheduler::named(lines.next()?.strip_prefix("scheduler ")?)?;
        let shards = lines.next()?.strip_prefix("shards ")?.parse().ok()?;
        (1..=super::SHARDS_MAX)
            .contains(&shards)
            .then_some(Self { scheduler, shards })
    }

    /// Written beside and moved into place, so that a crash leaves a layout or none.
    fn write(self, directory: &Path) -> std::io::Result<()> {
        let (beside, path) = (directory.join(BESIDE), directory.join(FILE));
        let mut file = File::create(&beside)?;
        write!(
            file,
            "{FIRST_LINE}\nscheduler {}\nshards {}\n",
            self.scheduler.name(),
            self.shards
        )?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        File::open(directory)?.sync_all()
    }

    fn flags(self) -> String {
        match self.scheduler {
            Scheduler::Sharded => format!("--scheduler sharded --shards {}", self.shards),
            other => format!("--scheduler {}", other.name()),
        }
    }

    /// The folder of a shard.
    pub(crate) fn shard(directory: &Path, index: usize) -> PathBuf {
        directory.join(format!("shard-{index}"))
    }

    /// The folder of a database with a store of its own: its name with every byte that a file system may not like as hex.
    pub(crate) fn database(directory: &Path, name: &str) -> PathBuf {
        let mut folder = String::from("db-");
        for byte in name.bytes() {
            if byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' {
                folder.push(char::from(byte));
            } else {
                let _infallible = write!(folder, "%{byte:02x}");
            }
        }
        directory.join(folder)
    }

    /// The databases that have a folder of their own.
    pub(crate) fn databases(directory: &Path) -> std::io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(directory)? {
            let folder = entry?.file_name();
            names.extend(
                folder
                    .to_str()
                    .and_then(|folder| decoded(folder.strip_prefix("db-")?)),
            );
        }
        Ok(names)
    }
}

/// Makes a folder and those above it, each durably: what is in a folder that a crash forgets is lost with it.
fn create(directory: &Path) -> std::io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let above = directory
        .parent()
        .filter(|above| !above.as_os_str().is_empty());
    if let Some(above) = above {
        create(above)?;
    }
    match fs::create_dir(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    sync_above(directory)
}

/// Makes a folder's own name durable. Whose parent may not be read was made by somebody else, who saw to that.
fn sync_above(directory: &Path) -> std::io::Result<()> {
    let above = directory
        .parent()
        .filter(|above| !above.as_os_str().is_empty());
    match File::open(above.unwrap_or(Path::new("."))) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(()),
        parent => parent?.sync_all(),
    }
}

/// Whether nothing is in a folder but what a start leaves that was killed at its beginning.
fn is_new(directory: &Path) -> std::io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        if entry?.file_name() != BESIDE {
            return Ok(false);
        }
    }
    Ok(true)
}

fn decoded(folder: &str) -> Option<String> {
    let mut parts = folder.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    #[test]
    fn a_directory_keeps_its_layout_and_refuses_another() {
        let folder = Folder::new("layout");
        let directory = folder.path().join("data");
        let sharded = Layout {
            scheduler: Scheduler::Sharded,
            shards: 2,
        };
        assert_eq!(Layout::open(&directory, sharded, true).unwrap(), sharded);
        let one = Layout {
            shards: 1,
            ..sharded
        };
        assert_eq!(Layout::open(&directory, one, false).unwrap(), sharded);
        let asked = Layout::open(&directory, one, true).unwrap_err().to_string();
        assert!(asked.contains("--shards 2"), "{asked}");
        let shared = Layout {
            scheduler: Scheduler::Shared,
            shards: 1,
        };
        assert!(Layout::open(&directory, shared, false).is_err());
        fs::write(directory.join(FILE), "something else").unwrap();
        assert!(matches!(
            Layout::open(&directory, sharded, false),
            Err(ServerError::Layout { .. })
        ));
        fs::remove_file(directory.join(FILE)).unwrap();
        fs::write(directory.join("letter.txt"), "").unwrap();
        assert!(matches!(
            Layout::open(&directory, sharded, false),
            Err(ServerError::NotOurs { .. })
        ));
    }

    #[test]
    fn a_start_that_was_killed_before_its_layout_was_in_place_is_made_good() {
        let folder = Folder::new("layout");
        let directory = folder.path().join("above").join("data");
        let wanted = Layout {
            scheduler: Scheduler::Sharded,
            shards: 2,
        };
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(BESIDE), "plimsoll doc").unwrap();
        assert_eq!(Layout::open(&directory, wanted, true).unwrap(), wanted);
        assert!(!directory.join(BESIDE).exists());
    }

    #[test]
    fn any_database_name_has_a_folder_and_comes_back() {
        for name in ["shop", "Shop", "a%b", "ü-1", "x_9"] {
            let folder = Layout::database(Path::new("/"), name);
            let folder = folder.file_name().unwrap().to_str().unwrap();
            assert_eq!(
                decoded(folder.strip_prefix("db-").unwrap()).as_deref(),
                Some(name)
            );
        }
    }
}
