//! What is known of a value in code: its text as far as it is written there, and what it carries.

use std::collections::BTreeSet;

use crate::decode::Encoding;
use crate::hosts::{Remote, UNKNOWN};
use crate::paths::PathClass;

/// Something that a value was made from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carry {
    /// What is in a file that nobody sends anywhere.
    File(PathClass, String),
    /// A variable of the environment.
    Variable(String),
    /// All variables of the environment.
    Environment,
    /// What a host answered.
    Fetched(Remote),
    /// What was decoded from text in the skill.
    Decoded(Encoding),
    /// The name of the machine, its user, its addresses.
    Machine,
}

impl Carry {
    /// Returns the words for it.
    pub fn describe(&self) -> String {
        match self {
            Self::File(class, path) => format!("{} ({path})", class.as_str()),
            Self::Variable(name) => format!("${name}"),
            Self::Environment => "the whole environment".to_owned(),
            Self::Fetched(remote) => format!("what {} answers", remote.host),
            Self::Decoded(encoding) => format!("decoded {}", encoding.as_str()),
            Self::Machine => "what this machine is called".to_owned(),
        }
    }
}

/// A value, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Value {
    /// The text; [`UNKNOWN`] stands for parts that are not known.
    pub(crate) text: String,
    pub(crate) carries: BTreeSet<Carry>,
    /// The call that made it: `requests.Session`.
    pub(crate) made_by: Option<String>,
    /// Items, where it is a list that is written out.
    pub(crate) items: Vec<Value>,
}

/// The longest text that is kept of a value.
const MOST: usize = 64 << 10;
/// The most items that the lists in a list hold.
const MOST_ITEMS: usize = 1000;

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

    /// Returns a list. Lists of lists of lists are kept no deeper than they are written.
    pub(crate) fn list(mut items: Vec<Self>) -> Self {
        let mut list = Self::unknown();
        for item in &items {
            list.absorb(item);
        }
        let held: usize = items.iter().map(|item| item.items.len()).sum();
        let is_deep =
            items.iter().any(|item| item.items.iter().any(|inner| !inner.items.is_empty()));
        let bytes: usize = items.iter().map(|item| item.text.len()).sum();
        if held > MOST_ITEMS || is_deep || bytes > MOST {
            items.iter_mut().for_each(|item| *item = item.only_carried());
        }
        list.items = items;
        list
    }

    /// Returns the same without its text.
    pub(crate) fn only_carried(&self) -> Self {
        Self { text: UNKNOWN.to_string(), carries: self.carries.clone(), ..Self::default() }
    }

    pub(crate) fn with(mut self, carry: Carry) -> Self {
        self.carries.insert(carry);
        self
    }

    /// Puts another value after this one.
    pub(crate) fn push(&mut self, other: &Self) {
        if self.text.len() + other.text.len() <= MOST {
            self.text.push_str(&other.text);
        } else if !self.text.ends_with(UNKNOWN) {
            self.text.push(UNKNOWN);
        }
        self.carries.extend(other.carries.iter().cloned());
    }

    /// Takes over what another value carries, and not its text.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.carries.extend(other.carries.iter().cloned());
        for item in &other.items {
            self.carries.extend(item.carries.iter().cloned());
        }
    }

    pub(crate) fn remote(&self) -> Option<Remote> {
        Remote::parse(&self.text)
    }

    /// Returns what of it nobody sends anywhere.
    pub(crate) fn secrets(&self) -> Vec<Carry> {
        let is_secret = |carry: &&Carry| match carry {
            Carry::File(class, _) => class.is_secret(),
            Carry::Variable(_) | Carry::Environment => true,
            Carry::Fetched(_) | Carry::Decoded(_) | Carry::Machine => false,
        };
        self.carries.iter().filter(is_secret).cloned().collect()
    }

    pub(crate) fn fetched(&self) -> Option<&Remote> {
        self.carries.iter().find_map(|carry| match carry {
            Carry::Fetched(remote) => Some(remote),
            _ => None,
        })
    }

    pub(crate) fn decoded(&self) -> Option<Encoding> {
        self.carries.iter().find_map(|carry| match carry {
            Carry::Decoded(encoding) => Some(*encoding),
            _ => None,
        })
    }
}
