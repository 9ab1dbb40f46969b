//! A library as a skill: SKILL.md with what there is, and a file for each thing that it exports.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use skill::{MAX_DESCRIPTION, MAX_NAME, NeededLibrary, RelPath, SKILL_FILE};
use skill_pack::{Package, PackedFile};

use crate::clean::clean;
use crate::{Kind, Library, Topic};

/// How many exports are listed in SKILL.md itself.
const MOST_LISTED: usize = 300;
/// How long a line of the list may be.
const MOST_TITLE: usize = 160;

impl Library {
    /// Returns the skill that tells of it. Sections of it may be rewritten by `summarize`, which is given the name of a section and its text.
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
            let title = cut(&one_line(&topic.title), MOST_TITLE);
            let also: String =
                topic.also.iter().map(|name| format!(", `{}`", one_line(name))).collect();
            lines.push(format!("- [`{}`]({file}){also}: {title}\n", one_line(&topic.name)));
            files.push(packed(&file, text));
        }
        let mut overview = clean(&self.overview());
        if let Some(text) = summarize("overview", &overview)? {
            overview = clean(&text);
        }
        let mut body = format!("{overview}\n## What it exports\n\n");
        let listed: String = lines.iter().take(MOST_LISTED).cloned().collect();
        body += &clean(&listed);
        if lines.len() > MOST_LISTED {
            body += "- and more: [all of it](references/index.md)\n";
            files.push(packed("references/index.md", clean(&lines.concat())));
        }
        if !self.unread.is_empty() {
            body += "\n## Not covered\n\n";
            for note in &self.unread {
                body += &clean(&format!("- {}\n", one_line(note)));
            }
        }
        if !self.vignettes.is_empty() {
            body += "\n## Longer texts that the package brings\n\n";
            for title in &self.vignettes {
                body += &clean(&format!("- {}\n", one_line(title)));
            }
        }
        let text = format!("---\n{}---\n\n{body}", self.frontmatter(&name, summarized_by));
        files.push(packed(SKILL_FILE, text));
        files.sort_by(|one, other| one.path.as_str().cmp(other.path.as_str()));
        Ok(Package { name, files })
    }

    /// Returns the name of the skill.
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
        let what = one_line(&clean(&self.title)).replace(['<', '>'], "");
        let description = format!(
            "{} The {kind} package {} {}: what it exports, how it is called, and what its arguments mean. Use when a task needs {}.",
            ended(&cut(&what, MAX_DESCRIPTION / 2)),
            self.name,
            self.version,
            self.name
        );
        let library = match self.kind {
            Kind::R => Some(self.name.clone()),
            Kind::Python => Some(format!("python:{}", self.name)),
            Kind::Npm => Some(format!("node:{}", self.name)),
            // A crate is no library that could be looked for: cargo fetches it.
            Kind::Rust => None,
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
            self.kind.word(),
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
        let how = match self.kind {
            Kind::R => format!(
                "Call its functions as `{0}::name(...)`; it is loaded and not attached.",
                self.name
            ),
            Kind::Python => {
                let modules: Vec<String> =
                    self.modules.iter().map(|module| format!("`{module}`")).collect();
                format!("Import what you need from {}.", modules.join(" or "))
            }
            Kind::Rust => {
                let modules: Vec<String> = self
                    .modules
                    .iter()
                    .map(|module| format!(" It is imported as `{module}`."))
                    .collect();
                format!(
                    "Add it by `cargo add {}`, and use items by their paths.{}",
                    self.name,
                    modules.concat()
                )
            }
            Kind::Npm => format!("Import what you need from `{}`.", self.name),
        };
        let (title, description) = (one_line(&self.title), self.description.trim());
        format!(
            "# {} {}\n\n{title}\n\n{description}\n\n{how}\n\nThis was derived from the package itself. Before you call something, read its page: it says how it is called, and what each argument means.\n",
            self.name, self.version
        )
    }
}

/// Returns the page of something that a package exports.
fn page(library: &Library, topic: &Topic) -> String {
    let language = match library.kind {
        Kind::R => "r",
        Kind::Python => "python",
        Kind::Rust => "rust",
        Kind::Npm => "ts",
    };
    let mut text = format!("# {}\n\n{}\n", one_line(&topic.name), one_line(&topic.title));
    if !topic.usage.trim().is_empty() {
        // A fence that is longer than any in the text cannot be ended by it.
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
    let path = RelPath::new(path).expect("it is made of plain parts");
    PackedFile { path, executable: false, bytes: text.into_bytes() }
}

/// Returns a name for a file that no other has, on any system.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' })
        .take(80)
        .collect();
    let plain = plain.trim_matches('-');
    let plain = if plain.is_empty() { "topic" } else { plain };
    // Names that are devices somewhere get a sign more.
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

/// Returns a name or a version without what could steer whoever reads it.
pub(crate) fn plain(text: &str) -> String {
    cut(&one_line(&clean(text)), 200)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn ended(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) || text.is_empty() {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}
