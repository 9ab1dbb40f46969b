//! What others can reach of a crate, by the paths that they use.

use std::collections::{BTreeMap, BTreeSet};

use crate::Topic;

use super::model::{Crate, Entry, Found, Use};
use super::show::renamed;

/// How many modules are looked through, and how long a path may become.
const MAX_MODULES: usize = 20_000;
const MAX_PATH: usize = 14;

/// Returns what others can reach from the root, and what of it was not read.
pub(super) fn exported(found: &Crate, root: &str) -> (Vec<Topic>, Vec<String>) {
    let mut reach = Reach {
        of: found,
        seen: BTreeSet::new(),
        topics: BTreeMap::new(),
        unread: BTreeSet::new(),
    };
    reach.module(root, root);
    let mut unread: Vec<String> = reach.unread.into_iter().collect();
    if !found.macros.is_empty() {
        let names: Vec<String> = found.macros.iter().map(|name| format!("`{name}`")).collect();
        unread.push(format!(
            "Items that these macros write are not listed, if there are any: {}.",
            names.join(", ")
        ));
    }
    (reach.topics.into_values().collect(), unread)
}

struct Reach<'a> {
    of: &'a Crate,
    /// Modules, and the paths that others use for them.
    seen: BTreeSet<(String, String)>,
    topics: BTreeMap<String, Topic>,
    unread: BTreeSet<String>,
}

impl Reach<'_> {
    /// Adds what others reach of a module, which they call `shown`.
    fn module(&mut self, module: &str, shown: &str) {
        let is_long = shown.split("::").count() > MAX_PATH || self.seen.len() > MAX_MODULES;
        if is_long || !self.seen.insert((module.to_owned(), shown.to_owned())) {
            return;
        }
        let Some(here) = self.of.modules.get(module) else { return };
        for (name, entry) in &here.items {
            self.item(entry, name, &format!("{shown}::{name}"));
        }
        for name in &here.public {
            self.module(&format!("{module}::{name}"), &format!("{shown}::{name}"));
        }
        // A name that is written out wins over one that a `*` brings.
        let public = || here.uses.iter().filter(|one| one.is_public);
        for one in public().filter(|one| one.alias.is_some()) {
            self.named(one, module, shown);
        }
        for one in public().filter(|one| one.alias.is_none()) {
            self.whole(one, module, shown);
        }
    }

    fn named(&mut self, one: &Use, module: &str, shown: &str) {
        let Some(alias) = &one.alias else { return };
        let name = format!("{shown}::{alias}");
        if !self.of.is_own(module, &one.path) || one.path == [alias.as_str()] {
            // It comes from another crate, which describes it.
            let from = one.path.first().cloned().unwrap_or_default();
            let path = one.path.join("::");
            let is_same = one.path.last() == Some(alias);
            let usage = if is_same {
                format!("pub use {path};")
            } else {
                format!("pub use {path} as {alias};")
            };
            let title = format!("re-exported from the crate `{from}`, which was not read");
            self.put(name, Topic { title, usage, ..Topic::default() });
            return;
        }
        for found in self.of.resolve(module, &one.path) {
            match found {
                Found::Module(target) => self.module(&target, &name),
                Found::Item(holder, key) => {
                    let entry = self.of.modules.get(&holder).and_then(|it| it.items.get(&key));
                    let mark = if key.ends_with('!') { "!" } else { "" };
                    if let Some(entry) = entry {
                        self.item(entry, &format!("{alias}{mark}"), &format!("{name}{mark}"));
                    }
                }
                Found::Variant(holder, item, variant) => {
                    self.variant(&holder, &item, &variant, name.clone());
                }
            }
        }
    }

    fn whole(&mut self, one: &Use, module: &str, shown: &str) {
        if !self.of.is_own(module, &one.path) {
            let from = one.path.join("::");
            self.unread.insert(format!(
                "`{shown}` re-exports everything from `{from}`, another crate that was not read."
            ));
            return;
        }
        for found in self.of.resolve(module, &one.path) {
            match found {
                Found::Module(target) => self.module(&target, shown),
                Found::Item(holder, item) => {
                    let names: Vec<String> =
                        self.of.variants(&holder, &item).map(str::to_owned).collect();
                    for name in names {
                        self.variant(&holder, &item, &name, format!("{shown}::{name}"));
                    }
                }
                Found::Variant(..) => {}
            }
        }
    }

    fn variant(&mut self, module: &str, item: &str, variant: &str, name: String) {
        let entry = self.of.modules.get(module).and_then(|module| module.items.get(item));
        let Some(entry) = entry.filter(|entry| entry.is_shown) else { return };
        if let Some(topic) = entry.variants.iter().find(|topic| topic.name == variant) {
            self.put(name, topic.clone());
        }
    }

    /// Adds an item that others call `alias`, by its whole path.
    fn item(&mut self, entry: &Entry, alias: &str, name: &str) {
        if !entry.is_shown {
            return;
        }
        let (old, new) = (entry.topic.name.trim_end_matches('!'), alias.trim_end_matches('!'));
        let usage = renamed(&entry.topic.usage, old, new);
        let is_signature = entry.topic.title == entry.topic.usage;
        let title = if is_signature { usage.clone() } else { entry.topic.title.clone() };
        self.put(name.to_owned(), Topic { usage, title, ..entry.topic.clone() });
        for member in &entry.members {
            self.put(format!("{name}::{}", member.name), member.clone());
        }
    }

    fn put(&mut self, name: String, topic: Topic) {
        self.topics.entry(name.clone()).or_insert(Topic { name, ..topic });
    }
}
