//! Reads the frontmatter entries into [`Frontmatter`], and reports every problem on the way.

use std::ops::Range;

use super::corteza::is_slip_for_allowed_tools;
use super::fields::Fields;
use super::{Arguments, Frontmatter, ModelInvocation, UnknownField, claude, corteza, rules};
use crate::name::{normalised, suggestion};
use crate::nearest::nearest;
use crate::yaml::{Data, Entry, Mapping};
use crate::{AllowedTools, Code, FIELDS, Owner, Report, Value, field};

/// The file that the entries were found in.
pub(crate) struct SkillFileContext<'a> {
    /// The whole file.
    pub(crate) text: &'a str,
    /// The opening fence, at which missing fields are reported.
    pub(crate) fence: Range<usize>,
    /// The name of the skill's folder, if it has one.
    pub(crate) directory: Option<&'a str>,
}

/// Reads `entries`. The result is usable only if the report contains no error.
pub(crate) fn read(
    place: &SkillFileContext<'_>,
    mapping: Mapping,
    report: &mut Report<'_>,
) -> Frontmatter {
    let Mapping { entries, broken } = mapping;
    note_extensions(&entries, report);
    let invocation = entries
        .iter()
        .find(|entry| entry.key == "model_invocation")
        .map(|entry| entry.key_range.clone());
    let present: Vec<String> = entries.iter().map(|entry| entry.key.clone()).collect();
    let mut fields = Fields { entries, report };
    let frontmatter = Frontmatter {
        name: name(place, &broken, &mut fields),
        description: description(place, &broken, &mut fields),
        license: fields.text("license"),
        compatibility: compatibility(&mut fields),
        metadata: metadata(&mut fields),
        allowed_tools: allowed_tools(&mut fields),
        arguments: arguments(&mut fields),
        claude: claude::read(&mut fields),
        corteza: corteza::read(&mut fields),
        unknown: Vec::new(),
    };
    if let Some(range) = invocation {
        report_conflict(&frontmatter, range, fields.report);
    }
    let unknown = unknown(place.text, &present, &mut fields);
    Frontmatter { unknown, ..frontmatter }
}

/// Reports a conflict between `model_invocation` and the two Claude Code fields.
fn report_conflict(frontmatter: &Frontmatter, range: Range<usize>, report: &mut Report<'_>) {
    let (hidden, in_menu) =
        (frontmatter.claude.disable_model_invocation, frontmatter.claude.user_invocable);
    let other = match frontmatter.corteza.model_invocation {
        Some(ModelInvocation::Auto) if hidden == Some(true) => "disable-model-invocation",
        Some(ModelInvocation::UserOnly | ModelInvocation::Disabled) if hidden == Some(false) => {
            "disable-model-invocation"
        }
        Some(ModelInvocation::Disabled) if in_menu == Some(true) => "user-invocable",
        None
        | Some(ModelInvocation::Auto | ModelInvocation::UserOnly | ModelInvocation::Disabled) => {
            return;
        }
    };
    let message = format!("`model_invocation` and `{other}` disagree; the stricter one applies");
    report.add_with_hint(Code::InvocationConflict, range, message, "keep one of them");
}

/// Reports extension fields: one note for each owner.
fn note_extensions(entries: &[Entry], report: &mut Report<'_>) {
    for owner in [Owner::ClaudeCode, Owner::Corteza] {
        let is_one = |entry: &&Entry| {
            field::owner(&entry.key) == Some(owner) && !is_slip_for_allowed_tools(entry)
        };
        let fields: Vec<&Entry> = entries.iter().filter(is_one).collect();
        let Some(first) = fields.first() else { continue };
        let names: Vec<String> = fields.iter().map(|entry| format!("`{}`", entry.key)).collect();
        let are = if fields.len() == 1 { "is an extension" } else { "are extensions" };
        let message = format!(
            "{} {are} of {} that other validators may reject",
            names.join(", "),
            owner.as_str()
        );
        report.add(Code::ExtensionField, first.key_range.clone(), message);
    }
}

fn name(place: &SkillFileContext<'_>, broken: &[String], fields: &mut Fields<'_, '_>) -> String {
    if let Some((text, range)) = required(Code::NameMissing, "name", place, broken, fields) {
        let name = normalised(&text);
        rules::name(&name, place.directory, &range, fields.report);
        return name;
    }
    let Some(directory) = place.directory else {
        let message = "there is no `name`, and no folder name to use instead";
        fields.report.add(Code::NameUnknown, place.fence.clone(), message);
        return String::new();
    };
    normalised(directory)
}

fn description(
    place: &SkillFileContext<'_>,
    broken: &[String],
    fields: &mut Fields<'_, '_>,
) -> String {
    let is_plain = fields.entries.iter().any(|entry| {
        entry.key == "description" && matches!(entry.value.data, Data::Text { plain: true, .. })
    });
    let found = required(Code::DescriptionMissing, "description", place, broken, fields);
    let Some((text, range)) = found else { return String::new() };
    rules::description(&text, &place.text[range.clone()], &range, fields.report);
    if is_plain {
        rules::comment_after(place.text, &range, "description", fields.report);
    }
    text
}

/// Reads a required field. If it is missing, empty or of the wrong type, reports that with `code`.
fn required(
    code: Code,
    key: &str,
    place: &SkillFileContext<'_>,
    broken: &[String],
    fields: &mut Fields<'_, '_>,
) -> Option<(String, Range<usize>)> {
    let (range, message) = match fields.take(key) {
        // A malformed value has already been reported.
        None if broken.iter().any(|broken| broken == key) => return None,
        None => (place.fence.clone(), format!("`{key}` is missing")),
        Some(entry) => match entry.value.data {
            Data::List(_) | Data::Map(_) => (
                entry.value.range.clone(),
                format!("`{key}` is {}; expected a string", entry.value.kind()),
            ),
            Data::Null | Data::Text { .. } => {
                match fields.text_of(&entry).filter(|(text, _)| !text.is_empty()) {
                    Some(found) => return Some(found),
                    None => (entry.key_range, format!("`{key}` is empty")),
                }
            }
        },
    };
    let hint = match code {
        Code::NameMissing => match place.directory.and_then(suggestion) {
            Some(name) => rules::write_name(&name, place.directory),
            None => "write `name: my-skill`, where `my-skill` is the folder name".to_owned(),
        },
        _ => "describe what the skill does and when to use it".to_owned(),
    };
    fields.report.add_with_hint(code, range, message, hint);
    None
}

fn compatibility(fields: &mut Fields<'_, '_>) -> Option<String> {
    let entry = fields.take("compatibility")?;
    let (text, range) = match entry.value.data {
        Data::Null => (String::new(), entry.key_range),
        _ => fields.text_of(&entry)?,
    };
    rules::compatibility(&text, &range, fields.report);
    Some(text).filter(|text| !text.is_empty())
}

fn metadata(fields: &mut Fields<'_, '_>) -> Vec<(String, Value)> {
    let Some(entry) = fields.take("metadata") else { return Vec::new() };
    let entries = match entry.value.data {
        Data::Null => return Vec::new(),
        Data::Map(entries) => entries,
        Data::Text { .. } | Data::List(_) => {
            fields.wrong_type("metadata", &entry.value, "indented `key: value` lines");
            return Vec::new();
        }
    };
    for inner in &entries {
        match &inner.value.data {
            Data::Null => {}
            Data::Text { .. } => fields.note_other_reading(&inner.key, &inner.value),
            Data::List(_) | Data::Map(_) => {
                let message = format!(
                    "`metadata.{}` is {}; the standard requires a string",
                    inner.key,
                    inner.value.kind()
                );
                fields.report.add(Code::MetadataNested, inner.key_range.clone(), message);
            }
        }
    }
    entries.into_iter().map(|inner| (inner.key, inner.value.to_value())).collect()
}

fn allowed_tools(fields: &mut Fields<'_, '_>) -> Option<AllowedTools> {
    let entry = fields.take("allowed-tools")?;
    let tools = fields.tool_rules("allowed-tools", &entry.value);
    fields.report_any_code("allowed-tools", &tools, &entry.value);
    if tools.rules.is_empty() {
        let hint = "list the allowed tools, or remove the field to lift the restriction";
        fields.report.add_with_hint(
            Code::ToolsEmpty,
            entry.key_range,
            "`allowed-tools` is empty: no tool is allowed",
            hint,
        );
    }
    Some(tools)
}

fn arguments(fields: &mut Fields<'_, '_>) -> Option<Arguments> {
    let entry = fields.entries.iter().find(|entry| entry.key == "arguments")?;
    match &entry.value.data {
        Data::Map(_) => {
            let entry = fields.take("arguments")?;
            match entry.value.to_value().get("schema") {
                Some(schema) => Some(Arguments::Schema(schema.clone())),
                None => {
                    fields.wrong_type(
                        "arguments",
                        &entry.value,
                        "argument names, or a mapping with `schema`",
                    );
                    // Nothing validates against a null schema: arguments that cannot be checked must not pass.
                    Some(Arguments::Schema(Value::Null))
                }
            }
        }
        Data::Text { text, .. } => {
            let names =
                text.split([' ', ',']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
            fields.take("arguments")?;
            Some(Arguments::Names(names))
        }
        Data::Null | Data::List(_) => Some(Arguments::Names(fields.texts("arguments"))),
    }
}

fn unknown(text: &str, present: &[String], fields: &mut Fields<'_, '_>) -> Vec<UnknownField> {
    let rest = fields.rest();
    for entry in &rest {
        let words =
            || (format!("unknown field `{}`", entry.key), Some(unknown_hint(entry, present)));
        fields.report.add_lazily(Code::UnknownField, entry.key_range.clone(), words);
    }
    let keep = |entry: Entry| {
        let end = entry.value.range.end.max(entry.key_range.end);
        let yaml = text[entry.key_range.start..end].to_owned();
        UnknownField { value: entry.value.to_value(), yaml, key: entry.key }
    };
    rest.into_iter().map(keep).collect()
}

fn unknown_hint(entry: &Entry, present: &[String]) -> String {
    let key = entry.key.as_str();
    if key == "tools" {
        return "to restrict the tools, use `allowed-tools`".to_owned();
    }
    if let Some(owner) = field::owner(key) {
        return format!("this field belongs to {}; move it under `metadata`", owner.as_str());
    }
    let accepted = FIELDS.iter().filter(|field| field.owner.is_accepted()).map(|field| field.name);
    // A field that is already present is not a plausible correction.
    let lacking = accepted.filter(|name| !present.iter().any(|present| present == name));
    match nearest(key, lacking) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "move it under `metadata`, which accepts any key".to_owned(),
    }
}
