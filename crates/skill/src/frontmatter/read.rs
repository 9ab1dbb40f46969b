//! Reads the entries of frontmatter into [`Frontmatter`], reporting everything on the way.

use std::ops::Range;

use super::fields::Fields;
use super::{
    Arguments, ClaudeFields, Context, CortezaFields, Frontmatter, GeneratedFrom, Interaction,
    ModelInvocation, Shell, SideEffect, Tools, Trust, Unknown, rules,
};
use crate::name::normalised;
use crate::nearest::nearest;
use crate::yaml::{Data, Entry, Mapping};
use crate::{AllowedTools, Code, FIELDS, Owner, Report, Value, field};

/// The one format of corteza there is.
const SKILL_FORMAT: &str = "corteza.skill/v1";

/// How many unknown fields are reported one by one.
const MAX_UNKNOWN_REPORTS: usize = 20;

/// What the entries were found in.
pub(crate) struct Place<'a> {
    /// The whole file.
    pub(crate) text: &'a str,
    /// The opening fence, where missing fields are reported.
    pub(crate) fence: Range<usize>,
    /// The name of the skill's folder, if it has one.
    pub(crate) directory: Option<&'a str>,
}

/// Reads `entries`. What is refused has been reported as an error; the caller looks there.
pub(crate) fn read(place: &Place<'_>, mapping: Mapping, report: &mut Report<'_>) -> Frontmatter {
    let Mapping { entries, broken } = mapping;
    note_extensions(&entries, report);
    let invocation = entries
        .iter()
        .find(|entry| entry.key == "model_invocation")
        .map(|entry| entry.key_range.clone());
    let mut fields = Fields { entries, report };
    let frontmatter = Frontmatter {
        name: name(place, &broken, &mut fields),
        description: description(place, &broken, &mut fields),
        license: fields.text("license"),
        compatibility: compatibility(&mut fields),
        metadata: metadata(&mut fields),
        allowed_tools: allowed_tools(&mut fields),
        claude: claude(&mut fields),
        corteza: corteza(&mut fields),
        unknown: Vec::new(),
    };
    if let Some(range) = invocation {
        report_conflict(&frontmatter, range, fields.report);
    }
    let unknown = unknown(place.text, &mut fields);
    Frontmatter { unknown, ..frontmatter }
}

/// Reports where `model_invocation` and Claude Code's two switches say different things.
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
    let message = format!("`model_invocation` and `{other}` disagree; the stricter one holds");
    report.add_with_hint(Code::InvocationConflict, range, message, "keep one of them");
}

/// Says which fields are extensions: one note for each of those who defined them.
fn note_extensions(entries: &[Entry], report: &mut Report<'_>) {
    for owner in [Owner::ClaudeCode, Owner::Corteza] {
        let is_one = |entry: &&Entry| {
            field::owner(&entry.key) == Some(owner) && !is_slip_for_allowed_tools(entry)
        };
        let mut fields = entries.iter().filter(is_one);
        let Some(first) = fields.next() else { continue };
        let names = fields
            .fold(format!("`{}`", first.key), |names, entry| format!("{names}, `{}`", entry.key));
        let message = format!(
            "{names}: an extension of {}, which other validators may refuse",
            owner.as_str()
        );
        report.add(Code::ExtensionField, first.key_range.clone(), message);
    }
}

fn name(place: &Place<'_>, broken: &[String], fields: &mut Fields<'_, '_>) -> String {
    if let Some((text, range)) = required(Code::NameMissing, "name", place, broken, fields) {
        let name = normalised(&text);
        rules::name(&name, place.directory, &range, fields.report);
        return name;
    }
    let Some(directory) = place.directory else {
        let message = "there is neither a `name` nor a folder to take it from";
        fields.report.add(Code::NameUnknown, place.fence.clone(), message);
        return String::new();
    };
    normalised(directory)
}

fn description(place: &Place<'_>, broken: &[String], fields: &mut Fields<'_, '_>) -> String {
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

/// Reads a field that every skill must have, or reports with `code` what stands in its place.
fn required(
    code: Code,
    key: &str,
    place: &Place<'_>,
    broken: &[String],
    fields: &mut Fields<'_, '_>,
) -> Option<(String, Range<usize>)> {
    let (range, message) = match fields.take(key) {
        // A broken value has been reported where it breaks.
        None if broken.iter().any(|broken| broken == key) => return None,
        None => (place.fence.clone(), format!("`{key}` is missing")),
        Some(entry) => match entry.value.data {
            Data::List(_) | Data::Map(_) => (
                entry.value.range.clone(),
                format!("`{key}` is {}; expected text", entry.value.kind()),
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
        Code::NameMissing => format!("write `name: {}`", place.directory.unwrap_or("my-skill")),
        _ => "write what the skill does and when to use it".to_owned(),
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
            fields.wrong_type("metadata", &entry.value, "`key: value` lines below it");
            return Vec::new();
        }
    };
    for inner in &entries {
        match &inner.value.data {
            Data::Null => {}
            Data::Text { .. } => fields.note_other_reading(&inner.key, &inner.value),
            Data::List(_) | Data::Map(_) => {
                let message = format!(
                    "`metadata.{}` is {}; the standard asks for text",
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
    if tools.rules.is_empty() {
        let hint = "name the tools, or remove the field if none is to be restricted";
        fields.report.add_with_hint(
            Code::ToolsEmpty,
            entry.key_range,
            "`allowed-tools` is empty: no tool is allowed",
            hint,
        );
    }
    Some(tools)
}

fn claude(fields: &mut Fields<'_, '_>) -> ClaudeFields {
    ClaudeFields {
        when_to_use: fields.text("when_to_use").filter(|text| !text.is_empty()),
        argument_hint: argument_hint(fields),
        // Fails closed: who tried to hide a skill from the model and misspelt it gets it hidden.
        disable_model_invocation: fields
            .boolean("disable-model-invocation")
            .map(|read| read.unwrap_or(true)),
        user_invocable: fields.boolean("user-invocable").and_then(Result::ok),
        disallowed_tools: fields
            .take("disallowed-tools")
            .map(|entry| fields.tool_rules("disallowed-tools", &entry.value)),
        model: fields.text("model"),
        effort: fields.text("effort"),
        context: fields.choice("context", &[("fork", Context::Fork)]).and_then(Result::ok),
        agent: fields.text("agent"),
        background: fields.boolean("background").and_then(Result::ok),
        hooks: mapping(fields, "hooks"),
        paths: fields.texts("paths"),
        shell: fields
            .choice("shell", &[("bash", Shell::Bash), ("powershell", Shell::PowerShell)])
            .and_then(Result::ok),
    }
}

/// Reads `argument-hint`, where `[file]` is running text and not a list.
fn argument_hint(fields: &mut Fields<'_, '_>) -> Option<String> {
    let entry = fields.take("argument-hint")?;
    match entry.value.to_value() {
        Value::Null => None,
        Value::Text { text, .. } => Some(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(Value::to_text).collect();
            Some(format!("[{}]", items.join(", ")))
        }
        Value::Map(_) => {
            fields.wrong_type("argument-hint", &entry.value, "text");
            None
        }
    }
}

fn mapping(fields: &mut Fields<'_, '_>, key: &str) -> Option<Value> {
    let entry = fields.take(key)?;
    match entry.value.data {
        Data::Null => None,
        Data::Map(_) => Some(entry.value.to_value()),
        Data::Text { .. } | Data::List(_) => {
            fields.wrong_type(key, &entry.value, "a mapping");
            None
        }
    }
}

fn corteza(fields: &mut Fields<'_, '_>) -> CortezaFields {
    let words = [
        ("auto", ModelInvocation::Auto),
        ("user-only", ModelInvocation::UserOnly),
        ("disabled", ModelInvocation::Disabled),
    ];
    let invocation = fields
        .choice("model_invocation", &words)
        .map(|read| read.unwrap_or(ModelInvocation::Disabled));
    let trust = [
        ("local", Trust::Local),
        ("project", Trust::Project),
        ("user", Trust::User),
        ("package", Trust::Package),
        ("managed", Trust::Managed),
    ];
    let interaction = [
        ("returning", Interaction::Returning),
        ("conversational", Interaction::Conversational),
        ("oneshot", Interaction::Returning),
    ];
    CortezaFields {
        skill_format: skill_format(fields),
        model_invocation: invocation,
        side_effects: side_effects(fields),
        tools: tools(fields),
        // Fails closed: a declared trust can only lower, and what cannot be read is the lowest.
        trust: fields.choice("trust", &trust).map(|read| read.unwrap_or(Trust::Local)),
        library_depends: fields.texts("library_depends"),
        attach: fields.boolean("attach").and_then(Result::ok),
        generated_from: generated_from(fields),
        interaction: fields.choice("interaction", &interaction).and_then(Result::ok),
        arguments: arguments(fields),
    }
}

fn skill_format(fields: &mut Fields<'_, '_>) -> Option<String> {
    let entry = fields.take("skill_format")?;
    let (text, range) = fields.text_of(&entry)?;
    if text != SKILL_FORMAT {
        let message = format!("`skill_format` is `{text}`; this version knows `{SKILL_FORMAT}`");
        let hint = "a newer version of this program may read it";
        fields.report.add_with_hint(Code::SkillFormatUnknown, range, message, hint);
    }
    Some(text)
}

fn side_effects(fields: &mut Fields<'_, '_>) -> Option<Vec<SideEffect>> {
    let words = [
        ("none", SideEffect::None),
        ("filesystem", SideEffect::Filesystem),
        ("network", SideEffect::Network),
        ("session", SideEffect::Session),
        ("external", SideEffect::External),
    ];
    let range = fields
        .entries
        .iter()
        .find(|entry| entry.key == "side_effects")
        .map(|entry| entry.value.range.clone())?;
    // Fails closed: a list that cannot be read is no declaration, and undeclared means unknown.
    let mut effects = fields.choices("side_effects", &words)?.ok()?;
    effects.sort_unstable();
    effects.dedup();
    if effects.len() > 1 && effects.contains(&SideEffect::None) {
        fields.report.add(Code::BadValue, range, "`side_effects` says `none` and something else");
        return None;
    }
    Some(effects)
}

/// Returns true for `tools: Read, Write`, which is not corteza's mapping and stays an unknown field.
fn is_slip_for_allowed_tools(entry: &Entry) -> bool {
    entry.key == "tools" && !matches!(entry.value.data, Data::Map(_))
}

fn tools(fields: &mut Fields<'_, '_>) -> Option<Tools> {
    if fields.entries.iter().any(is_slip_for_allowed_tools) {
        return None;
    }
    let entry = fields.take("tools")?;
    let Data::Map(entries) = &entry.value.data else { return None };
    let mut tools = Tools::default();
    for inner in entries {
        match inner.key.as_str() {
            "allow" => tools.allow = Some(fields.tool_rules("tools.allow", &inner.value)),
            "deny" => tools.deny = fields.tool_rules("tools.deny", &inner.value),
            key => {
                let message = format!("`tools` has no `{key}`; expected `allow` or `deny`");
                fields.report.add(Code::BadValue, inner.key_range.clone(), message);
                // Fails closed: a misspelt `deny` must not leave everything allowed.
                tools.allow.get_or_insert_default();
            }
        }
    }
    Some(tools)
}

fn generated_from(fields: &mut Fields<'_, '_>) -> Option<GeneratedFrom> {
    let entry = fields.take("generated_from")?;
    let value = entry.value.to_value();
    let part = |key: &str| value.get(key).map(Value::to_text).filter(|text| !text.is_empty());
    match part("package") {
        Some(package) => Some(GeneratedFrom {
            package,
            version: part("version"),
            source_hash: part("source_hash"),
        }),
        None if value == Value::Null => None,
        None => {
            fields.wrong_type(
                "generated_from",
                &entry.value,
                "a mapping with `package`, `version` and `source_hash`",
            );
            None
        }
    }
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
                        "names, or a mapping with `schema`",
                    );
                    None
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

fn unknown(text: &str, fields: &mut Fields<'_, '_>) -> Vec<Unknown> {
    let rest = fields.rest();
    for (at, entry) in rest.iter().enumerate() {
        if at == MAX_UNKNOWN_REPORTS {
            let message = format!("{} more are not fields of a skill", rest.len() - at);
            fields.report.add(Code::UnknownField, entry.key_range.clone(), message);
            break;
        }
        let message = format!("`{}` is not a field of a skill", entry.key);
        fields.report.add_with_hint(
            Code::UnknownField,
            entry.key_range.clone(),
            message,
            unknown_hint(entry),
        );
    }
    let keep = |entry: Entry| {
        let end = entry.value.range.end.max(entry.key_range.end);
        let yaml = text[entry.key_range.start..end].to_owned();
        Unknown { value: entry.value.to_value(), yaml, key: entry.key }
    };
    rest.into_iter().map(keep).collect()
}

fn unknown_hint(entry: &Entry) -> String {
    let key = entry.key.as_str();
    if key == "tools" {
        return "to restrict the tools, call it `allowed-tools`".to_owned();
    }
    if let Some(owner) = field::owner(key) {
        return format!("it belongs to {}; put it under `metadata`", owner.as_str());
    }
    let accepted = FIELDS.iter().filter(|field| field.owner.is_accepted()).map(|field| field.name);
    match nearest(key, accepted) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "put it under `metadata`, where every key is welcome".to_owned(),
    }
}
