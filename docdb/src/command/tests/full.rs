//! A disk that is full for a while: what could not be committed never was, and nobody is told that it was.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bson::{Document, doc};

use super::harness::{Server, batch};
use crate::scheduler::{Backend, Step};
use crate::store::{Disk, DiskFile, RealDisk};

#[derive(Debug, Clone, Default)]
struct FullDisk(Arc<AtomicBool>);

#[derive(Debug)]
struct FullFile(Box<dyn DiskFile>, FullDisk);

impl FullDisk {
    fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}

impl Disk for FullDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        RealDisk::default().create_directory(path)
    }
    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        RealDisk::default().list(directory)
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = RealDisk::default().open(path)?;
        Ok(Box::new(FullFile(file, self.clone())))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk::default().rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk::default().remove(path)
    }
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        RealDisk::default().remove_directory(path)
    }
    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        RealDisk::default().sync_directory(directory)
    }
}

impl DiskFile for FullFile {
    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }
    fn read_all(&self) -> io::Result<Vec<u8>> {
        self.0.read_all()
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.1.check()?;
        self.0.write_at(offset, bytes)
    }
    fn allocate(&self, length: u64) -> io::Result<()> {
        self.1.check()?;
        self.0.allocate(length)
    }
    fn truncate(&self, length: u64) -> io::Result<()> {
        self.0.truncate(length)
    }
    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

fn names(server: &mut Server) -> Vec<String> {
    let listed = server.ok(doc! { "listCollections": 1 });
    let name = |one: &Document| one.get_str("name").unwrap().to_owned();
    batch(&listed, "firstBatch").iter().map(name).collect()
}

#[test]
fn what_a_full_disk_refuses_is_undone_and_the_command_on_its_way_fails() {
    let disk = FullDisk::default();
    let mut server = Server::with_slice(5);
    server.options.store.disk = Arc::new(disk.clone());
    server.reopen();
    server.ok(doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a_1" }] });
    server.insert("c", (0..12).map(|id| doc! { "_id": id, "a": 0 }).collect());

    let change = doc! { "q": {}, "u": { "$set": { "a": [1, 2] } }, "multi": true };
    let Step::More(task) = server.begin(doc! { "update": "c", "updates": [change] }) else {
        panic!("twelve documents are more than one slice of five");
    };
    server.shard().commit().unwrap();
    let Step::More(task) = server.go_on(task) else {
        panic!("twelve documents are more than two slices of five");
    };
    server.begin(doc! { "insert": "d", "documents": [{ "_id": 1 }] });
    server.begin(doc! { "delete": "c", "deletes": [{ "q": { "_id": 0 }, "limit": 1 }] });
    disk.0.store(true, Ordering::Relaxed);
    assert!(server.shard().commit().is_err());
    disk.0.store(false, Ordering::Relaxed);

    assert_eq!(names(&mut server), ["c"]);
    assert_eq!(server.n(doc! { "count": "c" }), 12);
    server.validate("c");
    let changed = doc! { "count": "c", "query": { "a": 1 } };
    assert_eq!(server.n(changed.clone()), 5);
    let Step::Done(reply) = server.go_on(task) else {
        panic!("the command lost a part of what it did and must not go on");
    };
    assert_eq!(reply.get_i32("code").unwrap(), 14031, "{reply:?}");
    assert!(
        reply.get_str("errmsg").unwrap().contains("no space left"),
        "{reply:?}"
    );
    assert_eq!(server.n(changed), 5);

    server.insert("d", vec![doc! { "_id": 1 }]);
    server.reopen();
    assert_eq!(names(&mut server), ["c", "d"]);
    server.validate("c");
    server.validate("d");
}
