//! What an import means: a native module, one of our libraries, or a file. Pure.

use std::path::{Component, Path, PathBuf};

/// Where an import leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// `k6`, `k6/http`, …, and the helper libraries by their names.
    Native(&'static str),
    /// The JavaScript part of a helper library that we ship: its name.
    Library(&'static str),
    File(PathBuf),
}

/// Prefix of the names of our libraries among modules and in stack traces.
const LIBRARY: &str = "plimsoll:";
/// Prefix of files among modules and in stack traces, as in k6.
const FILE: &str = "file://";

/// Modules with native code.
pub(crate) const NATIVE: [&str; 9] = [
    "k6",
    "k6/http",
    "k6/metrics",
    "k6/data",
    "k6/execution",
    "k6/encoding",
    "k6/crypto",
    "k6/timers",
    "k6/options",
];

/// Libraries of `jslib.k6.io` that have a clean-room counterpart here.
pub(crate) const LIBRARIES: [&str; 3] = ["k6-utils", "k6-summary", "url"];

/// Public modules of k6 that are not there yet.
const LATER: [&str; 12] = [
    "k6/crypto/x509",
    "k6/html",
    "k6/ws",
    "k6/websockets",
    "k6/net/grpc",
    "k6/secrets",
    "k6/experimental/csv",
    "k6/experimental/fs",
    "k6/experimental/streams",
    "k6/experimental/websockets",
    "k6/experimental/redis",
    "k6/experimental/tracing",
];

const BROWSER: [&str; 2] = ["k6/browser", "k6/experimental/browser"];

/// Where extensions of k6 are.
const EXTENSIONS: &str = "k6/x/";

/// Whether k6 has a module of that name, or may have, or would fetch it, and it is not there: a script that went on without
/// it would test something else.
pub(crate) fn is_of_k6_alone(specifier: &str) -> bool {
    LATER.contains(&specifier)
        || BROWSER.contains(&specifier)
        || specifier.starts_with(EXTENSIONS)
        || strip_remote(specifier).is_some()
}

impl Target {
    /// The name under which the engine knows the module.
    pub(crate) fn id(&self) -> String {
        match self {
            Self::Native(name) => (*name).to_owned(),
            Self::Library(name) => format!("{LIBRARY}{name}"),
            Self::File(path) => file_id(path),
        }
    }

    /// The inverse of [`Target::id`].
    pub(crate) fn from_id(id: &str) -> Option<Self> {
        if let Some(path) = id.strip_prefix(FILE) {
            return Some(Self::File(PathBuf::from(path)));
        }
        if let Some(library) = id.strip_prefix(LIBRARY) {
            return known(&LIBRARIES, library).map(Self::Library);
        }
        let native = known(&NATIVE, id).or_else(|| known(&LIBRARIES, id));
        native.map(Self::Native)
    }
}

pub(crate) fn file_id(path: &Path) -> String {
    format!("{FILE}{}", path.display())
}

/// Where `specifier` in the module `base` leads; the error says what to do instead.
pub(crate) fn resolve(base: &str, specifier: &str) -> Result<Target, String> {
    if let Some(native) = known(&NATIVE, specifier) {
        return Ok(Target::Native(native));
    }
    let is_own = base.starts_with(LIBRARY) || specifier.starts_with(LIBRARY);
    if let Some(own) = Target::from_id(specifier).filter(|_| is_own) {
        return Ok(own);
    }
    if specifier == "k6" || specifier.starts_with("k6/") {
        return Err(unknown_native(specifier));
    }
    if let Some(rest) = strip_remote(specifier) {
        return remote(specifier, rest);
    }
    if let Some(path) = specifier.strip_prefix(FILE) {
        return Ok(Target::File(normalise(Path::new(path))));
    }
    if specifier.starts_with('/') {
        return Ok(Target::File(normalise(Path::new(specifier))));
    }
    if specifier.starts_with("./") || specifier.starts_with("../") {
        return Ok(Target::File(normalise(&folder_of(base).join(specifier))));
    }
    Err(format!(
        "cannot import {specifier:?}: packages are not looked up in node_modules; bundle it into the script, \
         or import a file by its path: \"./{specifier}.js\""
    ))
}

/// The folder that relative paths of a module start from.
pub(crate) fn folder_of(base: &str) -> PathBuf {
    let path = Path::new(base.strip_prefix(FILE).unwrap_or(base));
    path.parent().unwrap_or(Path::new("/")).to_path_buf()
}

/// Resolves `.` and `..` without asking the file system.
pub(crate) fn normalise(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts
}

fn known(names: &[&'static str], name: &str) -> Option<&'static str> {
    names.iter().copied().find(|known| *known == name)
}

fn strip_remote(specifier: &str) -> Option<&str> {
    let secure = specifier.strip_prefix("https://");
    secure.or_else(|| specifier.strip_prefix("http://"))
}

fn remote(specifier: &str, rest: &str) -> Result<Target, String> {
    let mut parts = rest.split('/');
    let (host, library) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    if host == "jslib.k6.io"
        && let Some(library) = known(&LIBRARIES, library)
    {
        return Ok(Target::Native(library));
    }
    Err(format!(
        "cannot import {specifier:?}: imports from the network are not fetched, except {} of jslib.k6.io, which \
         are built in; download the file and import it by its path: \"./{}\"",
        LIBRARIES.join(", "),
        rest.rsplit('/').next().unwrap_or("library.js"),
    ))
}

fn unknown_native(specifier: &str) -> String {
    if specifier.starts_with(EXTENSIONS) {
        return format!(
            "cannot import {specifier:?}: extensions of k6 are compiled Go code and cannot be loaded; \
             run this script with the k6 that it was built for"
        );
    }
    if BROWSER.contains(&specifier) {
        return format!(
            "cannot import {specifier:?}: browsers are not driven here; keep the browser scenario in k6 and \
             move the HTTP load into a script of its own"
        );
    }
    if LATER.contains(&specifier) {
        return format!(
            "cannot import {specifier:?}: this module of k6 is not supported yet; supported are {}",
            NATIVE.join(", ")
        );
    }
    format!(
        "cannot import {specifier:?}: there is no such module; supported are {}",
        NATIVE.join(", ")
    )
}

#[cfg(test)]
mod tests;
