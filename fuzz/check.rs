//! What must hold for any bytes taken as a SKILL.md. Used by the fuzz target and, on the corpus, by a test.

use skill::{
    Existence, Input, Severity, Source, Strictness, check_references, is_unsafe_to_show, parse,
    raw_frontmatter, read_codex_file,
};

/// Panics if reading `bytes` breaks a promise.
pub fn check(bytes: &[u8]) {
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
        assert!(parsed.diagnostics.len() < 1000);
        for diagnostic in &parsed.diagnostics {
            let span = diagnostic.span.expect("every problem of the text has a place");
            assert!(span.start.offset <= span.end.offset && span.end.offset <= bytes.len() + 1);
            let shown = term::render(diagnostic, Some(&source), term::Palette::Plain);
            assert!(!shown.contains(is_unsafe_to_show), "{shown:?}");
        }
    }
    if strict.document.is_some() {
        assert_eq!(strict.document, lenient.document);
    }
    if let Some(body) = &strict.body {
        let _ = check_references(&input, body, Strictness::Strict, |_| Existence::Missing);
    }
}
