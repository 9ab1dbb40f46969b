//! Reads `allowed-tools` and its kin into rules. Matching a call against them is policy's work.
//!
//! Rules are split at white space and commas outside parentheses, so `Bash(git log, -p)` is one rule.
//! What cannot be read matches nothing: a slip of the author narrows, it never widens.

/// One rule of a list of tools.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolRule {
    /// `Tool` or `Tool(specifier)`.
    Rule {
        /// The tool's name.
        tool: String,
        /// What stands in the parentheses.
        specifier: Option<String>,
    },
    /// Text that is no rule. It matches nothing.
    Malformed(String),
}

impl ToolRule {
    /// Returns true if whatever `other` matches is surely matched by this one.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Rule { tool, specifier },
                Self::Rule { tool: other_tool, specifier: other_specifier },
            ) => tool == other_tool && (specifier.is_none() || specifier == other_specifier),
            (Self::Malformed(_), _) | (_, Self::Malformed(_)) => false,
        }
    }
}

impl std::fmt::Display for ToolRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rule { tool, specifier: None } => f.write_str(tool),
            Self::Rule { tool, specifier: Some(specifier) } => write!(f, "{tool}({specifier})"),
            Self::Malformed(text) => f.write_str(text),
        }
    }
}

/// The rules of one field, in its order. Empty means that no tool is allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedTools {
    /// The rules.
    pub rules: Vec<ToolRule>,
}

impl AllowedTools {
    /// Reads the text form: rules separated by white space or commas.
    pub fn from_text(text: &str) -> Self {
        let mut rules: Vec<ToolRule> = Vec::new();
        for token in tokens(text) {
            match rules.last_mut() {
                // One report is enough, and a rule that grows would cost time.
                Some(ToolRule::Malformed(_)) if token.starts_with('(') => {}
                // `Bash (git:*)`: a space before the parenthesis must not turn into "all of Bash".
                Some(before) if token.starts_with('(') => {
                    *before = ToolRule::Malformed(format!("{before} {token}"));
                }
                _ => rules.push(rule(token)),
            }
        }
        Self { rules }
    }

    /// Reads the list form: each item is one rule, white space and commas included.
    pub fn from_items<'a>(items: impl IntoIterator<Item = &'a str>) -> Self {
        Self { rules: items.into_iter().map(|item| rule(item.trim())).collect() }
    }

    /// Returns what both lists allow: the rules of each that a rule of the other covers.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        let covered = |rules: &[ToolRule], by: &[ToolRule]| -> Vec<ToolRule> {
            let is_covered = |rule: &&ToolRule| by.iter().any(|other| other.covers(rule));
            rules.iter().filter(is_covered).cloned().collect()
        };
        let mut rules = covered(&self.rules, &other.rules);
        let more = covered(&other.rules, &self.rules);
        rules.extend(more.into_iter().filter(|rule| !self.rules.contains(rule)));
        Self { rules }
    }

    /// Returns the rules of both lists, each once.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let more = other.rules.iter().filter(|rule| !self.rules.contains(rule));
        Self { rules: self.rules.iter().chain(more).cloned().collect() }
    }

    /// Returns the texts that are no rules.
    pub fn malformed(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter_map(|rule| match rule {
            ToolRule::Malformed(text) => Some(text.as_str()),
            ToolRule::Rule { .. } => None,
        })
    }
}

/// Splits at white space and commas outside parentheses. An unclosed parenthesis takes all the rest.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && (character == ',' || character.is_whitespace()) => {
                tokens.push(&text[start..at]);
                start = at + character.len_utf8();
            }
            _ => {}
        }
    }
    tokens.push(&text[start..]);
    tokens.retain(|token| !token.is_empty());
    tokens
}

fn rule(text: &str) -> ToolRule {
    let malformed = || ToolRule::Malformed(text.to_owned());
    let is_name = |name: &str| {
        !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "(),".contains(c))
    };
    let Some((tool, rest)) = text.split_once('(') else {
        let plain = ToolRule::Rule { tool: text.to_owned(), specifier: None };
        return if is_name(text) { plain } else { malformed() };
    };
    match rest.strip_suffix(')') {
        Some(inside) if is_name(tool) && !inside.trim().is_empty() && is_balanced(inside) => {
            ToolRule::Rule { tool: tool.to_owned(), specifier: Some(inside.trim().to_owned()) }
        }
        _ => malformed(),
    }
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0_usize;
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return false,
            ')' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(tools: &AllowedTools) -> String {
        let rules = tools.rules.iter().map(|rule| match rule {
            ToolRule::Rule { .. } => format!("[{rule}]"),
            ToolRule::Malformed(text) => format!("!{text}!"),
        });
        rules.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn text_is_split_outside_parentheses_only() {
        for (text, rules) in [
            ("", ""),
            ("Read", "[Read]"),
            (
                "Read Write Bash(convert:*) Bash(jq:*)",
                "[Read] [Write] [Bash(convert:*)] [Bash(jq:*)]",
            ),
            ("Read, Grep,Bash( git log, -p )", "[Read] [Grep] [Bash(git log, -p)]"),
            ("Read,\n  Write\t", "[Read] [Write]"),
            ("Bash(echo (a b))", "[Bash(echo (a b))]"),
            ("mcp__github__*", "[mcp__github__*]"),
        ] {
            assert_eq!(shown(&AllowedTools::from_text(text)), rules, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_matches_nothing() {
        for (text, rules) in [
            ("Bash(git:* Read", "!Bash(git:* Read!"),
            ("Bash git:*)", "[Bash] !git:*)!"),
            ("Bash (git:*)", "!Bash (git:*)!"),
            ("Bash()", "!Bash()!"),
            ("(git:*)", "!(git:*)!"),
            ("Bash(git:*)x", "!Bash(git:*)x!"),
            ("Bash(a)(b)", "!Bash(a)(b)!"),
        ] {
            assert_eq!(shown(&AllowedTools::from_text(text)), rules, "{text}");
        }
    }

    #[test]
    fn a_list_item_is_one_rule() {
        let tools = AllowedTools::from_items(["Bash(git log, -p)", "Read", "Read Write", ""]);
        assert_eq!(shown(&tools), "[Bash(git log, -p)] [Read] !Read Write! !!");
    }
}
