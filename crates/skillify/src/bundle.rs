//! Writes a library as a skill: SKILL.md lists the exports, and each export has its own file.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use skill::{MAX_DESCRIPTION, MAX_NAME, NeededLibrary, RelPath, SKILL_FILE};
use skill_pack::{Package, PackedFile};

use crate::clean::clean;
use crate::{Library, PackageKind, Topic};

/// The maximum number of exports listed in SKILL.md itself.
const MAX_LISTED: usize = 300;
/// The maximum length of a title in the list.
const MAX_TITLE: usize = 160;

impl Library {
    /// Returns a skill that documents the library. `summarize` gets the name and text of each section and may return a
    /// new text.
    pub fn bundle<E>(
        &self,
        mut summarize: impl FnMut(&str, &str) -> Result<Option<String>, E>,
        summarized_by: Option<&str>,
    ) -> Result<Package, E> {
        let name = self.skill_name();
        let mut files = Vec::new();
        let mut taken = BTreeSet::new();
        let mut lines = Vec::new();
        for topic in &self.topics {
            let file = format!("references/{}.md", unique(&topic.name, &mut taken));
            let text = clean(&page(self, topic));
            let text = summarize(&topic.name, &text)?.map_or(text, |text| clean(&text));
            let title = cut(&one_line(&topic.title), MAX_TITLE);
            let aliases: String =
                topic.aliases.iter().map(|name| format!(", `{}`", one_line(name))).collect();
            lines.push(format!("- [`{}`]({file}){aliases}: {title}\n", one_line(&topic.name)));
            files.push(packed(&file, text));
        }
        let mut overview = clean(&self.overview());
        if let Some(text) = summarize("overview", &overview)? {
            overview = clean(&text);
        }
        let mut body = format!("{overview}\n## Exports\n\n");
        let listed: String = lines.iter().take(MAX_LISTED).cloned().collect();
        body += &clean(&listed);
        if lines.len() > MAX_LISTED {
            body += "- more: [full list](references/index.md)\n";
            files.push(packed("references/index.md", clean(&lines.concat())));
        }
        if !self.unread.is_empty() {
            body += "\n## Not covered\n\n";
            for note in &self.unread {
                body += &clean(&format!("- {}\n", one_line(note)));
            }
        }
        if !self.vignettes.is_empty() {
            body += "\n## Package vignettes\n\n";
            for title in &self.vignettes {
                body += &clean(&format!("- {}\n", one_line(title)));
            }
        }
        let text = format!("---\n{}---\n\n{body}", self.frontmatter(&name, summarized_by));
        files.push(packed(SKILL_FILE, text));
        files.sort_by(|one, other| one.path.as_str().cmp(other.path.as_str()));
        Ok(Package { name, files })
    }

    /// Returns the name of the skill: the package's name, in lower case and with hyphens.
    pub fn skill_name(&self) -> String {
        let lower = self.name.to_lowercase();
        let parts =
            lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
        let name = parts.collect::<Vec<_>>().join("-");
        let name: String = name.chars().take(MAX_NAME).collect();
        let name = name.trim_end_matches('-').to_owned();
        if name.is_empty() { "package".to_owned() } else { name }
    }

    fn frontmatter(&self, name: &str, summarized_by: Option<&str>) -> String {
        let kind = self.kind.as_str();
        let title = one_line(&clean(&self.title)).replace(['<', '>'], "");
        let description = format!(
            "{} The {kind} package {} {}: its exports, how to call them, and what their arguments mean. \
             Use when a task needs {}.",
            with_full_stop(&cut(&title, MAX_DESCRIPTION / 2)),
            self.name,
            self.version,
            self.name
        );
        let library = match self.kind {
            PackageKind::R => Some(self.name.clone()),
            PackageKind::Python => Some(format!("python:{}", self.name)),
            PackageKind::Npm => Some(format!("node:{}", self.name)),
            // A crate is not an installed library that could be looked up: cargo fetches it.
            PackageKind::Rust => None,
        };
        let library = library.filter(|name| NeededLibrary::parse(name).is_some());
        let mut text = format!("skill_format: {}\nname: {name}\n", skill::SKILL_FORMAT);
        text += &format!("description: {}\n", Value::from(cut(&description, MAX_DESCRIPTION)));
        if let Some(license) = &self.license {
            text += &format!("license: {}\n", Value::from(cut(&one_line(&clean(license)), 200)));
        }
        text += "model_invocation: auto\n";
        if let Some(library) = library {
            text += &format!("library_depends: {}\nattach: false\n", json!([library]));
        }
        text += "trust: package\ninteraction: returning\n";
        text += &format!(
            "generated_from:\n  kind: {}\n  package: {}\n  version: {}\n  source_hash: {}\n",
            self.kind.id(),
            Value::from(self.name.as_str()),
            Value::from(self.version.as_str()),
            Value::from(self.source.to_string())
        );
        if let Some(by) = summarized_by {
            text += &format!("metadata:\n  summarized-by: {}\n", Value::from(by));
        }
        text
    }

    fn overview(&self) -> String {
        let usage = match self.kind {
            PackageKind::R => format!(
                "Call its functions as `{0}::name(...)`; the package is loaded but not attached.",
                self.name
            ),
            PackageKind::Python => {
                let modules: Vec<String> =
                    self.modules.iter().map(|module| format!("`{module}`")).collect();
                format!("Import what you need from {}.", modules.join(" or "))
            }
            PackageKind::Rust => {
                let modules: Vec<String> = self
                    .modules
                    .iter()
                    .map(|module| format!(" The crate is imported as `{module}`."))
                    .collect();
                format!(
                    "Add it with `cargo add {}`, and refer to items by their paths.{}",
                    self.name,
                    modules.concat()
                )
            }
            PackageKind::Npm => format!("Import what you need from `{}`.", self.name),
        };
        let (title, description) = (one_line(&self.title), self.description.trim());
        format!(
            "# {} {}\n\n{title}\n\n{description}\n\n{usage}\n\nThis skill was generated from the package itself. \
             Before you call something, read its page: it shows the signature and explains each argument.\n",
            self.name, self.version
        )
    }
}

/// Returns the page of an export.
fn page(library: &Library, topic: &Topic) -> String {
    let language = match library.kind {
        PackageKind::R => "r",
        PackageKind::Python => "python",
        PackageKind::Rust => "rust",
        PackageKind::Npm => "ts",
    };
    let mut text = format!("# {}\n\n{}\n", one_line(&topic.name), one_line(&topic.title));
    if !topic.usage.trim().is_empty() {
        // A fence longer than any in the text cannot be closed by the text.
        let fence = "`".repeat(longest_fence(&topic.usage).max(2) + 1);
        text += &format!("\n{fence}{language}\n{}\n{fence}\n", topic.usage.trim());
    }
    if !topic.description.trim().is_empty() {
        text += &format!("\n{}\n", topic.description.trim());
    }
    if !topic.arguments.is_empty() {
        text += "\n## Arguments\n\n";
        for argument in &topic.arguments {
            text += &format!("- `{}`: {}\n", one_line(&argument.name), one_line(&argument.text));
        }
    }
    if !topic.value.trim().is_empty() {
        text += &format!("\n## Result\n\n{}\n", topic.value.trim());
    }
    text
}

fn longest_fence(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn packed(path: &str, text: String) -> PackedFile {
    let path = RelPath::new(path).expect("all parts are plain names");
    PackedFile { path, executable: false, bytes: text.into_bytes() }
}

/// Returns a file name that is unique on every system, even if it ignores case.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' })
        .take(80)
        .collect();
    let plain = plain.trim_matches('-');
    let plain = if plain.is_empty() { "topic" } else { plain };
    // Device names on Windows get an underscore below.
    let plain = format!("{plain}{}", if plain.len() <= 4 { "-" } else { "" });
    let plain = plain.trim_end_matches('-').to_owned();
    let reserved = ["con", "prn", "aux", "nul", "index"].contains(&plain.to_lowercase().as_str());
    let base = if reserved { format!("{plain}_") } else { plain };
    let mut name = base.clone();
    let mut number = 1;
    while !taken.insert(name.to_lowercase()) {
        number += 1;
        name = format!("{base}-{number}");
    }
    name
}

/// Returns a name or a version without control characters and hidden characters, on one line and at most 200 long.
pub(crate) fn plain(text: &str) -> String {
    cut(&one_line(&clean(text)), 200)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn with_full_stop(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) || text.is_empty() {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(max - 1).chain(['…']).collect(),
    }
}
