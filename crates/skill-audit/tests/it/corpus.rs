//! Real skills that mean well: hardly any is refused.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::fixtures::report;
use skill_audit::Verdict;

/// Skills that are refused although they mean well, each with the reason.
const EXPLAINED: [(&str, &str); 1] = [(
    "skill-scanner",
    "a scanner's list of attacks: encoded commands that run when decoded, and encoded instructions, stand there word for word",
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

/// `SKILL_CORPUS` names a folder of skills; CI unpacks one where it has it.
#[test]
fn real_skills_that_mean_well_are_not_refused() {
    let Some(corpus) = env::var_os("SKILL_CORPUS") else {
        // The skills are other people's and no part of this repository; CI looks for them.
        println!("not measured: SKILL_CORPUS names no folder of skills");
        return;
    };
    let mut found = Vec::new();
    skills(Path::new(&corpus), &mut found);
    assert!(found.len() > 400, "only {} skills in the corpus", found.len());
    let mut refused = Vec::new();
    for folder in &found {
        let mut all = Vec::new();
        files(folder, folder, &mut all);
        let report = report(&all);
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if report.verdict == Verdict::Block && !EXPLAINED.iter().any(|(known, _)| *known == name) {
            let why = report.findings.iter().find(|finding| finding.blocks).unwrap();
            refused.push(format!(
                "{name}: {} {}:{} {}",
                why.rule.id, why.file, why.location.line, why.message
            ));
        }
    }
    assert!(refused.is_empty(), "\n{}", refused.join("\n"));
}
