//! A disk in memory that knows what is durable: it can be cut off at any operation, with unsynced data lost or torn,
//! and it can fail to sync and run full.
//!
//! Table files lie in the real directory, because their crate opens them itself. The world can be cut and fail before each
//! step of the crate; that what a step wrote is durable after it is checked at system calls, in `tests/store/`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::store::{Disk, DiskFile, RealDisk, Space, TableStep};

#[derive(Debug, Clone, PartialEq)]
enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Inode {
    durable: Vec<u8>,
    /// Since the last sync, in order.
    changes: Vec<Change>,
    now: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq)]
enum Naming {
    Create(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

/// Everything on the disk and in the page cache.
#[derive(Debug, Clone, Default)]
pub(super) struct World {
    nodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    namings: Vec<Naming>,
    /// Bytes that files may have together.
    pub(super) capacity: Option<u64>,
    pub(super) sync_fails: bool,
    /// Bytes of the next write that still go through before it fails with this error.
    pub(super) next_write: Option<(usize, io::ErrorKind)>,
    pub(super) syncs: u64,
    /// The next time that the table crate is about to do this, it fails with this error instead.
    pub(super) table_failure: Option<(TableStep, io::ErrorKind)>,
    pub(super) table_steps: u64,
}

/// What of the unsynced data survives.
#[derive(Debug, Clone, Copy)]
pub(super) enum Survives {
    Nothing,
    Everything,
    /// Pieces of so many bytes, each with probability one half.
    Pieces(usize, u64),
    /// Everything but the sector with this number among the unsynced ones.
    AllButSector(usize),
}

impl World {
    pub(super) fn file(&mut self, end: &str) -> Option<&mut Vec<u8>> {
        let (_, node) = self
            .names
            .iter()
            .find(|(path, _)| path.to_string_lossy().ends_with(end))?;
        Some(&mut self.nodes[*node].now)
    }

    /// Names of the journal's files, the last part only.
    pub(super) fn files(&self) -> Vec<String> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        let in_journal =
            |path: &&PathBuf| path.parent().is_some_and(|one| one.ends_with("journal"));
        self.names.keys().filter(in_journal).map(name).collect()
    }

    pub(super) fn unsynced_sectors(&self) -> usize {
        let sectors = |change: &Change| match change {
            Change::Write(offset, bytes) => split(*offset, bytes, 512).len(),
            Change::Length(_) => 0,
        };
        self.nodes
            .iter()
            .flat_map(|node| &node.changes)
            .map(sectors)
            .sum()
    }

    /// The disk as the next start finds it.
    pub(super) fn after_cut(&self, survives: Survives) -> Self {
        let mut random = Random(match survives {
            Survives::Pieces(size, seed) => seed ^ (size as u64) << 32 | 1,
            _ => 1,
        });
        let mut sector = 0;
        let mut world = Self::default();
        for node in &self.nodes {
            let mut durable = node.durable.clone();
            for change in &node.changes {
                keep(&mut durable, change, survives, &mut random, &mut sector);
            }
            world.nodes.push(Inode {
                now: durable.clone(),
                durable,
                changes: Vec::new(),
            });
        }
        let kept = match survives {
            Survives::Nothing => 0,
            Survives::Everything | Survives::AllButSector(_) => self.namings.len(),
            Survives::Pieces(..) => random.below(self.namings.len() + 1),
        };
        world.durable_names = self.durable_names.clone();
        for naming in &self.namings[..kept] {
            rename(&mut world.durable_names, naming);
        }
        world.names = world.durable_names.clone();
        world
    }
}

/// Applies what survives of one change.
fn keep(
    bytes: &mut Vec<u8>,
    change: &Change,
    survives: Survives,
    random: &mut Random,
    sector: &mut usize,
) {
    let size = match survives {
        Survives::Pieces(size, _) => size,
        _ => 512,
    };
    match change {
        Change::Length(length) => {
            let is_kept = match survives {
                Survives::Nothing => false,
                Survives::Pieces(..) => random.below(2) == 0,
                _ => true,
            };
            if is_kept {
                bytes.resize(*length as usize, 0);
            }
        }
        Change::Write(offset, written) => {
            for (at, piece) in split(*offset, written, size) {
                *sector += 1;
                let is_kept = match survives {
                    Survives::Nothing => false,
                    Survives::Everything => true,
                    Survives::Pieces(..) => random.below(2) == 0,
                    Survives::AllButSector(lost) => *sector != lost + 1,
                };
                if is_kept {
                    write(bytes, at, piece);
                }
            }
        }
    }
}

/// Cuts a write at multiples of `size` of the file.
fn split(offset: u64, bytes: &[u8], size: usize) -> Vec<(u64, &[u8])> {
    let (mut pieces, mut offset, mut rest) = (Vec::new(), offset, bytes);
    while !rest.is_empty() {
        let here = (size - offset as usize % size).min(rest.len());
        let (piece, behind) = rest.split_at(here);
        pieces.push((offset, piece));
        offset += here as u64;
        rest = behind;
    }
    pieces
}

fn write(bytes: &mut Vec<u8>, offset: u64, piece: &[u8]) {
    let offset = offset as usize;
    if bytes.len() < offset + piece.len() {
        bytes.resize(offset + piece.len(), 0);
    }
    bytes[offset..offset + piece.len()].copy_from_slice(piece);
}

fn rename(names: &mut BTreeMap<PathBuf, usize>, naming: &Naming) {
    match naming {
        Naming::Create(path, node) => {
            names.insert(path.clone(), *node);
        }
        Naming::Rename(from, to) => {
            let node = names.remove(from).unwrap();
            names.insert(to.clone(), node);
        }
        Naming::Remove(path) => {
            names.remove(path);
        }
    }
}

/// Xorshift; the numbers need only differ.
#[derive(Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }
}

/// Called with the world after every operation.
type Watch = Box<dyn FnMut(&World) + Send>;

/// A world as a `Disk`; clones share it.
#[derive(Clone)]
pub(super) struct SimulatedDisk {
    world: Arc<Mutex<World>>,
    watch: Arc<Mutex<Option<Watch>>>,
}

impl std::fmt::Debug for SimulatedDisk {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SimulatedDisk").finish_non_exhaustive()
    }
}

impl SimulatedDisk {
    pub(super) fn new(world: World) -> Self {
        Self {
            world: Arc::new(Mutex::new(world)),
            watch: Arc::default(),
        }
    }

    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    pub(super) fn watch(&self, watch: impl FnMut(&World) + Send + 'static) {
        *self.watch.lock().unwrap() = Some(Box::new(watch));
    }

    fn done(&self) {
        if let Some(watch) = &mut *self.watch.lock().unwrap() {
            watch(&self.world().clone());
        }
    }

    fn name(&self, naming: Naming) {
        {
            let mut world = self.world();
            rename(&mut world.names, &naming);
            world.namings.push(naming);
        }
        self.done();
    }
}

/// Whether a file is one of the table crate.
fn is_of_tables(path: &Path) -> bool {
    let spaces = Space::ALL.map(Space::name);
    path.iter()
        .any(|part| spaces.iter().any(|name| part == *name))
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Disk for SimulatedDisk {
    fn create_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        if is_of_tables(directory) {
            return RealDisk::default().list(directory);
        }
        let world = self.world();
        let inside = |path: &&PathBuf| path.parent() == Some(directory);
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        Ok(world.names.keys().filter(inside).map(name).collect())
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        if is_of_tables(path) {
            return RealDisk::default().open(path);
        }
        let found = self.world().names.get(path).copied();
        let node = found.unwrap_or_else(|| {
            let mut world = self.world();
            world.nodes.push(Inode::default());
            world.nodes.len() - 1
        });
        if found.is_none() {
            self.name(Naming::Create(path.to_path_buf(), node));
        }
        let disk = self.clone();
        Ok(Box::new(SimulatedFile { disk, node }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if !self.world().names.contains_key(from) {
            return Err(missing());
        }
        self.name(Naming::Rename(from.to_path_buf(), to.to_path_buf()));
        Ok(())
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        RealDisk::default().remove_directory(path)
    }

    fn before_tables(&self, step: TableStep, _: &Path) -> io::Result<()> {
        self.world().table_steps += 1;
        self.done();
        match self.world().table_failure {
            Some((failing, kind)) if failing == step => Err(kind.into()),
            _ => Ok(()),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if is_of_tables(path) {
            return RealDisk::default().remove(path);
        }
        if !self.world().names.contains_key(path) {
            return Err(missing());
        }
        self.name(Naming::Remove(path.to_path_buf()));
        Ok(())
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        {
            let mut world = self.world();
            if world.sync_fails {
                return Err(io::Error::other("injected"));
            }
            world.durable_names = world.names.clone();
            world.namings.clear();
        }
        self.done();
        Ok(())
    }
}

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    node: usize,
}

impl SimulatedFile {
    fn set_length(&self, length: u64) {
        {
            let node = &mut self.disk.world().nodes[self.node];
            node.now.resize(length as usize, 0);
            node.changes.push(Change::Length(length));
        }
        self.disk.done();
    }

    /// Whether so many bytes would still fit.
    fn fits(&self, length: u64) -> bool {
        let world = self.disk.world();
        let lengths = world
            .names
            .values()
            .map(|node| world.nodes[*node].now.len() as u64);
        let here = world.nodes[self.node].now.len() as u64;
        let used: u64 = lengths.sum();
        world
            .capacity
            .is_none_or(|capacity| used - here + length.max(here) <= capacity)
    }
}

impl DiskFile for SimulatedFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.disk.world().nodes[self.node].now.len() as u64)
    }

    fn read_all(&self) -> io::Result<Vec<u8>> {
        Ok(self.disk.world().nodes[self.node].now.clone())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let failure = self.disk.world().next_write.take();
        let fails = |end: usize| !self.fits(offset + end as u64);
        let (written, error) = match failure {
            Some((count, kind)) => (count.min(bytes.len()), Some(kind)),
            // A full disk takes half of what does not fit, so that something is left to undo.
            None if fails(bytes.len()) => (bytes.len() / 2, Some(io::ErrorKind::StorageFull)),
            None => (bytes.len(), None),
        };
        {
            let node = &mut self.disk.world().nodes[self.node];
            write(&mut node.now, offset, &bytes[..written]);
            node.changes
                .push(Change::Write(offset, bytes[..written].to_vec()));
        }
        self.disk.done();
        error.map_or(Ok(()), |kind| Err(kind.into()))
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        if !self.fits(length) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if length > self.length()? {
            self.set_length(length);
        }
        Ok(())
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.set_length(length);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        {
            let mut world = self.disk.world();
            if world.sync_fails {
                return Err(io::Error::other("injected"));
            }
            world.syncs += 1;
            let node = &mut world.nodes[self.node];
            node.durable = node.now.clone();
            node.changes.clear();
        }
        self.disk.done();
        Ok(())
    }
}
