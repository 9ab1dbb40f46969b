//! Every case of the corpus: what the reference says, what we say strictly and leniently.
//!
//! Where we differ from the reference the case says why, and a case that says so must differ.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::expect_file;
use serde_json::Value;
use skill::{Code, Diagnostic, Input, Parsed, SKILL_FILE, Severity, Strictness, parse};

/// One case of `cases.toml`.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) directory: String,
    pub(crate) file: String,
    pub(crate) bytes: Vec<u8>,
    differs: Option<String>,
    is_directory: bool,
}

pub(crate) fn cases() -> Vec<Case> {
    let table: toml::Table = include_str!("../corpus/cases.toml").parse().unwrap();
    table.into_iter().map(|(name, case)| read_case(name, &case)).collect()
}

fn read_case(name: String, case: &toml::Value) -> Case {
    let text = |key: &str| case.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let count = |key: &str| {
        usize::try_from(case.get(key).and_then(toml::Value::as_integer).unwrap_or(0)).unwrap()
    };
    let bytes = match text("hex") {
        Some(hex) => (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect(),
        None => {
            let text = text("text").unwrap().replace("{x}", &"x".repeat(count("repeat")));
            text.replace("{lines}", &"line\n".repeat(count("lines"))).into_bytes()
        }
    };
    Case {
        directory: text("dir").unwrap_or_else(|| "pdf".to_owned()),
        file: text("file").unwrap_or_else(|| SKILL_FILE.to_owned()),
        differs: text("differs"),
        is_directory: text("kind").is_some(),
        bytes,
        name,
    }
}

impl Case {
    /// Returns true if the case is about the file's content, and not about the file.
    pub(crate) fn has_content(&self) -> bool {
        !self.is_directory && matches!(self.file.as_str(), "SKILL.md" | "skill.md")
    }

    pub(crate) fn parse(&self, strictness: Strictness) -> Parsed {
        parse(
            &Input { file: SKILL_FILE, directory: Some(&self.directory), bytes: &self.bytes },
            strictness,
        )
    }

    /// Returns the verdict and the codes. What is about the file itself is tested with `skill-fs` and
    /// the program; here it has the verdict that those give.
    fn verdict(&self, strictness: Strictness) -> (bool, String) {
        if !self.has_content() {
            let loads = strictness == Strictness::Lenient && self.file == "Skill.md";
            return (loads, "(file)".to_owned());
        }
        let parsed = self.parse(strictness);
        let has_error =
            parsed.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        assert_eq!(
            parsed.document.is_none(),
            has_error,
            "{}: a document exactly where nothing refuses it",
            self.name
        );
        (!has_error, codes(&parsed.diagnostics))
    }
}

fn codes(diagnostics: &[Diagnostic]) -> String {
    let mut codes: Vec<String> = Vec::new();
    for diagnostic in diagnostics {
        let code =
            format!("{}{}", &diagnostic.severity.as_str()[..1].to_uppercase(), diagnostic.code);
        let code = format!("{}:{}", &code[..1], &code[1..]);
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    codes.join(" ")
}

#[test]
fn every_case_has_its_verdict_in_both_levels() {
    let reference: BTreeMap<String, Value> =
        serde_json::from_str(include_str!("../corpus/reference.json")).unwrap();
    let mut table = String::new();
    let mut wrong = Vec::new();
    for case in cases() {
        let answer = reference.get(&case.name).and_then(|answer| answer["verdict"].as_str());
        let answer =
            answer.unwrap_or_else(|| panic!("{}: run scripts/reference_verdicts.py", case.name));
        let (strict, strict_codes) = case.verdict(Strictness::Strict);
        let (lenient, lenient_codes) = case.verdict(Strictness::Lenient);
        let word = |good: bool, yes: &'static str, no: &'static str| if good { yes } else { no };
        writeln!(table, "{}", case.name).unwrap();
        writeln!(table, "  reference {answer}").unwrap();
        writeln!(table, "  strict    {} {strict_codes}", word(strict, "valid", "invalid")).unwrap();
        writeln!(table, "  lenient   {} {lenient_codes}", word(lenient, "loaded", "refused"))
            .unwrap();
        match (&case.differs, strict == (answer == "valid")) {
            (None, true) => {}
            (Some(why), false) => writeln!(table, "  differs   {why}").unwrap(),
            (None, false) => wrong
                .push(format!("{}: differs from the reference and does not say why", case.name)),
            (Some(_), true) => {
                wrong.push(format!("{}: says that it differs, and does not", case.name));
            }
        }
        if strict && !lenient {
            wrong.push(format!("{}: lenient refuses what strict accepts", case.name));
        }
    }
    let table: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    expect_file!["../corpus/verdicts.txt"].assert_eq(&table);
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_code_about_content_has_a_case() {
    let mut seen = Vec::new();
    for case in cases().iter().filter(|case| case.has_content()) {
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            seen.extend(
                case.parse(strictness).diagnostics.into_iter().map(|diagnostic| diagnostic.code),
            );
        }
    }
    // These are about files and folders, or need input too large for the table: they have tests of their own.
    let elsewhere = [
        Code::PathNotFound,
        Code::PathNotText,
        Code::NoSkillFile,
        Code::NothingFound,
        Code::SearchLimit,
        Code::FileName,
        Code::FileNameCase,
        Code::NotAFile,
        Code::LinkEscapes,
        Code::FileTooLarge,
        Code::Unreadable,
        Code::YamlTooDeep,
        Code::YamlTooBig,
        Code::NameUnknown,
        Code::AgentsFile,
        Code::ReferenceMissing,
        Code::ReferenceEscapes,
        Code::ReferenceDeep,
    ];
    let missing: Vec<_> =
        Code::ALL.iter().filter(|code| !seen.contains(code) && !elsewhere.contains(code)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}
