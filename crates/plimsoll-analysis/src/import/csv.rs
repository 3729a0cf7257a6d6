//! Tables of comma-separated values: quoted fields, any order of columns, any of the usual separators.

use super::ImportError;

/// Rows by the names of their columns.
#[derive(Debug)]
pub(super) struct Table<'a> {
    pub(super) columns: Vec<String>,
    rows: Rows<'a>,
}

impl<'a> Table<'a> {
    /// With the names in its first row.
    pub(super) fn read(text: &'a str) -> Self {
        let first = text.lines().next().unwrap_or_default();
        let mut rows = Rows {
            rest: text,
            line: 1,
            separator: separator(first),
        };
        let columns = rows.next().map(|(_, fields)| fields).unwrap_or_default();
        Self { columns, rows }
    }

    /// With the names given, for a table that has none.
    pub(super) fn bare(text: &'a str, columns: &[&str]) -> Self {
        let first = text.lines().next().unwrap_or_default();
        let rows = Rows {
            rest: text,
            line: 1,
            separator: separator(first),
        };
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        Self { columns, rows }
    }

    /// The place of a column, by any of its names, whatever their capitals.
    pub(super) fn find(&self, names: &[&str]) -> Option<usize> {
        let is = |column: &String, name: &&str| column.trim().eq_ignore_ascii_case(name);
        let mut places = names
            .iter()
            .filter_map(|name| self.columns.iter().position(|column| is(column, name)));
        places.next()
    }

    pub(super) fn need(
        &self,
        tool: &'static str,
        name: &'static str,
    ) -> Result<usize, ImportError> {
        let field = name;
        self.find(&[name])
            .ok_or(ImportError::Missing { tool, field })
    }
}

impl Iterator for Table<'_> {
    /// The line that a row begins on, and its fields.
    type Item = (usize, Vec<String>);

    fn next(&mut self) -> Option<Self::Item> {
        self.rows.next()
    }
}

fn separator(header: &str) -> char {
    let count = |c: &char| header.matches(*c).count();
    [',', ';', '\t', '|']
        .into_iter()
        .max_by_key(|c| (count(c), *c == ','))
        .unwrap_or(',')
}

#[derive(Debug)]
struct Rows<'a> {
    rest: &'a str,
    line: usize,
    separator: char,
}

impl Iterator for Rows<'_> {
    type Item = (usize, Vec<String>);

    fn next(&mut self) -> Option<Self::Item> {
        // Lines without anything are no rows.
        while let Some(rest) = self.rest.strip_prefix(['\n', '\r']) {
            self.line += usize::from(self.rest.starts_with('\n'));
            self.rest = rest;
        }
        if self.rest.is_empty() {
            return None;
        }
        let begins = self.line;
        let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
        let mut chars = self.rest.char_indices().peekable();
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' if quoted && chars.peek().is_some_and(|(_, next)| *next == '"') => {
                    field.push('"');
                    chars.next();
                }
                '"' if quoted || field.is_empty() => quoted = !quoted,
                '\n' if !quoted => {
                    end = at;
                    break;
                }
                c if c == self.separator && !quoted => fields.push(std::mem::take(&mut field)),
                c => {
                    self.line += usize::from(c == '\n');
                    field.push(c);
                }
            }
        }
        self.rest = self.rest.get(end..).unwrap_or_default();
        if field.ends_with('\r') {
            field.pop();
        }
        fields.push(field);
        Some((begins, fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_rows_may_span_lines() {
        let text = "b;a\r\n1;\"x;\"\"y\"\"\nz\"\r\n\r\n3;4";
        let mut table = Table::read(text);
        assert_eq!(table.find(&["A"]), Some(1));
        assert_eq!(table.find(&["c"]), None);
        assert_eq!(
            table.next(),
            Some((2, vec!["1".into(), "x;\"y\"\nz".into()]))
        );
        assert_eq!(table.next(), Some((5, vec!["3".into(), "4".into()])));
        assert_eq!(table.next(), None);
    }
}
