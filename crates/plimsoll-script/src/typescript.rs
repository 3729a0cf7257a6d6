//! TypeScript becomes JavaScript: types go, enums and parameter properties are rewritten, nothing is checked.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use oxc_transformer::{TransformOptions, Transformer};

use crate::error::{Position, ScriptError};
use crate::source::position_at;

/// Where the pieces of generated code came from, in the order of the generated code; all count from 0.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceMap {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    generated: (u32, u32),
    source: (u32, u32),
}

impl SourceMap {
    /// Line and column in the source, counted from 1 like those given.
    pub(crate) fn source_of(&self, line: u32, column: u32) -> (u32, u32) {
        let at = (line.saturating_sub(1), column.saturating_sub(1));
        let after = self.pieces.partition_point(|piece| piece.generated <= at);
        let piece = after
            .checked_sub(1)
            .and_then(|index| self.pieces.get(index));
        piece.map_or((line, column), |piece| {
            (piece.source.0 + 1, piece.source.1 + 1)
        })
    }
}

/// The text of a `.ts` file as JavaScript.
pub(crate) fn strip(path: &Path, text: &str) -> Result<(String, SourceMap), ScriptError> {
    let allocator = Allocator::default();
    let kind = SourceType::ts().with_module(true);
    let parsed = Parser::new(&allocator, text, kind).parse();
    if let Some(error) = parsed.errors.first() {
        let mut place = Position::default();
        if let Some(label) = error.labels.iter().flatten().next() {
            place = position_at(text, label.offset());
        }
        place.file = path.display().to_string().into();
        return Err(ScriptError::Syntax {
            place,
            message: error.message.to_string().into(),
        });
    }
    let mut program = parsed.program;
    let scoping = SemanticBuilder::new()
        .build(&program)
        .semantic
        .into_scoping();
    let options = TransformOptions::default();
    let transformed =
        Transformer::new(&allocator, path, &options).build_with_scoping(scoping, &mut program);
    if let Some(error) = transformed.errors.first() {
        return Err(ScriptError::Syntax {
            place: Position {
                file: path.display().to_string().into(),
                ..Position::default()
            },
            message: error.message.to_string().into(),
        });
    }
    let options = CodegenOptions {
        source_map_path: Some(path.to_path_buf()),
        ..CodegenOptions::default()
    };
    let made = Codegen::new().with_options(options).build(&program);
    let mut map = SourceMap::default();
    if let Some(made) = &made.map {
        for token in made.get_tokens() {
            map.pieces.push(Piece {
                generated: (token.get_dst_line(), token.get_dst_col()),
                source: (token.get_src_line(), token.get_src_col()),
            });
        }
    }
    Ok((made.code, map))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_go_and_what_runs_stays() {
        let text = "import { Options } from 'k6/options';\nimport type { A } from './a.ts';\n\
            interface B { c: number }\nenum Kind { One = 1, Two }\n\
            class D { constructor(private e: string) {} f(): string { return this.e as string; } }\n\
            export const options: Options = { vus: Kind.Two };\n\
            export default function (data?: A): void { new D('x')!.f(); }\n";
        let (code, _) = strip(Path::new("/t/main.ts"), text).unwrap();
        for gone in [
            "k6/options",
            "interface",
            "enum",
            "private",
            ": Options",
            "a.ts",
            " as ",
        ] {
            assert!(!code.contains(gone), "{gone} in {code}");
        }
        for kept in [
            "Kind",
            "this.e",
            "export default function",
            "export const options",
        ] {
            assert!(code.contains(kept), "{kept} not in {code}");
        }
    }

    #[test]
    fn places_lead_back_to_the_source() {
        let text =
            "interface A {\n  b: number;\n}\n\nfunction f(a: A) {\n  throw new Error('x');\n}\n";
        let (code, map) = strip(Path::new("/t/main.ts"), text).unwrap();
        let line = code
            .lines()
            .position(|line| line.contains("throw"))
            .unwrap() as u32
            + 1;
        assert_eq!(map.source_of(line, 8).0, 6);
    }

    #[test]
    fn mistakes_have_a_place() {
        let error = strip(Path::new("/t/main.ts"), "let a: number = ;").unwrap_err();
        assert!(
            error.to_string().starts_with("/t/main.ts:1:17: "),
            "{error}"
        );
    }
}
