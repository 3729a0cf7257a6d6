//! Reads expressions: literals, paths, variables and operators.

use bson::{Bson, Document};

use super::evaluate::undefined;
use super::function::{Named, Shape, named};
use super::paths::{DEPTH_MAX, check_path_part, field_path};
use super::scope::Variables;
use super::{Node, table};
use crate::elsewhere;
use crate::error::{Code, Result};
use crate::value::display;

named! {
    DATE_PART("date"; "timezone") 40535 40535 40539;
}

pub(super) struct Parser {
    /// Every variable that may be used here: the command's and those of enclosing expressions.
    names: Vec<String>,
    depth: usize,
}

impl Parser {
    pub(super) fn new(variables: &Variables) -> Self {
        Self {
            names: variables.names().map(str::to_owned).collect(),
            depth: 0,
        }
    }

    pub(super) fn parse(&mut self, value: &Bson) -> Result<Node> {
        if self.depth >= DEPTH_MAX {
            return Err(Code::Overflow.error("Expression is nested too deeply"));
        }
        self.depth += 1;
        let node = match value {
            Bson::String(text) => self.string(text),
            Bson::Document(document) => self.document(document),
            Bson::Array(array) => self.array(array),
            literal => Ok(Node::Constant(Some(literal.clone()))),
        };
        self.depth -= 1;
        node
    }

    /// Parses with more variables in sight.
    pub(super) fn parse_with(&mut self, names: &[String], value: &Bson) -> Result<Node> {
        let before = self.names.len();
        self.names.extend_from_slice(names);
        let node = self.parse(value);
        self.names.truncate(before);
        node
    }

    pub(super) fn parse_all(&mut self, values: &[Bson]) -> Result<Vec<Node>> {
        values.iter().map(|value| self.parse(value)).collect()
    }

    fn string(&self, text: &str) -> Result<Node> {
        if let Some(variable) = text.strip_prefix("$$") {
            return self.variable(variable);
        }
        match text.strip_prefix('$') {
            Some(path) => Ok(Node::Field(field_path(path)?)),
            None => Ok(Node::Constant(Some(Bson::String(text.to_owned())))),
        }
    }

    fn variable(&self, text: &str) -> Result<Node> {
        let (name, path) = match text.split_once('.') {
            Some((name, path)) => (name, field_path(path)?),
            None => (text, Vec::new()),
        };
        if name.is_empty() {
            return Err(Code::FailedToParse.error("empty variable names are not allowed"));
        }
        match name {
            "ROOT" | "CURRENT" if !path.is_empty() => Ok(Node::Field(path)),
            "ROOT" | "CURRENT" | "NOW" | "REMOVE" => Ok(Node::Variable(name.to_owned(), path)),
            _ if self.names.iter().any(|known| known == name) => {
                Ok(Node::Variable(name.to_owned(), path))
            }
            _ => Err(undefined(name)),
        }
    }

    fn array(&mut self, array: &[Bson]) -> Result<Node> {
        let nodes = self.parse_all(array)?;
        let constants: Option<Vec<Bson>> = nodes.iter().map(constant).collect();
        Ok(match constants {
            Some(constants) => Node::Constant(Some(Bson::Array(constants))),
            None => Node::Array(nodes),
        })
    }

    fn document(&mut self, document: &Document) -> Result<Node> {
        if let Some((name, argument)) = document.iter().next()
            && name.starts_with('$')
        {
            if document.len() != 1 {
                return Err(Code::Location(15983).error(format!(
                    "an expression specification must contain exactly one field, the name of the expression. Found {} fields in {}, while parsing object {}",
                    document.len(),
                    display::value(&Bson::Document(document.clone())),
                    display::value(&Bson::Document(document.clone()))
                )));
            }
            return self.operator(name, argument);
        }
        let mut nodes = Vec::with_capacity(document.len());
        for (name, value) in document {
            check_field_name(name)?;
            nodes.push((name.clone(), self.parse(value)?));
        }
        let constants: Option<Document> = nodes
            .iter()
            .map(|(name, node)| Some((name.clone(), constant(node)?)))
            .collect();
        Ok(match constants {
            Some(constants) => Node::Constant(Some(Bson::Document(constants))),
            None => Node::Document(nodes),
        })
    }

    fn operator(&mut self, name: &str, argument: &Bson) -> Result<Node> {
        if let Some(form) = self.form(name, argument)? {
            return Ok(form);
        }
        let Some(function) = table::find(name) else {
            let unsupported = elsewhere::EXPRESSIONS.refusal(name);
            return Err(unsupported.unwrap_or_else(|| {
                Code::InvalidPipelineOperator.error(format!("Unrecognized expression '{name}'"))
            }));
        };
        let arguments = match function.shape {
            Shape::Exactly(count) => {
                let arguments = self.positional(argument)?;
                if arguments.len() != count {
                    return Err(Code::Location(16020).error(format!(
                        "Expression {name} takes exactly {count} arguments. {} were passed in.",
                        arguments.len()
                    )));
                }
                arguments
            }
            Shape::Between(least, most) => {
                let arguments = self.positional(argument)?;
                if !(least..=most).contains(&arguments.len()) {
                    return Err(Code::Location(28667).error(format!(
                        "Expression {name} takes at least {least} arguments, and at most {most}, but {} were passed in.",
                        arguments.len()
                    )));
                }
                arguments
            }
            Shape::Any => self.positional(argument)?,
            Shape::None => Vec::new(),
            Shape::Named(named) => self.named(name, named, argument)?,
            Shape::DatePart => self.date_part(name, argument)?,
        };
        Ok(Node::Call(function, arguments))
    }

    /// An array's elements, or the one value that is no array.
    fn positional(&mut self, argument: &Bson) -> Result<Vec<Node>> {
        match argument {
            Bson::Array(arguments) => self.parse_all(arguments),
            single => Ok(vec![self.parse(single)?]),
        }
    }

    /// The arguments in the order of their names; what is left out is missing.
    fn named(&mut self, operator: &str, named: &Named, argument: &Bson) -> Result<Vec<Node>> {
        let Bson::Document(document) = argument else {
            return Err(named.not_an_object.error(format!(
                "{operator} only supports an object as an argument, found {}",
                display::type_name(argument)
            )));
        };
        if let Some(other) = document
            .keys()
            .find(|key| !named.names.contains(&key.as_str()))
        {
            return Err(named
                .unknown
                .error(format!("{operator} found an unknown argument: {other}")));
        }
        let mut arguments = Vec::with_capacity(named.names.len());
        for (index, name) in named.names.iter().enumerate() {
            arguments.push(match document.get(*name) {
                Some(value) => self.parse(value)?,
                None if index < named.required => {
                    return Err(named
                        .missing
                        .error(format!("{operator} requires '{name}' to be specified")));
                }
                None => Node::Constant(None),
            });
        }
        Ok(arguments)
    }

    /// A date, alone or as `{date, timezone}`.
    fn date_part(&mut self, operator: &str, argument: &Bson) -> Result<Vec<Node>> {
        match argument {
            Bson::Document(document)
                if document
                    .keys()
                    .next()
                    .is_some_and(|key| !key.starts_with('$')) =>
            {
                self.named(operator, &DATE_PART, argument)
            }
            other => {
                let mut arguments = self.positional(other)?;
                if arguments.len() != 1 {
                    return Err(Code::Location(40536).error(format!(
                        "{operator} accepts exactly one argument if given an array, but was given {}",
                        arguments.len()
                    )));
                }
                arguments.push(Node::Constant(None));
                Ok(arguments)
            }
        }
    }
}

fn constant(node: &Node) -> Option<Bson> {
    match node {
        Node::Constant(value) => value.clone(),
        _ => None,
    }
}

fn check_field_name(name: &str) -> Result<()> {
    check_path_part(name)?;
    if name.contains('.') {
        return Err(Code::Location(16412).error(
            "FieldPath field names may not contain '.'. Consider using $getField or $setField.",
        ));
    }
    Ok(())
}
