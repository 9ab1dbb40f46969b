//! Secrets that are recognizable by their name: what follows a name such as `PASSWORD`, in any notation.

use super::Ranges;

/// Words in names whose value is a secret, in lower case without `-` and `_`.
const NAMES: [&str; 22] = [
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "accountkey",
    "authkey",
    "authorization",
    "credential",
    "cookie",
    "signature",
    "jwt",
    "sharedaccesskey",
    "sessionkey",
    "encryptionkey",
    "signingkey",
    "masterkey",
];
/// Words that only look like those. They are removed first, so that `BYPASS_TOKEN` still counts as a token.
const HARMLESS: [&str; 10] = [
    "tokenize",
    "tokenlimit",
    "passthrough",
    "passive",
    "bypass",
    "compass",
    "passed",
    "passing",
    "passage",
    "passenger",
];
/// Words that mark a count of tokens.
const COUNTED: [&str; 9] =
    ["max", "min", "total", "num", "input", "output", "prompt", "completion", "used"];
/// Names after which everything up to the closing quote or the end of the line is a secret.
const WHOLE_LINE: [&str; 3] = ["authorization", "cookie", "proxyauthorization"];
/// Separators between a name and its value.
const SIGNS: [&str; 8] = [":=", "=>", "==", "=", ":", "%3D", "%3d", "%3A"];
/// Quotes, plain and escaped.
const QUOTES: [&str; 6] = ["\"", "'", "`", "&quot;", "%22", "\\u0022"];

/// Returns true if a name says that its value is a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let plain = plain(name);
    is_secret(&plain)
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn is_secret(plain: &str) -> bool {
    let is_named = |name: &str| NAMES.iter().any(|word| name.contains(word));
    if !is_named(plain) {
        return false;
    }
    let count = plain.strip_suffix("tokens").or_else(|| plain.strip_suffix("tokencount"));
    if count.is_some_and(|what| what.is_empty() || COUNTED.iter().any(|word| what.ends_with(word)))
    {
        return false;
    }
    if !HARMLESS.iter().any(|word| plain.contains(word)) {
        return true;
    }
    let mut rest = plain.to_owned();
    for word in HARMLESS {
        rest = rest.replace(word, " ");
    }
    is_named(&rest)
}

/// Finds the values of names that say they are secret.
pub(super) fn named(text: &str, ranges: &mut Ranges) {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut at = 0;
    let (mut before, mut two_before) = ("", "");
    while at < text.len() {
        let rest = &text[at..];
        let Some(start) = rest.find(is_name) else { return };
        let word_at = at + start;
        let rest = &text[word_at..];
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        let after = word_at + end;
        at = after;
        // The shortest names have three letters.
        if end < 3 {
            (two_before, before) = (before, word);
            continue;
        }
        let plain = plain(word);
        let is_after_login = two_before == "login" && plain == "password";
        let is_bearer = plain == "bearer";
        // The signature of a URL.
        let is_signature = plain == "sig" && text[..word_at].ends_with(['?', '&']);
        if is_bearer || is_signature || is_secret(&plain) {
            // As in `aws configure set KEY VALUE`, and in `.netrc`: `login NAME password VALUE`.
            let is_set = matches!(before, "set" | "-x" | "add") || is_bearer || is_after_login;
            let written = if text[..word_at].ends_with('<') {
                Notation::Tag
            } else if word.starts_with('-') || is_set {
                Notation::AfterBlank
            } else {
                Notation::AfterSign
            };
            if let Some((from, to)) = value(text, after, written) {
                let is_whole = WHOLE_LINE.iter().any(|name| plain.ends_with(name));
                let is_quoted = QUOTES.iter().any(|quote| text[..from].ends_with(quote));
                let to = if is_whole && !is_quoted { end_of_text(text, from) } else { to };
                let is_number = text[from..to].chars().all(|c| c.is_ascii_digit());
                // A number is a limit or a count, unless it is a password.
                if to > from && (!is_number || plain.contains("pass") || plain.contains("pwd")) {
                    ranges.push((from, to));
                    at = to.max(at);
                }
            }
        }
        (two_before, before) = (before, word);
    }
}

/// How a value is written after its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    /// `name=value`, `name: value`, `"name" => "value"`.
    AfterSign,
    /// The same, or `--name value`.
    AfterBlank,
    /// The same, or `<name>value</name>`.
    Tag,
}

/// Returns the range of the value after a name: after a separator, or after a blank if the notation allows that.
fn value(text: &str, after: usize, written: Notation) -> Option<(usize, usize)> {
    if written == Notation::Tag && text[after..].starts_with('>') {
        let rest = &text[after + 1..];
        return Some((after + 1, after + 1 + rest.find('<').unwrap_or(rest.len())));
    }
    let (unquoted, name_quote) = skip_quote(&text[after..]);
    if let Some(block) = block(text, unquoted) {
        return Some(block);
    }
    let rest = skip_colors(unquoted);
    let signed = skip_blanks(rest);
    let found = SIGNS.iter().find_map(|sign| signed.strip_prefix(sign));
    let found = found.or_else(|| name_quote.and_then(|_| after_value(unquoted)));
    let value = match found {
        // A path in code, such as `token::parse`.
        Some(value) if signed.starts_with("::") && !value.is_empty() => return None,
        Some(value) => skip_blanks(value),
        None if written == Notation::AfterBlank && rest.starts_with([' ', '\t']) => signed,
        None => return None,
    };
    if name_quote.is_some() && value.starts_with(['[', '{']) {
        let start = text.len() - value.len();
        return Some((start, start + bracketed(value)));
    }
    let (inner, quote) = skip_quote(value);
    // Three quotes count as one.
    let (inner, quote) = match quote {
        Some(("\"", 0)) if inner.starts_with("\"\"") => (&inner[2..], Some(("\"\"\"", 0))),
        Some(("'", 0)) if inner.starts_with("''") => (&inner[2..], Some(("'''", 0))),
        quote => (inner, quote),
    };
    let start = text.len() - inner.len();
    let length = match quote {
        Some((quote, depth)) => closing(inner, quote, depth),
        None => {
            let is_end = |c: char| {
                c.is_whitespace()
                    || matches!(c, ';' | '&' | '|' | '"' | '\'' | ',' | '}' | ')' | '<' | '\u{1b}')
            };
            inner.find(is_end).unwrap_or(inner.len())
        }
    };
    // Backslashes before the closing quote belong to the quote.
    let kept = inner[..length].trim_end_matches('\\');
    Some((start, start + kept.len()))
}

/// Returns the range of a YAML block: `name: |` followed by indented lines.
fn block(text: &str, after_name: &str) -> Option<(usize, usize)> {
    let sign = after_name.strip_prefix(':')?.trim_start_matches([' ', '\t']);
    let rest = sign.strip_prefix(['|', '>'])?;
    let rest =
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | ' '));
    let lines = rest.strip_prefix('\n')?;
    let is_inside = |line: &&str| line.starts_with([' ', '\t']) || line.trim().is_empty();
    let length: usize = lines.split_inclusive('\n').take_while(is_inside).map(str::len).sum();
    let start = text.len() - lines.len();
    let kept = lines[..length].trim_end();
    let blanks = kept.len() - kept.trim_start().len();
    Some((start + blanks, start + kept.len()))
}

/// Returns where a quote closes that was opened with `depth` backslashes. One with more backslashes is inside.
fn closing(text: &str, quote: &str, depth: usize) -> usize {
    let is_closing = |at: &usize| {
        let before = &text[..*at];
        before.len() - before.trim_end_matches('\\').len() <= depth
    };
    text.match_indices(quote).map(|(at, _)| at).find(is_closing).unwrap_or(text.len())
}

/// Skips a quote and the backslashes before it, and returns both.
fn skip_quote(text: &str) -> (&str, Option<(&'static str, usize)>) {
    let bare = text.trim_start_matches('\\');
    let depth = text.len() - bare.len();
    for quote in QUOTES {
        // The escape of a quote starts with a backslash itself.
        let from = if quote.starts_with('\\') { text } else { bare };
        if let Some(rest) = from.strip_prefix(quote) {
            return (rest, Some((quote, depth)));
        }
    }
    (text, None)
}

fn skip_blanks(text: &str) -> &str {
    skip_colors(text.trim_start_matches([' ', '\t']))
}

/// Skips terminal color codes, raw or escaped in JSON.
fn skip_colors(mut text: &str) -> &str {
    /// A terminal would not show anything hidden behind more of them.
    const MAX_COLORS: usize = 8;
    for _ in 0..MAX_COLORS {
        let Some(rest) = ["\u{1b}[", "\\u001b[", "\\x1b[", "\\033[", "\\e["]
            .iter()
            .find_map(|begin| text.strip_prefix(begin))
        else {
            return text;
        };
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        let Some(after) = rest.strip_prefix(|c: char| c.is_ascii_alphabetic()) else { return text };
        text = after.trim_start_matches([' ', '\t']);
    }
    text
}

/// Returns what follows the separator of `value`, as in `name="password" value="x"` and `"name": "password", "value":
/// "x"`.
fn after_value(text: &str) -> Option<&str> {
    let text = text.trim_start_matches([' ', '\t', '\n', ',']);
    let (word, _) = skip_quote(text);
    let is_value = word.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("value"));
    let rest = is_value.then(|| skip_blanks(skip_quote(&word[5..]).0))?;
    SIGNS.iter().find_map(|sign| rest.strip_prefix(sign))
}

/// Returns the length of a list or an object. One that is not closed extends to the end of the text.
fn bracketed(text: &str) -> usize {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => depth += 1,
            b']' | b'}' if !is_text => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// Returns where the surrounding quotes or the line end. Quotes after `=` are inside: `Digest response="x"`.
fn end_of_text(text: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(found) = text[at..].find(['"', '\'', '\n']) {
        let end = at + found;
        let before = text[from..end].trim_end_matches('\\');
        let quote = text[end..].chars().next().filter(|quote| *quote != '\n');
        let closing = quote.filter(|_| before.ends_with('=')).and_then(|quote| {
            let line = text[end + 1..].split('\n').next().unwrap_or_default();
            line.find(quote)
        });
        match closing {
            Some(closing) => at = end + 1 + closing + 1,
            None => return from + before.len(),
        }
    }
    text.len()
}
