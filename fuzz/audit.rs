//! What must hold when the audit reads any bytes. Used by the fuzz targets and by a test with mutated samples.

#![allow(dead_code, reason = "every fuzz target uses one of these functions")]

use skill_audit::{File, RuleId, audit};

/// Separates the files of a skill in one input.
pub(crate) const SEPARATOR: &str = "\n//- ";

/// Panics if auditing the bytes as one file breaks a promise.
pub(crate) fn check_file(path: &str, bytes: &[u8]) {
    check(&[(path.to_owned(), bytes.to_vec())]);
}

/// Panics if auditing several files breaks a promise: each one starts with a line that has its path.
pub(crate) fn check_skill(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let files = text.split(SEPARATOR).map(|file| {
        let (path, body) = file.split_once('\n').unwrap_or(("SKILL.md", file));
        (path.trim().to_owned(), body.as_bytes().to_vec())
    });
    check(&files.collect::<Vec<_>>());
}

/// Panics if one of the two shell parsers does.
pub(crate) fn check_shell(text: &str) {
    let _ = shell::sketch::sketch(text);
    let _ = shell::sketch::escapes(text);
    let _ = shell::read(text);
}

fn check(files: &[(String, Vec<u8>)]) {
    let list: Vec<File<'_>> =
        files.iter().map(|(path, bytes)| File { path, bytes, is_executable: false }).collect();
    let report = audit("fuzzed", &list);
    for finding in &report.findings {
        // The audit contains its panics; a fuzzer needs to see them.
        assert!(finding.rule.id != RuleId::AUDIT_FAILED, "{}", finding.message);
        assert!(files.iter().any(|(path, _)| *path == finding.file), "{}", finding.file);
        assert!(finding.location.line >= 1 && finding.location.line <= finding.location.end_line);
        assert!(!finding.evidence.contains(skill::is_unsafe_to_show), "{:?}", finding.evidence);
    }
}
