//! What the files of a crate define, before it is known what others can reach.

use std::collections::{BTreeMap, BTreeSet};

use syn::UseTree;

use crate::Topic;

/// Everything that a crate defines, by the path of the module.
#[derive(Default)]
pub(super) struct Crate {
    pub modules: BTreeMap<String, Module>,
    /// Paths of `use` begin at the root, as they did before 2018.
    pub is_old: bool,
    /// Macros that write items, which cannot be known without running them.
    pub macros: BTreeSet<String>,
}

/// A module, as it is written.
#[derive(Default)]
pub(super) struct Module {
    /// What it defines, by name; a macro has a `!` after it.
    pub items: BTreeMap<String, Entry>,
    /// Its own modules that it lets out.
    pub public: Vec<String>,
    /// What it takes from elsewhere.
    pub uses: Vec<Use>,
}

/// An item of a module.
#[derive(Default)]
pub(super) struct Entry {
    pub topic: Topic,
    /// It is public and not hidden.
    pub is_shown: bool,
    /// Its methods, constants and types.
    pub members: Vec<Topic>,
    /// The variants of an enum, which can be re-exported one by one.
    pub variants: Vec<Topic>,
}

/// A name that a module takes from elsewhere.
pub(super) struct Use {
    /// The path, as it is written.
    pub path: Vec<String>,
    /// Its name from then on; none for everything inside.
    pub alias: Option<String>,
    /// Others can reach it through the module.
    pub is_public: bool,
}

/// What a path refers to.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Found {
    Module(String),
    /// A module, and an item of it.
    Item(String, String),
    /// A module, an enum of it, and one of its variants.
    Variant(String, String, String),
}

/// Takes a `use` apart. Nothing of it is public until the caller says so.
pub(super) fn uses(tree: &UseTree) -> Vec<Use> {
    let mut found = Vec::new();
    take_apart(tree, &mut Vec::new(), &mut |path, alias| {
        found.push(Use { path, alias, is_public: false });
    });
    found
}

fn take_apart(
    tree: &UseTree,
    at: &mut Vec<String>,
    take: &mut impl FnMut(Vec<String>, Option<String>),
) {
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
            take_apart(&inner.tree, at, take);
            at.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| take_apart(tree, at, take)),
        // `use a as _` brings a trait's methods and no name.
        UseTree::Rename(renamed) if renamed.rename == "_" => {}
        UseTree::Rename(renamed) => {
            take(with(at, &renamed.ident.to_string()), Some(renamed.rename.to_string()));
        }
        UseTree::Name(name) => {
            let path = with(at, &name.ident.to_string());
            let alias = path.last().cloned();
            take(path, alias);
        }
        UseTree::Glob(_) => take(at.clone(), None),
    }
}
