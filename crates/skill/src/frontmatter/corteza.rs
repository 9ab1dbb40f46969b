//! Reads the fields of corteza.skill/v1. A value that cannot be read is interpreted as the most restrictive one.

use super::fields::Fields;
use super::{
    CortezaFields, CortezaTrust, GeneratedFrom, ModelInvocation, SideEffect, Tools, choices,
};
use crate::yaml::{Data, Entry};
use crate::{AllowedTools, Code, Digest, NeededLibrary, Value};

pub(super) fn read(fields: &mut Fields<'_, '_>) -> CortezaFields {
    let skill_format = skill_format(fields);
    CortezaFields {
        model_invocation: fields
            .choice("model_invocation", choices::MODEL_INVOCATION)
            .map(|read| read.unwrap_or(ModelInvocation::Disabled)),
        side_effects: side_effects(fields),
        tools: tools(fields, skill_format.as_deref()),
        trust: fields
            .choice("trust", choices::TRUST)
            .map(|read| read.unwrap_or(CortezaTrust::Local)),
        library_depends: library_depends(fields),
        attach: fields.boolean("attach").and_then(Result::ok),
        generated_from: generated_from(fields),
        interaction: fields.choice("interaction", choices::INTERACTION).and_then(Result::ok),
        skill_format,
    }
}

fn skill_format(fields: &mut Fields<'_, '_>) -> Option<String> {
    let entry = fields.take("skill_format")?;
    let text = match &entry.value.data {
        Data::Text { text, .. } => text.clone(),
        Data::Null | Data::List(_) | Data::Map(_) => entry.value.kind().to_owned(),
    };
    if text != choices::SKILL_FORMAT {
        let message = format!(
            "`skill_format` is `{text}`; this version supports `{}`",
            choices::SKILL_FORMAT
        );
        let hint = "update openskills; a newer version may support this format";
        fields.report.add_with_hint(Code::SkillFormatUnknown, entry.value.range, message, hint);
    }
    Some(text)
}

fn side_effects(fields: &mut Fields<'_, '_>) -> Option<Vec<SideEffect>> {
    let range = fields
        .entries
        .iter()
        .find(|entry| entry.key == "side_effects")
        .map(|entry| entry.value.range.clone())?;
    // A list that cannot be read is not a declaration, so the side effects count as not declared.
    let mut effects = fields.choices("side_effects", choices::SIDE_EFFECTS)?.ok()?;
    effects.sort_unstable();
    effects.dedup();
    if effects.len() > 1 && effects.contains(&SideEffect::None) {
        fields.report.add(
            Code::BadValue,
            range,
            "`side_effects` contains `none` along with other effects",
        );
        return None;
    }
    Some(effects)
}

/// Reads the libraries that a skill needs. A name that cannot be parsed is kept as a missing library, so that the
/// skill is not activated without it.
fn library_depends(fields: &mut Fields<'_, '_>) -> Vec<String> {
    let Some(entry) = fields.take("library_depends") else { return Vec::new() };
    let items = match &entry.value.data {
        Data::Null => return Vec::new(),
        Data::List(items) => items.as_slice(),
        Data::Text { .. } | Data::Map(_) => std::slice::from_ref(&entry.value),
    };
    let mut all = Vec::new();
    for item in items {
        let Data::Text { text, .. } = &item.data else {
            fields.wrong_type("library_depends", item, "a library name");
            all.push(item.kind().to_owned());
            continue;
        };
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if NeededLibrary::parse(name).is_none() {
                let message = format!("`{name}` in `library_depends` is not a library name");
                let hint = "use `name`, `r:name`, `python:name` or `node:name`, optionally followed by a version such as `>=1.2`";
                fields.report.add_with_hint(Code::BadValue, item.range.clone(), message, hint);
            }
            all.push(name.to_owned());
        }
    }
    all
}

/// Returns true for `tools: Read, Write`, which is not corteza's mapping and remains an unknown field.
pub(super) fn is_slip_for_allowed_tools(entry: &Entry) -> bool {
    entry.key == "tools" && !matches!(entry.value.data, Data::Map(_))
}

fn tools(fields: &mut Fields<'_, '_>, skill_format: Option<&str>) -> Option<Tools> {
    // In a file with `skill_format`, the field can only be corteza's.
    if skill_format.is_none() && fields.entries.iter().any(is_slip_for_allowed_tools) {
        return None;
    }
    let entry = fields.take("tools")?;
    let mut tools = Tools::default();
    let mut is_whole = true;
    if let Data::Map(entries) = &entry.value.data {
        for inner in entries {
            match inner.key.as_str() {
                "allow" => {
                    let rules = fields.tool_rules("tools.allow", &inner.value);
                    fields.report_any_code("tools.allow", &rules, &inner.value);
                    tools.allow = Some(rules);
                }
                "deny" => tools.deny = fields.tool_rules("tools.deny", &inner.value),
                key => {
                    let message =
                        format!("unknown key `{key}` in `tools`; expected `allow` or `deny`");
                    fields.report.add(Code::BadValue, inner.key_range.clone(), message);
                    is_whole = false;
                }
            }
        }
    } else {
        fields.wrong_type("tools", &entry.value, "a mapping with `allow` and `deny`");
        is_whole = false;
    }
    if !is_whole {
        // A misspelled `deny` must not leave anything allowed.
        tools.allow = Some(AllowedTools::default());
    }
    Some(tools)
}

fn generated_from(fields: &mut Fields<'_, '_>) -> Option<GeneratedFrom> {
    let entry = fields.take("generated_from")?;
    let value = entry.value.to_value();
    let part = |key: &str| value.get(key).map(Value::to_text).filter(|text| !text.is_empty());
    let kind = part("kind");
    if let Some(kind) =
        kind.filter(|kind| !matches!(kind.as_str(), "r" | "python" | "rust" | "npm"))
    {
        let message =
            format!("`generated_from.kind` is `{kind}`; expected `r`, `python`, `rust` or `npm`");
        fields.report.add(Code::BadValue, entry.value.range.clone(), message);
    }
    let hash = part("source_hash");
    if let Some(hash) = hash.filter(|hash| hash.parse::<Digest>().is_err()) {
        let message = format!("`generated_from.source_hash` is `{hash}`, which is not a digest");
        fields.report.add(Code::BadValue, entry.value.range.clone(), message);
    }
    match part("package") {
        Some(package) => Some(GeneratedFrom {
            package,
            version: part("version"),
            source_hash: part("source_hash"),
        }),
        None if value == Value::Null => None,
        None => {
            let expected = "a mapping with `package`, `version` and `source_hash`";
            fields.wrong_type("generated_from", &entry.value, expected);
            None
        }
    }
}
