//! The items that the files of a crate define, whether users can reach them or not.

use std::collections::{BTreeMap, BTreeSet};

use syn::UseTree;

use crate::Topic;

/// All items of a crate, by the path of their module.
#[derive(Default)]
pub(super) struct Crate {
    pub modules: BTreeMap<String, Module>,
    /// Paths in `use` begin at the root, as in the 2015 edition.
    pub is_edition_2015: bool,
    /// Macros that may generate items, which cannot be determined without running them.
    pub macros: BTreeSet<String>,
}

/// A parsed module.
#[derive(Default)]
pub(super) struct Module {
    /// Its items, by name; the name of a macro ends with `!`.
    pub items: BTreeMap<String, Entry>,
    /// Its public submodules.
    pub public: Vec<String>,
    /// Its imports.
    pub uses: Vec<Use>,
}

/// An item of a module.
#[derive(Default)]
pub(super) struct Entry {
    pub topic: Topic,
    /// Whether it is public and not hidden.
    pub is_shown: bool,
    /// Its methods, constants and types.
    pub members: Vec<Topic>,
    /// The variants of an enum, which can be re-exported one by one.
    pub variants: Vec<Topic>,
}

/// An import.
pub(super) struct Use {
    /// The path, as written.
    pub path: Vec<String>,
    /// The name in the module; `None` for a glob import.
    pub alias: Option<String>,
    /// Whether it is a re-export.
    pub is_public: bool,
}

/// What a path refers to.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Target {
    Module(String),
    /// A module and an item in it.
    Item(String, String),
    /// A module, an enum in it, and a variant.
    Variant(String, String, String),
}

/// Flattens a `use` into single imports. The caller must set whether they are public.
pub(super) fn uses(tree: &UseTree) -> Vec<Use> {
    let mut found = Vec::new();
    flatten(tree, &mut Vec::new(), &mut |path, alias| {
        found.push(Use { path, alias, is_public: false });
    });
    found
}

fn flatten(
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
            flatten(&inner.tree, at, take);
            at.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, at, take)),
        // `use a as _` imports the methods of a trait, but no name.
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
