//! Converts ad-hoc frontmatter to corteza.skill/v1, and that to what Claude Code reads. A round trip loses nothing.
//!
//! Unchanged entries keep their lines exactly, including comments and blank lines. Comments of a rewritten entry move
//! above it, and those of a removed entry move to the end. Fields without a Claude Code equivalent are stored in
//! `metadata.corteza` as JSON and restored from there.

mod flow;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::fence::split;
use crate::{Report, Source, Strictness, raw_frontmatter};

/// The format identifier of this version.
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
/// The Claude Code fields with an equivalent in corteza.
const CLAUDE: [&str; 4] =
    ["disable-model-invocation", "user-invocable", "allowed-tools", "disallowed-tools"];
/// The key under `metadata` that stores corteza's fields in a Claude Code skill.
const PRESERVED_KEY: &str = "corteza";
const FORMAT: &str = "skill_format";
const INVOCATION: &str = "model_invocation";

/// A converted skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The new SKILL.md.
    pub text: String,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The fields of a frontmatter, each with its original lines if it has any.
struct Fields<'a> {
    /// The text before and after the frontmatter.
    around: (&'a str, &'a str),
    /// The comments before the first entry and after the last.
    comments: (String, String),
    entries: Vec<(String, Value, Option<String>)>,
    /// The comments and blank lines above rewritten entries.
    above: BTreeMap<String, String>,
    /// The blank lines before a removed last entry.
    gap: String,
    /// The line ending of the file.
    newline: &'static str,
    /// Whether every field could be matched to its lines.
    is_plain: bool,
}

impl<'a> Fields<'a> {
    fn read(text: &'a str) -> Result<Self, String> {
        let Some(Value::Object(data)) = raw_frontmatter(text).map(|raw| raw.to_json()) else {
            return Err("cannot read the frontmatter".to_owned());
        };
        let source = Source::new(text);
        let mut report = Report::new("", &source, Strictness::Lenient);
        let parts = split(text, &mut report).ok_or("the file has no frontmatter")?;
        let inside = &text[parts.frontmatter.clone()];
        let (mut blocks, mut waiting): (Vec<String>, String) = (Vec::new(), String::new());
        for line in inside.split_inclusive('\n') {
            let is_comment = line.starts_with('#') || line.trim().is_empty();
            let goes_on = line.starts_with([' ', '\t', '-', '}', ']']);
            match blocks.last_mut() {
                // A comment belongs to the entry after it.
                _ if is_comment => waiting.push_str(line),
                Some(block) if goes_on => {
                    block.push_str(&std::mem::take(&mut waiting));
                    block.push_str(line);
                }
                _ => blocks.push(std::mem::take(&mut waiting) + line),
            }
        }
        let is_of = |block: &String, key: &String| {
            let line = block.lines().find(|line| !line.starts_with('#') && !line.trim().is_empty());
            line.is_some_and(|line| line.trim_start_matches(['"', '\'']).starts_with(key.as_str()))
        };
        let is_plain = blocks.len() == data.len()
            && blocks.iter().zip(data.keys()).all(|(block, key)| is_of(block, key));
        let mut blocks = blocks.into_iter();
        let entry = |(key, value): (String, Value)| {
            let block = blocks.next().filter(|_| is_plain);
            (key, value, block)
        };
        let entries = data.into_iter().map(entry).collect();
        let newline = if inside.contains("\r\n") { "\r\n" } else { "\n" };
        let around = (&text[..parts.frontmatter.start], &text[parts.frontmatter.end..]);
        let (comments, above) = ((String::new(), waiting), BTreeMap::new());
        let gap = String::new();
        Ok(Self { around, comments, entries, above, gap, newline, is_plain })
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(name, ..)| name == key).map(|(_, value, _)| value)
    }

    /// Returns a field that must be a mapping; empty if it is absent.
    fn mapping(&self, key: &str) -> Result<Map<String, Value>, String> {
        match self.get(key) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(fields.clone()),
            Some(_) => Err(format!("`{key}` is not a mapping")),
        }
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        let at = self.entries.iter().position(|(name, ..)| name == key)?;
        let (key, value, block) = self.entries.remove(at);
        let lines = self.above.remove(&key).unwrap_or_default() + &block.unwrap_or_default();
        let blank = blank_before(&lines);
        let next = match self.entries.get_mut(at) {
            Some((_, _, Some(block))) => block,
            Some((key, ..)) => self.above.entry(key.clone()).or_default(),
            None => &mut self.gap,
        };
        if blank_before(next).is_empty() {
            next.insert_str(0, &blank);
        }
        self.comments.1.push_str(&comments(&lines, &value, self.newline));
        Some(value)
    }

    fn set(&mut self, key: &str, value: Value) {
        match self.entries.iter_mut().find(|(name, ..)| name == key) {
            Some((_, old, _)) if *old == value => {}
            Some((_, old, block)) => {
                if let Some(edited) = block.as_deref().and_then(|block| edited(block, old, &value))
                {
                    (*old, *block) = (value, Some(edited));
                    return;
                }
                if let Some(block) = block.take() {
                    let own = blank_before(&block) + &comments(&block, old, self.newline);
                    self.above.insert(key.to_owned(), own);
                }
                *old = value;
            }
            None => {
                self.above.insert(key.to_owned(), std::mem::take(&mut self.gap));
                self.entries.push((key.to_owned(), value, None));
            }
        }
    }

    /// Sets a mapping; an empty one is removed.
    fn set_mapping(&mut self, key: &str, fields: Map<String, Value>) {
        if fields.is_empty() {
            self.take(key);
        } else {
            self.set(key, Value::Object(fields));
        }
    }

    /// Sets a field and makes it the first one.
    fn set_first(&mut self, key: &str, value: Value) {
        if self.get(key) != Some(&value) {
            self.take(key);
            self.entries.insert(0, (key.to_owned(), value, None));
        }
    }

    /// Returns all values as strings, to check that none is lost. The JSON stored by [`to_claude`] is excluded; the
    /// caller compares it separately.
    fn values(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for (key, value, _) in &self.entries {
            match value {
                Value::String(text) if CLAUDE[2..].contains(&key.as_str()) => {
                    all.extend(rules(text));
                }
                Value::Object(fields) if key == "metadata" => {
                    fields
                        .iter()
                        .filter(|(key, _)| *key != PRESERVED_KEY)
                        .for_each(|(_, value)| leaves(value, &mut all));
                }
                // These fields are converted to others, so their values may change.
                _ if CLAUDE[..2].contains(&key.as_str()) || key == FORMAT || key == INVOCATION => {}
                value => leaves(value, &mut all),
            }
        }
        all
    }

    /// Returns the file, or an error if a value in `was` would be lost.
    fn written(&self, was: &BTreeSet<String>, kept: &Map<String, Value>) -> Result<String, String> {
        let mut text = format!("{}{}", self.around.0, self.comments.0);
        for (key, value, block) in &self.entries {
            match block {
                Some(block) => text.push_str(block),
                None => {
                    text.push_str(self.above.get(key).map_or("", String::as_str));
                    text.push_str(&entry(key, value).replace('\n', self.newline));
                }
            }
            if !text.ends_with('\n') {
                text.push_str(self.newline);
            }
        }
        text = text + &self.gap + &self.comments.1 + self.around.1;
        let reread = Fields::read(&text).map_err(|_| {
            "removing a line would break an anchor or another line that depends on it; expand the anchor first".to_owned()
        })?;
        if let Some((key, ..)) =
            self.entries.iter().find(|(key, value, _)| reread.get(key) != Some(value))
        {
            return Err(format!(
                "cannot keep `{key}` unchanged, because another line refers to it; expand the reference first"
            ));
        }
        let mut now = reread.values();
        kept.values().for_each(|value| leaves(value, &mut now));
        match was.difference(&now).next() {
            Some(lost) => Err(format!(
                "`{lost}` would be lost, because two fields disagree; make them agree first"
            )),
            None => Ok(text),
        }
    }
}

/// Returns the blank lines before an entry or its comments.
fn blank_before(lines: &str) -> String {
    lines.split_inclusive('\n').take_while(|line| line.trim().is_empty()).collect()
}

/// Returns the lines of a block mapping after removing, changing and adding entries; the other lines stay as they are.
/// Returns `None` if the mapping is written in another style.
fn edited(block: &str, old: &Value, new: &Value) -> Option<String> {
    let (Value::Object(was), Value::Object(wanted)) = (old, new) else { return None };
    let is_right = |text: &String| {
        let again = raw_frontmatter(&format!("---\n{text}---\n")).map(|raw| raw.to_json());
        again.is_some_and(|again| {
            again.as_object().and_then(|fields| fields.values().next()) == Some(new)
        })
    };
    let lines = edited_lines(block, was, wanted).filter(is_right);
    lines.or_else(|| flow::edited(block, was, wanted).filter(is_right))
}

/// Does the same for a mapping with one entry per line.
fn edited_lines(
    block: &str,
    old: &Map<String, Value>,
    wanted: &Map<String, Value>,
) -> Option<String> {
    let newline = if block.contains("\r\n") { "\r\n" } else { "\n" };
    let lines: Vec<&str> = block.split_inclusive('\n').collect();
    let is_text = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let head = lines.iter().position(is_text)?;
    let first = lines[head + 1..].iter().find(|line| is_text(line))?;
    let indent = &first[..first.len() - first.trim_start().len()];
    if indent.is_empty() {
        return None;
    }
    let (mut children, mut waiting): (Vec<String>, String) = (Vec::new(), String::new());
    for line in &lines[head + 1..] {
        let is_child = line.strip_prefix(indent).is_some_and(|rest| !rest.starts_with([' ', '\t']));
        match children.last_mut() {
            _ if !is_text(line) => waiting.push_str(line),
            Some(child) if !is_child => child.push_str(&(std::mem::take(&mut waiting) + line)),
            _ => children.push(std::mem::take(&mut waiting) + line),
        }
    }
    if children.len() != old.len() {
        return None;
    }
    let (mut text, mut gap): (String, String) = (lines[..=head].concat(), String::new());
    for (child, (key, value)) in children.iter().zip(old) {
        let (before, own) = (std::mem::take(&mut gap), blank_before(child));
        let child = &child[own.len()..];
        let blank = if own.is_empty() { before } else { own };
        let its_comments = comments(child, value, newline);
        let its_comments = its_comments.split_inclusive('\n').map(|it| format!("{indent}{it}"));
        match wanted.get(key) {
            Some(same) if same == value => text.push_str(&(blank + child)),
            Some(other) => {
                text.push_str(&blank);
                text.extend(its_comments);
                text.push_str(&format!("{indent}{}: {other}{newline}", plain_or_json(key)));
            }
            // The comments and blank lines of removed entries stay.
            None => {
                text.extend(its_comments);
                gap = blank;
            }
        }
    }
    if !text.ends_with('\n') {
        text.push_str(newline);
    }
    for (key, value) in wanted.iter().filter(|(key, _)| !old.contains_key(*key)) {
        text.push_str(&std::mem::take(&mut gap));
        text.push_str(&format!("{indent}{}: {value}{newline}", plain_or_json(key)));
    }
    text.push_str(&gap);
    text.push_str(&waiting);
    Some(text)
}

/// Returns the comments in the lines of an entry, one per line. Text that is part of the value is not a comment.
fn comments(block: &str, value: &Value, newline: &str) -> String {
    let mut said = BTreeSet::new();
    leaves(value, &mut said);
    let is_comment = |text: &&str| !said.iter().any(|leaf| leaf.contains(text));
    let all = block.lines().filter_map(comment).filter(is_comment);
    all.map(|comment| format!("{comment}{newline}")).collect()
}

/// Returns the comment of a line: what follows a `#` at the start or after a blank, outside quotes.
fn comment(line: &str) -> Option<&str> {
    let (mut before, mut quote, mut is_escaped) = (' ', None, false);
    for (at, c) in line.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some('"') if c == '\\' => is_escaped = true,
            Some(open) if open == c => quote = None,
            Some(_) => {}
            None if c == '#' && before.is_whitespace() => return Some(line[at..].trim_end()),
            // In other positions it is an apostrophe.
            None if matches!(c, '\'' | '"') && " \t[{,:".contains(before) => quote = Some(c),
            None => {}
        }
        before = c;
    }
    None
}

/// Collects the strings in a value.
fn leaves(value: &Value, all: &mut BTreeSet<String>) {
    match value {
        Value::Null => {}
        Value::String(text) => {
            all.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| leaves(item, all)),
        Value::Object(fields) => fields.iter().for_each(|(key, item)| {
            all.insert(key.clone());
            leaves(item, all);
        }),
        other => {
            all.insert(other.to_string());
        }
    }
}

/// Formats an entry: mappings over several lines, everything else as JSON, which is valid YAML.
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

/// Returns a string unquoted if every YAML parser reads it as a string, otherwise quoted.
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

/// Converts a SKILL.md, together with the fields of a `SKILL.json` next to it, to corteza.skill/v1.
pub fn to_v1(text: &str, sidecar: Option<&Map<String, Value>>) -> Result<Migrated, String> {
    let mut fields = Fields::read(text)?;
    let was = fields.values();
    let mut notes = fields.notes();
    match fields.get(FORMAT) {
        Some(format) if *format != json!(SKILL_FORMAT) => {
            return Err(format!("unsupported `skill_format` {format}"));
        }
        _ => {}
    }
    // A skill that was migrated before already has the fields of SKILL.json; fields removed since then must stay
    // removed.
    let was_v1 = fields.get(FORMAT).is_some() || has_preserved(&fields);
    if sidecar.is_some() && was_v1 {
        notes.push(
            "SKILL.json was ignored: the skill was already migrated to corteza.skill/v1".to_owned(),
        );
    }
    let sidecar = sidecar.filter(|_| !was_v1);
    for (key, value) in sidecar.into_iter().flatten() {
        match fields.get(key) {
            _ if matches!(key.as_str(), "body" | "instructions") => {
                if value.as_str().is_some_and(|said| !text.contains(said.trim())) {
                    notes
                        .push(format!("ignored `{key}` in SKILL.json; the SKILL.md body was kept"));
                }
            }
            None => fields.set(key, value.clone()),
            Some(there) if there == value => {}
            Some(_) => {
                notes
                    .push(format!("`{key}` differs in SKILL.json; the value in SKILL.md was kept"));
            }
        }
    }
    if sidecar.is_some() {
        notes.push("SKILL.json is no longer used; you can delete it".to_owned());
    }
    let mut kept = take_preserved(&mut fields)?;
    // Values that the user changed since the conversion take precedence.
    let said = claude_of(&kept);
    invocation(&mut fields, &mut kept, &said);
    tools(&mut fields, &mut kept, &said)?;
    if kept.contains_key("arguments") && fields.get("arguments") != said.get("arguments") {
        kept.shift_remove("arguments");
    }
    for (key, value) in kept.iter().filter(|(key, _)| *key != FORMAT) {
        fields.set(key, value.clone());
    }
    if let Some(version) = fields.take("version") {
        let mut metadata = fields.mapping("metadata")?;
        let text = match version {
            Value::String(text) => text,
            other => other.to_string(),
        };
        if metadata.get("version").is_none_or(Value::is_null) {
            metadata.insert("version".to_owned(), json!(text));
            fields.set_mapping("metadata", metadata);
            notes.push("moved `version` under `metadata`".to_owned());
        }
    }
    fields.set_first(FORMAT, json!(SKILL_FORMAT));
    let text = fields.written(&was, &Map::new())?;
    Ok(Migrated { text, notes })
}

/// Converts the two invocation fields of Claude Code to `model_invocation`.
fn invocation(fields: &mut Fields<'_>, kept: &mut Map<String, Value>, said: &Map<String, Value>) {
    let [hidden, listed] = [CLAUDE[0], CLAUDE[1]].map(|key| fields.get(key).cloned());
    let is_as_it_was = kept.contains_key(INVOCATION)
        && [(CLAUDE[0], &hidden), (CLAUDE[1], &listed)]
            .into_iter()
            .all(|(key, now)| said.get(key) == now.as_ref());
    if is_as_it_was {
        said.keys().filter(|key| CLAUDE[..2].contains(&key.as_str())).for_each(|key| {
            fields.take(key);
        });
        return;
    }
    kept.shift_remove(INVOCATION);
    let word = match (&hidden, &listed) {
        (Some(Value::Bool(true)), Some(Value::Bool(false))) => "disabled",
        (Some(Value::Bool(true)), _) => "user-only",
        _ => return,
    };
    fields.set(INVOCATION, json!(word));
    fields.take(CLAUDE[0]);
    if word == "disabled" {
        fields.take(CLAUDE[1]);
    }
}

/// Converts the two tool lists of Claude Code to `tools`.
fn tools(
    fields: &mut Fields<'_>,
    kept: &mut Map<String, Value>,
    said: &Map<String, Value>,
) -> Result<(), String> {
    let mut tools = match kept.shift_remove("tools") {
        Some(Value::Object(tools)) => tools,
        Some(_) => return Err("`tools` is not a mapping".to_owned()),
        None => fields.mapping("tools")?,
    };
    let before = tools.clone();
    for (claude, corteza) in [(CLAUDE[2], "allow"), (CLAUDE[3], "deny")] {
        let now = fields.take(claude);
        if now.as_ref() == said.get(claude) {
            continue;
        }
        match now {
            None => {
                tools.shift_remove(corteza);
            }
            Some(Value::String(text)) => {
                tools.insert(corteza.to_owned(), json!(rules(&text)));
            }
            Some(other) => {
                tools.insert(corteza.to_owned(), other);
            }
        }
    }
    if tools != before || fields.get("tools").is_none() {
        fields.set_mapping("tools", tools);
    }
    Ok(())
}

/// Converts a corteza.skill/v1 bundle to what Claude Code reads. Nothing is lost: [`to_v1`] converts it back.
pub fn to_claude(text: &str) -> Result<Migrated, String> {
    let mut fields = Fields::read(text)?;
    let was = fields.values();
    let mut notes = fields.notes();
    if fields.get(FORMAT) != Some(&json!(SKILL_FORMAT)) {
        return Err(format!(
            "not a {SKILL_FORMAT} bundle; run `openskills migrate` without --to first"
        ));
    }
    let mut metadata = fields.mapping("metadata")?;
    if metadata.contains_key(PRESERVED_KEY) {
        return Err(format!("`metadata.{PRESERVED_KEY}` already exists and would be overwritten"));
    }
    let mut kept: Map<String, Value> = Map::new();
    for key in CORTEZA {
        if let Some(value) = fields.take(key) {
            kept.insert(key.to_owned(), value);
        }
    }
    if let Some(Value::Object(arguments)) = fields.get("arguments").cloned() {
        kept.insert("arguments".to_owned(), Value::Object(arguments));
        notes.push("Claude Code supports only the argument names of `arguments.schema`".to_owned());
        fields.take("arguments");
    }
    for (key, value) in claude_of(&kept) {
        match fields.get(&key) {
            Some(there) if !is_same_list(&key, there, &value) => {
                return Err(format!(
                    "`{key}` contradicts the {SKILL_FORMAT} field; make them agree first"
                ));
            }
            _ => fields.set(&key, value),
        }
    }
    metadata.insert(PRESERVED_KEY.to_owned(), Value::from(Value::Object(kept.clone()).to_string()));
    fields.set("metadata", Value::Object(metadata));
    let text = fields.written(&was, &kept)?;
    Ok(Migrated { text, notes })
}

impl Fields<'_> {
    fn notes(&self) -> Vec<String> {
        let lost = "the frontmatter had to be rewritten, so comments in it are lost";
        if self.is_plain { Vec::new() } else { vec![lost.to_owned()] }
    }
}

/// Returns true if the skill stores corteza fields for the conversion back.
fn has_preserved(fields: &Fields<'_>) -> bool {
    matches!(fields.get("metadata"), Some(Value::Object(metadata)) if metadata.contains_key(PRESERVED_KEY))
}

/// Removes and returns the fields stored by [`to_claude`].
fn take_preserved(fields: &mut Fields<'_>) -> Result<Map<String, Value>, String> {
    let mut metadata = match fields.get("metadata") {
        Some(Value::Object(metadata)) => metadata.clone(),
        _ => return Ok(Map::new()),
    };
    let Some(kept) = metadata.get(PRESERVED_KEY).and_then(Value::as_str).map(str::to_owned) else {
        return Ok(Map::new());
    };
    let kept: Map<String, Value> = serde_json::from_str(&kept).map_err(|error| {
        format!("`metadata.{PRESERVED_KEY}` is not the JSON that openskills wrote: {error}")
    })?;
    let is_known = |key: &String| CORTEZA.contains(&key.as_str()) || key == "arguments";
    if let Some(other) = kept.keys().find(|key| !is_known(key)) {
        return Err(format!(
            "`metadata.{PRESERVED_KEY}` contains `{other}`, which is not a corteza field"
        ));
    }
    metadata.shift_remove(PRESERVED_KEY);
    fields.set_mapping("metadata", metadata);
    Ok(kept)
}

/// Returns the Claude Code equivalents of corteza fields.
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
    let schema = kept.get("arguments").and_then(|arguments| arguments.get("schema"));
    if let Some(schema) = schema {
        let names = schema.get("properties").and_then(Value::as_object);
        let names: Vec<&String> = names.into_iter().flat_map(Map::keys).collect();
        said.insert("arguments".to_owned(), json!(names));
    }
    said
}

/// Returns true if two values of a field are equivalent: tool lists can be written in several ways, and their order
/// does not matter.
fn is_same_list(key: &str, one: &Value, other: &Value) -> bool {
    let list = |value: &Value| -> Option<BTreeSet<String>> {
        match value {
            Value::String(text) => Some(rules(text).into_iter().collect()),
            Value::Array(items) => {
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
            }
            _ => None,
        }
    };
    let is_list = CLAUDE[2..].contains(&key);
    one == other || (is_list && list(one).is_some() && list(one) == list(other))
}

/// Splits tool rules at commas and blanks outside parentheses.
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
mod tests;
