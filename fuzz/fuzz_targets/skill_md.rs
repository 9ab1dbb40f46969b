//! Any bytes as a SKILL.md: no panic, no hang, a document or an error, places inside the file, and
//! nothing that steers a terminal.
//!
//!     cargo install cargo-fuzz
//!     cargo +nightly fuzz run skill_md -- -max_total_time=60

#![no_main]

use libfuzzer_sys::fuzz_target;
use skill::{
    Existence, Input, Severity, Source, Strictness, check_references, is_unsafe_to_show, parse,
    raw_frontmatter, read_codex_file,
};

fuzz_target!(|bytes: &[u8]| {
    let input = Input { file: "SKILL.md", directory: Some("pdf"), bytes };
    let _ = read_codex_file(&input);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = raw_frontmatter(text).map(|raw| raw.to_json());
    }
    let text = String::from_utf8_lossy(bytes);
    let source = Source::new(&text);
    let strict = parse(&input, Strictness::Strict);
    let lenient = parse(&input, Strictness::Lenient);
    for parsed in [&strict, &lenient] {
        let refused = parsed.diagnostics.iter().any(|d| d.severity == Severity::Error);
        assert_eq!(parsed.document.is_none(), refused);
        for diagnostic in &parsed.diagnostics {
            let span = diagnostic.span.expect("every problem of the text has a place");
            assert!(span.start.offset <= span.end.offset && span.end.offset <= bytes.len() + 1);
            let shown = term::render(diagnostic, Some(&source), term::Palette::Plain);
            assert!(!shown.contains(|c| is_unsafe_to_show(c)), "{shown:?}");
        }
    }
    if let Some(document) = &strict.document {
        assert_eq!(strict.document, lenient.document);
        let _ = check_references(&input, document, Strictness::Strict, |_| Existence::Missing);
    }
});
