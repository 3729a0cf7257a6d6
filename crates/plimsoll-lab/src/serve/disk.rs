//! Files of a service: on a real disk, and gone with the process however it ends.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::LabError;

/// Where files go when nothing else was said: `/tmp` is often in memory, `/var/tmp` never is.
pub(crate) fn folder() -> PathBuf {
    let lasting = Path::new("/var/tmp");
    if lasting.is_dir() {
        lasting.to_owned()
    } else {
        std::env::temp_dir()
    }
}

/// An empty file without a name: nothing is left behind, also not after SIGKILL.
pub(crate) fn unnamed_file(folder: &Path) -> Result<File, LabError> {
    let path = folder.join(format!("plimsoll-serve-{}", std::process::id()));
    let open = || {
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(file)
    };
    open().map_err(LabError::io(format!("create {}", path.display())))
}
