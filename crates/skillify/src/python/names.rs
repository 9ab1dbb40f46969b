//! Resolves names across the modules of a package, and finds those that users import.

use std::collections::{BTreeMap, BTreeSet};

use super::module::{Binding, Module};

/// The maximum number of imports to follow for a name.
const MAX_STEPS: usize = 24;

/// The modules of a package, by their names.
pub(super) struct Modules {
    pub all: BTreeMap<String, Module>,
    /// The modules that are packages; their imports are exports, too.
    pub packages: BTreeSet<String>,
}

/// Where a name is defined: a module, and the name in it.
pub(super) type Origin = (String, String);

impl Modules {
    /// Returns a note for each public module whose `__all__` could not be read completely.
    pub(super) fn unread_lists(&self) -> Vec<String> {
        let is_hidden = |name: &str| name.split('.').any(|part| part.starts_with('_'));
        let unread = self.all.iter().filter(|(name, it)| it.is_all_unread && !is_hidden(name));
        let note = |name: &String| {
            format!("`__all__` of `{name}` is computed; names added at runtime are not listed.")
        };
        unread.map(|(name, _)| note(name)).collect()
    }

    /// Returns where a name of a module is defined, if it is defined in the package.
    pub(super) fn origin(&self, module: &str, name: &str) -> Option<Origin> {
        self.follow(module, name, 0)
    }

    fn follow(&self, module: &str, name: &str, steps: usize) -> Option<Origin> {
        let here = self.all.get(module).filter(|_| steps < MAX_STEPS)?;
        match here.names.get(name) {
            Some(Binding::Function(_) | Binding::Class(_)) => {
                Some((module.to_owned(), name.to_owned()))
            }
            Some(Binding::Imported { module: from, name }) => self.follow(from, name, steps + 1),
            Some(Binding::Alias(path)) => self.alias(module, name, path, steps + 1),
            Some(Binding::Module(_) | Binding::Other) => None,
            None => {
                let mut stars = here.stars.iter().rev();
                stars.find_map(|from| {
                    let is_taken = self.starred(from, 0).contains(name);
                    is_taken.then(|| self.follow(from, name, steps + 1))?
                })
            }
        }
    }

    fn alias(&self, module: &str, own: &str, path: &[String], steps: usize) -> Option<Origin> {
        match path {
            [name] if name != own => self.follow(module, name, steps),
            [first, name] => self.follow(&self.module(module, first)?, name, steps),
            _ => None,
        }
    }

    /// Returns the module that a name in a module refers to.
    fn module(&self, module: &str, name: &str) -> Option<String> {
        match self.all.get(module)?.names.get(name)? {
            Binding::Module(found) => Some(found.clone()),
            Binding::Imported { module, name } => {
                let found = format!("{module}.{name}");
                self.all.contains_key(&found).then_some(found)
            }
            _ => None,
        }
    }

    /// Resolves an expression in a module: `Base`, or `module.Base`.
    pub(super) fn resolve(&self, module: &str, path: &str) -> Option<Origin> {
        match path.split_once('.') {
            None => self.origin(module, path),
            Some((first, name)) => self.follow(&self.module(module, first)?, name, 0),
        }
    }

    /// Returns the names that `from module import *` imports: those in `__all__`, else all that do not begin with `_`.
    fn starred(&self, module: &str, steps: usize) -> BTreeSet<String> {
        let Some(here) = self.all.get(module).filter(|_| steps < MAX_STEPS) else {
            return BTreeSet::new();
        };
        if let Some(all) = &here.all {
            return all.clone();
        }
        let own = here.names.keys().filter(|name| !name.starts_with('_')).cloned();
        let others = here.stars.iter().flat_map(|from| self.starred(from, steps + 1));
        own.chain(others.filter(|name| !name.starts_with('_'))).collect()
    }

    /// Returns the public names of a module, and where each is defined.
    ///
    /// They are those in `__all__`, what a package imports from its modules, and what a module defines itself.
    fn exported(&self, module: &str) -> BTreeMap<String, Origin> {
        let Some(here) = self.all.get(module) else { return BTreeMap::new() };
        let is_own =
            |binding: &Binding| matches!(binding, Binding::Function(_) | Binding::Class(_));
        let mut names: BTreeSet<String> = here
            .names
            .iter()
            .filter(|(name, binding)| is_own(binding) && !name.starts_with('_'))
            .map(|(name, _)| name.clone())
            .collect();
        match &here.all {
            Some(all) => names.extend(all.clone()),
            None if self.packages.contains(module) => names.extend(self.starred(module, 0)),
            None => {
                let is_alias = |binding: &Binding| matches!(binding, Binding::Alias(_));
                let aliases =
                    here.names.iter().filter(|(name, it)| is_alias(it) && !name.starts_with('_'));
                names.extend(aliases.map(|(name, _)| name.clone()));
            }
        }
        let found = names.into_iter().filter_map(|name| {
            let origin = self.origin(module, &name)?;
            Some((name, origin))
        });
        found.collect()
    }

    /// Returns the names that users import, and where each is defined.
    ///
    /// If a definition has several names, those with the shortest path are returned, for each top-level package.
    pub(super) fn public(&self) -> BTreeMap<String, Origin> {
        let mut names: BTreeMap<(String, Origin), Vec<(usize, String)>> = BTreeMap::new();
        let is_hidden = |module: &str| module.split('.').any(|part| part.starts_with('_'));
        for module in self.all.keys().filter(|module| !is_hidden(module)) {
            let top = module.split('.').next().unwrap_or(module).to_owned();
            for (name, origin) in self.exported(module) {
                // Of paths with the same length, the one in the defining module is preferred.
                let is_other = usize::from(origin.0 != *module);
                let rank = module.matches('.').count() * 2 + is_other;
                let path = format!("{module}.{name}");
                names.entry((top.clone(), origin)).or_default().push((rank, path));
            }
        }
        let mut found = BTreeMap::new();
        for ((_, origin), paths) in names {
            let best = paths.iter().map(|(rank, _)| *rank).min().unwrap_or(0);
            let kept = paths.iter().filter(|(rank, _)| *rank == best);
            found.extend(kept.map(|(_, path)| (path.clone(), origin.clone())));
        }
        found
    }
}
