//! Secrets do not survive, whatever surrounds them, and finding them costs no more than the text weighs.

#[path = "../../../../fuzz/redaction.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz target's file")]
mod check;

use std::time::{Duration, Instant};

use openskills_runtime::log::{Redactor, redact};
use proptest::prelude::*;

/// Pieces that names, signs, quotes, addresses, keys and tokens are made of.
const PIECES: [&str; 40] = [
    "password",
    "token",
    "=",
    ":",
    ":=",
    "=>",
    "\"",
    "'",
    "\\",
    "\\n",
    "%3D",
    "\u{1b}[31m",
    "://",
    "@",
    "/",
    "user",
    "-----BEGIN ",
    "PRIVATE KEY-----",
    "-----END ",
    "ghp_",
    "eyJ",
    "sk-",
    "0123456789",
    "abcdefghij",
    "[redacted]",
    "[",
    "]",
    " ",
    "\n",
    "curl",
    "-u",
    "mysql",
    "-p",
    "&quot;",
    "<",
    ">",
    "é",
    "authorization",
    "Bearer",
    "--",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(PIECES.as_slice()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_planted_secret_is_redacted(before in text(), after in text()) {
        check::check(&before, &after);
    }
}

#[test]
fn redaction_takes_linear_time_on_hostile_text() {
    let redactor = Redactor::new(["aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaab"]);
    for piece in [
        "://",
        "http://a:b@",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
        "eyJ0",
        "sk-a1",
        "token=1 ",
        "token= ",
        "password=\"",
        "a",
        "authorization: ",
        "curl -u ",
        "=",
        "\\",
        "\u{1b}[",
        "--token ",
        "<password>",
        "[redacted]",
        "\\u",
        "\\u0061",
        "%61",
        "%2561",
        "&#97;",
        "\u{1b}[1",
        "a\u{200b}",
        "61 ",
        "0000000 61 61\n",
        "\"token\":[",
        "\"token\":{\"",
        "cookie: a=\"",
        "u:p@h:2 ",
        "u:p@h:2",
        "1:AA",
        "\"password\" value",
    ] {
        let text = piece.repeat((256 << 10) / piece.len());
        let start = Instant::now();
        let _ = (redact(&text), redactor.redact(&text));
        assert!(start.elapsed() < Duration::from_secs(20), "{piece:?}: {:?}", start.elapsed());
    }
}
