//! Crates: public items with their signatures and doc comments.

use std::collections::{BTreeMap, BTreeSet};

use quote::ToTokens;
use syn::{Attribute, Expr, Item, Lit, Meta, UseTree, Visibility};

use crate::library::first_sentence;
use crate::{Files, Kind, Library, SkillifyError, Topic};

const MOST: usize = 600;
/// The most that is read of a crate.
const MOST_READ: usize = 20_000;
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
    let mut reader = Reader { files, modules: BTreeMap::new(), seen: BTreeSet::new(), count: 0 };
    let crate_name = name.replace('-', "_");
    let description = docs(&file.attrs);
    reader.items(&file.items, &crate_name, folder(root), 0);
    let mut topics = reader.exported(&crate_name);
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

/// Everything that the files of a crate define, wherever it can be reached from.
struct Reader<'a> {
    files: &'a Files,
    /// By the path of their module.
    modules: BTreeMap<String, Module>,
    /// Files that were read.
    seen: BTreeSet<String>,
    count: usize,
}

/// A module, as it is written.
#[derive(Default)]
struct Module {
    /// What it defines and lets out: by name, such as `Foo` and `Foo::new`.
    items: Vec<Topic>,
    /// Its own modules that it lets out.
    public: Vec<String>,
    /// What it hands on.
    uses: Vec<Use>,
}

/// Something that a module hands on.
struct Use {
    /// The path, as it is written.
    path: Vec<String>,
    /// What it is called from then on; none for all that is in it.
    alias: Option<String>,
}

impl Reader<'_> {
    fn items(&mut self, items: &[Item], path: &str, folder: &str, depth: usize) {
        self.modules.entry(path.to_owned()).or_default();
        if depth > MAX_DEPTH || self.count > MOST_READ {
            return;
        }
        for item in items {
            self.item(item, path, folder, depth);
        }
    }

    fn item(&mut self, item: &Item, path: &str, folder: &str, depth: usize) {
        let shown = |tokens: String| plain(&tokens);
        match item {
            Item::Fn(item) if is_public(&item.vis) => {
                let head = format!("pub {}", item.sig.to_token_stream());
                self.add(path, &item.sig.ident.to_string(), &item.attrs, plain(&head));
            }
            Item::Struct(item) if is_public(&item.vis) => {
                let mut bare = item.clone();
                bare.attrs.clear();
                bare.fields.iter_mut().for_each(|field| field.attrs.clear());
                let name = item.ident.to_string();
                self.add(path, &name, &item.attrs, shown(bare.to_token_stream().to_string()));
            }
            Item::Enum(item) if is_public(&item.vis) => {
                let mut bare = item.clone();
                bare.attrs.clear();
                for variant in &mut bare.variants {
                    variant.attrs.clear();
                    variant.fields.iter_mut().for_each(|field| field.attrs.clear());
                }
                let name = item.ident.to_string();
                self.add(path, &name, &item.attrs, shown(bare.to_token_stream().to_string()));
            }
            Item::Trait(item) if is_public(&item.vis) => {
                let name = item.ident.to_string();
                let head = format!("pub trait {name}{}", item.generics.to_token_stream());
                self.add(path, &name, &item.attrs, plain(&head));
                for inner in &item.items {
                    if let syn::TraitItem::Fn(inner) = inner {
                        let method = format!("{name}::{}", inner.sig.ident);
                        let head = inner.sig.to_token_stream().to_string();
                        self.add(path, &method, &inner.attrs, shown(head));
                    }
                }
            }
            Item::Type(item) if is_public(&item.vis) => {
                let mut bare = item.clone();
                bare.attrs.clear();
                let name = item.ident.to_string();
                self.add(path, &name, &item.attrs, shown(bare.to_token_stream().to_string()));
            }
            Item::Const(item) if is_public(&item.vis) => {
                let head = format!("pub const {}: {}", item.ident, item.ty.to_token_stream());
                self.add(path, &item.ident.to_string(), &item.attrs, plain(&head));
            }
            // A macro that is exported is the crate's own, wherever it is written.
            Item::Macro(item)
                if item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export")) =>
            {
                if let Some(name) = &item.ident {
                    let root = path.split("::").next().unwrap_or(path).to_owned();
                    self.add(&root, &format!("{name}!"), &item.attrs, format!("{name}!(...)"));
                }
            }
            Item::Impl(item) if item.trait_.is_none() => self.methods(item, path),
            Item::Mod(item) => {
                let (name, inner) = (item.ident.to_string(), format!("{path}::{}", item.ident));
                if is_public(&item.vis) && !item.attrs.iter().any(is_hidden) {
                    self.modules.entry(path.to_owned()).or_default().public.push(name.clone());
                }
                match &item.content {
                    Some((_, items)) => self.items(items, &inner, &join(folder, &name), depth + 1),
                    None => self.module(&name, &inner, folder, depth),
                }
            }
            Item::Use(item) if is_public(&item.vis) && !item.attrs.iter().any(is_hidden) => {
                let mut uses = Vec::new();
                handed_on(&item.tree, &mut Vec::new(), &mut uses);
                self.modules.entry(path.to_owned()).or_default().uses.extend(uses);
            }
            _ => {}
        }
    }

    fn methods(&mut self, item: &syn::ItemImpl, path: &str) {
        let owner = plain(&item.self_ty.to_token_stream().to_string());
        let owner = owner.split('<').next().unwrap_or(&owner).trim().to_owned();
        let owner = owner.rsplit("::").next().unwrap_or(&owner).to_owned();
        for inner in &item.items {
            if let syn::ImplItem::Fn(inner) = inner
                && is_public(&inner.vis)
            {
                let head = format!("pub {}", inner.sig.to_token_stream());
                let name = format!("{owner}::{}", inner.sig.ident);
                self.add(path, &name, &inner.attrs, plain(&head));
            }
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

    fn add(&mut self, path: &str, name: &str, attributes: &[Attribute], usage: String) {
        if attributes.iter().any(is_hidden) {
            return;
        }
        let description = docs(attributes);
        let title = first_sentence(&description);
        let title = if title.is_empty() { usage.clone() } else { title };
        self.count += 1;
        let module = self.modules.entry(path.to_owned()).or_default();
        // The same thing for another system has one page: the one with more to say.
        if let Some(there) = module.items.iter_mut().find(|topic| topic.name == name) {
            if there.description.len() < description.len() || there.usage.len() < usage.len() {
                *there =
                    Topic { name: name.to_owned(), title, usage, description, ..Topic::default() };
            }
            return;
        }
        module.items.push(Topic {
            name: name.to_owned(),
            title,
            usage,
            description,
            ..Topic::default()
        });
    }

    /// Returns what can be reached from outside, by the paths that others use.
    fn exported(&self, root: &str) -> Vec<Topic> {
        let mut found = BTreeMap::new();
        self.reach(root, root, &mut BTreeSet::new(), &mut found);
        found.into_values().collect()
    }

    /// Adds what others reach of a module, which they call `shown`.
    fn reach(
        &self,
        module: &str,
        shown: &str,
        seen: &mut BTreeSet<(String, String)>,
        found: &mut BTreeMap<String, Topic>,
    ) {
        let is_new = seen.insert((module.to_owned(), shown.to_owned()));
        let Some(here) = self.modules.get(module).filter(|_| is_new && seen.len() < MOST_READ)
        else {
            return;
        };
        for topic in &here.items {
            // The methods of a type that is not let out are not either.
            let owner = topic.name.split("::").next().unwrap_or_default();
            let is_owned = topic.name == owner || here.items.iter().any(|item| item.name == owner);
            if is_owned {
                put(found, topic, &format!("{shown}::{}", topic.name));
            }
        }
        for name in &here.public {
            self.reach(&format!("{module}::{name}"), &format!("{shown}::{name}"), seen, found);
        }
        for one in &here.uses {
            self.reach_use(one, (module, shown), seen, found);
        }
    }

    fn reach_use(
        &self,
        one: &Use,
        (module, shown): (&str, &str),
        seen: &mut BTreeSet<(String, String)>,
        found: &mut BTreeMap<String, Topic>,
    ) {
        let Some(target) = self.target(&one.path, module) else {
            // It comes from another crate, which tells of it.
            if let (Some(alias), [first, ..]) = (&one.alias, one.path.as_slice())
                && !matches!(first.as_str(), "crate" | "self" | "super")
            {
                let title = format!("handed on from `{}`", one.path.join("::"));
                let usage = format!("pub use {};", one.path.join("::"));
                let topic = Topic { title, usage, ..Topic::default() };
                put(found, &topic, &format!("{shown}::{alias}"));
            }
            return;
        };
        match &one.alias {
            None => self.reach(&target, shown, seen, found),
            Some(alias) if self.modules.contains_key(&target) => {
                self.reach(&target, &format!("{shown}::{alias}"), seen, found);
            }
            Some(alias) => {
                let (holder, name) = target.rsplit_once("::").unwrap_or(("", &target));
                let Some(holder) = self.modules.get(holder) else { return };
                for topic in &holder.items {
                    let Some(rest) = topic.name.strip_prefix(name) else { continue };
                    if rest.is_empty() || rest.starts_with("::") {
                        put(found, topic, &format!("{shown}::{alias}{rest}"));
                    }
                }
            }
        }
    }

    /// Returns the module or item of this crate that a path means, seen from a module. Handed on itself it is looked for where it comes from.
    fn target(&self, path: &[String], module: &str) -> Option<String> {
        let root = module.split("::").next().unwrap_or(module);
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => root.to_owned(),
            "self" => module.to_owned(),
            "super" => module.rsplit_once("::")?.0.to_owned(),
            name => {
                let inner = format!("{module}::{name}");
                let is_item = self.modules.get(module)?.items.iter().any(|item| item.name == *name);
                if !self.modules.contains_key(&inner) && !is_item {
                    return None;
                }
                inner
            }
        };
        let full = rest.iter().fold(start, |at, part| format!("{at}::{part}"));
        self.settled(full, 0)
    }

    /// Follows what is handed on inside the crate to where it is defined.
    fn settled(&self, full: String, depth: usize) -> Option<String> {
        if self.modules.contains_key(&full) {
            return Some(full);
        }
        let (holder, name) = full.rsplit_once("::")?;
        let there = self.modules.get(holder)?;
        if there.items.iter().any(|item| item.name == name) || depth > MAX_DEPTH {
            return Some(full);
        }
        let one = there.uses.iter().find(|one| one.alias.as_deref() == Some(name))?;
        let (first, rest) = one.path.split_first()?;
        let start = match first.as_str() {
            "crate" => full.split("::").next()?.to_owned(),
            "self" => holder.to_owned(),
            "super" => holder.rsplit_once("::")?.0.to_owned(),
            inner => format!("{holder}::{inner}"),
        };
        self.settled(rest.iter().fold(start, |at, part| format!("{at}::{part}")), depth + 1)
    }
}

/// Adds a topic by the name that others use.
fn put(found: &mut BTreeMap<String, Topic>, topic: &Topic, name: &str) {
    let topic = Topic { name: name.to_owned(), ..topic.clone() };
    found.entry(name.to_owned()).or_insert(topic);
}

/// Takes apart what a `pub use` hands on.
fn handed_on(tree: &UseTree, at: &mut Vec<String>, found: &mut Vec<Use>) {
    let with = |at: &[String], name: &str| {
        let mut path = at.to_vec();
        // `a::{self}` is `a`.
        if name != "self" || path.is_empty() {
            path.push(name.to_owned());
        }
        path
    };
    match tree {
        UseTree::Path(inner) => {
            at.push(inner.ident.to_string());
            handed_on(&inner.tree, at, found);
            at.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| handed_on(tree, at, found)),
        UseTree::Rename(renamed) => {
            let path = with(at, &renamed.ident.to_string());
            found.push(Use { path, alias: Some(renamed.rename.to_string()) });
        }
        UseTree::Name(name) => {
            let path = with(at, &name.ident.to_string());
            let alias = path.last().cloned();
            found.push(Use { path, alias });
        }
        UseTree::Glob(_) => found.push(Use { path: at.clone(), alias: None }),
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
