//! Turns ad-hoc frontmatter into corteza.skill/v1, and that into what Claude Code reads, without losing anything on the way there and back.
//!
//! Entries that stay keep their lines as they were written, comments included; blank lines stay where they are. Comments of an entry that is written anew stand
//! above it, those of one that is taken out at the end. What Claude Code has no field for goes into `metadata.corteza` as JSON, and comes back from there.

mod flow;

use std::collections::{BTreeMap, BTreeSet};

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
struct Fields<'a> {
    /// What stands before the frontmatter, and after it.
    around: (&'a str, &'a str),
    /// What stands before the first entry, and after the last.
    comments: (String, String),
    entries: Vec<(String, Value, Option<String>)>,
    /// The comments and blank lines of entries that are written anew.
    above: BTreeMap<String, String>,
    /// The blank lines before a last entry that was taken out.
    gap: String,
    /// How lines end.
    newline: &'static str,
    /// Whether lines and fields fit together, so that each field knows its lines.
    is_plain: bool,
}

impl<'a> Fields<'a> {
    fn read(text: &'a str) -> Result<Self, String> {
        let Some(Value::Object(data)) = raw_frontmatter(text).map(|raw| raw.to_json()) else {
            return Err("its frontmatter cannot be read".to_owned());
        };
        let source = Source::new(text);
        let mut report = Report::new("", &source, Strictness::Lenient);
        let parts = split(text, &mut report).ok_or("it has no frontmatter")?;
        let inside = &text[parts.frontmatter.clone()];
        let (mut blocks, mut waiting): (Vec<String>, String) = (Vec::new(), String::new());
        for line in inside.split_inclusive('\n') {
            let is_comment = line.starts_with('#') || line.trim().is_empty();
            let goes_on = line.starts_with([' ', '\t', '-', '}', ']']);
            match blocks.last_mut() {
                // A comment belongs to what follows it.
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

    /// Returns a field that must be a mapping, if it is there.
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

    /// Sets a mapping; an empty one is taken out.
    fn set_mapping(&mut self, key: &str, fields: Map<String, Value>) {
        if fields.is_empty() {
            self.take(key);
        } else {
            self.set(key, Value::Object(fields));
        }
    }

    /// Sets a field that stands first.
    fn set_first(&mut self, key: &str, value: Value) {
        if self.get(key) != Some(&value) {
            self.take(key);
            self.entries.insert(0, (key.to_owned(), value, None));
        }
    }

    /// Returns everything that is said, as texts. `kept` is what [`to_claude`] keeps: it is told apart by whoever brings it back.
    fn said(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for (key, value, _) in &self.entries {
            match value {
                Value::String(text) if CLAUDE[2..].contains(&key.as_str()) => {
                    all.extend(rules(text));
                }
                Value::Object(fields) if key == "metadata" => {
                    fields
                        .iter()
                        .filter(|(key, _)| *key != KEPT)
                        .for_each(|(_, value)| leaves(value, &mut all));
                }
                // What these say is said otherwise, and a field of its own says so.
                _ if CLAUDE[..2].contains(&key.as_str()) || key == FORMAT || key == INVOCATION => {}
                value => leaves(value, &mut all),
            }
        }
        all
    }

    /// Writes it, unless something that was said would not be said any more.
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
        let again = Fields::read(&text).map_err(|_| {
            "an anchor, or something else that other lines need, would be taken out; write it out first".to_owned()
        })?;
        if let Some((key, ..)) =
            self.entries.iter().find(|(key, value, _)| again.get(key) != Some(value))
        {
            return Err(format!(
                "`{key}` would not be what it was: another line refers to it; write it out first"
            ));
        }
        let mut now = again.said();
        kept.values().for_each(|value| leaves(value, &mut now));
        match was.difference(&now).next() {
            Some(lost) => Err(format!(
                "`{lost}` would be lost, because two fields disagree; make them agree first"
            )),
            None => Ok(text),
        }
    }
}

/// Returns the blank lines that stand before an entry, or before its comments.
fn blank_before(lines: &str) -> String {
    lines.split_inclusive('\n').take_while(|line| line.trim().is_empty()).collect()
}

/// Returns the lines of a mapping with some of its entries taken out and others changed or added; the lines of all others stay. `None` where it is
/// written in another way.
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

/// The same for a mapping with an entry on each line.
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
            // The comments of what goes stay, and so do the blank lines.
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

/// Returns the comments in the lines of an entry, each on a line. What stands in its value as well is none.
fn comments(block: &str, value: &Value, newline: &str) -> String {
    let mut said = BTreeSet::new();
    leaves(value, &mut said);
    let is_comment = |text: &&str| !said.iter().any(|leaf| leaf.contains(text));
    let all = block.lines().filter_map(comment).filter(is_comment);
    all.map(|comment| format!("{comment}{newline}")).collect()
}

/// Returns the comment of a line: what follows a `#` that stands at its start or after a blank, and in no quotes.
fn comment(line: &str) -> Option<&str> {
    let (mut before, mut quote, mut is_escaped) = (' ', None, false);
    for (at, c) in line.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some('"') if c == '\\' => is_escaped = true,
            Some(open) if open == c => quote = None,
            Some(_) => {}
            None if c == '#' && before.is_whitespace() => return Some(line[at..].trim_end()),
            // Elsewhere it is an apostrophe.
            None if matches!(c, '\'' | '"') && " \t[{,:".contains(before) => quote = Some(c),
            None => {}
        }
        before = c;
    }
    None
}

/// Collects the texts in a value.
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
    let was = fields.said();
    let mut notes = fields.notes();
    match fields.get(FORMAT) {
        Some(format) if *format != json!(SKILL_FORMAT) => {
            return Err(format!("its format is {format}, which is not known here"));
        }
        _ => {}
    }
    // What was migrated once has all that SKILL.json says; what was taken out since stays out.
    let was_v1 = fields.get(FORMAT).is_some() || has_kept(&fields);
    if sidecar.is_some() && was_v1 {
        notes.push("SKILL.json was not read: this was corteza.skill/v1 before".to_owned());
    }
    let sidecar = sidecar.filter(|_| !was_v1);
    for (key, value) in sidecar.into_iter().flatten() {
        match fields.get(key) {
            _ if matches!(key.as_str(), "body" | "instructions") => {
                if value.as_str().is_some_and(|said| !text.contains(said.trim())) {
                    notes.push(format!(
                        "`{key}` of SKILL.json is left out; the body of SKILL.md holds"
                    ));
                }
            }
            None => fields.set(key, value.clone()),
            Some(there) if there == value => {}
            Some(_) => notes.push(format!("`{key}` differs in SKILL.json; that of SKILL.md holds")),
        }
    }
    if sidecar.is_some() {
        notes.push("SKILL.json is not read any more; it was left where it is".to_owned());
    }
    let mut kept = take_kept(&mut fields)?;
    // What was changed since is what the user wants now.
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
            notes.push("`version` is under `metadata` now".to_owned());
        }
    }
    fields.set_first(FORMAT, json!(SKILL_FORMAT));
    let text = fields.written(&was, &Map::new())?;
    Ok(Migrated { text, notes })
}

/// Turns the two switches of Claude Code into `model_invocation`.
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

/// Turns the two lists of Claude Code into `tools`.
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

/// Turns a bundle of corteza.skill/v1 into what Claude Code reads. Nothing is lost: [`to_v1`] brings it back.
pub fn to_claude(text: &str) -> Result<Migrated, String> {
    let mut fields = Fields::read(text)?;
    let was = fields.said();
    let mut notes = fields.notes();
    if fields.get(FORMAT) != Some(&json!(SKILL_FORMAT)) {
        return Err(format!(
            "it is no bundle of {SKILL_FORMAT}; `openskills migrate` without --to makes one"
        ));
    }
    let mut metadata = fields.mapping("metadata")?;
    if metadata.contains_key(KEPT) {
        return Err(format!(
            "it has a field `metadata.{KEPT}` of its own, which would be written over"
        ));
    }
    let mut kept: Map<String, Value> = Map::new();
    for key in CORTEZA {
        if let Some(value) = fields.take(key) {
            kept.insert(key.to_owned(), value);
        }
    }
    if let Some(Value::Object(arguments)) = fields.get("arguments").cloned() {
        kept.insert("arguments".to_owned(), Value::Object(arguments));
        notes.push("of `arguments.schema` Claude Code knows only the names".to_owned());
        fields.take("arguments");
    }
    for (key, value) in claude_of(&kept) {
        match fields.get(&key) {
            Some(there) if !is_same_list(&key, there, &value) => {
                return Err(format!(
                    "`{key}` says something else than the field of {SKILL_FORMAT}; make them agree first"
                ));
            }
            _ => fields.set(&key, value),
        }
    }
    metadata.insert(KEPT.to_owned(), Value::from(Value::Object(kept.clone()).to_string()));
    fields.set("metadata", Value::Object(metadata));
    let text = fields.written(&was, &kept)?;
    Ok(Migrated { text, notes })
}

impl Fields<'_> {
    fn notes(&self) -> Vec<String> {
        let lost =
            "its frontmatter is written in a way that is written anew; comments in it are lost";
        if self.is_plain { Vec::new() } else { vec![lost.to_owned()] }
    }
}

/// Returns true if fields of corteza are kept for the way back.
fn has_kept(fields: &Fields<'_>) -> bool {
    matches!(fields.get("metadata"), Some(Value::Object(metadata)) if metadata.contains_key(KEPT))
}

/// Takes out what [`to_claude`] kept.
fn take_kept(fields: &mut Fields<'_>) -> Result<Map<String, Value>, String> {
    let mut metadata = match fields.get("metadata") {
        Some(Value::Object(metadata)) => metadata.clone(),
        _ => return Ok(Map::new()),
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
    fields.set_mapping("metadata", metadata);
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
    let schema = kept.get("arguments").and_then(|arguments| arguments.get("schema"));
    if let Some(schema) = schema {
        let names = schema.get("properties").and_then(Value::as_object);
        let names: Vec<&String> = names.into_iter().flat_map(Map::keys).collect();
        said.insert("arguments".to_owned(), json!(names));
    }
    said
}

/// Returns true if two values of a field say the same: a list of tools is written in several ways, and its order says nothing.
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
mod tests;
