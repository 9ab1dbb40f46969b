//! What a path in a crate refers to, whoever may use it.

use super::model::{Crate, Found, Use};

/// How many `use` may lead from one to the next.
const MAX_STEPS: usize = 24;

impl Crate {
    /// Returns what a path refers to, seen from a module: nothing if it is of another crate.
    pub(super) fn resolve(&self, module: &str, path: &[String]) -> Vec<Found> {
        self.follow(module, path, 0)
    }

    /// Returns true for a path that begins in this crate.
    pub(super) fn is_own(&self, module: &str, path: &[String]) -> bool {
        path.first().is_some_and(|first| {
            matches!(first.as_str(), "crate" | "self" | "super")
                || !self.follow(module, std::slice::from_ref(first), 0).is_empty()
        })
    }

    fn follow(&self, module: &str, path: &[String], steps: usize) -> Vec<Found> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        let root = module.split("::").next().unwrap_or(module);
        let start = match first.as_str() {
            "crate" => vec![Found::Module(root.to_owned())],
            "self" => vec![Found::Module(module.to_owned())],
            "super" => {
                let around = module.rsplit_once("::").map(|(around, _)| around.to_owned());
                around.map(Found::Module).into_iter().collect()
            }
            name => {
                let here = self.lookup(module, name, steps);
                if here.is_empty() && self.is_old { self.lookup(root, name, steps) } else { here }
            }
        };
        rest.iter().fold(start, |at, part| {
            at.iter().flat_map(|found| self.inside(found, part, steps)).collect()
        })
    }

    /// Returns what a name inside of something refers to.
    fn inside(&self, found: &Found, name: &str, steps: usize) -> Vec<Found> {
        match found {
            Found::Module(module) if name == "super" => {
                let around = module.rsplit_once("::").map(|(around, _)| around.to_owned());
                around.map(Found::Module).into_iter().collect()
            }
            Found::Module(module) => self.lookup(module, name, steps),
            Found::Item(module, item) => {
                let has_it = self.variants(module, item).any(|variant| variant == name);
                let variant = || Found::Variant(module.clone(), item.clone(), name.to_owned());
                has_it.then(variant).into_iter().collect()
            }
            Found::Variant(..) => Vec::new(),
        }
    }

    /// Returns the names of an enum's variants.
    pub(super) fn variants(&self, module: &str, item: &str) -> impl Iterator<Item = &str> {
        let entry = self.modules.get(module).and_then(|module| module.items.get(item));
        entry.into_iter().flat_map(|entry| &entry.variants).map(|topic| topic.name.as_str())
    }

    /// Returns what a name in a module refers to: a module, an item and a macro may share one.
    fn lookup(&self, module: &str, name: &str, steps: usize) -> Vec<Found> {
        let Some(here) = self.modules.get(module).filter(|_| steps < MAX_STEPS) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let inner = format!("{module}::{name}");
        if self.modules.contains_key(&inner) {
            found.push(Found::Module(inner));
        }
        for key in [name.to_owned(), format!("{name}!")] {
            if here.items.contains_key(&key) {
                found.push(Found::Item(module.to_owned(), key));
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
