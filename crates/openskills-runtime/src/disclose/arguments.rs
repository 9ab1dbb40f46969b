//! Fills in the placeholders in a skill's instructions: arguments, the skill's folder and the session id.
//!
//! This is a single pass: substituted text is never scanned again, so an argument cannot inject a placeholder.

use std::collections::HashMap;

/// The values available when a skill is activated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubstitutionInput<'a> {
    /// The arguments, as typed; `None` if there are none.
    pub(crate) arguments: Option<&'a str>,
    /// The same arguments one by one, if they were already parsed.
    pub(crate) list: Option<&'a [Option<String>]>,
    /// The names of positional arguments.
    pub(crate) names: &'a [String],
    /// The skill's folder.
    pub(crate) skill_dir: &'a str,
    pub(crate) session_id: &'a str,
}

/// The maximum length of the result. Untrusted text could otherwise multiply a long argument without limit.
const MAX_LENGTH: usize = 4 << 20;
/// The maximum length of an argument's name.
const MAX_NAME: usize = 64;

/// Returns the instructions with `$ARGUMENTS`, `$ARGUMENTS[n]`, `$n`, `$name` and `${SKILL_DIR}` replaced; `None` if
/// the result would exceed [`MAX_LENGTH`] bytes.
///
/// If the text uses `$0`, positions count from 0, as in `$ARGUMENTS[n]`; otherwise the first argument is `$1`.
/// Placeholders without a value are left as they are. If the text uses no argument at all, the arguments are appended.
pub(crate) fn substitute(body: &str, values: &SubstitutionInput<'_>) -> Option<String> {
    let list = match values.list {
        Some(list) => list.to_vec(),
        None => values.arguments.map(split).unwrap_or_default().into_iter().map(Some).collect(),
    };
    let names = values.names.iter().enumerate().map(|(at, name)| (name.as_str(), at));
    let known = Placeholders {
        values,
        list: &list,
        first: if has_zero(body) { 0 } else { 1 },
        names: names.filter(|(name, _)| (1..=MAX_NAME).contains(&name.len())).collect(),
    };
    let mut text = String::with_capacity(body.len());
    let mut is_used = false;
    let mut rest = body;
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let (length, value) = known.placeholder(rest);
        match value {
            Some(Substitution::Argument(value)) => {
                is_used = true;
                text.push_str(value);
            }
            Some(Substitution::Environment(value)) => text.push_str(value),
            None => text.push_str(&rest[..length]),
        }
        if text.len() > MAX_LENGTH {
            return None;
        }
        rest = &rest[length..];
    }
    text.push_str(rest);
    if let Some(arguments) = values.arguments.filter(|arguments| !is_used && !arguments.is_empty())
    {
        text.push_str("\n\nARGUMENTS: ");
        text.push_str(arguments);
    }
    Some(text)
}

enum Substitution<'a> {
    Argument(&'a str),
    Environment(&'a str),
}

/// Resolves placeholders. Each lookup takes constant time, so hostile text cannot slow it down.
struct Placeholders<'a> {
    values: &'a SubstitutionInput<'a>,
    list: &'a [Option<String>],
    /// The position number of the first argument: 0 or 1.
    first: usize,
    /// The index of each named argument.
    names: HashMap<&'a str, usize>,
}

impl<'a> Placeholders<'a> {
    fn item(&self, at: Option<usize>) -> Option<Substitution<'a>> {
        at.and_then(|at| self.list.get(at)?.as_deref()).map(Substitution::Argument)
    }

    fn arguments(&self) -> Substitution<'a> {
        Substitution::Argument(self.values.arguments.unwrap_or_default())
    }

    /// Returns the length of the placeholder at the start of `text`, and its value.
    fn placeholder(&self, text: &str) -> (usize, Option<Substitution<'a>>) {
        let braced = [
            ("${SKILL_DIR}", Substitution::Environment(self.values.skill_dir)),
            ("${CLAUDE_SKILL_DIR}", Substitution::Environment(self.values.skill_dir)),
            ("${SESSION_ID}", Substitution::Environment(self.values.session_id)),
            ("${CLAUDE_SESSION_ID}", Substitution::Environment(self.values.session_id)),
            ("${ARGUMENTS}", self.arguments()),
        ];
        for (name, value) in braced {
            if text.starts_with(name) {
                return (name.len(), Some(value));
            }
        }
        if let Some((length, number)) = number(&text[1..]) {
            return (
                1 + length,
                self.item(number.and_then(|number| number.checked_sub(self.first))),
            );
        }
        if let Some(rest) = text[1..].strip_prefix("ARGUMENTS") {
            let length = "$ARGUMENTS".len();
            let index = rest.strip_prefix('[').and_then(number);
            return match index {
                Some((digits, number)) if rest[1 + digits..].starts_with(']') => {
                    (length + digits + 2, self.item(number))
                }
                _ if rest.starts_with(is_word) => (1, None),
                _ => (length, Some(self.arguments())),
            };
        }
        // Names may contain hyphens, which also end a word, so the longest matching name wins.
        let is_part = |byte: &u8| {
            !byte.is_ascii() || byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
        };
        let longest = text[1..].bytes().take(MAX_NAME).take_while(is_part);
        let named = (1..=longest.count()).rev().find_map(|length| {
            let name = text.get(1..1 + length)?;
            let at = *self.names.get(name)?;
            (!text[1 + length..].starts_with(is_word)).then_some((length, at))
        });
        match named {
            Some((length, at)) => (length + 1, self.item(Some(at))),
            None => (1, None),
        }
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the number of leading digits, and their value unless it overflows.
fn number(text: &str) -> Option<(usize, Option<usize>)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| (digits, text[..digits].parse().ok()))
}

/// Returns true if the text numbers its arguments from 0.
fn has_zero(body: &str) -> bool {
    body.match_indices("$0")
        .any(|(at, _)| !body[at + 2..].starts_with(|c: char| c.is_ascii_digit()))
}

/// Splits arguments like a shell: at whitespace outside quotes.
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut current: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None | Some('"'), '\\') => {
                current.get_or_insert_default().extend(characters.next());
            }
            (Some(_), _) => current.get_or_insert_default().push(character),
            (None, '"' | '\'') => {
                quote = Some(character);
                current.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => all.extend(current.take()),
            (None, _) => current.get_or_insert_default().push(character),
        }
    }
    all.extend(current);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, arguments: Option<&str>, expected: &str) {
        let names = ["issue".to_owned(), "issue-number".to_owned(), "branch".to_owned()];
        let values = SubstitutionInput {
            arguments,
            list: None,
            names: &names,
            skill_dir: "/s/pdf",
            session_id: "s1",
        };
        assert_eq!(substitute(body, &values).unwrap(), expected, "{body} {arguments:?}");
    }

    #[test]
    fn every_form_of_placeholder_is_replaced() {
        check("Fix $ARGUMENTS now", Some("a 'b c'"), "Fix a 'b c' now");
        check("$1 and $2", Some("a 'b c'"), "a and b c");
        check("$0 and $1", Some("a 'b c'"), "a and b c");
        check("$ARGUMENTS[0] and $ARGUMENTS[1]", Some("a \"b c\""), "a and b c");
        check("$issue on $branch: $issue-number", Some("7 8 main"), "7 on main: 8");
        check(
            "${SKILL_DIR}/x ${CLAUDE_SKILL_DIR} ${CLAUDE_SESSION_ID}",
            None,
            "/s/pdf/x /s/pdf s1",
        );
    }

    #[test]
    fn placeholders_without_a_value_are_kept() {
        check(
            "$3 $HOME ${HOME} $ $$ $issues",
            Some("a"),
            "$3 $HOME ${HOME} $ $$ $issues\n\nARGUMENTS: a",
        );
        check("costs $5", None, "costs $5");
        check("$10", Some("a"), "$10\n\nARGUMENTS: a");
        check("[$ARGUMENTS]", None, "[]");
        check("$99999999999999999999999", Some("a"), "$99999999999999999999999\n\nARGUMENTS: a");
        check("${SKILL_DIR", None, "${SKILL_DIR");
    }

    #[test]
    fn arguments_cannot_inject_placeholders() {
        check("$1|$2", Some("$2 ${SKILL_DIR}"), "$2|${SKILL_DIR}");
        check("$ARGUMENTS", Some("$ARGUMENTS"), "$ARGUMENTS");
    }

    #[test]
    fn hostile_bodies_take_linear_time() {
        let names: Vec<String> = (0..8_000).map(|n| format!("a{n}")).collect();
        let values = SubstitutionInput {
            arguments: Some("x"),
            list: None,
            names: &names,
            skill_dir: "/s",
            session_id: "s",
        };
        for piece in ["${", "$", "$ARGUMENTS[", "$a", "$9", "${SKILL_DIR", "$a0"] {
            let body = piece.repeat((1 << 20) / piece.len());
            let text = substitute(&body, &values).unwrap();
            assert!(text.len() <= body.len() + 20, "{piece}");
        }
        let long = SubstitutionInput { skill_dir: &"d".repeat(4_000), ..values };
        assert_eq!(substitute(&"${SKILL_DIR}".repeat(80_000), &long), None);
    }

    #[test]
    fn unused_arguments_are_appended() {
        check("Do it.", Some("a b"), "Do it.\n\nARGUMENTS: a b");
        check("Do it.", Some(""), "Do it.");
        check("Do it.", None, "Do it.");
    }

    #[test]
    fn arguments_are_split_like_in_a_shell() {
        for (text, expected) in [
            ("", &[][..]),
            ("  a  b ", &["a", "b"]),
            (r#""a b" 'c "d' e\ f"#, &["a b", "c \"d", "e f"]),
            (r#""" x"#, &["", "x"]),
            (r#"a"b"c"#, &["abc"]),
            ("'open", &["open"]),
            ("end\\", &["end"]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
