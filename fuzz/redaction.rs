//! What must hold when secrets are taken out of any text. Used by the fuzz target and by a property test.

use openskills_runtime::log::{Redactor, redact};

/// A value that was granted, and how programs may print it.
const VALUE: &str = "pl4nted \"Value\"/ü+x";
const FORMS: [&str; 7] = [
    VALUE,
    "pl4nted \\\"Value\\\"/ü+x",
    "pl4nted \\\\\\\"Value\\\\\\\"/ü+x",
    "pl4nted%20%22Value%22%2F%C3%BC%2Bx",
    "pl4nted%20%22Value%22%2f%c3%bc%2bx",
    "cGw0bnRlZCAiVmFsdWUiL8O8K3",
    "706c346e746564202256616c7565222fc3bc2b78",
];
/// Tokens that show by their form.
const TOKENS: [&str; 6] = [
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "AKIAIOSFODNN7EXAMPL3",
    "github_pat_11ABCDEFG0123456789_abcdefghij",
    "sk-proj-Ab0123456789Cdefghij",
    "xoxb-0123456789-abcdefghij",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
];

/// Panics if a secret survives between two texts, or if taking secrets out twice is not the same as once.
pub fn check(before: &str, after: &str) {
    let text = [before, after].concat();
    let clean = redact(&text);
    assert_eq!(redact(&clean), clean, "{text:?}");
    let redactor = Redactor::new([VALUE]);
    for form in FORMS {
        let planted = [before, form, after].concat();
        let clean = redactor.redact(&planted);
        assert!(!clean.contains(form), "{planted:?}: {clean:?}");
        assert_eq!(redactor.redact(&clean), clean, "{planted:?}");
    }
    for token in TOKENS {
        let planted = [before, token, after].concat();
        let clean = redact(&planted);
        assert!(!clean.contains(token), "{planted:?}: {clean:?}");
    }
}
