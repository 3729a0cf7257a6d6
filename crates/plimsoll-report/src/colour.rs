//! The palette of the report: one meaning per colour, in light and dark.

/// A token of the style sheet with its light and dark value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) name: &'static str,
    pub(crate) light: &'static str,
    pub(crate) dark: &'static str,
}

const fn token(name: &'static str, light: &'static str, dark: &'static str) -> Token {
    Token { name, light, dark }
}

/// Outcome colours. Any two differ by at least 25 (CIE ΔE 1976), for colour-blind eyes too.
pub(crate) const OUTCOMES: [Token; 7] = [
    token("good", "#004586", "#3590fa"),
    token("late", "#d57d05", "#fea71f"),
    token("shed", "#c071e0", "#bbc4eb"),
    token("http", "#9f2e06", "#c5571b"),
    token("wire", "#763256", "#f20c63"),
    token("timeout", "#2d1c03", "#ffd98a"),
    token("drop", "#6b8c6c", "#7279ab"),
];

/// Text, ground, rules and the three states of a gate.
pub(crate) const REST: [Token; 11] = [
    token("ink", "#14191e", "#e9edf0"),
    token("ink2", "#46505a", "#b3bcc5"),
    token("ink3", "#66717c", "#8b97a3"),
    token("bg", "#ffffff", "#0f1317"),
    token("panel", "#f5f7f8", "#171d22"),
    token("grid", "#e9edf0", "#222a31"),
    token("rule", "#d5dbe0", "#303942"),
    token("band", "#dfe5ea", "#2a343d"),
    token("pass", "#0d7350", "#4cc79a"),
    token("warn", "#8f5c00", "#e6ac3c"),
    token("fail", "#b3261e", "#ff8a80"),
];

/// Variants of an experiment, in their order; the first, which the others are compared with, is grey.
pub(crate) const VARIANTS: [Token; 7] = [
    token("v0", "#46505a", "#b3bcc5"),
    token("v1", "#dd6223", "#ff906d"),
    token("v2", "#0092ff", "#3380c5"),
    token("v3", "#6d0080", "#ffcf51"),
    token("v4", "#839b6e", "#44ffb5"),
    token("v5", "#c978b8", "#e63270"),
    token("v6", "#830000", "#a27400"),
];

/// Both grounds as custom properties of a style sheet: light, then dark.
pub(crate) fn properties() -> [String; 2] {
    let of = |pick: fn(&Token) -> &'static str| {
        let mut text = String::new();
        for token in OUTCOMES.iter().chain(&REST).chain(&VARIANTS) {
            put!(text, "--{}:{};", token.name, pick(token));
        }
        text
    };
    [of(|token| token.light), of(|token| token.dark)]
}

#[cfg(test)]
mod tests;
