//! Takes secrets out of text before it is written.
//!
//! A secret is known by its form (tokens of well-known services, keys, credentials in an address) or by what it is called
//! (`PASSWORD=...`, `--token ...`, `mysql -p...`). What has no such sign cannot be known; the log is the user's alone for that
//! reason. Rather too much is taken out than too little.

use std::borrow::Cow;

use serde_json::Value;

/// What stands for a secret.
pub const REDACTED: &str = "[redacted]";

/// How tokens of well-known services start, and how many characters they have at least.
const TOKENS: &[(&str, usize)] = &[
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
    ("glptt-", 20),
    ("hf_", 20),
    ("npm_", 20),
    ("pypi-", 20),
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("rk_test_", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xoxa-", 16),
    ("xoxs-", 16),
    ("xoxe.", 16),
    ("xapp-", 16),
    ("dop_v1_", 20),
    ("SG.", 20),
    ("eyJ", 30),
    ("ya29.", 20),
    ("hvs.", 20),
    ("dckr_pat_", 16),
    ("shpat_", 20),
    ("ATATT3", 20),
    ("gsk_", 20),
    ("whsec_", 16),
    ("lin_api_", 16),
    ("nvapi-", 16),
    ("AGE-SECRET-KEY-", 30),
    ("sq0atp-", 16),
];

/// Words in the name of something whose value is a secret, in small letters without `-` and `_`.
const NAMES: [&str; 19] = [
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
];
/// Names after which everything to the end of the text in quotes, or of the line, is a secret.
const WHOLE: [&str; 3] = ["authorization", "cookie", "proxyauthorization"];

/// Programs and their options whose value is a secret.
const OPTIONS: &[(&str, &[&str])] = &[
    ("curl", &["-u", "--user", "--proxy-user", "-U"]),
    ("wget", &["--http-password", "--ftp-password"]),
    ("mysql", &["-p"]),
    ("mysqldump", &["-p"]),
    ("sshpass", &["-p"]),
    ("docker", &["-p"]),
    ("redis-cli", &["-a"]),
    ("zip", &["-P"]),
    ("unzip", &["-P"]),
    ("ldapsearch", &["-w"]),
    ("openssl", &["-passin", "-passout", "-pass", "-k"]),
    ("smbclient", &["-U"]),
    ("ssh-keygen", &["-N", "-P"]),
    ("gh", &["--body", "-b"]),
];

/// Takes secrets out of every text in a value.
pub(crate) fn redact_all(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_all),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, value)| redact_all(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns `text` without the secrets that can be known.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut ranges = Vec::new();
    private_keys(text, &mut ranges);
    addresses(text, &mut ranges);
    tokens(text, &mut ranges);
    named(text, &mut ranges);
    options(text, &mut ranges);
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

type Ranges = Vec<(usize, usize)>;

/// Whole blocks of private keys, also ones that are cut off.
fn private_keys(text: &str, ranges: &mut Ranges) {
    const BEGIN: &str = "-----BEGIN ";
    for (start, _) in text.match_indices(BEGIN) {
        let label = &text[start + BEGIN.len()..];
        let name = label.find("-----").and_then(|end| label.get(..end));
        if name.is_some_and(|name| name.contains("PRIVATE KEY")) {
            let end = label.find("-----END ").map_or(text.len(), |at| start + BEGIN.len() + at);
            ranges.push((start, end));
        }
    }
}

/// Passwords in addresses, and addresses that are secrets themselves.
fn addresses(text: &str, ranges: &mut Ranges) {
    for (at, sign) in text.match_indices("://") {
        let start = at + sign.len();
        let rest = &text[start..];
        let end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>'))
            .unwrap_or(rest.len());
        let address = &rest[..end];
        if let Some(user) = address.rfind('@') {
            let before = &address[..user];
            match before.find(':') {
                Some(colon) => ranges.push((start + colon + 1, start + user)),
                // A user alone is a secret only where no path has begun.
                None if !before.contains('/') => ranges.push((start, start + user)),
                None => {}
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

/// Tokens of a known form, wherever a word begins, or right after an option of one letter.
fn tokens(text: &str, ranges: &mut Ranges) {
    let bytes = text.as_bytes();
    for at in 0..bytes.len() {
        let begins = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        let is_attached = at >= 2 && bytes[at - 2] == b'-';
        if !begins && !is_attached {
            continue;
        }
        let rest = &bytes[at..];
        let known = TOKENS.iter().find(|(start, _)| {
            start.as_bytes()[0] == rest[0] && rest.starts_with(start.as_bytes())
        });
        let Some((_, length)) = known else { continue };
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.+/=".contains(byte);
        let end = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let is_random = rest[..end].iter().filter(|byte| byte.is_ascii_digit()).count() >= 2;
        if end >= *length && is_random {
            ranges.push((at, at + end));
        }
    }
}

/// Values of things that are called secret.
fn named(text: &str, ranges: &mut Ranges) {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut at = 0;
    let mut before = "";
    let mut plain = String::new();
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
            before = word;
            continue;
        }
        plain.clear();
        plain.extend(
            word.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()),
        );
        let is_secret = NAMES.iter().any(|name| plain.contains(name)) && !is_harmless(&plain);
        let is_bearer = plain == "bearer";
        if is_secret || is_bearer {
            let is_set = matches!(before, "set" | "-x" | "add") || is_bearer;
            let written = if word.starts_with('-') || is_set {
                Written::AfterBlank
            } else {
                Written::AfterSign
            };
            if let Some((from, to)) = value(text, after, written) {
                let is_whole = WHOLE.iter().any(|name| plain.ends_with(name));
                let to = if is_whole { end_of_text(text, from) } else { to };
                let is_number = text[from..to].chars().all(|c| c.is_ascii_digit());
                // A number is a limit or a count, unless it is what opens a door.
                if to > from && (!is_number || plain.contains("pass") || plain.contains("pwd")) {
                    ranges.push((from, to));
                    at = to.max(at);
                }
            }
        }
        before = word;
    }
}

/// Names that only sound like secrets.
fn is_harmless(name: &str) -> bool {
    [
        "tokenize",
        "tokenlimit",
        "passthrough",
        "passive",
        "bypass",
        "compass",
        "passed",
        "passing",
        "tokens",
    ]
    .iter()
    .any(|harmless| name.contains(harmless) && !name.contains("auth"))
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    /// `name=value`, `name: value`.
    AfterSign,
    /// So, or `--name value`.
    AfterBlank,
}

/// Returns where the value of a name is: after a sign, or after a blank where that is how it is written.
fn value(text: &str, after: usize, written: Written) -> Option<(usize, usize)> {
    let rest = text[after..].trim_start_matches(['"', '\'']);
    let signed = rest.trim_start_matches([' ', '\t']);
    let at = if let Some(value) = signed.strip_prefix([':', '=']) {
        text.len() - value.trim_start_matches([' ', '\t']).len()
    } else if written == Written::AfterBlank && rest.starts_with([' ', '\t']) {
        text.len() - signed.len()
    } else {
        return None;
    };
    let rest = &text[at..];
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (start, end) = match quote {
        Some(quote) => {
            let inner = &rest[1..];
            (at + 1, at + 1 + inner.find(quote).unwrap_or(inner.len()))
        }
        None => {
            let is_end = |c: char| {
                c.is_whitespace() || matches!(c, ';' | '&' | '|' | '"' | '\'' | ',' | '}' | ')')
            };
            (at, at + rest.find(is_end).unwrap_or(rest.len()))
        }
    };
    Some((start, end))
}

/// Returns where the quotes or the line around a place end.
fn end_of_text(text: &str, from: usize) -> usize {
    let rest = &text[from..];
    from + rest.find(['"', '\'', '\n']).unwrap_or(rest.len())
}

/// Values of options that are secrets to certain programs.
fn options(text: &str, ranges: &mut Ranges) {
    let words: Vec<(usize, &str)> = text
        .split_whitespace()
        .map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
        .collect();
    let Some((_, known)) = words.iter().find_map(|(_, word)| {
        let name = word.rsplit('/').next().unwrap_or(word);
        OPTIONS.iter().find(|(program, _)| *program == name)
    }) else {
        return;
    };
    for (index, (at, word)) in words.iter().enumerate() {
        let Some(option) = known.iter().find(|option| word.starts_with(**option)) else { continue };
        let (start, value) = match word.strip_prefix(option) {
            Some("") => match words.get(index + 1) {
                Some((at, value)) => (*at, *value),
                None => continue,
            },
            // Short options have their value attached.
            Some(rest) if option.len() == 2 => (at + option.len(), rest.trim_start_matches('=')),
            _ => continue,
        };
        // A name before a colon or a percent sign is no secret.
        let from = value.find([':', '%']).map_or(0, |sign| sign + 1);
        if value.len() > from {
            ranges.push((start + from, start + value.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_form_or_name() {
        for (text, expected) in [
            ("git status", "git status"),
            ("curl -H 'Authorization: Bearer abc.def' x", "curl -H 'Authorization: [redacted]' x"),
            ("curl -H 'Authorization: Token X1' x", "curl -H 'Authorization: [redacted]' x"),
            ("curl -H 'Cookie: a=b; session=X' x", "curl -H 'Cookie: [redacted]' x"),
            ("TOKEN=abc make", "TOKEN=[redacted] make"),
            ("PASSWORD=p@S3cr3t make", "PASSWORD=[redacted] make"),
            ("PASSWORD=ab!X make", "PASSWORD=[redacted] make"),
            ("AWS_SECRET_ACCESS_KEY=abc/d+e make", "AWS_SECRET_ACCESS_KEY=[redacted] make"),
            ("DB_PASS=x MYSQL_PWD=y a", "DB_PASS=[redacted] MYSQL_PWD=[redacted] a"),
            ("x --password hunter2 y", "x --password [redacted] y"),
            ("x --password 'two words' y", "x --password '[redacted]' y"),
            ("x --password=hunter2 y", "x --password=[redacted] y"),
            ("x --pass 1234 y", "x --pass [redacted] y"),
            (r#"{"api_key": "abc d", "b": 1}"#, r#"{"api_key": "[redacted]", "b": 1}"#),
            (r#"{"max_tokens": 1000}"#, r#"{"max_tokens": 1000}"#),
            ("git clone https://me:p#w@host/x", "git clone https://me:[redacted]@host/x"),
            (
                "git clone https://ghp_0123456789abcdefghij@host/x",
                "git clone https://[redacted]@host/x",
            ),
            ("echo ghp_0123456789abcdefghij!", "echo [redacted]!"),
            ("cat /x/ghp_0123456789abcdefghij", "cat /x/[redacted]"),
            ("mysql -pghp_0123456789abcdefghij", "mysql -p[redacted]"),
            ("mysql -u me -pS3cret db", "mysql -u me -p[redacted] db"),
            ("curl -u me:S3cret x", "curl -u me:[redacted] x"),
            ("sshpass -p S3cret ssh h", "sshpass -p [redacted] ssh h"),
            (
                "aws configure set aws_secret_access_key X1",
                "aws configure set aws_secret_access_key [redacted]",
            ),
            (
                "curl https://hooks.slack.com/services/T0/B0/x",
                "curl https://hooks.slack.com/services/[redacted]",
            ),
            (
                "curl https://api.telegram.org/bot123:AAx/y",
                "curl https://api.telegram.org/bot[redacted]",
            ),
            ("id AKIAIOSFODNN7EXAMPLE9", "id [redacted]"),
            ("export X=sk-proj-0123456789abcdefgh", "export X=[redacted]"),
            (
                "a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\n",
                "a\n[redacted]-----END RSA PRIVATE KEY-----\n",
            ),
            ("-----BEGIN PRIVATE KEY-----\nMII", "[redacted]"),
            ("token ring", "token ring"),
            ("the secret of life", "the secret of life"),
            ("--token-limit 500", "--token-limit 500"),
            ("cargo test tokenize.py: ok", "cargo test tokenize.py: ok"),
            ("é TOKEN=é", "é TOKEN=[redacted]"),
            (
                "sha256:0123456789012345678901234567890123456789012345678901234567890123",
                "sha256:0123456789012345678901234567890123456789012345678901234567890123",
            ),
            ("", ""),
        ] {
            assert_eq!(redact(text), expected, "{text}");
        }
    }
}
