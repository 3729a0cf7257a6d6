//! The users of a server, in one small file that is replaced as a whole.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use bson::{Binary, Bson, Document, doc, spec::BinarySubtype};

use super::{Access, Credentials, Role};

const FILE: &str = "users.bson";

/// Someone who may log in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct User {
    pub(crate) credentials: Credentials,
    /// Each role and the database that it is held on.
    pub roles: Vec<(Role, String)>,
}

impl User {
    pub(crate) fn may(&self, access: Access, database: &str) -> bool {
        self.roles
            .iter()
            .any(|(role, held_on)| role.allows(held_on, access, database))
    }

    pub(crate) fn listed_roles(&self) -> Vec<Document> {
        let roles = self.roles.iter();
        roles
            .map(|(role, held_on)| doc! { "role": role.name(), "db": held_on })
            .collect()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    #[error("{path}: {source}", path = path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: {what}; restore the file from a backup, or remove it to begin without users", path = path.display())]
    Damaged { path: PathBuf, what: String },
}

/// Every user by database and name.
#[derive(Debug)]
pub(crate) struct Users {
    path: PathBuf,
    users: BTreeMap<(String, String), User>,
}

impl Users {
    /// Reads the users of a data directory; none if it has no file yet.
    pub(crate) fn open(directory: &Path) -> Result<Self, UsersError> {
        let path = directory.join(FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self {
                    path,
                    users: BTreeMap::new(),
                });
            }
            Err(source) => return Err(UsersError::File { path, source }),
        };
        let damaged = |what: String| UsersError::Damaged {
            path: path.clone(),
            what,
        };
        let document =
            Document::from_reader(bytes.as_slice()).map_err(|error| damaged(error.to_string()))?;
        let list = document
            .get_array("users")
            .map_err(|error| damaged(error.to_string()))?;
        let mut users = BTreeMap::new();
        for entry in list {
            let (key, user) = entry
                .as_document()
                .and_then(read)
                .ok_or_else(|| damaged(format!("no user: {entry}")))?;
            users.insert(key, user);
        }
        Ok(Self { path, users })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    pub(crate) fn get(&self, database: &str, name: &str) -> Option<&User> {
        self.users.get(&(database.to_owned(), name.to_owned()))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str, &User)> {
        self.users
            .iter()
            .map(|((database, name), user)| (database.as_str(), name.as_str(), user))
    }

    /// Changes the users and writes them before the change counts; on an error everything stays as it was.
    pub(crate) fn change(
        &mut self,
        change: impl FnOnce(&mut BTreeMap<(String, String), User>),
    ) -> Result<(), UsersError> {
        let mut users = self.users.clone();
        change(&mut users);
        self.write(&users).map_err(|source| UsersError::File {
            path: self.path.clone(),
            source,
        })?;
        self.users = users;
        Ok(())
    }

    /// Written beside, made durable, then moved into place: a crash leaves the old file or the new one.
    fn write(&self, users: &BTreeMap<(String, String), User>) -> std::io::Result<()> {
        let list: Vec<Bson> = users
            .iter()
            .map(|((database, name), user)| written(database, name, user))
            .collect();
        let bytes = doc! { "version": 1, "users": list }
            .to_vec()
            .map_err(std::io::Error::other)?;
        let beside = self.path.with_extension("new");
        // What is in it lets nobody in, but helps to guess passwords: for the owner only.
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&beside)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&beside, &self.path)?;
        match self.path.parent() {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    }
}

fn written(database: &str, name: &str, user: &User) -> Bson {
    let binary = |bytes: &[u8]| Binary {
        subtype: BinarySubtype::Generic,
        bytes: bytes.to_vec(),
    };
    let Credentials {
        iterations,
        salt,
        stored_key,
        server_key,
    } = &user.credentials;
    Bson::Document(doc! {
        "db": database, "user": name, "iterations": i64::from(*iterations), "salt": binary(salt),
        "storedKey": binary(stored_key), "serverKey": binary(server_key), "roles": user.listed_roles(),
    })
}

fn read(document: &Document) -> Option<((String, String), User)> {
    let text = |from: &Document, name: &str| from.get_str(name).ok().map(str::to_owned);
    let key = |name: &str| {
        document
            .get_binary_generic(name)
            .ok()?
            .as_slice()
            .try_into()
            .ok()
    };
    let credentials = Credentials {
        iterations: u32::try_from(document.get_i64("iterations").ok()?).ok()?,
        salt: document.get_binary_generic("salt").ok()?.clone(),
        stored_key: key("storedKey")?,
        server_key: key("serverKey")?,
    };
    let mut roles = Vec::new();
    for role in document.get_array("roles").ok()? {
        let role = role.as_document()?;
        roles.push((Role::named(role.get_str("role").ok()?)?, text(role, "db")?));
    }
    Some((
        (text(document, "db")?, text(document, "user")?),
        User { credentials, roles },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    #[test]
    fn users_survive_a_reopening_and_a_damaged_file_is_named() {
        let folder = Folder::new("users");
        let directory = folder.path();
        let mut users = Users::open(directory).unwrap();
        assert!(users.is_empty());
        let user = User {
            credentials: Credentials::from_password("pencil").unwrap(),
            roles: vec![(Role::named("readWrite").unwrap(), "shop".to_owned())],
        };
        let key = ("shop".to_owned(), "ann".to_owned());
        users
            .change(|all| drop(all.insert(key, user.clone())))
            .unwrap();
        let again = Users::open(directory).unwrap();
        assert_eq!(again.get("shop", "ann"), Some(&user));
        assert!(user.may(Access::Write, "shop") && !user.may(Access::Read, "bank"));
        fs::write(directory.join(FILE), b"\x07\0\0\0rubbish").unwrap();
        let error = Users::open(directory).unwrap_err().to_string();
        assert!(error.contains(FILE) && error.contains("backup"), "{error}");
    }
}
