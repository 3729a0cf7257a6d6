//! System calls that change files, replaced for this test binary: they count, fail on demand, and keep for every
//! file below a watched directory what is durable, so that the state after a power cut can be made at any call.
//!
//! A symbol of the binary is taken before that of the C library. Syncs are not passed on: what is durable is what
//! is remembered here. `rustix` makes its calls without the C library, so `fallocate` is seen at the next sync.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

type OnCall = Box<dyn FnMut(&Watch, u64) + Send>;

/// What is known of one watched directory.
#[derive(Default)]
pub(crate) struct Watch {
    root: PathBuf,
    /// Durable bytes by inode; names by directory as of its last sync. Each file stays open here, because its inode
    /// number would otherwise be given to another file while the old name is still the durable one.
    durable: BTreeMap<u64, (fs::File, Vec<u8>)>,
    names: BTreeMap<PathBuf, BTreeMap<PathBuf, u64>>,
    calls: u64,
    on_call: Option<OnCall>,
    /// Part of a path, whether syncs or writes fail, and with which error.
    failure: Option<(String, bool, i32)>,
}

static WATCH: Mutex<Option<Watch>> = Mutex::new(None);
/// One watch at a time.
static TURN: Mutex<()> = Mutex::new(());

fn lock() -> MutexGuard<'static, Option<Watch>> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the watch when it goes.
pub(crate) struct Watching {
    _turn: MutexGuard<'static, ()>,
}

/// Watches a directory. `on_call` is called before every call that changes it, with the number of the call.
pub(crate) fn watch(root: &Path, on_call: impl FnMut(&Watch, u64) + Send + 'static) -> Watching {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    *lock() = Some(Watch {
        root: root.to_path_buf(),
        on_call: Some(Box::new(on_call)),
        ..Watch::default()
    });
    IS_WATCHING.store(true, Ordering::SeqCst);
    Watching { _turn: turn }
}

/// From now on writes or syncs of files with `part` in their path fail with `errno`.
pub(crate) fn begin_failing(part: &str, is_sync: bool, errno: i32) {
    if let Some(watch) = &mut *lock() {
        watch.failure = Some((part.to_owned(), is_sync, errno));
    }
}

pub(crate) fn end_failing() {
    if let Some(watch) = &mut *lock() {
        watch.failure = None;
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        IS_WATCHING.store(false, Ordering::SeqCst);
        *lock() = None;
    }
}

/// How much of what was not synced survives.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Survives {
    Nothing,
    /// Pieces of so many bytes with probability one half, and names of a directory likewise.
    Some(usize),
    Everything,
}

impl Watch {
    /// Writes the directory as the next start would find it.
    pub(crate) fn image(&self, to: &Path, survives: Survives, mut below: impl FnMut(u64) -> u64) {
        let mut directories = vec![self.root.clone()];
        directories.extend(
            self.names
                .keys()
                .filter(|path| **path != self.root)
                .cloned(),
        );
        for directory in directories {
            let now = list(&directory);
            let durable = self.names.get(&directory).cloned().unwrap_or_default();
            let takes_now = match survives {
                Survives::Nothing => false,
                Survives::Some(_) => below(2) == 0,
                Survives::Everything => true,
            };
            for (path, inode) in if takes_now { &now } else { &durable } {
                let target = to.join(path.strip_prefix(&self.root).unwrap());
                if path.is_dir() || self.names.contains_key(path) {
                    fs::create_dir_all(&target).unwrap();
                    continue;
                }
                let current = now.iter().find(|(_, other)| *other == inode);
                let current = current.and_then(|(path, _)| fs::read(path).ok());
                let durable = self.durable.get(inode).map(|(_, bytes)| bytes.clone());
                let durable = durable.unwrap_or_default();
                fs::create_dir_all(target.parent().unwrap()).unwrap();
                fs::write(&target, mix(durable, current, survives, &mut below)).unwrap();
            }
        }
    }

    fn remember(&mut self, path: &Path) {
        let Ok(metadata) = fs::metadata(path) else {
            return;
        };
        if metadata.is_dir() {
            self.names.insert(path.to_path_buf(), list(path));
        } else if let (Ok(file), Ok(bytes)) = (fs::File::open(path), fs::read(path)) {
            self.durable.insert(metadata.ino(), (file, bytes));
        }
    }
}

fn list(directory: &Path) -> BTreeMap<PathBuf, u64> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.ino())))
        .collect()
}

fn mix(
    durable: Vec<u8>,
    current: Option<Vec<u8>>,
    survives: Survives,
    below: &mut impl FnMut(u64) -> u64,
) -> Vec<u8> {
    let size = match (survives, &current) {
        (Survives::Nothing, _) | (_, None) => return durable,
        (Survives::Everything, Some(current)) => return current.clone(),
        (Survives::Some(size), _) => size,
    };
    let mut mixed = durable;
    for (index, piece) in current.unwrap_or_default().chunks(size).enumerate() {
        let start = index * size;
        if mixed.get(start..start + piece.len()) != Some(piece) && below(2) == 0 {
            mixed.resize(mixed.len().max(start + piece.len()), 0);
            mixed[start..start + piece.len()].copy_from_slice(piece);
        }
    }
    mixed
}

thread_local! {
    /// Whether this thread is in a hook: calls that the watch itself makes are passed on.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}
static IS_WATCHING: AtomicBool = AtomicBool::new(false);

/// What a call is for.
#[derive(Clone, Copy, PartialEq)]
enum FileOperation {
    Write,
    Sync,
    /// Needs no space and cannot be made to fail.
    Remove,
}

/// Looks at a call before it is made; makes it, fails it, or for a sync remembers the file instead.
fn hook(
    path: impl FnOnce() -> Option<PathBuf>,
    kind: FileOperation,
    call: impl FnOnce() -> isize,
) -> isize {
    if !IS_WATCHING.load(Ordering::SeqCst) || IS_INSIDE.replace(true) {
        return call();
    }
    let verdict = path().and_then(|path| judge(&path, kind));
    let result = match verdict {
        None => call(),
        Some(0) => 0,
        Some(errno) => {
            // SAFETY: the C library gives a pointer to this thread's error number.
            unsafe { *libc::__errno_location() = errno };
            -1
        }
    };
    IS_INSIDE.set(false);
    result
}

/// `None`: make the call; zero: it is done; else the error it fails with.
fn judge(path: &Path, kind: FileOperation) -> Option<i32> {
    let mut guard = lock();
    let watch = guard
        .as_mut()
        .filter(|watch| path.starts_with(&watch.root))?;
    watch.calls += 1;
    let number = watch.calls;
    if let Some(mut on_call) = watch.on_call.take() {
        on_call(watch, number);
        watch.on_call = Some(on_call);
    }
    let failure = watch.failure.as_ref().filter(|(part, failing, _)| {
        kind != FileOperation::Remove
            && *failing == (kind == FileOperation::Sync)
            && path.to_string_lossy().contains(part)
    });
    match (failure, kind) {
        (Some((_, _, errno)), _) => Some(*errno),
        (None, FileOperation::Write | FileOperation::Remove) => None,
        (None, FileOperation::Sync) => {
            watch.remember(path);
            Some(0)
        }
    }
}

fn path_of(descriptor: c_int) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()
}

/// The path that a caller of the C library hands over.
fn path_at(path: *const c_char) -> PathBuf {
    // SAFETY: the C library demands of its callers a string that ends in zero.
    let path = unsafe { CStr::from_ptr(path) };
    PathBuf::from(OsStr::from_bytes(path.to_bytes()))
}

/// Functions with the names and types of the C library's: each is looked at by `hook` and passes its arguments on, as they
/// are, to the system call.
macro_rules! replaced {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty {
        $path:expr, $kind:expr, $number:ident($($passed:expr),*)
    })*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> $result {
            let call = || {
                // SAFETY: the caller's arguments, in the places where the call expects them.
                let result = unsafe { libc::syscall(libc::$number, $($passed),*) };
                result as isize
            };
            <$result>::try_from(hook(|| $path, $kind, call)).unwrap_or(-1)
        }
    )*};
}

replaced! {
    write(file: c_int, bytes: *const c_void, length: usize) -> isize {
        path_of(file), FileOperation::Write, SYS_write(file, bytes, length)
    }
    pwrite64(file: c_int, bytes: *const c_void, length: usize, offset: i64) -> isize {
        path_of(file), FileOperation::Write, SYS_pwrite64(file, bytes, length, offset)
    }
    ftruncate64(file: c_int, length: i64) -> c_int {
        path_of(file), FileOperation::Write, SYS_ftruncate(file, length)
    }
    fsync(file: c_int) -> c_int {
        path_of(file), FileOperation::Sync, SYS_fsync(file)
    }
    fdatasync(file: c_int) -> c_int {
        path_of(file), FileOperation::Sync, SYS_fdatasync(file)
    }
    rename(from: *const c_char, to: *const c_char) -> c_int {
        Some(path_at(to)), FileOperation::Write, SYS_renameat2(libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0)
    }
    unlink(path: *const c_char) -> c_int {
        Some(path_at(path)), FileOperation::Remove, SYS_unlinkat(libc::AT_FDCWD, path, 0)
    }
}
