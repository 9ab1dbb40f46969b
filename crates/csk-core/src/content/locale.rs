//! Renders a skill in one locale: its description, triggers and Codex interface texts. Nothing else in its files
//! changes.

use std::collections::BTreeMap;

use serde_json::Value;
use skill::{CODEX_FILE, SKILL_FILE, TreeEntry, add_frontmatter, set_frontmatter, set_yaml};

use crate::content::snapshot::{Content, File, Snapshot};

const METADATA: &str = "locales/metadata.json";
const TRIGGERS: &str = ".skill_triggers";

/// The result of rendering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rendered {
    /// The files were rendered, or there was nothing to render.
    Done,
    /// The locale is not available; the source text was kept.
    Kept {
        /// The available locales.
        available: Vec<String>,
    },
}

/// Why a skill's localization cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocaleError {
    /// The metadata is malformed.
    #[error("`{METADATA}` is malformed: {0}")]
    Malformed(String),
    /// No locale has both metadata and triggers.
    #[error("no locale is in both `{METADATA}` and `{TRIGGERS}/`")]
    NoneConsistent,
}

/// Renders `context`, which was selected from `snapshot`, in `locale`.
pub fn render(
    context: &mut [File],
    snapshot: &Snapshot,
    locale: Option<&str>,
) -> Result<Rendered, LocaleError> {
    let Some(metadata) = snapshot.file(METADATA) else { return Ok(Rendered::Done) };
    // Without triggers, no locale is available.
    if snapshot.entry(TRIGGERS) != Some(TreeEntry::Folder) {
        return Ok(Rendered::Done);
    }
    // Without a requested locale, the metadata is not read at all.
    let Some(locale) = locale else { return Ok(Rendered::Done) };
    let locales = read_metadata(metadata)?;
    let has_triggers = |name: &str| snapshot.file(&format!("{TRIGGERS}/{name}.md")).is_some();
    let available: Vec<String> =
        locales.keys().filter(|name| has_triggers(name)).cloned().collect();
    if available.is_empty() {
        return Err(LocaleError::NoneConsistent);
    }
    let Some(texts) = locales.get(locale).filter(|_| available.iter().any(|name| name == locale))
    else {
        return Ok(Rendered::Kept { available });
    };
    let triggers =
        snapshot.file(&format!("{TRIGGERS}/{locale}.md")).and_then(File::text).unwrap_or_default();
    for file in context.iter_mut() {
        let rendered = match file.path.as_str() {
            SKILL_FILE => {
                file.text().map(|text| skill_file(&text, texts, &trigger_items(&triggers)))
            }
            CODEX_FILE => file.text().map(|text| codex_file(&text, texts)),
            _ => None,
        };
        if let Some(text) = rendered {
            file.content = Content::Memory(text.into_bytes().into());
        }
    }
    Ok(Rendered::Done)
}

/// The texts of one locale, by key.
type Texts = BTreeMap<String, String>;

fn read_metadata(file: &File) -> Result<BTreeMap<String, Texts>, LocaleError> {
    let malformed = |what: &str| LocaleError::Malformed(what.to_owned());
    let text = file.text().ok_or_else(|| malformed("not a text file"))?;
    let value: Value =
        serde_json::from_str(&text).map_err(|error| LocaleError::Malformed(error.to_string()))?;
    let locales =
        value["locales"].as_object().ok_or_else(|| malformed("expected an object `locales`"))?;
    let mut read = BTreeMap::new();
    for (name, texts) in locales {
        let texts = texts
            .as_object()
            .ok_or_else(|| malformed(&format!("`locales.{name}` is not an object")))?;
        let mut known = Texts::new();
        for (key, text) in texts {
            let text = text
                .as_str()
                .ok_or_else(|| malformed(&format!("`locales.{name}.{key}` is not a string")))?;
            known.insert(key.clone(), text.to_owned());
        }
        read.insert(name.clone(), known);
    }
    Ok(read)
}

fn skill_file(text: &str, texts: &Texts, triggers: &[String]) -> String {
    let mut text = text.to_owned();
    let description = texts.get("description").filter(|text| !is_empty(text));
    if let Some(description) = description {
        text = set_or_add(&text, "description", &description.as_str().into());
    }
    if !triggers.is_empty() {
        text = set_or_add(&text, "triggers", &triggers.into());
    }
    text
}

/// Sets a frontmatter key, or adds it at the end if it is missing.
fn set_or_add(text: &str, key: &str, value: &Value) -> String {
    set_frontmatter(text, key, value)
        .or_else(|| add_frontmatter(text, key, value))
        .unwrap_or_else(|| text.to_owned())
}

/// Replaces the three texts of `interface` if both the file and the locale have all of them. An empty one keeps the
/// source text.
fn codex_file(text: &str, texts: &Texts) -> String {
    let mut changed = text.to_owned();
    for key in ["display_name", "short_description", "default_prompt"] {
        let value = texts.get(key).map(String::as_str);
        let next = value.and_then(|value| set_yaml(&changed, &["interface", key], &value.into()));
        match next {
            Some(next) if !value.is_none_or(is_empty) => changed = next,
            Some(_) => {}
            None => return text.to_owned(),
        }
    }
    changed
}

/// Returns true for a blank text, which never replaces the source.
fn is_empty(text: &str) -> bool {
    text.trim().is_empty()
}

/// Returns the `- ` items outside code fences, without the quotes around them.
fn trigger_items(text: &str) -> Vec<String> {
    let mut in_fence = false;
    let mut items = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") || line.starts_with("~~~") {
            in_fence = !in_fence;
        } else if let Some(item) = line.strip_prefix("- ").filter(|_| !in_fence) {
            let item = item.trim();
            let quoted = ['"', '\'', '`']
                .iter()
                .find_map(|quote| item.strip_prefix(*quote)?.strip_suffix(*quote));
            items.extend(Some(quoted.unwrap_or(item).to_owned()).filter(|item| !is_empty(item)));
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use skill::RelPath;

    use super::*;
    use crate::content::snapshot::FileKind;

    const SKILL: &str = "---\nname: a\ndescription: source # note\nlicense: MIT\nallowed-tools: Read\nmetadata:\n  v: 1\ntriggers: [x]\n---\nBody\n";

    fn files(metadata: &str, triggers: &[&str]) -> Vec<File> {
        let codex = "interface:\n  display_name: \"A\"\n  short_description: s\n  default_prompt: p\n  color: red\n";
        let mut files =
            vec![("SKILL.md".to_owned(), SKILL), ("agents/openai.yaml".to_owned(), codex)];
        files.push((METADATA.to_owned(), metadata));
        files.extend(triggers.iter().map(|name| {
            (format!("{TRIGGERS}/{name}.md"), "# T\n- \"раз\"\n```\n- no\n```\n- два\n")
        }));
        let file = |(path, text): (String, &str)| File {
            path: RelPath::new(path).unwrap(),
            kind: FileKind::Plain,
            content: Content::Memory(text.as_bytes().into()),
        };
        files.into_iter().map(file).collect()
    }

    fn rendered(
        metadata: &str,
        triggers: &[&str],
        locale: Option<&str>,
    ) -> (Result<Rendered, LocaleError>, Vec<String>) {
        let snapshot = Snapshot::new("t".into(), files(metadata, triggers)).unwrap();
        let mut context: Vec<File> = snapshot.files().to_vec();
        let result = render(&mut context, &snapshot, locale);
        let texts = ["SKILL.md", "agents/openai.yaml"];
        let text = |path: &&str| {
            context.iter().find(|file| file.path.as_str() == *path).and_then(File::text).unwrap()
        };
        (result, texts.iter().map(text).collect())
    }

    const RU: &str = r#"{"locales": {"ru": {"description": "описание: \"да\"", "display_name": "А", "short_description": "к", "default_prompt": "п"}, "en": {"description": "d"}}}"#;

    #[test]
    fn only_description_triggers_and_interface_change() {
        let (result, texts) = rendered(RU, &["ru"], Some("ru"));
        assert_eq!(result, Ok(Rendered::Done));
        assert_eq!(
            texts[0],
            SKILL
                .replace("source # note", "\"описание: \\\"да\\\"\" # note")
                .replace("[x]", "[\"раз\",\"два\"]")
        );
        assert_eq!(
            texts[1],
            "interface:\n  display_name: \"А\"\n  short_description: \"к\"\n  default_prompt: \"п\"\n  color: red\n"
        );
    }

    #[test]
    fn missing_keys_are_added_and_blank_texts_replace_nothing() {
        let bare = "---\nname: a\n---\nBody\n";
        let texts =
            |description: &str| Texts::from([("description".to_owned(), description.to_owned())]);
        let items = ["x".to_owned()];
        assert_eq!(
            skill_file(bare, &texts("neu"), &items),
            "---\nname: a\ndescription: \"neu\"\ntriggers: [\"x\"]\n---\nBody\n"
        );
        assert_eq!(skill_file(SKILL, &texts(" "), &[]), SKILL);
        assert_eq!(trigger_items("- \"\"\n- ' '\n- a\n"), ["a"]);
        let empty = RU.replace("\"А\"", "\"\"").replace("\"к\"", "\" \"");
        let (result, texts) = rendered(&empty, &["ru"], Some("ru"));
        assert_eq!(result, Ok(Rendered::Done));
        assert_eq!(
            texts[1],
            "interface:\n  display_name: \"A\"\n  short_description: s\n  default_prompt: \"п\"\n  color: red\n"
        );
    }

    #[test]
    fn an_unavailable_locale_keeps_the_source() {
        for (triggers, locale) in
            [(&["ru"][..], Some("de")), (&["ru"], Some("en")), (&["ru"], None)]
        {
            let (result, texts) = rendered(RU, triggers, locale);
            assert_eq!(texts[0], SKILL);
            let kept = Rendered::Kept { available: vec!["ru".into()] };
            assert_eq!(result, Ok(if locale.is_some() { kept } else { Rendered::Done }));
        }
    }

    #[test]
    fn inconsistent_localization_fails() {
        assert_eq!(rendered(RU, &["de"], Some("ru")).0, Err(LocaleError::NoneConsistent));
        // Without any triggers, there is nothing to render.
        assert_eq!(rendered(RU, &[], Some("ru")), (Ok(Rendered::Done), rendered(RU, &[], None).1));
        // The project does not choose a locale.
        assert_eq!(rendered(RU, &["de"], None).0, Ok(Rendered::Done));
        assert_eq!(rendered("{", &["de"], None).0, Ok(Rendered::Done));
        for metadata in
            ["{", "{}", r#"{"locales": []}"#, r#"{"locales": {"ru": {"description": 5}}}"#]
        {
            assert!(
                matches!(rendered(metadata, &["ru"], Some("ru")).0, Err(LocaleError::Malformed(_))),
                "{metadata}"
            );
        }
    }
}
