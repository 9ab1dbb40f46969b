//! `agents/openai.yaml`: metadata of a skill for Codex.

use crate::value::boolean;
use crate::{Code, Diagnostic, Input, Report, Source, Strictness, Value, yaml};

/// Path of the file in a skill.
pub const CODEX_FILE: &str = "agents/openai.yaml";

/// The fields of the file that matter outside Codex.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodexFile {
    /// `interface.display_name`.
    pub display_name: Option<String>,
    /// `interface.short_description`.
    pub short_description: Option<String>,
    /// `interface.default_prompt`.
    pub default_prompt: Option<String>,
    /// `dependencies.tools`, as data.
    pub tools: Vec<Value>,
    /// `policy.allow_implicit_invocation`: false hides the skill from the model. A value that cannot be read counts as
    /// false.
    pub allow_implicit_invocation: Option<bool>,
}

/// Reads the file. Every problem is a warning, because the skill does not depend on this file.
pub fn read_codex_file(input: &Input<'_>) -> (CodexFile, Vec<Diagnostic>) {
    let unreadable = CodexFile { allow_implicit_invocation: Some(false), ..CodexFile::default() };
    let Ok(text) = std::str::from_utf8(input.bytes) else {
        let message = "the file is not valid UTF-8".to_owned();
        let diagnostic =
            Diagnostic::of_file(Code::AgentsFile, Strictness::Strict, input.file, message);
        return (unreadable, diagnostic.into_iter().collect());
    };
    let source = Source::new(text);
    let mut report = Report::new(input.file, &source, Strictness::Strict);
    let mapping = yaml::read(text, 0..text.len(), &mut report);
    let is_whole = !report.has_error();
    let mut diagnostics = report.finish();
    for diagnostic in &mut diagnostics {
        diagnostic.code = Code::AgentsFile;
        diagnostic.severity = crate::Severity::Warning;
    }
    let Some(mapping) = mapping.filter(|_| is_whole) else { return (unreadable, diagnostics) };
    let entries = mapping.entries.into_iter().map(|entry| (entry.key, entry.value.to_value()));
    let (file, is_whole) = fields(&Value::Map(entries.collect()));
    if !is_whole {
        let message =
            "`policy.allow_implicit_invocation` must be true or false, and `policy` must be a mapping; the setting is treated as `false`"
                .to_owned();
        diagnostics.extend(Diagnostic::of_file(
            Code::AgentsFile,
            Strictness::Strict,
            input.file,
            message,
        ));
    }
    (file, diagnostics)
}

/// Returns the fields, and whether all of them were readable.
fn fields(file: &Value) -> (CodexFile, bool) {
    let part = |section: &str, key: &str| file.get(section).and_then(|section| section.get(key));
    let text =
        |key: &str| part("interface", key).map(Value::to_text).filter(|text| !text.is_empty());
    let tools = match part("dependencies", "tools") {
        Some(Value::List(tools)) => tools.clone(),
        _ => Vec::new(),
    };
    let implicit =
        part("policy", "allow_implicit_invocation").filter(|value| **value != Value::Null);
    // A `policy` that is not a mapping may have been meant as a restriction.
    let is_broken = !matches!(file.get("policy"), None | Some(Value::Null) | Some(Value::Map(_)));
    let read = if is_broken { Some(None) } else { implicit.map(|value| boolean(&value.to_text())) };
    let fields = CodexFile {
        display_name: text("display_name"),
        short_description: text("short_description"),
        default_prompt: text("default_prompt"),
        tools,
        allow_implicit_invocation: read.map(|read| read.unwrap_or(false)),
    };
    (fields, read != Some(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> (CodexFile, Vec<Diagnostic>) {
        read_codex_file(&Input { file: CODEX_FILE, directory: None, bytes: text })
    }

    #[test]
    fn the_fields_are_read() {
        let (file, problems) = read(
            b"interface:\n  display_name: PDF\n  short_description: d\n  default_prompt: p\n\
              dependencies:\n  tools:\n    - type: mcp\n      value: docs\npolicy:\n  allow_implicit_invocation: false\n",
        );
        assert!(problems.is_empty());
        assert_eq!(
            (file.display_name.as_deref(), file.default_prompt.as_deref()),
            (Some("PDF"), Some("p"))
        );
        assert_eq!(file.short_description.as_deref(), Some("d"));
        assert_eq!(file.tools[0].get("value").map(Value::to_text).as_deref(), Some("docs"));
        assert_eq!(file.allow_implicit_invocation, Some(false));
        assert_eq!(
            read(b"policy: {allow_implicit_invocation: true}").0.allow_implicit_invocation,
            Some(true)
        );
        assert_eq!(
            read(b"policy: {allow_implicit_invocation: Yes}").0.allow_implicit_invocation,
            Some(true)
        );
        assert_eq!(
            read(b"policy: {allow_implicit_invocation: }").0.allow_implicit_invocation,
            None
        );
        assert_eq!(read(b"").0, CodexFile::default());
    }

    #[test]
    fn an_unreadable_policy_hides_the_skill_with_a_warning() {
        for text in [
            &b"policy: [\n"[..],
            b"\xff",
            b"- a\n",
            b"policy:\n  allow_implicit_invocation: maybe\n",
            b"policy: nope\n",
            b"policy: [{allow_implicit_invocation: false}]\n",
        ] {
            let (file, problems) = read(text);
            assert_eq!(file.allow_implicit_invocation, Some(false), "{text:?}");
            assert!(!problems.is_empty(), "{text:?}");
            assert!(problems.iter().all(|problem| problem.severity == crate::Severity::Warning));
        }
    }
}
