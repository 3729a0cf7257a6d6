//! Folders made for a test that look like the kernel's.

use std::fs;
use std::path::{Path, PathBuf};

use crate::procfs::ProcFs;

/// A folder of its own per test, removed at the end.
pub(crate) struct Tree(pub(crate) PathBuf);

impl Tree {
    /// In a text `ROOT` is the folder.
    pub(crate) fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("plimsoll-{name}-{}", std::process::id()));
        let tree = Self(root);
        for (path, text) in files {
            tree.put(path, &text.replace("ROOT", tree.0.to_str().unwrap()));
        }
        tree
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.folder_of(path);
        fs::write(path, text).unwrap();
    }

    pub(crate) fn link(&self, path: &str, to: &str) {
        let path = self.folder_of(path);
        std::os::unix::fs::symlink(to, path).unwrap();
    }

    /// A process with one thread, and what it has run.
    pub(crate) fn put_process(&self, pid: u32, parent: u32, run_ticks: u64) {
        let text = stat(pid, parent, run_ticks);
        self.put(&format!("{pid}/stat"), &text);
        self.put(&format!("{pid}/task/{pid}/stat"), &text);
    }

    pub(crate) fn proc(&self) -> ProcFs {
        ProcFs::at(&self.0)
    }

    fn folder_of(&self, path: &str) -> PathBuf {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        path
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// The text of a `stat` file.
pub(crate) fn stat(pid: u32, parent: u32, run_ticks: u64) -> String {
    format!("{pid} (app) S {parent} 0 0 0 0 0 0 0 0 0 {run_ticks} 0 0 0 0 0 1 0 77 0 10\n")
}
