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
    let mut blocked = Vec::new();
    for folder in &found {
        let mut all = Vec::new();
        files(folder, folder, &mut all);
        let report = report(&all);
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
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
}
