//! Secrets that are recognizable by their form: private keys, credentials in URLs, tokens of well-known services.

use std::sync::LazyLock;

use super::Ranges;

/// Prefixes of the tokens of well-known services, and their minimum length.
const TOKENS: &[(&str, usize)] = &[
    ("AKIA", 20),
    ("ASIA", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 22),
    ("glpat-", 20),
    ("glptt-", 20),
    ("gloas-", 20),
    ("glrt-", 20),
    ("gldt-", 20),
    ("glcbt-", 20),
    ("glsa_", 20),
    ("pypi-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("rk_test_", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xoxa-", 16),
    ("xoxs-", 16),
    ("xoxe.", 16),
    ("xoxc-", 16),
    ("xoxd-", 16),
    ("xoxr-", 16),
    ("xapp-", 16),
    ("dop_v1_", 20),
    ("doo_v1_", 20),
    ("dor_v1_", 20),
    ("GOCSPX-", 20),
    ("ya29.", 20),
    ("hvs.", 20),
    ("hvb.", 20),
    ("dckr_pat_", 16),
    ("shpat_", 20),
    ("shpca_", 20),
    ("shppa_", 20),
    ("shpss_", 20),
    ("ATATT3", 20),
    ("ATCTT3", 20),
    ("whsec_", 16),
    ("lin_api_", 16),
    ("nvapi-", 16),
    ("AGE-SECRET-KEY-", 30),
    ("sq0atp-", 16),
    ("PMAK-", 20),
    ("NRAK-", 20),
    ("CCIPAT_", 20),
    ("tskey-", 20),
    ("sntrys_", 20),
    ("sntryu_", 20),
    ("rubygems_", 20),
    ("pscale_", 20),
    ("figd_", 20),
    ("pplx-", 20),
    ("FlyV1", 20),
    ("LTAI", 16),
];

/// Prefixes that ordinary words end with, such as `task-`. After a letter they count only if upper case, lower case and
/// digits follow.
const WEAK_TOKENS: &[(&str, usize)] = &[
    ("AIza", 35),
    ("hf_", 20),
    ("npm_", 20),
    ("sk-", 20),
    ("SG.", 20),
    ("eyJ", 30),
    ("gsk_", 20),
    ("xai-", 20),
    ("ntn_", 20),
    ("sbp_", 20),
    ("r8_", 20),
    ("dapi", 32),
];

/// The bytes that a token can start with, to skip most of a text quickly.
static FIRST: LazyLock<[bool; 256]> = LazyLock::new(|| {
    let mut first = [false; 256];
    for (begin, _) in TOKENS.iter().chain(WEAK_TOKENS) {
        first[usize::from(begin.as_bytes()[0])] = true;
    }
    first
});

/// Finds whole blocks of private keys, even truncated ones.
pub(super) fn private_keys(text: &str, ranges: &mut Ranges) {
    const BEGIN: &str = "-----BEGIN ";
    /// Longer than any label in use.
    const MAX_LABEL: usize = 64;
    let mut at = 0;
    while let Some(found) = text[at..].find(BEGIN) {
        let start = at + found;
        at = start + BEGIN.len();
        let label = text[at..].split("-----").next().unwrap_or_default();
        if label.len() <= MAX_LABEL && label.contains("PRIVATE KEY") {
            let end = text[at..].find("-----END ").map_or(text.len(), |end| at + end);
            ranges.push((start, end));
            at = end;
        }
    }
}

/// Finds passwords in URLs, and URLs that are secrets themselves.
pub(super) fn addresses(text: &str, ranges: &mut Ranges) {
    let mut at = 0;
    while let Some(found) = text[at..].find("//") {
        let start = at + found + 2;
        let has_scheme = text[..start - 2].ends_with(':');
        let rest = &text[start..];
        let end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>'))
            .unwrap_or(rest.len());
        let address = &rest[..end];
        at = start + end;
        if let Some(user) = address.rfind('@') {
            let before = &address[..user];
            match before.find(':') {
                Some(colon) if !is_port(&before[colon + 1..]) => {
                    ranges.push((start + colon + 1, start + user));
                }
                // A user without a password is a secret only before any path.
                None if has_scheme && !before.contains('/') => ranges.push((start, start + user)),
                Some(_) | None => {}
            }
        }
        for secret in ["hooks.slack.com/services/", "/bot"] {
            if let Some(found) = address.find(secret) {
                let after = found + secret.len();
                let is_secret = secret != "/bot" || address[after..].contains(':');
                if is_secret {
                    ranges.push((start + after, start + end));
                }
            }
        }
    }
}

/// Finds passwords in `user:password@host:22`, which has no scheme that marks it as a URL.
pub(super) fn logins(text: &str, ranges: &mut Ranges) {
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '[' | ']');
    let is_user = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    let mut start = 0;
    for word in text.split_inclusive(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=')) {
        let begin = start;
        start += word.len();
        let Some((login, host)) = word.rsplit_once('@') else { continue };
        let Some((user, password)) = login.split_once(':') else { continue };
        let port = host.trim_start_matches(is_host).strip_prefix(':');
        let has_port = port.is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()));
        let is_login = has_port && !user.is_empty() && user.chars().all(is_user);
        if is_login && !password.is_empty() && !is_port(password) {
            let from = begin + user.len() + 1;
            ranges.push((from, from + password.len()));
        }
    }
}

/// Finds bot tokens: a number, a colon, and characters that start with `AA`.
pub(super) fn bots(text: &str, ranges: &mut Ranges) {
    const MIN_DIGITS: usize = 6;
    const MIN_LETTERS: usize = 30;
    let bytes = text.as_bytes();
    for (colon, _) in text.match_indices(":AA") {
        let digits = bytes[..colon].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'-');
        let letters = bytes[colon + 1..].iter().take_while(is_letter).count();
        if digits >= MIN_DIGITS && letters >= MIN_LETTERS {
            ranges.push((colon - digits, colon + 1 + letters));
        }
    }
}

/// Returns true for digits followed by a path, as in `localhost:4873/@scope`.
fn is_port(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && text[digits..].starts_with('/')
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.+/=".contains(&byte)
}

/// Finds tokens of a known form anywhere, even after a letter, an escape or a color code.
pub(super) fn tokens(text: &str, ranges: &mut Ranges) {
    let bytes = text.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        if !is_part(bytes[start]) {
            start += 1;
            continue;
        }
        let length = bytes[start..].iter().position(|byte| !is_part(*byte));
        let end = length.map_or(bytes.len(), |length| start + length);
        tokens_of_run(bytes, start, end, ranges);
        start = end;
    }
}

/// Searches a run of token characters. The first token in it extends to its end.
fn tokens_of_run(bytes: &[u8], start: usize, end: usize, ranges: &mut Ranges) {
    let run = &bytes[start..end];
    let last = |is: fn(&u8) -> bool| run.iter().rposition(is);
    let digits =
        last(u8::is_ascii_digit).and_then(|last| run[..last].iter().rposition(u8::is_ascii_digit));
    // Random text has at least two digits; words do not.
    let Some(second_last_digit) = digits else { return };
    let is_mixed_until = last(u8::is_ascii_uppercase).min(last(u8::is_ascii_lowercase));
    for at in 0..=second_last_digit {
        if !FIRST[usize::from(run[at])] {
            continue;
        }
        let rest = &run[at..];
        let starts = |(begin, length): &&(&str, usize)| {
            rest.len() >= *length && rest.starts_with(begin.as_bytes())
        };
        let is_strong = TOKENS.iter().any(|token| starts(&token));
        let is_weak = WEAK_TOKENS.iter().any(|token| starts(&token));
        if !is_strong && !is_weak {
            continue;
        }
        let is_mixed = is_mixed_until.is_some_and(|last| at + 2 < last);
        if is_strong || is_mixed || begins(bytes, start + at) {
            ranges.push((start + at, end));
            return;
        }
    }
}

/// Returns true if a word starts here: at the start of the text, after anything but a letter or digit, after a
/// one-letter option, or after an escape (`
/// `, `%3D`, `\u001b[31m`, a color code).
fn begins(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    let Some((last, before)) = before.split_last() else { return true };
    if !last.is_ascii_alphanumeric() {
        return true;
    }
    let is_hex = |byte: &u8| byte.is_ascii_hexdigit();
    match before {
        [.., b'-' | b'\\'] => true,
        [.., b'%', first] if is_hex(first) && is_hex(last) => true,
        [.., b'\\', b'x', first] if is_hex(first) && is_hex(last) => true,
        [.., b'\\', b'u', a, b, c] if [a, b, c].into_iter().all(is_hex) && is_hex(last) => true,
        _ => {
            // The numbers of a color code are between a bracket and its letter.
            let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
            let tail = before.iter().rev().take(16).position(|byte| !is_number(byte));
            last.is_ascii_alphabetic()
                && tail.is_some_and(|tail| before[before.len() - 1 - tail] == b'[')
        }
    }
}
