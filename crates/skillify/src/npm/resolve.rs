//! Follows the exports of a module to their declarations.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::Files;

use super::declared::Declared;
use super::entries::resolved;
use super::module::{Binding, Module};

/// The maximum number of steps from an export to its declaration.
const MAX_STEPS: usize = 24;
/// The maximum number of modules to parse.
const MAX_MODULES: usize = 5_000;

/// What an export resolves to.
pub(super) enum Export {
    /// A declaration in a file.
    Declared(String, Declared),
    /// All exports of a file, as an object.
    Namespace(String),
    /// An export of another package.
    Outside(String),
    /// Cannot be determined from the code.
    Unknown,
}

/// The modules of a package.
pub(super) struct Modules<'a> {
    files: &'a Files,
    read: RefCell<BTreeMap<String, Rc<Module>>>,
    unread: RefCell<BTreeSet<String>>,
}

impl<'a> Modules<'a> {
    pub(super) fn new(files: &'a Files) -> Self {
        Self { files, read: RefCell::default(), unread: RefCell::default() }
    }

    /// Returns notes on the exports that could not be read, as sentences for a reader.
    pub(super) fn unread(&self) -> Vec<String> {
        self.unread.borrow().iter().cloned().collect()
    }

    fn module(&self, path: &str) -> Rc<Module> {
        if let Some(module) = self.read.borrow().get(path) {
            return Rc::clone(module);
        }
        let is_full = self.read.borrow().len() >= MAX_MODULES;
        let source = self.files.text(path).filter(|_| !is_full).unwrap_or_default();
        let module = Rc::new(Module::read(path, &source));
        self.read.borrow_mut().insert(path.to_owned(), Rc::clone(&module));
        module
    }

    /// Returns the file of an import, if it belongs to the package.
    fn file(&self, from: &str, import: &str) -> Option<String> {
        import.starts_with('.').then(|| resolved(self.files, from, import))?
    }

    /// Returns every export of a file, with the file that contains it.
    pub(super) fn exports(&self, file: &str) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![(file.to_owned(), true)];
        while let Some((file, with_default)) = open.pop() {
            if !seen.insert((file.clone(), with_default)) {
                continue;
            }
            let module = self.module(&file);
            self.unread.borrow_mut().extend(module.unread.iter().cloned());
            for name in module.exports.keys() {
                if name != "default" || with_default {
                    found.entry(name.clone()).or_insert_with(|| file.clone());
                }
            }
            let replaced_by = module.replaced_by.iter().map(|from| (from, with_default));
            for (from, with_default) in
                replaced_by.chain(module.stars.iter().map(|from| (from, false)))
            {
                match self.file(&file, from) {
                    Some(other) => open.push((other, with_default)),
                    None => {
                        let reason = if from.starts_with('.') {
                            "was not found"
                        } else {
                            "is another package and was not read"
                        };
                        let note = format!(
                            "`{file}` re-exports everything from `{from}`, which {reason}."
                        );
                        self.unread.borrow_mut().insert(note);
                    }
                }
            }
        }
        found
    }

    /// Resolves an export of a file.
    pub(super) fn export(&self, file: &str, name: &str) -> Export {
        self.follow(file, name, 0)
    }

    fn follow(&self, file: &str, name: &str, steps: usize) -> Export {
        if steps > MAX_STEPS {
            return Export::Unknown;
        }
        let module = self.module(file);
        if let Some(binding) = module.exports.get(name) {
            return self.binding(file, &module, binding, steps + 1);
        }
        match self.exports(file).get(name) {
            Some(other) if other != file => self.follow(other, name, steps + 1),
            _ => Export::Unknown,
        }
    }

    fn binding(&self, file: &str, module: &Module, binding: &Binding, steps: usize) -> Export {
        if steps > MAX_STEPS {
            return Export::Unknown;
        }
        let inside = |from: &str, name: &str| match self.file(file, from) {
            Some(other) => self.follow(&other, name, steps + 1),
            None => Export::Outside(from.to_owned()),
        };
        match binding {
            Binding::Declared(one) => Export::Declared(file.to_owned(), one.clone()),
            Binding::Name(name) => self.name(file, module, name, steps),
            Binding::Imported { from, name } => inside(from, name),
            Binding::Namespace { from } => match self.file(file, from) {
                Some(other) => Export::Namespace(other),
                None => Export::Outside(from.clone()),
            },
            Binding::Required { from } => match self.file(file, from) {
                Some(other) => match self.follow(&other, "default", steps + 1) {
                    Export::Unknown => Export::Namespace(other),
                    found => found,
                },
                None => Export::Outside(from.clone()),
            },
            Binding::Property { of, name } => {
                match module.bindings.get(of).and_then(|all| all.first()) {
                    Some(Binding::Required { from } | Binding::Namespace { from }) => {
                        inside(from, name)
                    }
                    _ => Export::Unknown,
                }
            }
            Binding::Object(all) => {
                let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
                let shown = format!(" = {{ {} }}", names.join(", "));
                let lines = vec![("const ".to_owned(), shown)];
                Export::Declared(file.to_owned(), Declared { lines, ..Declared::default() })
            }
        }
    }

    fn name(&self, file: &str, module: &Module, name: &str, steps: usize) -> Export {
        let all = module.bindings.get(name).map(Vec::as_slice).unwrap_or_default();
        let mut whole: Option<Declared> = None;
        for binding in all {
            match binding {
                Binding::Declared(one) => match &mut whole {
                    Some(whole) => whole.merge(one),
                    None => whole = Some(one.clone()),
                },
                other => return self.binding(file, module, other, steps + 1),
            }
        }
        whole.map_or(Export::Unknown, |whole| Export::Declared(file.to_owned(), whole))
    }
}
