//! The operators that choose what they evaluate or bring variables: each has a node of its own.

use bson::{Bson, Document};

use super::Node;
use super::parse::Parser;
use super::paths::check_variable;
use super::table;
use crate::error::{Code, CommandError, Result};
use crate::value::display;

/// The operators read here, for the list of what is supported.
pub(super) const FORMS: &[&str] = &[
    "$and", "$cond", "$convert", "$expr", "$filter", "$ifNull", "$let", "$literal", "$map", "$or",
    "$reduce", "$switch",
];

impl Parser {
    /// The node of a form; `None` if `name` is no form.
    pub(super) fn form(&mut self, name: &str, argument: &Bson) -> Result<Option<Node>> {
        Ok(Some(match name {
            "$literal" | "$const" => Node::Constant(Some(argument.clone())),
            "$expr" => self.parse(argument)?,
            "$and" => Node::And(self.operands(argument)?),
            "$or" => Node::Or(self.operands(argument)?),
            "$ifNull" => {
                let choices = self.operands(argument)?;
                if choices.len() < 2 {
                    return Err(Code::Location(1_257_300).error(format!(
                        "$ifNull needs at least two arguments, had: {}",
                        choices.len()
                    )));
                }
                Node::IfNull(choices)
            }
            "$cond" => self.cond(argument)?,
            "$switch" => self.switch(argument)?,
            "$let" => self.bind(argument)?,
            "$map" => self.map(argument)?,
            "$filter" => self.filter(argument)?,
            "$reduce" => self.reduce(argument)?,
            "$convert" => self.convert(argument)?,
            "$getField" => return self.get_field(argument),
            _ => return Ok(None),
        }))
    }

    /// `$getField: "name"` stands for `{field: "name", input: "$$CURRENT"}`.
    fn get_field(&mut self, argument: &Bson) -> Result<Option<Node>> {
        let short = match argument {
            Bson::Document(document) => {
                if document.contains_key("input") || !document.contains_key("field") {
                    let named = document
                        .keys()
                        .next()
                        .is_some_and(|key| !key.starts_with('$'));
                    if named || document.is_empty() {
                        return Ok(None);
                    }
                    argument
                } else {
                    document.get("field").unwrap_or(argument)
                }
            }
            other => other,
        };
        let Some(function) = table::find("$getField") else {
            return Ok(None);
        };
        let current = Node::Variable("CURRENT".to_owned(), Vec::new());
        Ok(Some(Node::Call(
            function,
            vec![self.parse(short)?, current],
        )))
    }

    fn operands(&mut self, argument: &Bson) -> Result<Vec<Node>> {
        match argument {
            Bson::Array(operands) => self.parse_all(operands),
            single => Ok(vec![self.parse(single)?]),
        }
    }

    fn cond(&mut self, argument: &Bson) -> Result<Node> {
        if let Bson::Document(document) = argument {
            let names = ["if", "then", "else"];
            check_names(document, &names, |other| {
                Code::Location(17083).error(format!("Unrecognized parameter to $cond: {other}"))
            })?;
            let mut part = |name: &str, code: Code| match document.get(name) {
                Some(value) => self.parse(value),
                None => Err(code.error(format!("Missing '{name}' parameter to $cond"))),
            };
            return Ok(Node::Cond(Box::new([
                part("if", Code::Location(17080))?,
                part("then", Code::Location(17081))?,
                part("else", Code::Location(17082))?,
            ])));
        }
        let operands = self.operands(argument)?;
        let count = operands.len();
        let operands: [Node; 3] = operands.try_into().map_err(|_| {
            Code::Location(16020).error(format!(
                "Expression $cond takes exactly 3 arguments. {count} were passed in."
            ))
        })?;
        Ok(Node::Cond(Box::new(operands)))
    }

    fn switch(&mut self, argument: &Bson) -> Result<Node> {
        let document = object(argument, || {
            Code::Location(40060).error(format!(
                "$switch requires an object as an argument, found: {}",
                display::type_name(argument)
            ))
        })?;
        check_names(document, &["branches", "default"], |other| {
            Code::Location(40067).error(format!("$switch found an unknown argument: {other}"))
        })?;
        let branches = match document.get("branches") {
            Some(Bson::Array(branches)) => branches.as_slice(),
            Some(other) => {
                return Err(Code::Location(40061).error(format!(
                    "$switch expected an array for 'branches', found: {}",
                    display::type_name(other)
                )));
            }
            None => &[],
        };
        if branches.is_empty() {
            return Err(Code::Location(40068).error("$switch requires at least one branch."));
        }
        let branches: Result<Vec<_>, _> = branches.iter().map(|one| self.branch(one)).collect();
        let default = match document.get("default") {
            Some(default) => Some(Box::new(self.parse(default)?)),
            None => None,
        };
        Ok(Node::Switch {
            branches: branches?,
            default,
        })
    }

    fn branch(&mut self, branch: &Bson) -> Result<(Node, Node)> {
        let document = object(branch, || {
            Code::Location(40062).error(format!(
                "$switch expected each branch to be an object, found: {}",
                display::type_name(branch)
            ))
        })?;
        check_names(document, &["case", "then"], |other| {
            Code::Location(40063).error(format!(
                "$switch found an unknown argument to a branch: {other}"
            ))
        })?;
        let case = document.get("case").ok_or_else(|| {
            Code::Location(40064).error("$switch requires each branch have a 'case' expression")
        })?;
        let then = document.get("then").ok_or_else(|| {
            Code::Location(40065).error("$switch requires each branch have a 'then' expression.")
        })?;
        Ok((self.parse(case)?, self.parse(then)?))
    }

    fn bind(&mut self, argument: &Bson) -> Result<Node> {
        let document = object(argument, || {
            Code::Location(16874).error("$let only supports an object as its argument")
        })?;
        check_names(document, &["vars", "in"], |other| {
            Code::Location(16875).error(format!("Unrecognized parameter to $let: {other}"))
        })?;
        let variables = match document.get("vars") {
            Some(Bson::Document(variables)) => variables,
            Some(_) => {
                return Err(
                    Code::Location(10065).error("invalid parameter: expected an object (vars)")
                );
            }
            None => return Err(Code::Location(16876).error("Missing 'vars' parameter to $let")),
        };
        let body = document
            .get("in")
            .ok_or_else(|| Code::Location(16877).error("Missing 'in' parameter to $let"))?;
        let mut bound = Vec::with_capacity(variables.len());
        for (name, value) in variables {
            check_variable(name)?;
            bound.push((name.clone(), self.parse(value)?));
        }
        let names: Vec<String> = variables.keys().cloned().collect();
        let body = self.parse_with(&names, body)?;
        Ok(Node::Let(bound, Box::new(body)))
    }

    fn map(&mut self, argument: &Bson) -> Result<Node> {
        let document = object(argument, || {
            Code::Location(16878).error("$map only supports an object as its argument")
        })?;
        check_names(document, &["input", "as", "in"], |other| {
            Code::Location(16879).error(format!("Unrecognized parameter to $map: {other}"))
        })?;
        let input = required(document, "input", "$map", Code::Location(16880))?;
        let body = required(document, "in", "$map", Code::Location(16882))?;
        let name = element_name(document)?;
        Ok(Node::Map {
            input: Box::new(self.parse(input)?),
            body: Box::new(self.parse_with(std::slice::from_ref(&name), body)?),
            name,
        })
    }

    fn filter(&mut self, argument: &Bson) -> Result<Node> {
        let document = object(argument, || {
            Code::Location(28646).error("$filter only supports an object as its argument")
        })?;
        check_names(document, &["input", "as", "cond", "limit"], |other| {
            Code::Location(28647).error(format!("Unrecognized parameter to $filter: {other}"))
        })?;
        let input = required(document, "input", "$filter", Code::Location(28648))?;
        let condition = required(document, "cond", "$filter", Code::Location(28650))?;
        let name = element_name(document)?;
        let limit = match document.get("limit") {
            Some(limit) => Some(Box::new(self.parse(limit)?)),
            None => None,
        };
        Ok(Node::Filter {
            input: Box::new(self.parse(input)?),
            condition: Box::new(self.parse_with(std::slice::from_ref(&name), condition)?),
            name,
            limit,
        })
    }

    fn reduce(&mut self, argument: &Bson) -> Result<Node> {
        let document = object(argument, || {
            Code::Location(40075).error(format!(
                "$reduce requires an object as an argument, found: {}",
                display::type_name(argument)
            ))
        })?;
        check_names(document, &["input", "initialValue", "in"], |other| {
            Code::Location(40076).error(format!("$reduce found an unknown argument: {other}"))
        })?;
        let part = |name: &str, code: Code| {
            document
                .get(name)
                .ok_or_else(|| code.error(format!("$reduce requires '{name}' to be specified")))
        };
        let input = part("input", Code::Location(40077))?;
        let initial = part("initialValue", Code::Location(40078))?;
        let body = part("in", Code::Location(40079))?;
        let names = ["this".to_owned(), "value".to_owned()];
        Ok(Node::Reduce(Box::new([
            self.parse(input)?,
            self.parse(initial)?,
            self.parse_with(&names, body)?,
        ])))
    }

    fn convert(&mut self, argument: &Bson) -> Result<Node> {
        let document = object(argument, || {
            Code::FailedToParse.error(format!(
                "$convert expects an object of named arguments but found: {}",
                display::type_name(argument)
            ))
        })?;
        check_names(document, &["input", "to", "onError", "onNull"], |other| {
            Code::FailedToParse.error(format!("$convert found an unknown argument: {other}"))
        })?;
        let input = document
            .get("input")
            .ok_or_else(|| Code::FailedToParse.error("Missing 'input' parameter to $convert"))?;
        let to = document
            .get("to")
            .ok_or_else(|| Code::FailedToParse.error("Missing 'to' parameter to $convert"))?;
        let mut optional = |name: &str| match document.get(name) {
            Some(value) => self.parse(value).map(|node| Some(Box::new(node))),
            None => Ok(None),
        };
        let (on_error, on_null) = (optional("onError")?, optional("onNull")?);
        Ok(Node::Convert {
            input: Box::new(self.parse(input)?),
            to: Box::new(self.parse(to)?),
            on_error,
            on_null,
        })
    }
}

fn object(argument: &Bson, refusal: impl FnOnce() -> CommandError) -> Result<&Document> {
    argument.as_document().ok_or_else(refusal)
}

fn check_names(
    document: &Document,
    names: &[&str],
    refusal: impl FnOnce(&str) -> CommandError,
) -> Result<()> {
    match document.keys().find(|key| !names.contains(&key.as_str())) {
        Some(other) => Err(refusal(other)),
        None => Ok(()),
    }
}

fn required<'a>(
    document: &'a Document,
    name: &str,
    operator: &str,
    code: Code,
) -> Result<&'a Bson> {
    document
        .get(name)
        .ok_or_else(|| code.error(format!("Missing '{name}' parameter to {operator}")))
}

/// What `as` calls each element: `this` by default.
fn element_name(document: &Document) -> Result<String> {
    let name = match document.get("as") {
        Some(Bson::String(name)) => name.clone(),
        Some(other) => {
            return Err(Code::FailedToParse.error(format!(
                "'as' must be a string, found {}",
                display::type_name(other)
            )));
        }
        None => "this".to_owned(),
    };
    check_variable(&name)?;
    Ok(name)
}
