//! Turns an ES module into a function that makes one virtual user's instance of it. Pure.
//!
//! The engine instantiates a module once per context. A function can be called once per virtual user instead: its
//! code exists once, its variables once per call. The text stays where it is, so that stack traces keep their
//! places; only imports and exports are taken out of it:
//!
//! ```text
//! (function($m0,$m1){"use strict";const {get:fetch}=$m0;let $m;
//!                                        function helper() { … }
//! $m={default:    function () { … }};
//! ;return {__proto__:null,helper:helper,default:$m.default}})
//! ```
//!
//! Imported values are taken when the function is called, which is the same as a live binding because a module
//! that exports a variable that changes, or takes part in a cycle, is not turned into a function at all.

use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast::{
    Declaration, ExportDefaultDeclaration, ExportDefaultDeclarationKind, ExportNamedDeclaration,
    Expression, ImportDeclaration, ImportDeclarationSpecifier, Program, Statement,
};
use oxc_parser::Parser;
use oxc_semantic::{Semantic, SemanticBuilder};
use oxc_span::{GetSpan, SourceType, Span};

/// A module as a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Factory {
    /// An expression whose value is the function; it takes the exports of `imports` and returns its own.
    pub(crate) text: String,
    /// As written, in the order in which the modules run.
    pub(crate) imports: Vec<String>,
    /// By how many columns the first line has moved to the right.
    pub(crate) shift: u32,
}

/// Members that lead to objects which all virtual users would share, or that change how the engine behaves.
const SHARED_MEMBERS: [&str; 6] = [
    "prototype",
    "__proto__",
    "getPrototypeOf",
    "setPrototypeOf",
    "prepareStackTrace",
    "stackTraceLimit",
];

/// Globals that make code out of text, or load modules that are not known beforehand.
const CODE_MAKERS: [&str; 3] = ["eval", "Function", "require"];

/// The module as a function, or why it has to stay a module.
pub(crate) fn from_module(text: &str) -> Result<Factory, String> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::mjs()).parse();
    if let Some(error) = parsed.errors.first() {
        return Err(format!("it is not understood in full: {}", error.message));
    }
    let built = SemanticBuilder::new().build(&parsed.program);
    if let Some(why) = what_reaches_others(&built.semantic) {
        return Err(why);
    }
    let mut edit = Edit::new(text);
    edit.module(&parsed.program);
    for local in &edit.exported_locals {
        let scoping = built.semantic.scoping();
        let symbol = scoping.get_root_binding(local);
        if symbol.is_some_and(|symbol| scoping.symbol_is_mutated(symbol)) {
            return Err(format!("it exports {local}, which changes"));
        }
    }
    Ok(edit.finish())
}

/// Something through which one virtual user could change what another sees. What init code really changes is
/// found by comparing; this is for what later code could.
fn what_reaches_others(semantic: &Semantic<'_>) -> Option<String> {
    let scoping = semantic.scoping();
    semantic.nodes().iter().find_map(|node| match node.kind() {
        AstKind::IdentifierReference(name) => {
            let reference = scoping.get_reference(name.reference_id());
            let is_global = reference.symbol_id().is_none();
            let makes_code = CODE_MAKERS.contains(&name.name.as_str());
            (is_global && (makes_code || reference.is_write()))
                .then(|| format!("it uses {} on the global object", name.name))
        }
        AstKind::IdentifierName(name) => shared_member(name.name.as_str()),
        AstKind::StringLiteral(text) => shared_member(text.value.as_str()),
        AstKind::TemplateElement(text) => shared_member(text.value.raw.as_str()),
        AstKind::MetaProperty(meta) if meta.meta.name == "import" => {
            Some("it uses import.meta".to_owned())
        }
        AstKind::CallExpression(call) => makes_code(&call.callee),
        AstKind::NewExpression(new) => makes_code(&new.callee),
        _ => None,
    })
}

fn shared_member(name: &str) -> Option<String> {
    SHARED_MEMBERS
        .contains(&name)
        .then(|| format!("it uses {name}"))
}

/// `f.constructor("text")` is `Function` by another name.
fn makes_code(callee: &Expression<'_>) -> Option<String> {
    let member = callee.as_member_expression()?;
    let is_maker = member.static_property_name() == Some("constructor");
    is_maker.then(|| "it calls a constructor by its member".to_owned())
}

/// Takes imports and exports out of a text.
struct Edit<'t> {
    text: &'t str,
    out: String,
    /// Up to where the text has been copied.
    copied: usize,
    imports: Vec<String>,
    /// Statements before the first line.
    head: String,
    /// Members of the object that is returned.
    tail: Vec<String>,
    stars: Vec<String>,
    exported_locals: Vec<String>,
    /// Prefix of our own names: found nowhere in the text.
    own: String,
}

impl<'t> Edit<'t> {
    fn new(text: &'t str) -> Self {
        let mut own = "$m".to_owned();
        while text.contains(&own) {
            own.push('$');
        }
        Self {
            text,
            out: String::with_capacity(text.len() + 256),
            copied: 0,
            imports: Vec::new(),
            head: String::new(),
            tail: Vec::new(),
            stars: Vec::new(),
            exported_locals: Vec::new(),
            own,
        }
    }

    fn module(&mut self, program: &Program<'_>) {
        if let Some(hashbang) = &program.hashbang {
            self.blank(hashbang.span);
        }
        for statement in &program.body {
            match statement {
                Statement::ImportDeclaration(import) => self.import(import),
                Statement::ExportAllDeclaration(star) => {
                    let from = self.from(&star.source.value);
                    match &star.exported {
                        Some(name) => self.export(&name.name(), &from),
                        None => self.stars.push(from),
                    }
                    self.blank(star.span);
                }
                Statement::ExportNamedDeclaration(export) => self.named(export),
                Statement::ExportDefaultDeclaration(export) => self.default(export),
                _ => {}
            }
        }
    }

    /// The parameter that holds what a module exports.
    fn from(&mut self, specifier: &str) -> String {
        let known = self.imports.iter().position(|known| known == specifier);
        let index = known.unwrap_or_else(|| {
            self.imports.push(specifier.to_owned());
            self.imports.len() - 1
        });
        format!("{}{index}", self.own)
    }

    fn import(&mut self, import: &ImportDeclaration<'_>) {
        let from = self.from(&import.source.value);
        for specifier in import.specifiers.iter().flatten() {
            let local = specifier.local().name;
            let taken = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(named) => {
                    let name = named.imported.name();
                    format!("const {{{name:?}:{local}}}={from};", name = name.as_str())
                }
                ImportDeclarationSpecifier::ImportDefaultSpecifier(_) => {
                    format!("const {{default:{local}}}={from};")
                }
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => {
                    format!("const {local}={from};")
                }
            };
            self.head.push_str(&taken);
        }
        self.blank(import.span);
    }

    fn export(&mut self, name: &str, value: &str) {
        self.tail.push(format!("{name:?}:{value}"));
    }

    fn export_local(&mut self, name: &str, local: &str) {
        self.exported_locals.push(local.to_owned());
        self.export(name, local);
    }

    fn named(&mut self, export: &ExportNamedDeclaration<'_>) {
        if let Some(declaration) = &export.declaration {
            self.blank(Span::new(export.span.start, declaration.span().start));
            for name in names_of(declaration) {
                self.export_local(&name, &name);
            }
            return;
        }
        let from = export.source.as_ref().map(|from| self.from(&from.value));
        for specifier in &export.specifiers {
            let (local, name) = (specifier.local.name(), specifier.exported.name());
            match &from {
                Some(from) => {
                    self.export(&name, &format!("{from}[{local:?}]", local = local.as_str()));
                }
                None => self.export_local(&name, &local),
            }
        }
        self.blank(export.span);
    }

    fn default(&mut self, export: &ExportDefaultDeclaration<'_>) {
        let value = export.declaration.span();
        let before = Span::new(export.span.start, value.start);
        let named = match &export.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => function.id.as_ref(),
            ExportDefaultDeclarationKind::ClassDeclaration(class) => class.id.as_ref(),
            _ => None,
        };
        if let Some(id) = named {
            self.blank(before);
            self.export_local("default", &id.name);
            return;
        }
        // As a member of a literal the function or class gets the name `default`, as in a module.
        let (own, width) = (self.own.clone(), (before.end - before.start) as usize);
        self.copy_to(before.start as usize);
        let start = format!("{own}={{default:");
        let padded = format!("{start:<width$}");
        self.out.push_str(&padded);
        self.copied = before.end as usize;
        self.copy_to(value.end as usize);
        self.out.push_str("};");
        self.export("default", &format!("{own}.default"));
    }

    fn copy_to(&mut self, end: usize) {
        self.out
            .push_str(self.text.get(self.copied..end).unwrap_or_default());
        self.copied = end;
    }

    /// Leaves as many columns and lines as there were.
    fn blank(&mut self, span: Span) {
        self.copy_to(span.start as usize);
        let gone = self.text.get(span.start as usize..span.end as usize);
        let is_break = |c: char| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
        let left = gone.unwrap_or_default().chars();
        self.out
            .extend(left.map(|c| if is_break(c) { c } else { ' ' }));
        self.copied = span.end as usize;
    }

    fn finish(mut self) -> Factory {
        self.copy_to(self.text.len());
        let own = &self.own;
        let parameters: Vec<String> = (0..self.imports.len())
            .map(|index| format!("{own}{index}"))
            .collect();
        let head = format!(
            "(function({}){{\"use strict\";{}let {own};",
            parameters.join(","),
            self.head
        );
        // A star hands on everything but the default; names of the module's own come later and win.
        let stars = self
            .stars
            .iter()
            .map(|from| format!("...(({{default:_,...rest}})=>rest)({from})"));
        let members: Vec<String> = stars.chain(self.tail).collect();
        let text = format!(
            "{head}{}\n;return {{__proto__:null,{}}}}})",
            self.out,
            members.join(",")
        );
        Factory {
            text,
            imports: self.imports,
            shift: head.chars().count() as u32,
        }
    }
}

fn names_of(declaration: &Declaration<'_>) -> Vec<String> {
    let ids = match declaration {
        Declaration::VariableDeclaration(variables) => {
            let patterns = variables.declarations.iter();
            return patterns
                .flat_map(|one| one.id.get_binding_identifiers())
                .map(|id| id.name.to_string())
                .collect();
        }
        Declaration::FunctionDeclaration(function) => function.id.as_ref(),
        Declaration::ClassDeclaration(class) => class.id.as_ref(),
        _ => None,
    };
    ids.iter().map(|id| id.name.to_string()).collect()
}

#[cfg(test)]
mod tests;
