//! Turns ad-hoc frontmatter into corteza.skill/v1, and that into what Claude Code reads, without losing anything on the way there and back.
//!
//! Entries that stay keep their lines as they were written, comments included. What Claude Code has no field for goes into `metadata.corteza` as JSON, and comes
//! back from there.

use serde_json::{Map, Value, json};

use crate::fence::split;
use crate::{Report, Source, Strictness, raw_frontmatter};

/// The format that a bundle of this version names.
pub const SKILL_FORMAT: &str = "corteza.skill/v1";
/// The fields that only corteza has.
const CORTEZA: [&str; 9] = [
    "skill_format",
    "model_invocation",
    "side_effects",
    "tools",
    "trust",
    "library_depends",
    "attach",
    "generated_from",
    "interaction",
];
/// The fields of Claude Code that say the same as fields of corteza.
const CLAUDE: [&str; 4] =
    ["disable-model-invocation", "user-invocable", "allowed-tools", "disallowed-tools"];
/// Where the fields of corteza are kept in what Claude Code reads.
const KEPT: &str = "corteza";
const FORMAT: &str = "skill_format";
const INVOCATION: &str = "model_invocation";

/// What became of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The new SKILL.md.
    pub text: String,
    /// What is worth knowing about it.
    pub notes: Vec<String>,
}

/// The fields of a frontmatter: each with the lines that it is written in, if it was.
struct Fields {
    /// What stands before the first entry.
    head: String,
    entries: Vec<(String, Value, Option<String>)>,
    body: String,
}

impl Fields {
    fn read(text: &str) -> Result<Self, String> {
        let Some(Value::Object(data)) = raw_frontmatter(text).map(|raw| raw.to_json()) else {
            return Err("its frontmatter cannot be read".to_owned());
        };
        let source = Source::new(text);
        let mut report = Report::new("", &source, Strictness::Lenient);
        let parts = split(text, &mut report).ok_or("it has no frontmatter")?;
        let (mut head, mut blocks): (String, Vec<String>) = (String::new(), Vec::new());
        for line in text[parts.frontmatter].split_inclusive('\n') {
            let goes_on = line.starts_with([' ', '\t', '#', '\r', '\n', '-', '}', ']']);
            match blocks.last_mut() {
                Some(block) if goes_on => block.push_str(line),
                None if goes_on => head.push_str(line),
                _ => blocks.push(line.to_owned()),
            }
        }
        // Where lines and fields do not fit together, the fields are written anew.
        let is_plain = blocks.len() == data.len();
        let mut blocks = blocks.into_iter().map(Some);
        let entry = |(key, value): (String, Value)| {
            let block = blocks.next().flatten().filter(|_| is_plain);
            let block =
                block.filter(|block| block.trim_start_matches(['"', '\'']).starts_with(&key));
            (key, value, block)
        };
        let entries = data.into_iter().map(entry).collect();
        Ok(Self { head, entries, body: text[parts.body].to_owned() })
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(name, ..)| name == key).map(|(_, value, _)| value)
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        let at = self.entries.iter().position(|(name, ..)| name == key)?;
        Some(self.entries.remove(at).1)
    }

    fn set(&mut self, key: &str, value: Value) {
        match self.entries.iter_mut().find(|(name, ..)| name == key) {
            Some((_, old, _)) if *old == value => {}
            Some((_, old, block)) => (*old, *block) = (value, None),
            None => self.entries.push((key.to_owned(), value, None)),
        }
    }

    /// Sets a field that stands first.
    fn set_first(&mut self, key: &str, value: Value) {
        if self.get(key) != Some(&value) {
            self.take(key);
            self.entries.insert(0, (key.to_owned(), value, None));
        }
    }

    fn text(&self) -> String {
        let mut text = format!("---\n{}", self.head);
        for (key, value, block) in &self.entries {
            match block {
                Some(block) => text.push_str(block),
                None => text.push_str(&entry(key, value)),
            }
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        text + "---\n" + self.body.strip_prefix('\n').unwrap_or(&self.body)
    }
}

/// Writes an entry: mappings over several lines, everything else as JSON, which is YAML.
fn entry(key: &str, value: &Value) -> String {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let mut text = format!("{}:\n", plain_or_json(key));
            for (inner, value) in fields {
                text += &format!("  {}: {}\n", plain_or_json(inner), scalar(value));
            }
            text
        }
        value => format!("{}: {}\n", plain_or_json(key), scalar(value)),
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => plain_or_json(text),
        other => other.to_string(),
    }
}

/// Returns a text as it is where every reader of YAML takes it for text, else quoted.
fn plain_or_json(text: &str) -> String {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_' | '/' | '.');
    let is_word = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
    );
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.chars().all(is_letter)
        && !is_word;
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

/// Turns a SKILL.md, and what a `SKILL.json` beside it says, into corteza.skill/v1.
pub fn to_v1(text: &str, sidecar: Option<&Map<String, Value>>) -> Result<Migrated, String> {
    let mut fields = Fields::read(text)?;
    let mut notes = Vec::new();
    for (key, value) in sidecar.into_iter().flatten() {
        match fields.get(key) {
            _ if matches!(key.as_str(), "body" | "instructions") => {}
            None => fields.set(key, value.clone()),
            Some(there) if there == value => {}
            Some(_) => notes.push(format!("`{key}` differs in SKILL.json; that of SKILL.md holds")),
        }
    }
    if sidecar.is_some() {
        notes.push("SKILL.json is not read any more; it was left where it is".to_owned());
    }
    let kept = take_kept(&mut fields)?;
    let said = claude_of(&kept);
    for (key, value) in kept.iter().filter(|(key, _)| *key != FORMAT) {
        fields.set(key, value.clone());
    }
    let is_kept = |key: &str| kept.contains_key(key);
    let hidden = fields.get("disable-model-invocation").cloned();
    let unlisted = fields.get("user-invocable").cloned();
    let invocation = match (&hidden, &unlisted) {
        (Some(Value::Bool(true)), Some(Value::Bool(false))) => Some("disabled"),
        (Some(Value::Bool(true)), _) => Some("user-only"),
        _ => None,
    };
    // What was changed since is what the user wants now.
    let changed = |fields: &Fields, key: &str| fields.get(key) != said.get(key);
    if let Some(word) = invocation {
        if !is_kept(INVOCATION) || changed(&fields, "disable-model-invocation") {
            fields.set(INVOCATION, json!(word));
        }
        fields.take("disable-model-invocation");
        if word == "disabled" {
            fields.take("user-invocable");
        }
    } else if is_kept(INVOCATION) && changed(&fields, "disable-model-invocation") {
        fields.take(INVOCATION);
    }
    for (claude, corteza) in [("allowed-tools", "allow"), ("disallowed-tools", "deny")] {
        let is_changed = !is_kept("tools") || changed(&fields, claude);
        let Some(value) = fields.take(claude) else { continue };
        if is_changed {
            let rules = match value {
                Value::String(text) => json!(rules(&text)),
                other => other,
            };
            let mut tools = fields.get("tools").cloned().unwrap_or_else(|| json!({}));
            tools[corteza] = rules;
            fields.set("tools", tools);
        }
    }
    if let Some(version) = fields.take("version") {
        let mut metadata = fields.get("metadata").cloned().unwrap_or_else(|| json!({}));
        if metadata.get("version").is_none() {
            let text = match version {
                Value::String(text) => text,
                other => other.to_string(),
            };
            metadata["version"] = json!(text);
            fields.set("metadata", metadata);
            notes.push("`version` is under `metadata` now".to_owned());
        }
    }
    fields.set_first(FORMAT, json!(SKILL_FORMAT));
    Ok(Migrated { text: fields.text(), notes })
}

/// Turns a bundle of corteza.skill/v1 into what Claude Code reads. Nothing is lost: [`to_v1`] brings it back.
pub fn to_claude(text: &str) -> Result<Migrated, String> {
    let mut fields = Fields::read(text)?;
    if fields.get(FORMAT) != Some(&json!(SKILL_FORMAT)) {
        return Err(format!("it is no bundle of {SKILL_FORMAT}"));
    }
    let mut kept: Map<String, Value> = Map::new();
    for key in CORTEZA {
        if let Some(value) = fields.take(key) {
            kept.insert(key.to_owned(), value);
        }
    }
    let mut notes = Vec::new();
    for (key, value) in claude_of(&kept) {
        match fields.get(&key) {
            Some(there) if *there != value => {
                notes.push(format!("`{key}` was there with another value; it stays as it was"));
            }
            _ => fields.set(&key, value),
        }
    }
    if let Some(Value::Object(arguments)) = fields.get("arguments").cloned() {
        let names =
            arguments.get("schema").and_then(|schema| schema.get("properties")?.as_object());
        let names: Vec<String> = names.into_iter().flat_map(Map::keys).cloned().collect();
        kept.insert("arguments".to_owned(), Value::Object(arguments));
        fields.set("arguments", json!(names));
        notes.push("of `arguments.schema` Claude Code knows only the names".to_owned());
    }
    let mut metadata = match fields.get("metadata") {
        Some(Value::Object(metadata)) => metadata.clone(),
        _ => Map::new(),
    };
    metadata.insert(KEPT.to_owned(), Value::from(Value::Object(kept).to_string()));
    fields.set("metadata", Value::Object(metadata));
    Ok(Migrated { text: fields.text(), notes })
}

/// Takes out what [`to_claude`] kept.
fn take_kept(fields: &mut Fields) -> Result<Map<String, Value>, String> {
    let Some(Value::Object(mut metadata)) = fields.get("metadata").cloned() else {
        return Ok(Map::new());
    };
    let Some(kept) = metadata.get(KEPT).and_then(Value::as_str).map(str::to_owned) else {
        return Ok(Map::new());
    };
    let kept: Map<String, Value> = serde_json::from_str(&kept)
        .map_err(|error| format!("`metadata.{KEPT}` is not what was written there: {error}"))?;
    let is_known = |key: &String| CORTEZA.contains(&key.as_str()) || key == "arguments";
    if let Some(other) = kept.keys().find(|key| !is_known(key)) {
        return Err(format!("`metadata.{KEPT}` holds `{other}`, which is no field of corteza"));
    }
    metadata.shift_remove(KEPT);
    if metadata.is_empty() {
        fields.take("metadata");
    } else {
        fields.set("metadata", Value::Object(metadata));
    }
    Ok(kept)
}

/// Returns what fields of corteza are to Claude Code.
fn claude_of(kept: &Map<String, Value>) -> Map<String, Value> {
    let mut said = Map::new();
    match kept.get(INVOCATION).and_then(Value::as_str) {
        Some("user-only") => {
            said.insert(CLAUDE[0].to_owned(), json!(true));
        }
        Some("disabled") => {
            said.insert(CLAUDE[0].to_owned(), json!(true));
            said.insert(CLAUDE[1].to_owned(), json!(false));
        }
        _ => {}
    }
    for (corteza, claude) in [("allow", CLAUDE[2]), ("deny", CLAUDE[3])] {
        if let Some(rules) = kept.get("tools").and_then(|tools| tools.get(corteza)) {
            said.insert(claude.to_owned(), rules.clone());
        }
    }
    said
}

/// Splits rules that are written as one text: at commas and blanks outside of brackets.
fn rules(text: &str) -> Vec<String> {
    let (mut all, mut current, mut depth) = (Vec::new(), String::new(), 0_i32);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth <= 0 && (c == ',' || c.is_whitespace()) {
            all.push(std::mem::take(&mut current));
        } else {
            current.push(c);
        }
    }
    all.push(current);
    all.into_iter().filter(|rule| !rule.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Input, parse};

    fn fields(text: &str) -> Value {
        raw_frontmatter(text).unwrap().to_json()
    }

    fn is_valid(text: &str) {
        let input = Input { file: "SKILL.md", directory: Some("auto"), bytes: text.as_bytes() };
        let parsed = parse(&input, Strictness::Strict);
        assert!(parsed.document.is_some(), "{text}\n{:?}", parsed.diagnostics);
    }

    const V1: &str = "---\nskill_format: corteza.skill/v1\nname: auto\ndescription: Bounded research. # mine\nmodel_invocation: user-only\nside_effects: [filesystem, network]\nlibrary_depends: [pensar, llm.api]\nattach: false\ntools:\n  allow: [web_search, 'pensar::ingest_url']\n  deny: [Bash]\ntrust: package\ninteraction: returning\narguments:\n  schema: {type: object, properties: {topic: {type: string}}}\nmetadata:\n  author: me\n---\n\n# Steps\n\nDo it.\n";

    #[test]
    fn there_and_back_nothing_is_lost() {
        let claude = to_claude(V1).unwrap().text;
        is_valid(&claude);
        let data = fields(&claude);
        assert_eq!(data["disable-model-invocation"], true);
        assert_eq!(data["allowed-tools"], json!(["web_search", "pensar::ingest_url"]));
        assert_eq!(data["disallowed-tools"], json!(["Bash"]));
        assert_eq!(data["arguments"], json!(["topic"]));
        assert!(data.get("skill_format").is_none() && claude.contains("# mine"), "{claude}");
        let back = to_v1(&claude, None).unwrap().text;
        is_valid(&back);
        assert_eq!(fields(&back), fields(V1), "{back}");
        assert!(back.ends_with("# Steps\n\nDo it.\n"));
        // Once more changes nothing.
        assert_eq!(to_v1(&back, None).unwrap().text, back);
        for words in ["auto", "disabled"] {
            let v1 = V1.replace("user-only", words);
            assert_eq!(
                fields(&to_v1(&to_claude(&v1).unwrap().text, None).unwrap().text),
                fields(&v1)
            );
        }
    }

    #[test]
    fn what_was_changed_meanwhile_holds() {
        let claude = to_claude(V1).unwrap().text;
        let opened = claude.replace("disable-model-invocation: true\n", "");
        assert!(fields(&to_v1(&opened, None).unwrap().text).get("model_invocation").is_none());
        let narrowed = claude
            .replace("disallowed-tools: [\"Bash\"]", "disallowed-tools: [\"Bash\", \"Read\"]");
        assert_eq!(
            fields(&to_v1(&narrowed, None).unwrap().text)["tools"]["deny"],
            json!(["Bash", "Read"])
        );
    }

    #[test]
    fn an_ad_hoc_bundle_becomes_one_of_this_format() {
        let text = "---\nname: auto\ndescription: d\nversion: 1.0\nallowed-tools: Read, Bash(git log:*) Grep\ndisable-model-invocation: true\n---\nBody.\n";
        let sidecar =
            json!({"name": "auto", "description": "other", "side_effects": ["none"], "body": "x"});
        let migrated = to_v1(text, sidecar.as_object()).unwrap();
        is_valid(&migrated.text);
        let data = fields(&migrated.text);
        assert!(
            migrated.text.starts_with("---\nskill_format: corteza.skill/v1\nname: auto\n"),
            "{}",
            migrated.text
        );
        assert_eq!(data["tools"]["allow"], json!(["Read", "Bash(git log:*)", "Grep"]));
        assert_eq!(
            (&data["model_invocation"], &data["metadata"]["version"]),
            (&json!("user-only"), &json!("1.0"))
        );
        assert_eq!((&data["description"], &data["side_effects"]), (&json!("d"), &json!(["none"])));
        assert!(
            migrated.notes.iter().any(|note| note.contains("description")),
            "{:?}",
            migrated.notes
        );
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        assert!(to_v1("no frontmatter", None).is_err());
        assert!(to_claude("---\nname: a\n---\n").is_err());
        let broken = "---\nname: a\ndescription: d\nmetadata:\n  corteza: '{'\n---\n";
        assert!(to_v1(broken, None).is_err());
        let strange =
            "---\nname: a\ndescription: d\nmetadata:\n  corteza: '{\"name\": \"evil\"}'\n---\n";
        assert!(to_v1(strange, None).is_err());
    }
}
