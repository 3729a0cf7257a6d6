//! What a text imports by name, and whether it is an ES module at all, as its syntax says. Pure.

use oxc_allocator::Allocator;
use oxc_ast::ast::{ImportDeclarationSpecifier, Statement};
use oxc_parser::Parser;
use oxc_span::SourceType;

/// The names that one import or re-export asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) specifier: String,
    pub(crate) names: Vec<String>,
}

/// Whether it has an import or an export. Words in a string, of which bundles are full, are none.
pub(crate) fn is_es_module(text: &str) -> bool {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::mjs()).parse();
    parsed.program.body.iter().any(|statement| {
        matches!(
            statement,
            Statement::ImportDeclaration(_)
                | Statement::ExportAllDeclaration(_)
                | Statement::ExportDefaultDeclaration(_)
                | Statement::ExportNamedDeclaration(_)
        )
    })
}

/// In the order of the text. A text that is not understood asks for nothing.
pub(crate) fn names_asked(text: &str) -> Vec<Asked> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::mjs()).parse();
    let mut all = Vec::new();
    for statement in &parsed.program.body {
        let (specifier, names): (_, Vec<String>) = match statement {
            Statement::ImportDeclaration(import) => {
                let named = import.specifiers.iter().flatten();
                let named = named.filter_map(|one| match one {
                    ImportDeclarationSpecifier::ImportSpecifier(named) => {
                        Some(named.imported.name().to_string())
                    }
                    _ => None,
                });
                (&import.source.value, named.collect())
            }
            Statement::ExportNamedDeclaration(export) => match &export.source {
                Some(source) => {
                    let named = export.specifiers.iter();
                    let named = named.map(|one| one.local.name().to_string());
                    (&source.value, named.collect())
                }
                None => continue,
            },
            Statement::ExportAllDeclaration(star) => (&star.source.value, Vec::new()),
            _ => continue,
        };
        all.push(Asked {
            specifier: specifier.to_string(),
            names,
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_the_other_side_must_have() {
        let text = "import all, { a, b as c } from './x.js';\nimport * as y from 'y';\nexport { d as e } from './z.js';\n\
                    export * from './w.js'; const text = 'import { no } from \"v\"';";
        let asked = |specifier: &str, names: &[&str]| Asked {
            specifier: specifier.to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        assert_eq!(
            names_asked(text),
            [
                asked("./x.js", &["a", "b"]),
                asked("y", &[]),
                asked("./z.js", &["d"]),
                asked("./w.js", &[]),
            ]
        );
        assert_eq!(names_asked("import {"), []);
    }

    #[test]
    fn words_in_a_string_make_no_module() {
        assert!(is_es_module("export const a = 1;"));
        assert!(is_es_module("import 'k6';"));
        assert!(!is_es_module(
            "var t = 'x;export default y'; module.exports = t;"
        ));
    }
}
