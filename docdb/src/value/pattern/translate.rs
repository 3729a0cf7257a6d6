//! Rewrites what Perl and the parser of patterns read differently, so that what follows sees one meaning.

/// Horizontal white space, as Perl's `\h` has it.
const HORIZONTAL: &str = r"\t \x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}";
/// Vertical white space, as Perl's `\v` has it.
const VERTICAL: &str = r"\n\x0B\f\r\x{85}\x{2028}\x{2029}";

/// `\d \w \s` mean ASCII, `$` also stands before a line end that ends the text, `\<` is a plain character, `\Q…\E` is
/// taken literally, `\h` and `\v` are white space.
pub(super) fn translate(source: &str, has_lines: bool) -> String {
    let keeps_end = has_lines || source.contains("(?");
    let mut out = String::with_capacity(source.len() + 16);
    let mut in_class = false;
    let mut rest = source.chars().peekable();
    while let Some(part) = rest.next() {
        match part {
            '\\' => match rest.next() {
                Some('Q') => quoted(&mut rest, &mut out),
                // The end of a quotation that was never begun.
                Some('E') => {}
                Some(escaped) => escape(escaped, in_class, &mut out),
                None => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                // First in a class, a bracket is a plain character.
                if rest.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
            }
            // The engine would take a class within the class; Perl has none but `[:name:]`.
            '[' if rest.peek() != Some(&':') => out.push_str("\\["),
            '[' => posix_class(&mut rest, &mut out),
            ']' => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' | '-' if in_class && rest.peek() == Some(&part) => {
                out.push('\\');
                out.push(part);
            }
            '$' if !in_class && !keeps_end => out.push_str("(?:\\n?\\z)"),
            part => out.push(part),
        }
    }
    out
}

/// Copies `[:name:]` within a class as a whole, so that its bracket does not end the class.
fn posix_class(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    out.push('[');
    for part in rest.by_ref() {
        out.push(part);
        if part == ']' {
            return;
        }
    }
}

fn escape(escaped: char, in_class: bool, out: &mut String) {
    let ascii = match escaped {
        'd' => "0-9",
        'w' => "A-Za-z0-9_",
        's' => r"\t\n\v\f\r ",
        'D' if !in_class => "^0-9",
        'W' if !in_class => "^A-Za-z0-9_",
        'S' if !in_class => r"^\t\n\v\f\r ",
        'h' => HORIZONTAL,
        'v' => VERTICAL,
        'H' if !in_class => return negated(HORIZONTAL, out),
        'V' if !in_class => return negated(VERTICAL, out),
        'N' if !in_class => "^\\n",
        'e' => return out.push_str(r"\x1B"),
        'Z' if !in_class => return out.push_str(r"(?=\n?\z)"),
        '<' | '>' => {
            out.push(escaped);
            return;
        }
        _ => {
            out.push('\\');
            out.push(escaped);
            return;
        }
    };
    if in_class {
        out.push_str(ascii);
    } else {
        out.push('[');
        out.push_str(ascii);
        out.push(']');
    }
}

fn negated(class: &str, out: &mut String) {
    out.push_str("[^");
    out.push_str(class);
    out.push(']');
}

/// Copies up to `\E`, or to the end, so that every character stands for itself, white space in an `x` pattern too.
fn quoted(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    while let Some(part) = rest.next() {
        if part == '\\' && rest.next_if_eq(&'E').is_some() {
            return;
        }
        if part.is_alphanumeric() || part == '_' {
            out.push(part);
        } else {
            let code = format!("\\x{{{:X}}}", u32::from(part));
            out.push_str(&code);
        }
    }
}
