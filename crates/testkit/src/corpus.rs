//! The corpus of skills: every case with the verdict of the reference library.
//!
//! `crates/skill/tests/corpus/cases.toml` explains the format. The parser is tested with the bytes, the
//! program with real folders made from the same cases.

#![expect(clippy::disallowed_methods, clippy::panic, reason = "writes fixtures for tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const CASES: &str = include_str!("../../skill/tests/corpus/cases.toml");
const REFERENCE: &str = include_str!("../../skill/tests/corpus/reference.json");

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// The name of the case.
    pub name: String,
    /// The name of the folder.
    pub directory: String,
    /// The name of the file; empty if there is none.
    pub file: String,
    /// The content of the file.
    pub bytes: Vec<u8>,
    /// What is on the disk.
    pub kind: CaseKind,
    /// Why our strict verdict differs from the reference's.
    pub differs: Option<String>,
    /// The verdict of the reference: `valid`, `invalid` or `crash`.
    pub reference: String,
}

/// What a case writes to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseKind {
    /// A folder with the file in it.
    Skill,
    /// A folder in which SKILL.md is a folder.
    Directory,
    /// Nothing.
    NoFolder,
    /// A file where the folder should be.
    PlainFile,
}

impl Case {
    /// Writes the case to `scratch` and returns the path to check.
    pub fn write(&self, scratch: &Path) -> PathBuf {
        let folder = scratch.join(&self.directory);
        let written = match self.kind {
            CaseKind::NoFolder => Ok(()),
            CaseKind::PlainFile => fs::write(&folder, &self.bytes),
            CaseKind::Directory => fs::create_dir_all(folder.join(&self.file)),
            CaseKind::Skill => fs::create_dir(&folder).and_then(|()| match self.file.as_str() {
                "" => Ok(()),
                name => fs::write(folder.join(name), &self.bytes),
            }),
        };
        written.expect("the case can be written");
        folder
    }
}

/// Returns every case, sorted by name.
pub fn cases() -> Vec<Case> {
    let table: toml::Table = CASES.parse().expect("the cases are TOML");
    let reference: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(REFERENCE).expect("the verdicts are JSON");
    let read = |(name, case): (String, toml::Value)| {
        let verdict = reference.get(&name).and_then(|result| result["verdict"].as_str());
        let verdict =
            verdict.unwrap_or_else(|| panic!("{name}: run scripts/reference_verdicts.py"));
        read_case(name, &case, verdict)
    };
    table.into_iter().map(read).collect()
}

fn read_case(name: String, case: &toml::Value, reference: &str) -> Case {
    let text = |key: &str| case.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let count = |key: &str| {
        case.get(key).and_then(toml::Value::as_integer).map_or(0, i64::unsigned_abs) as usize
    };
    let bytes = match text("hex") {
        Some(hex) => (0..hex.len())
            .step_by(2)
            .map(|index| u8::from_str_radix(&hex[index..index + 2], 16).expect("hex"))
            .collect(),
        None => {
            let text =
                text("text").unwrap_or_default().replace("{x}", &"x".repeat(count("repeat")));
            text.replace("{lines}", &"line\n".repeat(count("lines"))).into_bytes()
        }
    };
    let kind = match text("kind").as_deref() {
        None => CaseKind::Skill,
        Some("directory") => CaseKind::Directory,
        Some("no-folder") => CaseKind::NoFolder,
        Some("plain-file") => CaseKind::PlainFile,
        Some(other) => panic!("{name}: unknown kind {other}"),
    };
    Case {
        directory: text("dir").unwrap_or_else(|| "pdf".to_owned()),
        file: text("file").unwrap_or_else(|| "SKILL.md".to_owned()),
        differs: text("differs"),
        reference: reference.to_owned(),
        kind,
        bytes,
        name,
    }
}
