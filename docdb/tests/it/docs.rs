//! The manual's tables are the program's: `UPDATE_DOCS=1 cargo test -p plimsoll-docdb` writes them anew.

use std::fmt::Write as _;

use plimsoll_docdb::internals::{CommandKind, ROLES, SPECS};
use plimsoll_docdb::server::listed;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/docdb.md");
const BEGIN: &str = "<!-- generated from the tables of the program -->\n";

#[test]
fn the_page_lists_what_the_tables_have() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (prose, tables) = page
        .split_once(BEGIN)
        .expect("the mark before the generated part");
    let wanted = tables_now();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, format!("{prose}{BEGIN}{wanted}")).unwrap();
        return;
    }
    assert!(
        tables == wanted,
        "docs/docdb.md: run with UPDATE_DOCS=1 to write it anew"
    );
}

fn tables_now() -> String {
    let mut out = String::from(
        "\n## Commands\n\n| command | carried out by | what it does |\n|---|---|---|\n",
    );
    for entry in listed() {
        let by = match entry.kind {
            CommandKind::Connection => "connection",
            CommandKind::Cluster => "server",
            CommandKind::DatabaseRead => "database, reads",
            CommandKind::DatabaseWrite => "database, writes",
        };
        let mut aliases = String::new();
        for alias in entry.aliases {
            let _infallible = write!(aliases, ", `{alias}`");
        }
        let _infallible = writeln!(out, "| `{}`{aliases} | {by} | {} |", entry.name, entry.help);
    }
    out.push_str("\n## Roles\n\n| role | allows | on every database when granted on `admin` |\n|---|---|---|\n");
    for role in ROLES {
        let allows: Vec<_> = role
            .allows
            .iter()
            .map(|access| format!("{access:?}").to_lowercase())
            .collect();
        let any = if role.any_database { "yes" } else { "no" };
        let _infallible = writeln!(out, "| `{}` | {} | {any} |", role.name, allows.join(", "));
    }
    out.push_str("\n## Metrics\n\nAt `/metrics` of the same port, for Prometheus and for `--watch metrics:http://HOST:PORT/metrics`.\n\n");
    out.push_str("| metric | kind | what it says |\n|---|---|---|\n");
    for metric in SPECS {
        let _infallible = writeln!(
            out,
            "| `{}` | {} | {} |",
            metric.name, metric.kind, metric.help
        );
    }
    out
}
