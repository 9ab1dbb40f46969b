//! Every case in the corpus: the verdict of the reference, and ours in strict and lenient mode.
//!
//! A case that differs from the reference states the reason, and a case with a reason must differ. Cases about the
//! file itself are covered by the tests of the program, with real folders.

use std::fmt::Write as _;

use expect_test::expect_file;
use skill::{
    Code, Diagnostic, Input, Parsed, SKILL_FILE, SKILL_FILE_FALLBACK, Severity, Strictness, parse,
};
use testkit::corpus::{Case, CaseKind, cases};

/// Returns the cases that are about the content of the file.
pub(crate) fn content_cases() -> Vec<Case> {
    let is_read = |case: &Case| [SKILL_FILE, SKILL_FILE_FALLBACK].contains(&case.file.as_str());
    cases().into_iter().filter(|case| case.kind == CaseKind::Skill && is_read(case)).collect()
}

pub(crate) fn parse_case(case: &Case, strictness: Strictness) -> Parsed {
    parse(
        &Input { file: SKILL_FILE, directory: Some(&case.directory), bytes: &case.bytes },
        strictness,
    )
}

fn verdict(case: &Case, strictness: Strictness) -> (bool, String) {
    let parsed = parse_case(case, strictness);
    let has_error =
        parsed.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    assert_eq!(
        parsed.document.is_none(),
        has_error,
        "{}: there must be a document exactly if there is no error",
        case.name
    );
    (!has_error, codes(&parsed.diagnostics))
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
fn every_case_has_its_verdict_in_both_modes() {
    let mut table = String::new();
    let mut wrong = Vec::new();
    for case in content_cases() {
        let answer = &case.reference;
        let (strict, strict_codes) = verdict(&case, Strictness::Strict);
        let (lenient, lenient_codes) = verdict(&case, Strictness::Lenient);
        let label = |ok: bool, yes: &'static str, no: &'static str| if ok { yes } else { no };
        writeln!(table, "{}", case.name).unwrap();
        writeln!(table, "  reference {answer}").unwrap();
        writeln!(table, "  strict    {} {strict_codes}", label(strict, "valid", "invalid"))
            .unwrap();
        writeln!(table, "  lenient   {} {lenient_codes}", label(lenient, "loaded", "rejected"))
            .unwrap();
        match (&case.differs, strict == (answer == "valid")) {
            (None, true) => {}
            (Some(reason), false) => writeln!(table, "  differs   {reason}").unwrap(),
            (None, false) => {
                wrong.push(format!("{}: differs from the reference without a reason", case.name));
            }
            (Some(_), true) => {
                wrong.push(format!("{}: has a reason to differ, but does not", case.name));
            }
        }
        if strict && !lenient {
            wrong.push(format!("{}: lenient mode rejects what strict mode accepts", case.name));
        }
    }
    let table: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    expect_file!["../corpus/verdicts.txt"].assert_eq(&table);
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_code_about_content_has_a_case() {
    let mut seen = Vec::new();
    for case in content_cases() {
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            seen.extend(
                parse_case(&case, strictness)
                    .diagnostics
                    .into_iter()
                    .map(|diagnostic| diagnostic.code),
            );
        }
    }
    // These concern files and folders, or need input too large for the table: other tests cover them.
    let covered_elsewhere = [
        Code::ToolRuleAnyCode,
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
        Code::Shadowed,
        Code::ContentDrift,
        Code::InstallMarker,
        Code::YamlTooDeep,
        Code::YamlTooBig,
        Code::NameUnknown,
        Code::JsonSyntax,
        Code::SchemaVersion,
        Code::MissingKey,
        Code::UnknownKey,
        Code::RefusedKey,
        Code::RuntimeRoot,
        Code::CommandPath,
        Code::CommandReserved,
        Code::ManifestConflict,
        Code::LegacyCommand,
        Code::BadIdentifier,
        Code::LockedKey,
        Code::BadReference,
        Code::DuplicateName,
        Code::UnknownAgent,
        Code::BadUrl,
        Code::BadPath,
        Code::BeyondMcpLimits,
        Code::NotListed,
        Code::MissingDependency,
        Code::DeniedByPolicy,
        Code::AgentsFile,
        Code::ReferenceMissing,
        Code::ReferenceEscapes,
        Code::ReferenceDeep,
    ];
    let missing: Vec<_> = Code::ALL
        .iter()
        .filter(|code| !seen.contains(code) && !covered_elsewhere.contains(code))
        .collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}
