//! Parses the files of a crate, module by module.

use std::collections::BTreeSet;

use syn::{Attribute, ImplItem, Item, TraitItem, Type};

use crate::library::first_sentence;
use crate::{Files, Topic};

use super::attributes::{self, docs, is_excluded, is_for_tests};
use super::model::{Crate, Entry, Target, Use, uses};
use super::show::{self, is_public, written};
use super::source::parsed;

/// The maximum number of items in a crate; further ones are ignored.
const MAX_ITEMS: usize = 20_000;
/// The maximum nesting of modules.
const MAX_DEPTH: usize = 12;
/// Macros that generate nothing that users of the crate can use.
const IGNORED_MACROS: [&str; 3] = ["thread_local", "compile_error", "macro_rules"];

/// The root file of a crate.
#[derive(Clone, Copy)]
pub(super) struct Root<'a> {
    pub path: &'a str,
    pub file: &'a syn::File,
    /// The name that users import the crate as.
    pub name: &'a str,
    /// Paths in `use` begin at the root, as in the 2015 edition.
    pub is_edition_2015: bool,
}

/// Parses a crate: its root file and the files of its modules.
pub(super) fn read(files: &Files, root: Root<'_>) -> Crate {
    let Root { path, file, name, is_edition_2015 } = root;
    let folder = folder(path);
    let mut reader = Reader {
        files,
        found: Crate { is_edition_2015, ..Crate::default() },
        root: name.to_owned(),
        impls: Vec::new(),
        seen: BTreeSet::new(),
        count: 0,
    };
    let scope = Scope { module: name, children: folder, own: folder, depth: 0 };
    reader.items(&file.items, scope);
    let Reader { mut found, impls, .. } = reader;
    for Impl { module, path, members } in impls {
        for owner in found.resolve(&module, &path) {
            let Target::Item(module, name) = owner else { continue };
            let module = found.modules.get_mut(&module);
            if let Some(entry) = module.and_then(|module| module.items.get_mut(&name)) {
                entry.members.extend(members.clone());
            }
        }
    }
    found
}

struct Reader<'a> {
    files: &'a Files,
    found: Crate,
    root: String,
    impls: Vec<Impl>,
    /// Files that were parsed, and as which module.
    seen: BTreeSet<(String, String)>,
    count: usize,
}

/// The methods in an `impl`, which may be in another module than its type.
struct Impl {
    module: String,
    path: Vec<String>,
    members: Vec<Topic>,
}

/// The scope of items.
#[derive(Clone, Copy)]
struct Scope<'a> {
    /// The path of their module.
    module: &'a str,
    /// The folder with the files of its submodules.
    children: &'a str,
    /// The folder that `#[path]` is relative to.
    own: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn items(&mut self, items: &[Item], scope: Scope<'_>) {
        self.found.modules.entry(scope.module.to_owned()).or_default();
        if scope.depth > MAX_DEPTH || self.count > MAX_ITEMS {
            return;
        }
        for item in items {
            self.item(item, scope);
        }
    }

    fn item(&mut self, item: &Item, scope: Scope<'_>) {
        let module = scope.module;
        match item {
            Item::Fn(item) => self.function(item, module),
            Item::Struct(item) => {
                self.add(
                    module,
                    &item.ident,
                    &Declared::of(&item.attrs, &item.vis),
                    show::structure(item),
                );
            }
            Item::Union(item) => {
                self.add(
                    module,
                    &item.ident,
                    &Declared::of(&item.attrs, &item.vis),
                    show::union(item),
                );
            }
            Item::Enum(item) => {
                let variants = item.variants.iter().filter(|variant| !is_excluded(&variant.attrs));
                let variants = variants.map(|variant| {
                    let usage = format!("{}::{}", item.ident, show::variant(variant));
                    topic(&variant.ident.to_string(), &variant.attrs, usage)
                });
                let variants = variants.collect();
                self.add(
                    module,
                    &item.ident,
                    &Declared::of(&item.attrs, &item.vis),
                    show::enumeration(item),
                );
                if let Some(entry) = self.entry(module, &item.ident.to_string()) {
                    entry.variants = variants;
                }
            }
            Item::Trait(item) => {
                self.add(
                    module,
                    &item.ident,
                    &Declared::of(&item.attrs, &item.vis),
                    show::trait_head(item),
                );
                let members = item.items.iter().filter_map(trait_member).collect();
                if let Some(entry) = self.entry(module, &item.ident.to_string()) {
                    entry.members = members;
                }
            }
            Item::Type(item) => {
                let mut bare = item.clone();
                bare.attrs.clear();
                self.add(
                    module,
                    &item.ident,
                    &Declared::of(&item.attrs, &item.vis),
                    written(&bare),
                );
            }
            Item::Const(item) => {
                let usage = format!("pub const {}: {}", item.ident, written(&item.ty));
                self.add(module, &item.ident, &Declared::of(&item.attrs, &item.vis), usage);
            }
            Item::Static(item) => {
                let keyword = match item.mutability {
                    syn::StaticMutability::Mut(_) => "pub static mut",
                    _ => "pub static",
                };
                let usage = format!("{keyword} {}: {}", item.ident, written(&item.ty));
                self.add(module, &item.ident, &Declared::of(&item.attrs, &item.vis), usage);
            }
            Item::Macro(item) => self.macro_item(item, module),
            Item::Impl(item) if item.trait_.is_none() => self.methods(item, module),
            Item::Mod(item) if !item.attrs.iter().any(is_for_tests) => self.module(item, scope),
            Item::Use(item) if !item.attrs.iter().any(is_for_tests) => {
                let is_open = is_public(&item.vis) && !is_excluded(&item.attrs);
                let mut uses = uses(&item.tree);
                uses.iter_mut().for_each(|one| one.is_public = is_open);
                self.take(module, uses);
            }
            Item::ExternCrate(item) => {
                let is_open = is_public(&item.vis) && !is_excluded(&item.attrs);
                let path = vec![item.ident.to_string()];
                let alias = item.rename.as_ref().map_or(&item.ident, |(_, name)| name).to_string();
                if alias != "_" && is_open {
                    self.take(module, vec![Use { path, alias: Some(alias), is_public: true }]);
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, module: &str, uses: Vec<Use>) {
        self.found.modules.entry(module.to_owned()).or_default().uses.extend(uses);
    }

    fn function(&mut self, item: &syn::ItemFn, module: &str) {
        let usage = format!("pub {}", written(&item.sig));
        let name = item.sig.ident.to_string();
        if attributes::has(&item.attrs, "proc_macro") {
            let usage = format!("{name}!(...)");
            self.add(module, &format!("{name}!"), &Declared::of(&item.attrs, &item.vis), usage);
        } else if attributes::has(&item.attrs, "proc_macro_attribute") {
            self.add(module, &name, &Declared::of(&item.attrs, &item.vis), format!("#[{name}]"));
        } else if let Some(derived) = attributes::derived(&item.attrs) {
            self.add(
                module,
                &derived,
                &Declared::of(&item.attrs, &item.vis),
                format!("#[derive({derived})]"),
            );
        } else {
            self.add(module, &name, &Declared::of(&item.attrs, &item.vis), usage);
        }
    }

    fn macro_item(&mut self, item: &syn::ItemMacro, module: &str) {
        let Some(name) = &item.ident else {
            let written = written(&item.mac.path);
            if !IGNORED_MACROS.contains(&written.as_str()) && !item.attrs.iter().any(is_for_tests) {
                self.found.macros.insert(format!("{written}!"));
            }
            return;
        };
        // An exported macro belongs to the root of the crate, wherever it is defined.
        let is_exported = attributes::has(&item.attrs, "macro_export");
        let module = if is_exported { self.root.clone() } else { module.to_owned() };
        let entry = Entry {
            topic: topic(&format!("{name}!"), &item.attrs, format!("{name}!(...)")),
            is_shown: is_exported && !is_excluded(&item.attrs),
            ..Entry::default()
        };
        self.put(&module, entry);
    }

    fn methods(&mut self, item: &syn::ItemImpl, module: &str) {
        let Type::Path(owner) = item.self_ty.as_ref() else { return };
        if item.attrs.iter().any(is_for_tests) {
            return;
        }
        let path = owner.path.segments.iter().map(|part| part.ident.to_string()).collect();
        let members = item.items.iter().filter_map(|inner| match inner {
            ImplItem::Fn(inner) if is_public(&inner.vis) && !is_excluded(&inner.attrs) => {
                let usage = format!("pub {}", written(&inner.sig));
                Some(topic(&inner.sig.ident.to_string(), &inner.attrs, usage))
            }
            ImplItem::Const(inner) if is_public(&inner.vis) && !is_excluded(&inner.attrs) => {
                let usage = format!("pub const {}: {}", inner.ident, written(&inner.ty));
                Some(topic(&inner.ident.to_string(), &inner.attrs, usage))
            }
            _ => None,
        });
        let members: Vec<Topic> = members.collect();
        self.count += members.len();
        self.impls.push(Impl { module: module.to_owned(), path, members });
    }

    fn module(&mut self, item: &syn::ItemMod, scope: Scope<'_>) {
        let (name, inner) = (item.ident.to_string(), format!("{}::{}", scope.module, item.ident));
        if is_public(&item.vis) && !is_excluded(&item.attrs) {
            let around = self.found.modules.entry(scope.module.to_owned()).or_default();
            around.public.push(name.clone());
        }
        let below = join(scope.children, &name);
        let depth = scope.depth + 1;
        if let Some((_, items)) = &item.content {
            self.items(items, Scope { module: &inner, children: &below, own: &below, depth });
            return;
        }
        let named = attributes::path(&item.attrs).and_then(|path| resolve_path(scope.own, &path));
        let candidates: Vec<(String, String)> = match named {
            // The submodules of a file from `#[path]` are next to it.
            Some(file) => vec![(file.clone(), folder(&file).to_owned())],
            None => {
                vec![(format!("{below}.rs"), below.clone()), (format!("{below}/mod.rs"), below)]
            }
        };
        let Some((file, children)) = candidates.into_iter().find(|(file, _)| self.files.has(file))
        else {
            return;
        };
        if !self.seen.insert((file.clone(), inner.clone())) {
            return;
        }
        // Skip a file that cannot be parsed.
        let text = self.files.text(&file).unwrap_or_default();
        if let Ok(parsed) = parsed(&text) {
            let own = folder(&file);
            self.items(&parsed.items, Scope { module: &inner, children: &children, own, depth });
        }
    }

    fn entry(&mut self, module: &str, name: &str) -> Option<&mut Entry> {
        self.found.modules.get_mut(module)?.items.get_mut(name)
    }

    fn add(&mut self, module: &str, name: &impl ToString, declared: &Declared<'_>, usage: String) {
        let Declared { attributes, visibility } = *declared;
        if attributes.iter().any(is_for_tests) {
            return;
        }
        let is_shown = is_public(visibility) && !is_excluded(attributes);
        let topic = topic(&name.to_string(), attributes, usage);
        self.put(module, Entry { topic, is_shown, ..Entry::default() });
    }

    /// Adds an item. If it is defined several times, for different systems, the one with more documentation is kept.
    fn put(&mut self, module: &str, entry: Entry) {
        self.count += 1;
        let module = self.found.modules.entry(module.to_owned()).or_default();
        let rank = |entry: &Entry| {
            (entry.is_shown, entry.topic.description.len(), entry.topic.usage.len())
        };
        match module.items.get(&entry.topic.name) {
            Some(known) if rank(known) >= rank(&entry) => {}
            _ => {
                module.items.insert(entry.topic.name.clone(), entry);
            }
        }
    }
}

/// The attributes and visibility of an item.
struct Declared<'a> {
    attributes: &'a [Attribute],
    visibility: &'a syn::Visibility,
}

impl<'a> Declared<'a> {
    fn of(attributes: &'a [Attribute], visibility: &'a syn::Visibility) -> Self {
        Self { attributes, visibility }
    }
}

fn trait_member(item: &TraitItem) -> Option<Topic> {
    match item {
        TraitItem::Fn(item) if !is_excluded(&item.attrs) => {
            Some(topic(&item.sig.ident.to_string(), &item.attrs, written(&item.sig)))
        }
        TraitItem::Const(item) if !is_excluded(&item.attrs) => {
            let usage = format!("const {}: {}", item.ident, written(&item.ty));
            Some(topic(&item.ident.to_string(), &item.attrs, usage))
        }
        TraitItem::Type(item) if !is_excluded(&item.attrs) => {
            let mut bare = item.clone();
            bare.attrs.clear();
            Some(topic(&item.ident.to_string(), &item.attrs, written(&bare)))
        }
        _ => None,
    }
}

fn topic(name: &str, attributes: &[Attribute], usage: String) -> Topic {
    let description = docs(attributes);
    let title = first_sentence(&description);
    let title = if title.is_empty() { usage.clone() } else { title };
    Topic { name: name.to_owned(), title, usage, description, ..Topic::default() }
}

/// Resolves a path relative to a folder.
fn resolve_path(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns the folder of a file.
pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
