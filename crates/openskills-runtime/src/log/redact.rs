//! Takes secrets out of text before it is written.
//!
//! A secret is known by its form (tokens of well-known services, keys, credentials in an address) or by what it is called
//! (`PASSWORD=...`, `--token ...`). What has no such sign cannot be known; the log is the user's alone for that reason.

use std::borrow::Cow;

/// What stands for a secret.
pub const REDACTED: &str = "[redacted]";

/// How tokens of well-known services start, and how many characters they have at least.
const TOKENS: [(&str, usize); 26] = [
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 35),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 22),
    ("glpat-", 20),
    ("hf_", 20),
    ("npm_", 20),
    ("pypi-", 20),
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xoxa-", 16),
    ("xoxs-", 16),
    ("xapp-", 16),
    ("dop_v1_", 20),
    ("SG.", 20),
    ("eyJ", 30),
    ("ya29.", 20),
];

/// Words in the name of something whose value is a secret.
const NAMES: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "private_key",
    "authorization",
    "credential",
    "cookie",
];

/// Returns `text` without the secrets that can be known.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut ranges = Vec::new();
    private_keys(text, &mut ranges);
    words(text, &mut ranges);
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    ranges.sort_unstable();
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end) in ranges {
        if start >= at {
            clean.push_str(&text[at..start]);
            clean.push_str(REDACTED);
        }
        at = at.max(end);
    }
    clean.push_str(&text[at..]);
    Cow::Owned(clean)
}

/// Whole blocks of private keys, also ones that are cut off.
fn private_keys(text: &str, ranges: &mut Vec<(usize, usize)>) {
    const BEGIN: &str = "-----BEGIN ";
    const END: &str = "-----END ";
    for (start, _) in text.match_indices(BEGIN) {
        let label = &text[start + BEGIN.len()..];
        let is_private = label
            .get(..label.find("-----").unwrap_or(0))
            .is_some_and(|label| label.contains("PRIVATE KEY"));
        if is_private {
            let end = label.find(END).map_or(text.len(), |at| start + BEGIN.len() + at);
            ranges.push((start, end));
        }
    }
}

/// Tokens, values of things that are called secret, credentials in addresses.
fn words(text: &str, ranges: &mut Vec<(usize, usize)>) {
    let is_part =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/' | '=' | '~' | '%');
    // The value of a thing that was just named: `token=x`, `"token": "x"`, `--token x`, `Authorization: Bearer x`.
    let mut is_value = false;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        if end == 0 {
            let c = rest.chars().next().map_or(1, char::len_utf8);
            if rest.starts_with("://") {
                at = credentials(text, at + 3, ranges);
                continue;
            }
            if rest.starts_with(['\n', ';', '&', '|', ',', ')', '}']) {
                is_value = false;
            }
            at += c;
            continue;
        }
        let word = &rest[..end];
        if is_value && matches!(word.to_ascii_lowercase().as_str(), "bearer" | "basic" | "=") {
            at += end;
            continue;
        }
        if is_value {
            ranges.push((at, at + end));
            is_value = false;
        } else if let Some((name, value)) =
            word.split_once('=').filter(|(name, _)| is_secret_name(name))
        {
            if value.is_empty() {
                is_value = true;
            } else {
                ranges.push((at + name.len() + 1, at + end));
            }
        } else if is_secret_name(word) {
            is_value = is_followed_by_value(word, &rest[end..]);
        } else {
            let token = word.rsplit('=').next().unwrap_or(word);
            if is_token(token) {
                ranges.push((at + end - token.len(), at + end));
            }
        }
        at += end;
    }
}

/// A word is a name where a sign of assignment follows it, or where it is an option.
fn is_followed_by_value(word: &str, after: &str) -> bool {
    let after = after.trim_start_matches(['"', '\'']);
    after.trim_start_matches(' ').starts_with([':', '='])
        || (word.starts_with("--") && after.starts_with(' '))
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|part| name.contains(part)) || name.ends_with("_key") || name.ends_with("_pat")
}

fn is_token(word: &str) -> bool {
    TOKENS.iter().any(|(start, length)| {
        word.len() >= *length
            && word.starts_with(start)
            && word.chars().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
    })
}

/// `user:password@host`: hides the password; returns where to go on.
fn credentials(text: &str, at: usize, ranges: &mut Vec<(usize, usize)>) -> usize {
    let rest = &text[at..];
    let end = rest
        .find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '?' | '#'))
        .unwrap_or(rest.len());
    if let Some(user) = rest[..end].rfind('@') {
        let start = rest[..user].find(':').map_or(0, |colon| colon + 1);
        ranges.push((at + start, at + user));
        return at + user;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_form_or_name() {
        for (text, expected) in [
            ("git status", "git status"),
            (
                "curl -H 'Authorization: Bearer abc.def' x",
                "curl -H 'Authorization: Bearer [redacted]' x",
            ),
            ("TOKEN=abc make", "TOKEN=[redacted] make"),
            ("AWS_SECRET_ACCESS_KEY=abc/d+e make", "AWS_SECRET_ACCESS_KEY=[redacted] make"),
            ("x --password hunter2 y", "x --password [redacted] y"),
            ("x --password=hunter2 y", "x --password=[redacted] y"),
            (r#"{"api_key": "abc", "b": 1}"#, r#"{"api_key": "[redacted]", "b": 1}"#),
            ("git clone https://me:pw@host/x", "git clone https://me:[redacted]@host/x"),
            (
                "git clone https://ghp_0123456789abcdefghij@host/x",
                "git clone https://[redacted]@host/x",
            ),
            ("echo ghp_0123456789abcdefghij!", "echo [redacted]!"),
            ("id AKIAIOSFODNN7EXAMPLE", "id [redacted]"),
            ("export X=sk-proj-0123456789abcdefgh", "export X=[redacted]"),
            (
                "a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\n",
                "a\n[redacted]-----END RSA PRIVATE KEY-----\n",
            ),
            ("-----BEGIN PRIVATE KEY-----\nMII", "[redacted]"),
            ("token ring", "token ring"),
            ("the secret of life", "the secret of life"),
            ("tokens: 5, é", "tokens: [redacted], é"),
            ("", ""),
        ] {
            assert_eq!(redact(text), expected, "{text}");
        }
    }
}
