//! Real, harmless skills: almost none is blocked.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::fixtures::report;
use skill_audit::Verdict;

/// Harmless skills that are blocked, each with the reason.
const EXPECTED_BLOCKS: [(&str, &str); 1] = [(
    "skill-scanner",
    "a scanner's list of attacks: it contains encoded commands and encoded instructions verbatim",
)];

/// Harmless skills that need review, each with the reason.
const EXPECTED_REVIEWS: [(&str, &str); 5] = [
    ("gha-security-review", "quotes real attacks on workflows, with their hosts"),
    ("security-review", "quotes attacks in its reference pages"),
    ("mcp-implementation-security-review", "quotes `rm -rf /` as an attack"),
    ("namecheap", "tells the reader to `go` to a page, in words that could be a command"),
    ("brand-landingpage", "tells the agent not to bother the user with an installation"),
];
/// The maximum number of harmless skills that need review.
const MAX_REVIEWS: usize = 15;

fn skills(folder: &Path, found: &mut Vec<PathBuf>) {
    if folder.join("SKILL.md").exists() {
        found.push(folder.to_owned());
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            skills(&entry.path(), found);
        }
    }
}

pub(crate) fn files(root: &Path, folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(root, &path, found);
        } else if let Ok(bytes) = fs::read(&path) {
            found.push((path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), bytes));
        }
    }
}

/// `SKILL_CORPUS` is a folder of skills; CI unpacks one if it is available.
#[test]
fn harmless_skills_are_not_blocked() {
    let Some(corpus) = env::var_os("SKILL_CORPUS") else {
        // The corpus is third-party content and not part of this repository.
        println!("not measured: SKILL_CORPUS is not set");
        return;
    };
    let mut found = Vec::new();
    skills(Path::new(&corpus), &mut found);
    assert!(found.len() > 400, "only {} skills in the corpus", found.len());
    let (mut blocked, mut reviews) = (Vec::new(), Vec::new());
    for folder in &found {
        let mut all = Vec::new();
        files(folder, folder, &mut all);
        let report = report(&all);
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if matches!(report.verdict, Verdict::Review | Verdict::Unanalyzable) {
            reviews.push(name.clone());
        }
        if report.verdict == Verdict::Block
            && !EXPECTED_BLOCKS.iter().any(|(known, _)| *known == name)
        {
            let finding = report.findings.iter().find(|finding| finding.blocks).unwrap();
            blocked.push(format!(
                "{name}: {} {}:{} {}",
                finding.rule.id, finding.file, finding.location.line, finding.message
            ));
        }
    }
    assert!(blocked.is_empty(), "\n{}", blocked.join("\n"));
    assert!(reviews.len() <= MAX_REVIEWS, "{reviews:?}");
    let unexpected = |name: &&String| !EXPECTED_REVIEWS.iter().any(|(known, _)| known == name);
    assert_eq!(
        reviews.iter().find(unexpected),
        None,
        "explain it in EXPECTED_REVIEWS: {reviews:?}"
    );
}
