//! Secrets that show by their form: private keys, credentials in addresses, tokens of well-known services.

use std::sync::LazyLock;

use super::Ranges;

/// How tokens of well-known services start, and how many characters they have at least.
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

/// The same for beginnings that ordinary words end with, such as `task-`. Behind a letter these count only with letters of both
/// cases and digits in what follows.
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

/// Which bytes a token can start with: most places of a text are passed over by this alone.
static FIRST: LazyLock<[bool; 256]> = LazyLock::new(|| {
    let mut first = [false; 256];
    for (begin, _) in TOKENS.iter().chain(WEAK_TOKENS) {
        first[usize::from(begin.as_bytes()[0])] = true;
    }
    first
});

/// Whole blocks of private keys, also ones that are cut off.
pub(super) fn private_keys(text: &str, ranges: &mut Ranges) {
    const BEGIN: &str = "-----BEGIN ";
    /// The longest label there is, with room to spare.
    const LABEL: usize = 64;
    let mut at = 0;
    while let Some(found) = text[at..].find(BEGIN) {
        let start = at + found;
        at = start + BEGIN.len();
        let label = text[at..].split("-----").next().unwrap_or_default();
        if label.len() <= LABEL && label.contains("PRIVATE KEY") {
            let end = text[at..].find("-----END ").map_or(text.len(), |end| at + end);
            ranges.push((start, end));
            at = end;
        }
    }
}

/// Passwords in addresses, and addresses that are secrets themselves.
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
                // A user alone is a secret only where no path has begun.
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

/// Passwords before a host with a port, where no scheme says that it is an address: `user:password@host:22`.
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

/// Tokens of bots: a number, a colon, and letters that begin with `AA`.
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

/// Returns true for digits with a path behind them, as in `localhost:4873/@scope`.
fn is_port(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && text[digits..].starts_with('/')
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.+/=".contains(&byte)
}

/// Tokens of a known form, wherever they begin: behind a letter, an escape or a color as well.
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

/// Looks at characters that stand together. The first token in them reaches to their end.
fn tokens_of_run(bytes: &[u8], start: usize, end: usize, ranges: &mut Ranges) {
    let run = &bytes[start..end];
    let last = |is: fn(&u8) -> bool| run.iter().rposition(is);
    let digits =
        last(u8::is_ascii_digit).and_then(|last| run[..last].iter().rposition(u8::is_ascii_digit));
    // Two digits at least: what is random has them, and words have not.
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

/// Returns true if a word begins at a place: at the beginning, behind what is no letter and no digit, behind an option of one
/// letter, or behind an escape (`\n`, `%3D`, `\u001b[31m`, a color).
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
            // The numbers of a color stand between a bracket and its letter.
            let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
            let tail = before.iter().rev().take(16).position(|byte| !is_number(byte));
            last.is_ascii_alphabetic()
                && tail.is_some_and(|tail| before[before.len() - 1 - tail] == b'[')
        }
    }
}
