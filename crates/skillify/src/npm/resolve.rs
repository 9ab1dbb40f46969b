//! What the exports of a module are, followed to where each is declared.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::Files;

use super::declared::Declared;
use super::entries::resolved;
use super::module::{Local, Module};

/// How many modules may lead from one to the next.
const MAX_STEPS: usize = 24;
/// How many modules are read.
const MAX_MODULES: usize = 5_000;

/// What an export is.
pub(super) enum Found {
    /// It is declared in a file, by a name.
    Declared(String, Declared),
    /// All that a file exports, as an object.
    Namespace(String),
    /// It comes from another package.
    Outside(String),
    /// It cannot be told from the code.
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

    /// Returns what was not read, as sentences for a reader.
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

    /// Returns the file of an import, if it is one of the package.
    fn file(&self, from: &str, import: &str) -> Option<String> {
        import.starts_with('.').then(|| resolved(self.files, from, import))?
    }

    /// Returns every export of a file, with the file that says so.
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
            let same = module.same.iter().map(|from| (from, with_default));
            for (from, with_default) in same.chain(module.stars.iter().map(|from| (from, false))) {
                match self.file(&file, from) {
                    Some(other) => open.push((other, with_default)),
                    None => {
                        let what = if from.starts_with('.') {
                            "was not found"
                        } else {
                            "is another package and was not read"
                        };
                        let note =
                            format!("`{file}` re-exports everything from `{from}`, which {what}.");
                        self.unread.borrow_mut().insert(note);
                    }
                }
            }
        }
        found
    }

    /// Returns what an export of a file is.
    pub(super) fn export(&self, file: &str, name: &str) -> Found {
        self.follow(file, name, 0)
    }

    fn follow(&self, file: &str, name: &str, steps: usize) -> Found {
        if steps > MAX_STEPS {
            return Found::Unknown;
        }
        let module = self.module(file);
        if let Some(local) = module.exports.get(name) {
            return self.local(file, &module, local, steps + 1);
        }
        match self.exports(file).get(name) {
            Some(other) if other != file => self.follow(other, name, steps + 1),
            _ => Found::Unknown,
        }
    }

    fn local(&self, file: &str, module: &Module, local: &Local, steps: usize) -> Found {
        if steps > MAX_STEPS {
            return Found::Unknown;
        }
        let inside = |from: &str, name: &str| match self.file(file, from) {
            Some(other) => self.follow(&other, name, steps + 1),
            None => Found::Outside(from.to_owned()),
        };
        match local {
            Local::Declared(one) => Found::Declared(file.to_owned(), one.clone()),
            Local::Name(name) => self.name(file, module, name, steps),
            Local::Imported { from, name } => inside(from, name),
            Local::Namespace { from } => match self.file(file, from) {
                Some(other) => Found::Namespace(other),
                None => Found::Outside(from.clone()),
            },
            Local::Required { from } => match self.file(file, from) {
                Some(other) => match self.follow(&other, "default", steps + 1) {
                    Found::Unknown => Found::Namespace(other),
                    found => found,
                },
                None => Found::Outside(from.clone()),
            },
            Local::Property { of, name } => match module.locals.get(of).and_then(|all| all.first())
            {
                Some(Local::Required { from } | Local::Namespace { from }) => inside(from, name),
                _ => Found::Unknown,
            },
            Local::Object(all) => {
                let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
                let shown = format!(" = {{ {} }}", names.join(", "));
                let lines = vec![("const ".to_owned(), shown)];
                Found::Declared(file.to_owned(), Declared { lines, ..Declared::default() })
            }
        }
    }

    fn name(&self, file: &str, module: &Module, name: &str, steps: usize) -> Found {
        let all = module.locals.get(name).map(Vec::as_slice).unwrap_or_default();
        let mut whole: Option<Declared> = None;
        for local in all {
            match local {
                Local::Declared(one) => match &mut whole {
                    Some(whole) => whole.merge(one),
                    None => whole = Some(one.clone()),
                },
                other => return self.local(file, module, other, steps + 1),
            }
        }
        whole.map_or(Found::Unknown, |whole| Found::Declared(file.to_owned(), whole))
    }
}
