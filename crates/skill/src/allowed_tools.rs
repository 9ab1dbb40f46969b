//! Reads `allowed-tools` and similar fields into rules. The policy code matches calls against them.
//!
//! Rules are split at whitespace and commas outside parentheses, so `Bash(git log, -p)` is one rule.
//! A rule that cannot be parsed matches nothing, so an author's typo can only narrow what is allowed.

/// One rule of a tool list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolRule {
    /// `Tool` or `Tool(specifier)`.
    Rule {
        /// The tool's name.
        tool: String,
        /// The text inside the parentheses.
        specifier: Option<String>,
    },
    /// Text that is not a valid rule. It matches nothing.
    Malformed(String),
}

impl ToolRule {
    /// Returns true if this rule is certain to match everything that `other` matches.
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

/// The rules of one field, in order. An empty list allows no tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedTools {
    /// The rules.
    pub rules: Vec<ToolRule>,
}

impl AllowedTools {
    /// Parses the string form: rules separated by whitespace or commas.
    pub fn from_text(text: &str) -> Self {
        let mut rules: Vec<ToolRule> = Vec::new();
        for token in tokens(text) {
            match rules.last_mut() {
                // One diagnostic is enough, and growing the rule further would cost time.
                Some(ToolRule::Malformed(_)) if token.starts_with('(') => {}
                // In `Bash (git:*)`, the space before the parenthesis must not turn the rule into "all of Bash".
                Some(before) if token.starts_with('(') => {
                    *before = ToolRule::Malformed(format!("{before} {token}"));
                }
                _ => rules.push(rule(token)),
            }
        }
        Self { rules }
    }

    /// Parses the list form: each item is one rule, including any whitespace and commas in it.
    pub fn from_items<'a>(items: impl IntoIterator<Item = &'a str>) -> Self {
        Self { rules: items.into_iter().map(|item| rule(item.trim())).collect() }
    }

    /// Returns what both lists allow: the rules of each list that a rule of the other covers.
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

    /// Returns the rules of both lists without duplicates.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let more = other.rules.iter().filter(|rule| !self.rules.contains(rule));
        Self { rules: self.rules.iter().chain(more).cloned().collect() }
    }

    /// Returns the items that are not valid rules.
    pub fn malformed(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter_map(|rule| match rule {
            ToolRule::Malformed(text) => Some(text.as_str()),
            ToolRule::Rule { .. } => None,
        })
    }
}

/// Splits at whitespace and commas outside parentheses. An unclosed parenthesis extends to the end of the text.
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
    fn malformed_rules_match_nothing() {
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
