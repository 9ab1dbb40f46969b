//! URIs of skills and their files: `skill://<id>/<path>`.

use std::fmt::Write;

const SCHEME: &str = "skill://";

/// Returns the URI of a skill's file, or of its folder if the path is empty.
pub fn uri(id: &str, path: &str) -> String {
    let mut uri = SCHEME.to_owned();
    let parts = id.split('/').chain(path.split('/').filter(|part| !part.is_empty()));
    for (number, part) in parts.enumerate() {
        if number > 0 {
            uri.push('/');
        }
        for byte in part.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                uri.push(char::from(byte));
            } else {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

/// Splits a URI into the longest known skill id and the path inside that skill.
pub fn parse(address: &str, is_known: impl Fn(&str) -> bool) -> Option<(String, String)> {
    let parts = segments(address)?;
    // Accept only the canonical URI of each file.
    if uri(&parts[0], &parts[1..].join("/")) != address {
        return None;
    }
    (1..=parts.len()).rev().find_map(|end| {
        let id = parts[..end].join("/");
        is_known(&id).then(|| (id, parts[end..].join("/")))
    })
}

/// Returns the decoded segments of a URI: those of the skill's id, then those of the path. `None` if it is not a skill
/// URI.
pub fn segments(uri: &str) -> Option<Vec<String>> {
    uri.strip_prefix(SCHEME)?.split('/').map(decoded).collect()
}

/// Decodes a segment. Rejects segments such as `..` that would give a file a second URI.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    let text = String::from_utf8(bytes).ok()?;
    let is_plain = !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '\0']);
    is_plain.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_round_trip() {
        let known = ["personal/pdf", "nested-a/b/c", "personal/ä b"];
        for (id, path, expected) in [
            ("personal/pdf", "SKILL.md", "skill://personal/pdf/SKILL.md"),
            ("personal/pdf", "", "skill://personal/pdf"),
            ("personal/pdf", "a/b c.md", "skill://personal/pdf/a/b%20c.md"),
            ("nested-a/b/c", "x", "skill://nested-a/b/c/x"),
            ("personal/ä b", "SKILL.md", "skill://personal/%C3%A4%20b/SKILL.md"),
        ] {
            assert_eq!(uri(id, path), expected);
            let back = parse(expected, |id| known.contains(&id));
            assert_eq!(back, Some((id.to_owned(), path.to_owned())));
        }
    }

    #[test]
    fn invalid_uris_are_rejected() {
        for uri in [
            "file:///etc/passwd",
            "skill://personal/pdf/../../etc/passwd",
            "skill://personal/pdf/%2e%2e/x",
            "skill://personal/pdf/a%2Fb",
            "skill://personal/pdf/%61.md",
            "skill://personal/%70df/a.md",
            "skill://personal/pdf/a%5f.md",
            "skill://personal/pdf/",
            "skill://personal/pdf/a%00",
            "skill://personal/pdf/%zz",
            "skill://personal/other/SKILL.md",
            "skill://",
        ] {
            assert_eq!(parse(uri, |id| id == "personal/pdf"), None, "{uri}");
        }
    }
}
