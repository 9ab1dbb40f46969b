//! Crates: public items with their signatures and doc comments.

use std::collections::BTreeSet;

use quote::ToTokens;
use syn::{Attribute, Expr, Item, Lit, Meta, UseTree, Visibility};

use crate::library::first_sentence;
use crate::{Files, Kind, Library, SkillifyError, Topic};

const MOST: usize = 600;
/// How deep modules may be nested.
const MAX_DEPTH: usize = 12;

/// Reads a crate.
pub(crate) fn library(files: &Files) -> Result<Library, SkillifyError> {
    let manifest: toml::Table = files
        .text("Cargo.toml")
        .unwrap_or_default()
        .parse()
        .map_err(|error: toml::de::Error| SkillifyError::file("Cargo.toml", error.message()))?;
    let package = manifest.get("package").and_then(toml::Value::as_table);
    let package =
        package.ok_or_else(|| SkillifyError::file("Cargo.toml", "it names no package"))?;
    let get = |key: &str| package.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let name =
        get("name").ok_or_else(|| SkillifyError::file("Cargo.toml", "it names no package"))?;
    let named = manifest.get("lib").and_then(|lib| lib.get("path")?.as_str());
    let root = named.unwrap_or("src/lib.rs");
    let text = files
        .text(root)
        .ok_or_else(|| SkillifyError::file(root, "there is no library in the crate"))?;
    let file = parsed(&text).map_err(|why| SkillifyError::file(root, why))?;
    let mut reader = Reader { files, topics: Vec::new(), seen: BTreeSet::new() };
    let crate_name = name.replace('-', "_");
    let description = docs(&file.attrs);
    reader.items(&file.items, &crate_name, folder(root), 0);
    let mut topics = reader.topics;
    topics.sort_by(|one, other| one.name.cmp(&other.name));
    topics.dedup_by(|one, other| one.name == other.name);
    topics.truncate(MOST);
    Ok(Library {
        kind: Kind::Rust,
        title: get("description").unwrap_or_else(|| first_sentence(&description)),
        version: get("version").unwrap_or_else(|| "0.0.0".to_owned()),
        license: get("license"),
        description: description.split("\n#").next().unwrap_or_default().trim().to_owned(),
        topics,
        module: None,
        vignettes: Vec::new(),
        source: files.digest(),
        name,
    })
}

/// The longest file, the deepest nesting, and the longest stretch without a separator: more than that makes the parser go deeper than any stack.
const MAX_FILE: usize = 512 << 10;
const MAX_NESTED: usize = 128;
const MAX_STRETCH: usize = 8_000;

/// Reads a file of Rust, unless it was made to bring a parser down.
fn parsed(text: &str) -> Result<syn::File, String> {
    let (mut depth, mut stretch) = (0_usize, 0_usize);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        stretch = if matches!(byte, b';' | b',' | b'{' | b'}' | b'\n') { 0 } else { stretch + 1 };
        if depth > MAX_NESTED || stretch > MAX_STRETCH || text.len() > MAX_FILE {
            return Err("it is larger or deeper than code is".to_owned());
        }
    }
    // Lines may be short and go on for ever: what is between two separators is bounded as well.
    let longest = text.split([';', ',', '{', '}']).map(|part| {
        part.lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .map(str::len)
            .sum::<usize>()
    });
    if longest.max().unwrap_or(0) > 4 * MAX_STRETCH {
        return Err("it is larger or deeper than code is".to_owned());
    }
    syn::parse_file(text).map_err(|error| error.to_string())
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

struct Reader<'a> {
    files: &'a Files,
    topics: Vec<Topic>,
    /// Files that were read.
    seen: BTreeSet<String>,
}

impl Reader<'_> {
    fn items(&mut self, items: &[Item], path: &str, folder: &str, depth: usize) {
        if depth > MAX_DEPTH || self.topics.len() > MOST {
            return;
        }
        for item in items {
            self.item(item, path, folder, depth);
        }
    }

    fn item(&mut self, item: &Item, path: &str, folder: &str, depth: usize) {
        let usage = |tokens: String| plain(&tokens);
        match item {
            Item::Fn(item) if is_public(&item.vis) => {
                let head = format!("pub {}", item.sig.to_token_stream());
                self.add(path, &item.sig.ident.to_string(), &item.attrs, usage(head));
            }
            Item::Struct(item) if is_public(&item.vis) => {
                let mut shown = item.clone();
                shown.attrs.clear();
                shown.fields.iter_mut().for_each(|field| field.attrs.clear());
                self.add(
                    path,
                    &item.ident.to_string(),
                    &item.attrs,
                    usage(shown.to_token_stream().to_string()),
                );
            }
            Item::Enum(item) if is_public(&item.vis) => {
                let mut shown = item.clone();
                shown.attrs.clear();
                for variant in &mut shown.variants {
                    variant.attrs.clear();
                    variant.fields.iter_mut().for_each(|field| field.attrs.clear());
                }
                self.add(
                    path,
                    &item.ident.to_string(),
                    &item.attrs,
                    usage(shown.to_token_stream().to_string()),
                );
            }
            Item::Trait(item) if is_public(&item.vis) => {
                let head = format!("pub trait {}", item.ident);
                self.add(path, &item.ident.to_string(), &item.attrs, usage(head));
            }
            Item::Type(item) if is_public(&item.vis) => {
                let mut shown = item.clone();
                shown.attrs.clear();
                self.add(
                    path,
                    &item.ident.to_string(),
                    &item.attrs,
                    usage(shown.to_token_stream().to_string()),
                );
            }
            Item::Const(item) if is_public(&item.vis) => {
                let head = format!("pub const {}: {}", item.ident, item.ty.to_token_stream());
                self.add(path, &item.ident.to_string(), &item.attrs, usage(head));
            }
            Item::Macro(item)
                if item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export")) =>
            {
                if let Some(name) = &item.ident {
                    self.add(path, &format!("{name}!"), &item.attrs, format!("{name}!(...)"));
                }
            }
            Item::Impl(item) if item.trait_.is_none() => {
                let owner = plain(&item.self_ty.to_token_stream().to_string());
                let owner = owner.split('<').next().unwrap_or(&owner).trim().to_owned();
                for inner in &item.items {
                    if let syn::ImplItem::Fn(inner) = inner
                        && is_public(&inner.vis)
                    {
                        let head = format!("pub {}", inner.sig.to_token_stream());
                        let name = format!("{owner}::{}", inner.sig.ident);
                        self.add(path, &name, &inner.attrs, usage(head));
                    }
                }
            }
            Item::Mod(item) if is_public(&item.vis) || item.content.is_none() => {
                let inner = if is_public(&item.vis) {
                    format!("{path}::{}", item.ident)
                } else {
                    path.to_owned()
                };
                match &item.content {
                    Some((_, items)) => {
                        self.items(
                            items,
                            &inner,
                            &join(folder, &item.ident.to_string()),
                            depth + 1,
                        );
                    }
                    None => self.module(&item.ident.to_string(), &inner, folder, depth),
                }
            }
            Item::Use(item) if is_public(&item.vis) => self.exported(&item.tree, path),
            _ => {}
        }
    }

    /// Reads a module that stands in a file of its own.
    fn module(&mut self, name: &str, path: &str, folder: &str, depth: usize) {
        let places =
            [format!("{}.rs", join(folder, name)), format!("{}/mod.rs", join(folder, name))];
        let Some(file) = places.into_iter().find(|file| self.files.has(file)) else { return };
        if !self.seen.insert(file.clone()) {
            return;
        }
        // A file that cannot be read tells nothing; the others do.
        let text = self.files.text(&file).unwrap_or_default();
        if let Ok(parsed) = parsed(&text) {
            self.items(&parsed.items, path, &join(folder, name), depth + 1);
        }
    }

    /// Names what is handed on from another crate.
    fn exported(&mut self, tree: &UseTree, path: &str) {
        match tree {
            UseTree::Path(inner) => self.exported(&inner.tree, path),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.exported(tree, path)),
            UseTree::Rename(renamed) => {
                self.add(path, &renamed.rename.to_string(), &[], String::new());
            }
            UseTree::Name(name) => self.add(path, &name.ident.to_string(), &[], String::new()),
            UseTree::Glob(_) => {}
        }
    }

    fn add(&mut self, path: &str, name: &str, attributes: &[Attribute], usage: String) {
        if attributes.iter().any(is_hidden) {
            return;
        }
        let description = docs(attributes);
        let title = first_sentence(&description);
        let title = if title.is_empty() { usage.clone() } else { title };
        let title = if title.is_empty() { "handed on".to_owned() } else { title };
        let name = format!("{path}::{name}");
        // The one with more to say stays.
        if let Some(there) = self.topics.iter_mut().find(|topic| topic.name == name) {
            if there.description.len() < description.len() || there.usage.len() < usage.len() {
                *there = Topic { name, title, usage, description, ..Topic::default() };
            }
            return;
        }
        self.topics.push(Topic { name, title, usage, description, ..Topic::default() });
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_hidden(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc") && attribute.to_token_stream().to_string().contains("hidden")
}

/// Returns the doc comment of something.
fn docs(attributes: &[Attribute]) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(value) => match &value.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    let trimmed = lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line));
    trimmed.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Returns tokens as people write them.
fn plain(tokens: &str) -> String {
    let mut text = tokens.split_whitespace().collect::<Vec<_>>().join(" ");
    for (from, to) in [
        (" :: ", "::"),
        (" ::", "::"),
        (":: ", "::"),
        (" < ", "<"),
        (" > ", "> "),
        (" >", ">"),
        ("& ", "&"),
        (" , ", ", "),
        (" ,", ","),
        (" ( ", "("),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" ;", ";"),
        (" : ", ": "),
        (" ?", "?"),
        ("- >", "->"),
    ] {
        text = text.replace(from, to);
    }
    text
}
