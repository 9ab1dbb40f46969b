//! R packages: a source tree, its tarball, or an installed library.

mod dcf;
mod lazy;
mod namespace;
mod rd;
mod rd_text;
mod serialize;

use crate::library::first_sentence;
use crate::{Files, Library, PackageKind, SkillifyError, Topic};

use dcf::Dcf;
use rd::Rd;

/// Reads an R package.
pub(crate) fn library(files: &Files) -> Result<Library, SkillifyError> {
    let description = Dcf::parse(&files.text("DESCRIPTION").unwrap_or_default());
    let name = description.get("Package").unwrap_or_default();
    if name.is_empty() {
        return Err(SkillifyError::file("DESCRIPTION", "missing package name"));
    }
    let exports = namespace::exports(&files.text("NAMESPACE").unwrap_or_default());
    let mut topics = documented(files, &name)?;
    topics.retain(|(topic, aliases)| {
        let is_exported = |name: &String| exports.covers(name);
        !aliases.is_empty()
            && (aliases.iter().any(is_exported) || exports.is_unknown())
            && !topic.is_internal
    });
    let named = |(page, aliases): (Page, Vec<String>)| {
        // The page is named after its first exported alias, not after the name that its author gave it.
        let mut names: Vec<String> = aliases
            .into_iter()
            .filter(|name| exports.covers(name) || exports.is_unknown())
            .collect();
        names.dedup();
        if names.is_empty() {
            return page.topic;
        }
        let name = names.remove(0);
        Topic { name, aliases: names, ..page.topic }
    };
    let mut all: Vec<Topic> = topics.into_iter().map(named).collect();
    // Exports without documentation are at least listed.
    for name in exports.names() {
        let is_listed = all.iter().any(|topic| topic.name == *name || topic.aliases.contains(name));
        if !is_listed {
            let title = index_title(files, name).unwrap_or_else(|| "not documented".to_owned());
            all.push(Topic { name: name.clone(), title, ..Topic::default() });
        }
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all.dedup_by(|one, other| one.name == other.name);
    let text = description.get("Description").unwrap_or_default();
    Ok(Library {
        kind: PackageKind::R,
        title: description.get("Title").unwrap_or_else(|| first_sentence(&text)),
        version: description.get("Version").unwrap_or_default(),
        license: description.get("License"),
        description: text,
        topics: all,
        modules: Vec::new(),
        unread: Vec::new(),
        vignettes: vignettes(files),
        source: files.digest(),
        name,
    })
}

/// A help page.
struct Page {
    topic: Topic,
    is_internal: bool,
}

/// Returns every help page with its aliases: from `man/`, or from the compiled help of an installed package.
fn documented(files: &Files, name: &str) -> Result<Vec<(Page, Vec<String>)>, SkillifyError> {
    let mut pages = Vec::new();
    let is_page =
        |path: &&str| path.starts_with("man/") && (path.ends_with(".Rd") || path.ends_with(".rd"));
    let sources: Vec<&str> = files.paths().filter(is_page).collect();
    for path in &sources {
        let text = files.text(path).unwrap_or_default();
        let tree = rd_text::parse(&text).map_err(|why| SkillifyError::file(path, why))?;
        pages.push(page(&tree));
    }
    let (rdx, rdb) = (format!("help/{name}.rdx"), format!("help/{name}.rdb"));
    if sources.is_empty()
        && let (Some(index), Some(data)) = (files.bytes(&rdx), files.bytes(&rdb))
    {
        let found = lazy::pages(index, data).map_err(|why| SkillifyError::file(&rdb, why))?;
        pages.extend(found.iter().map(|tree| page(tree)));
    }
    Ok(pages)
}

fn page(tree: &[Rd]) -> (Page, Vec<String>) {
    let text = |tag: &str| rd::section(tree, tag).map(rd::text).unwrap_or_default();
    let aliases: Vec<String> =
        rd::sections(tree, "\\alias").map(|alias| rd::text(alias).trim().to_owned()).collect();
    let keywords: Vec<String> = rd::sections(tree, "\\keyword").map(rd::text).collect();
    let topic = Topic {
        name: text("\\name").trim().to_owned(),
        aliases: Vec::new(),
        title: text("\\title").trim().to_owned(),
        usage: rd::section(tree, "\\usage").map(rd::code).unwrap_or_default(),
        description: [text("\\description"), text("\\details")].join("\n\n").trim().to_owned(),
        arguments: rd::arguments(tree),
        value: text("\\value"),
    };
    let is_internal = keywords.iter().any(|keyword| keyword.trim() == "internal");
    (Page { topic, is_internal }, aliases)
}

/// Returns the title of a topic in the INDEX of an installed library.
fn index_title(files: &Files, name: &str) -> Option<String> {
    let index = files.text("INDEX")?;
    let line = index.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    Some(line[name.len()..].trim().to_owned()).filter(|title| !title.is_empty())
}

/// Returns the titles of vignettes, from their index entry or their `title:` line.
fn vignettes(files: &Files) -> Vec<String> {
    let is_one = |path: &&str| {
        (path.starts_with("vignettes/")
            || path.starts_with("doc/")
            || path.starts_with("inst/doc/"))
            && (path.ends_with(".Rmd") || path.ends_with(".Rnw"))
    };
    let mut titles: Vec<String> = files
        .paths()
        .filter(is_one)
        .filter_map(|path| {
            let text = files.text(path)?;
            let indexed =
                text.split("\\VignetteIndexEntry{").nth(1).and_then(|rest| rest.split('}').next());
            let titled = text.lines().take(40).find_map(|line| line.strip_prefix("title:"));
            let title = indexed.or(titled)?.trim().trim_matches(['"', '\'']);
            Some(title.to_owned()).filter(|title| !title.is_empty())
        })
        .collect();
    titles.sort();
    titles.dedup();
    titles
}
