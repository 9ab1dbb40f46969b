//! Checks an index of git before it is applied. Git writes the files that an index names, so it must name only files of
//! the working tree: not the repository's own, and nothing outside.

/// The signature of an index.
const SIGNATURE: &[u8] = b"DIRC";
/// The length of the signature, the version and the number of entries.
const HEADER: usize = 12;
/// The length of the times, ids and size at the beginning of an entry.
const STAT: usize = 40;
/// The flag for two more bytes of flags.
const EXTENDED: u16 = 0x4000;
/// Extensions that contain no names of files to write.
const EXTENSIONS: [&[u8]; 8] =
    [b"TREE", b"REUC", b"UNTR", b"FSMN", b"EOIE", b"IEOT", b"link", b"sdir"];

const MALFORMED: &str = "it is not an index that git writes";

/// Returns why an index is refused, if it is. `hash` is the length of an object's name.
pub(super) fn refusal(bytes: &[u8], hash: usize) -> Option<&'static str> {
    match check(bytes, hash) {
        Some(true) => None,
        Some(false) => {
            Some("it names a file outside of the working tree, or of the repository itself")
        }
        None => Some(MALFORMED),
    }
}

/// Returns whether all names are allowed; `None` if the index is malformed.
fn check(bytes: &[u8], hash: usize) -> Option<bool> {
    let (body, _) = bytes.split_at_checked(bytes.len().checked_sub(hash)?)?;
    let version = number(body, 4)?;
    if !body.starts_with(SIGNATURE) || !(2..=4).contains(&version) {
        return None;
    }
    let mut at = HEADER;
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..number(body, 8)? {
        let start = at;
        let flags = body.get(at + STAT + hash..at + STAT + hash + 2)?;
        let flags = u16::from_be_bytes(flags.try_into().ok()?);
        at += STAT + hash + if flags & EXTENDED == 0 { 2 } else { 4 };
        if version == 4 {
            let (strip, length) = varint(body.get(at..)?)?;
            at += length;
            name.truncate(name.len().checked_sub(strip)?);
        } else {
            name.clear();
        }
        let rest = body.get(at..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(&rest[..end]);
        at += end + 1;
        if version < 4 {
            // Entries are padded with one to eight null bytes.
            at = start + (at - 1 - start) / 8 * 8 + 8;
        }
        if !is_allowed(&name) {
            return Some(false);
        }
    }
    while at < body.len() {
        let signature = body.get(at..at + 4)?;
        if !EXTENSIONS.contains(&signature) {
            return None;
        }
        at = at.checked_add(8)?.checked_add(number(body, at + 4)?)?;
    }
    (at == body.len()).then_some(true)
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_be_bytes(four.try_into().ok()?)).ok()
}

/// Reads a number as git packs it. Returns it and its length.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value = (value << 7) | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value += 1;
    }
    None
}

/// Returns true for a path below the working tree that is not the repository's own, on any file system.
fn is_allowed(name: &[u8]) -> bool {
    // A sparse folder ends with a slash.
    let name = name.strip_suffix(b"/").unwrap_or(name);
    name.split(|byte| *byte == b'/').all(|part| {
        let part = String::from_utf8_lossy(part);
        !part.is_empty() && part != "." && part != ".." && !skill::is_git_folder(&part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an index of version 2 with these names.
    fn index(names: &[&str]) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x02".to_vec();
        bytes.extend(u32::try_from(names.len()).expect("few").to_be_bytes());
        for name in names {
            let start = bytes.len();
            bytes.extend([0; STAT + 20]);
            bytes.extend(u16::try_from(name.len()).expect("short").to_be_bytes());
            bytes.extend(name.as_bytes());
            let length = bytes.len() - start;
            bytes.resize(start + length / 8 * 8 + 8, 0);
        }
        bytes.extend([0; 20]);
        bytes
    }

    #[test]
    fn an_index_names_only_files_of_the_working_tree() {
        let is_refused = |names: &[&str]| refusal(&index(names), 20).is_some();
        assert!(
            !is_refused(&[])
                && !is_refused(&["a", "src/deep/file.rs", ".gitignore", "x/.github/y"])
        );
        for name in [
            ".git/hooks/pre-commit",
            ".GIT/config",
            "sub/.git/config",
            "git~1/config",
            "../outside",
            "a/../../b",
            "/etc/passwd",
            "a//b",
            "./a",
            "",
        ] {
            assert!(is_refused(&["a", name]), "{name}");
        }
        let good = index(&["a"]);
        for bad in [&good[..good.len() - 1], b"", b"DIRC", &[good.as_slice(), &[0; 8]].concat()] {
            assert_eq!(refusal(bad, 20), Some(MALFORMED));
        }
        let mut unknown = index(&["a"]);
        let end = unknown.len() - 20;
        unknown.splice(end..end, *b"EVIL\0\0\0\0");
        assert_eq!(refusal(&unknown, 20), Some(MALFORMED));
        let mut tree = index(&["a"]);
        tree.splice(end..end, *b"TREE\0\0\0\x02xx");
        assert_eq!(refusal(&tree, 20), None);
    }
}
