//! Recognizes sed scripts that only print, delete and replace.

/// Returns true if a script, possibly of several commands, is harmless.
pub(super) fn are_plain(script: &str) -> bool {
    // A replacement may contain the separator `;`, so the script is also checked as a whole.
    let is_one = is_plain(script);
    is_one || script.split(';').all(|part| is_plain(part.trim()))
}

/// Returns the command after its line addresses: numbers, `$`, and patterns between slashes.
fn after_address(script: &str) -> Option<&str> {
    let mut rest = script;
    loop {
        rest = rest
            .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '!' | ' '));
        let Some(pattern) = rest.strip_prefix('/') else { return Some(rest) };
        let end = pattern.find('/')?;
        if pattern[..end].contains('\\') && pattern[..end].ends_with('\\') {
            return None;
        }
        rest = &pattern[end + 1..];
    }
}

/// Returns true for a line address followed by `p`, `d`, `q` or `=`, or by a replacement without the flags that execute
/// or write.
fn is_plain(script: &str) -> bool {
    let Some(command) = after_address(script.trim()) else { return false };
    if matches!(command, "" | "p" | "d" | "q" | "=") {
        return true;
    }
    let Some(rest) = command.strip_prefix('s') else { return false };
    let Some(mark) = rest.chars().next().filter(char::is_ascii_punctuation) else { return false };
    let parts: Vec<&str> = rest[1..].split(mark).collect();
    // An escaped delimiter or a newline would split the parts incorrectly.
    parts.len() == 3
        && mark != '\\'
        && !parts[..2].iter().any(|part| part.ends_with('\\'))
        && !script.contains('\n')
        && parts[2].chars().all(|c| matches!(c, 'g' | 'i' | 'I' | 'p') || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_sed_scripts_are_recognized_as_plain() {
        for script in [
            "p",
            "1,3p",
            "$d",
            "5q",
            "s/a/b/",
            "s|a|b|g",
            "1,$s/x y/z/gi",
            "2!d",
            "/foo/p",
            "/^$/d",
            "/a/,/b/p",
        ] {
            assert!(is_plain(script), "{script}");
        }
        for script in [
            "1e touch p",
            "s/.*/touch p/e",
            "w p",
            "s/a/b/w out",
            "r /etc/passwd",
            "s/a/b/;e x",
            "s/a/b\\/e",
            "p;e",
            "s\\a\\b\\e",
            "y/a/b/;w x",
            "a\nw x",
        ] {
            assert!(!is_plain(script), "{script}");
        }
    }
}
