//! Values in traced code: the known part of their text, and their taints.

use std::collections::BTreeSet;

use crate::decode::Encoding;
use crate::hosts::{Remote, UNKNOWN};
use crate::paths::PathClass;

/// The origin of data in a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Taint {
    /// Content of a file with secrets.
    File(PathClass, String),
    /// An environment variable.
    Variable(String),
    /// The whole environment.
    Environment,
    /// A response from a host.
    Fetched(Remote),
    /// Decoded text of the skill.
    Decoded(Encoding),
    /// The name of the machine, its user or its addresses.
    Machine,
    /// An archive of the whole workspace or home folder.
    Workspace,
}

impl Taint {
    /// Returns the description.
    pub fn describe(&self) -> String {
        match self {
            Self::File(class, path) => format!("{} from `{path}`", class.as_str()),
            Self::Variable(name) => format!("`${name}`"),
            Self::Environment => "all environment variables".to_owned(),
            Self::Fetched(remote) => format!("the response from {}", remote.host),
            Self::Decoded(encoding) => format!("decoded text ({})", encoding.as_str()),
            Self::Machine => "the host name or user name".to_owned(),
            Self::Workspace => "an archive of the whole workspace".to_owned(),
        }
    }
}

/// A value in traced code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Value {
    /// The text; [`UNKNOWN`] replaces unknown parts.
    pub(crate) text: String,
    pub(crate) taints: BTreeSet<Taint>,
    /// The call that returned it: `requests.Session`.
    pub(crate) made_by: Option<String>,
    /// The items of a literal list.
    pub(crate) items: Vec<Value>,
    /// The secrets in the fields of a literal object, by name.
    pub(crate) fields: Vec<(String, BTreeSet<Taint>)>,
}

/// The maximum text of a value.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// The maximum number of items in nested lists.
const MAX_ITEMS: usize = 1000;

impl Value {
    pub(crate) fn unknown() -> Self {
        Self::plain(UNKNOWN.to_string())
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(crate) fn is_known(&self) -> bool {
        !self.text.contains(UNKNOWN)
    }

    /// Returns a list. Large or deeply nested items keep only their taints.
    pub(crate) fn list(mut items: Vec<Self>) -> Self {
        let mut list = Self::unknown();
        for item in &items {
            list.absorb(item);
        }
        let held: usize = items.iter().map(|item| item.items.len()).sum();
        let is_deep =
            items.iter().any(|item| item.items.iter().any(|inner| !inner.items.is_empty()));
        let bytes: usize = items.iter().map(|item| item.text.len()).sum();
        if held > MAX_ITEMS || is_deep || bytes > MAX_TEXT_BYTES {
            items.iter_mut().for_each(|item| *item = item.without_text());
        }
        list.items = items;
        list
    }

    /// Returns an unknown value with the same taints.
    pub(crate) fn without_text(&self) -> Self {
        Self { text: UNKNOWN.to_string(), taints: self.taints.clone(), ..Self::default() }
    }

    pub(crate) fn with(mut self, taint: Taint) -> Self {
        self.taints.insert(taint);
        self
    }

    /// Appends another value.
    pub(crate) fn push(&mut self, other: &Self) {
        if self.text.len() + other.text.len() <= MAX_TEXT_BYTES {
            self.text.push_str(&other.text);
        } else if !self.text.ends_with(UNKNOWN) {
            self.text.push(UNKNOWN);
        }
        self.taints.extend(other.taints.iter().cloned());
    }

    /// Adds the taints of another value, but not its text.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.taints.extend(other.taints.iter().cloned());
        for item in &other.items {
            self.taints.extend(item.taints.iter().cloned());
        }
    }

    pub(crate) fn remote(&self) -> Option<Remote> {
        Remote::parse(&self.text)
    }

    /// Returns the taints that are secrets.
    pub(crate) fn secrets(&self) -> Vec<Taint> {
        let is_secret = |taint: &&Taint| match taint {
            Taint::File(class, _) => class.is_secret(),
            Taint::Variable(_) | Taint::Environment | Taint::Workspace => true,
            Taint::Fetched(_) | Taint::Decoded(_) | Taint::Machine => false,
        };
        self.taints.iter().filter(is_secret).cloned().collect()
    }

    /// Returns the taints of all fields but those that authenticate: `Authorization`, `X-API-Key`.
    pub(crate) fn foreign_fields(&self) -> BTreeSet<Taint> {
        let authenticates = |name: &str| {
            let name = name.to_lowercase();
            ["auth", "key", "token", "cookie", "secret", "credential"]
                .iter()
                .any(|word| name.contains(word))
        };
        let foreign = self.fields.iter().filter(|(name, _)| !authenticates(name));
        foreign.flat_map(|(_, taints)| taints.iter().cloned()).collect()
    }

    pub(crate) fn fetched(&self) -> Option<&Remote> {
        self.taints.iter().find_map(|taint| match taint {
            Taint::Fetched(remote) => Some(remote),
            _ => None,
        })
    }

    pub(crate) fn decoded(&self) -> Option<Encoding> {
        self.taints.iter().find_map(|taint| match taint {
            Taint::Decoded(encoding) => Some(*encoding),
            _ => None,
        })
    }
}
