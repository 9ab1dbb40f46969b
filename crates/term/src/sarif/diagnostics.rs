//! Diagnostics as SARIF.

use skill::{Code, Diagnostic, Severity};

use super::{Driver, Finding, Level, Location, Log, Region, Rule};

/// Returns the SARIF log of one run of `tool`.
pub fn diagnostics<'a>(
    tool: &str,
    version: &str,
    diagnostics: impl IntoIterator<Item = &'a Diagnostic>,
) -> Log {
    let mut codes: Vec<Code> = Vec::new();
    let mut results = Vec::new();
    for diagnostic in diagnostics {
        let index = codes.iter().position(|code| *code == diagnostic.code).unwrap_or_else(|| {
            codes.push(diagnostic.code);
            codes.len() - 1
        });
        results.push(Finding { rule_index: Some(index), ..finding(diagnostic) });
    }
    let driver = Driver {
        name: tool.to_owned(),
        version: version.to_owned(),
        information_uri: None,
        rules: codes.iter().map(rule).collect(),
    };
    Log::new(driver, results, None)
}

fn rule(code: &Code) -> Rule {
    Rule {
        id: code.to_string(),
        name: None,
        short_description: code.about().into(),
        full_description: None,
        help: None,
        default_configuration: None,
    }
}

fn finding(diagnostic: &Diagnostic) -> Finding {
    let text = match &diagnostic.hint {
        Some(hint) => format!("{} (hint: {hint})", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    let region = diagnostic.span.map(|span| Region {
        start_line: span.start.line,
        start_column: span.start.column,
        end_line: span.end.line,
        end_column: Some(span.end.column),
    });
    let location = Location::new(&diagnostic.file, region);
    Finding::new(&diagnostic.code.to_string(), level(diagnostic.severity), text, location)
}

fn level(severity: Severity) -> Level {
    match severity {
        Severity::Error => Level::Error,
        Severity::Warning => Level::Warning,
        Severity::Note => Level::Note,
    }
}
