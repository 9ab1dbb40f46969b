//! Audits every skill below a folder and prints the verdicts and the time per skill. Arguments: the folder, and `all`
//! or a verdict to list.

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a measuring tool")]

use std::path::{Path, PathBuf};

fn main() {
    let root = PathBuf::from(std::env::args().nth(1).expect("usage: scan <FOLDER> [all|VERDICT]"));
    let listed = std::env::args().nth(2).unwrap_or_default();
    let mut skills = Vec::new();
    find(&root, &mut skills);
    skills.sort();
    let (mut counts, start) = (std::collections::BTreeMap::new(), std::time::Instant::now());
    for folder in &skills {
        let mut files = Vec::new();
        collect(folder, folder, &mut files);
        let files: Vec<skill_audit::File<'_>> = files
            .iter()
            .map(|(path, bytes)| skill_audit::File { path, bytes, is_executable: false })
            .collect();
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let report = skill_audit::audit(&name, &files);
        *counts.entry(report.verdict.as_str()).or_insert(0) += 1;
        if listed == "all" || report.verdict.as_str() == listed {
            println!("{} {}", report.verdict, folder.display());
            for finding in report
                .findings
                .iter()
                .filter(|finding| finding.severity >= skill_audit::Severity::Medium)
            {
                println!(
                    "    {} {} {}{}:{} {:?} {}",
                    finding.rule.id,
                    finding.severity.as_str(),
                    if finding.blocks { "BLOCKS " } else { "" },
                    finding.file,
                    finding.location.line,
                    finding.role,
                    finding.message
                );
            }
        }
    }
    println!(
        "{} skills, {counts:?}, {:.2} ms each",
        skills.len(),
        start.elapsed().as_secs_f64() * 1000.0 / skills.len().max(1) as f64
    );
}

fn find(folder: &Path, skills: &mut Vec<PathBuf>) {
    if folder.join("SKILL.md").exists() {
        skills.push(folder.to_owned());
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            find(&entry.path(), skills);
        }
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, files);
        } else if let Ok(bytes) = std::fs::read(&path) {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            files.push((name, bytes));
        }
    }
}
