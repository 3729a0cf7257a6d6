//! The built-in roles that this server has, and what each allows: a subset of MongoDB's, by the same names.

use std::fmt;

/// What a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// Create, change and drop users.
    Users,
    /// Look at the server itself.
    Monitor,
}

/// One row of the table of roles.
#[derive(Debug, Clone, Copy)]
pub struct RoleSpec {
    pub name: &'static str,
    pub allows: &'static [Access],
    /// Granted on `admin`, it holds for every database.
    pub any_database: bool,
}

use Access::{Monitor, Read, Users, Write};

macro_rules! roles {
    ($($name:literal $any:literal [$($access:ident)*];)*) => {
        &[$(RoleSpec { name: $name, allows: &[$($access),*], any_database: $any },)*]
    };
}

/// Every role; others are refused when a user is made.
pub const ROLES: &[RoleSpec] = roles! {
    "read" false [Read];
    "readWrite" false [Read Write];
    "dbAdmin" false [Read Write];
    "dbOwner" false [Read Write Users];
    "userAdmin" false [Users];
    "readAnyDatabase" true [Read];
    "readWriteAnyDatabase" true [Read Write];
    "dbAdminAnyDatabase" true [Read Write];
    "userAdminAnyDatabase" true [Users];
    "clusterMonitor" true [Monitor];
    "root" true [Read Write Users Monitor];
};

/// A role on a database, as a user holds it.
#[derive(Clone, Copy)]
pub(crate) struct Role(&'static RoleSpec);

impl Role {
    pub(crate) fn named(name: &str) -> Option<Self> {
        ROLES.iter().find(|role| role.name == name).map(Self)
    }

    pub(crate) fn name(self) -> &'static str {
        self.0.name
    }

    /// Whether this role, held on `held_on`, allows `access` to `database`.
    pub(crate) fn allows(self, held_on: &str, access: Access, database: &str) -> bool {
        let here = held_on == database || (self.0.any_database && held_on == "admin");
        here && self.0.allows.contains(&access)
    }
}

impl fmt::Debug for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl PartialEq for Role {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_holds_for_its_database_and_an_any_role_on_admin_for_all() {
        let (read, any) = (
            Role::named("read").unwrap(),
            Role::named("readAnyDatabase").unwrap(),
        );
        assert!(read.allows("shop", Read, "shop"));
        assert!(!read.allows("shop", Write, "shop"));
        assert!(!read.allows("shop", Read, "bank"));
        assert!(any.allows("admin", Read, "bank"));
        assert!(!any.allows("shop", Read, "bank"));
        assert!(Role::named("backup").is_none());
    }
}
