//! Resolves paths in a crate, ignoring visibility.

use super::model::{Crate, Target, Use};

/// The maximum number of imports to follow for a path.
const MAX_STEPS: usize = 24;

impl Crate {
    /// Returns what a path in a module refers to; nothing if it belongs to another crate.
    pub(super) fn resolve(&self, module: &str, path: &[String]) -> Vec<Target> {
        self.follow(module, path, 0)
    }

    /// Returns true for a path that belongs to this crate.
    pub(super) fn is_own(&self, module: &str, path: &[String]) -> bool {
        path.first().is_some_and(|first| {
            matches!(first.as_str(), "crate" | "self" | "super")
                || !self.follow(module, std::slice::from_ref(first), 0).is_empty()
        })
    }

    fn follow(&self, module: &str, path: &[String], steps: usize) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        let root = module.split("::").next().unwrap_or(module);
        let start = match first.as_str() {
            "crate" => vec![Target::Module(root.to_owned())],
            "self" => vec![Target::Module(module.to_owned())],
            "super" => {
                let around = module.rsplit_once("::").map(|(around, _)| around.to_owned());
                around.map(Target::Module).into_iter().collect()
            }
            name => {
                let here = self.lookup(module, name, steps);
                if here.is_empty() && self.is_edition_2015 {
                    self.lookup(root, name, steps)
                } else {
                    here
                }
            }
        };
        rest.iter().fold(start, |targets, part| {
            targets.iter().flat_map(|target| self.inside(target, part, steps)).collect()
        })
    }

    /// Returns what a name inside of a target refers to.
    fn inside(&self, found: &Target, name: &str, steps: usize) -> Vec<Target> {
        match found {
            Target::Module(module) if name == "super" => {
                let around = module.rsplit_once("::").map(|(around, _)| around.to_owned());
                around.map(Target::Module).into_iter().collect()
            }
            Target::Module(module) => self.lookup(module, name, steps),
            Target::Item(module, item) => {
                let has_it = self.variants(module, item).any(|variant| variant == name);
                let variant = || Target::Variant(module.clone(), item.clone(), name.to_owned());
                has_it.then(variant).into_iter().collect()
            }
            Target::Variant(..) => Vec::new(),
        }
    }

    /// Returns the names of an enum's variants.
    pub(super) fn variants(&self, module: &str, item: &str) -> impl Iterator<Item = &str> {
        let entry = self.modules.get(module).and_then(|module| module.items.get(item));
        entry.into_iter().flat_map(|entry| &entry.variants).map(|topic| topic.name.as_str())
    }

    /// Returns what a name in a module refers to; a module, an item and a macro may have the same name.
    fn lookup(&self, module: &str, name: &str, steps: usize) -> Vec<Target> {
        let Some(here) = self.modules.get(module).filter(|_| steps < MAX_STEPS) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let inner = format!("{module}::{name}");
        if self.modules.contains_key(&inner) {
            found.push(Target::Module(inner));
        }
        for key in [name.to_owned(), format!("{name}!")] {
            if here.items.contains_key(&key) {
                found.push(Target::Item(module.to_owned(), key));
            }
        }
        let is_named = |one: &&Use| one.alias.as_deref() == Some(name) && one.path != [name];
        for one in here.uses.iter().filter(is_named) {
            found.extend(self.follow(module, &one.path, steps + 1));
        }
        if found.is_empty() {
            for one in here.uses.iter().filter(|one| one.alias.is_none()) {
                let holders = self.follow(module, &one.path, steps + 1);
                let inside = holders.iter().flat_map(|holder| self.inside(holder, name, steps + 1));
                found.extend(inside);
            }
        }
        found.dedup();
        found
    }
}
