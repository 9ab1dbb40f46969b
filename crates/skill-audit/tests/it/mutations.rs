//! Mutated samples make no parser and no rule panic.
//!
//! `AUDIT_FUZZ_SECONDS` is the time for each kind of input; without it, each one gets a few hundred mutations.
//! `AUDIT_FUZZ_LAST` names a file for the input that is being checked, in case the process crashes. The fuzz targets in
//! `fuzz/` check the same promises with coverage feedback.

#[path = "../../../../fuzz/audit.rs"]
mod audit;

use std::time::{Duration, Instant};
use std::{env, fs};

use crate::fixtures::cases;

const MUTATIONS: usize = 250;

/// What mutations insert: characters of several bytes, quotes, and openings that parsers wait for the end of.
const PIECES: &[&str] = &[
    "…",
    "🦀",
    "é",
    "\u{200b}",
    "\u{202e}",
    "\u{e0041}",
    "—",
    "\u{feff}",
    "\0",
    "\"",
    "'",
    "`",
    "$(",
    "${",
    "<<EOF\n",
    "<(",
    "\\",
    "\\\n",
    "{a,b}",
    "((",
    "[[ ",
    "```bash\n",
    "```\n",
    "---\n",
    "<!--",
    "f\"{",
    "%s",
    "&#99;",
    "://",
    "| sh",
    "\n",
    "\t",
    "#",
    ";",
    "=",
    "\"…",
    "…\"",
    "$'\\x",
    "| `a` |\n",
    "curl ",
    "https://é.example/…",
    "password: …",
];

/// A small random number generator, so that every run tests the same inputs.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % bound.max(1)
    }
}

fn mutated(sample: &[u8], samples: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = sample.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let until = (at + random.below(12)).min(bytes.len());
        let piece = PIECES[random.below(PIECES.len())].as_bytes();
        match random.below(5) {
            0 => drop(bytes.splice(at..at, piece.iter().copied())),
            1 => drop(bytes.splice(at..until, piece.iter().copied())),
            2 => bytes.truncate(at),
            3 => drop(bytes.splice(at..at, [0x80 | u8::try_from(random.below(128)).unwrap()])),
            _ => {
                let other = &samples[random.below(samples.len())];
                let from = random.below(other.len());
                let until = (from + random.below(300)).min(other.len());
                drop(bytes.splice(at..at, other[from..until].iter().copied()));
            }
        }
    }
    bytes
}

/// Runs `check` on mutations of the samples.
fn mutate(samples: &[Vec<u8>], seed: u64, check: impl Fn(&[u8])) {
    let seconds = env::var("AUDIT_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let last = env::var_os("AUDIT_FUZZ_LAST");
    let (started, time) = (Instant::now(), seconds.map(Duration::from_secs));
    let mut random = Random(seed | 1);
    let mut count = 0;
    while time.map_or(count < MUTATIONS, |time| started.elapsed() < time) {
        let sample = &samples[random.below(samples.len())];
        let input = mutated(sample, samples, &mut random);
        if let Some(path) = &last {
            fs::write(path, &input).unwrap();
        }
        check(&input);
        count += 1;
    }
}

/// Returns the files of all cases whose paths end like this.
fn samples(end: &str) -> Vec<Vec<u8>> {
    let files = cases().into_iter().flat_map(|case| case.files);
    let small = files.filter(|(path, bytes)| path.ends_with(end) && bytes.len() < 20_000);
    small.map(|(_, bytes)| bytes).collect()
}

#[test]
fn mutated_markdown_does_not_panic() {
    mutate(&samples(".md"), 11, |bytes| audit::check_file("SKILL.md", bytes));
}

#[test]
fn mutated_scripts_do_not_panic() {
    for (path, end, seed) in [
        ("go.sh", ".sh", 21),
        ("go.py", ".py", 22),
        ("go.js", "js", 23),
        ("go.ts", "js", 24),
        ("go.ps1", ".sh", 25),
        ("data.json", ".md", 26),
        ("image.svg", ".md", 27),
    ] {
        mutate(&samples(end), seed, |bytes| audit::check_file(path, bytes));
    }
}

#[test]
fn mutated_skills_do_not_panic() {
    let whole = |case: crate::fixtures::Case| {
        let files = case.files.into_iter().filter(|(_, bytes)| bytes.len() < 20_000);
        let files = files.map(|(path, bytes)| [path.as_bytes(), b"\n", &bytes].concat());
        files.collect::<Vec<_>>().join(audit::SEPARATOR.as_bytes())
    };
    let skills: Vec<Vec<u8>> = cases().into_iter().map(whole).collect();
    mutate(&skills, 31, audit::check_skill);
}

#[test]
fn mutated_commands_do_not_panic() {
    let blocks = samples(".md").into_iter().chain(samples(".sh"));
    let blocks: Vec<Vec<u8>> = blocks.collect();
    mutate(&blocks, 41, |bytes| audit::check_shell(&String::from_utf8_lossy(bytes)));
}

/// Text next to characters of several bytes, where byte offsets are easily wrong.
#[test]
fn quotes_and_here_documents_around_long_characters_are_parsed() {
    for text in [
        "cat <<EOF\nwait … $(date)…\nEOF\n",
        "cat <<EOF\n🦀$X…",
        "echo \"…",
        "echo \"a…$X…",
        "echo \"$(x …",
        "x=…\"${Y}…",
        "echo …'é'\"…\"$'…",
        "echo \"\u{200b}$\"…",
        "f() { echo \"…$1…; }",
        "[ \"… ] && x",
        // The grammar's scanner read beyond a table for these.
        "name: ${\u{e0041}",
        "${\u{e0041}} $\u{1f980} ${#\u{10ffff}",
    ] {
        audit::check_shell(text);
        audit::check_file("a.sh", text.as_bytes());
        let fenced = format!("```bash\n{text}\n```\n");
        for end in 0..fenced.len() {
            audit::check_file("SKILL.md", &fenced.as_bytes()[..end]);
        }
    }
}
