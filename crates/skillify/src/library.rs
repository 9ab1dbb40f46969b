//! What is known of a package: who it is, and what it exports.

use skill::Digest;

/// A kind of package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// R.
    R,
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// npm.
    Npm,
}

impl Kind {
    /// Returns the word for it in a bundle.
    pub fn word(self) -> &'static str {
        match self {
            Self::R => "r",
            Self::Python => "python",
            Self::Rust => "rust",
            Self::Npm => "npm",
        }
    }

    /// Returns what people call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::R => "R",
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::Npm => "npm",
        }
    }
}

/// A package, as far as it tells of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is, on one line.
    pub title: String,
    /// More of that.
    pub description: String,
    /// Its licence, as it says.
    pub license: Option<String>,
    /// What it is imported as: the packages and modules that others write in an import. Empty where that is its name.
    pub modules: Vec<String>,
    /// What it exports, sorted by name.
    pub topics: Vec<Topic>,
    /// What it exports and the bundle does not cover, as sentences for a reader.
    pub unread: Vec<String>,
    /// Titles of longer texts that it brings.
    pub vignettes: Vec<String>,
    /// The digest of its files.
    pub source: Digest,
}

impl Library {
    /// Returns how many things it exports: a page may tell of several.
    pub fn exports(&self) -> usize {
        self.topics.iter().map(|topic| 1 + topic.also.len()).sum()
    }
}

/// Something that a package exports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// What else is told of on its page.
    pub also: Vec<String>,
    /// What it is, on one line.
    pub title: String,
    /// How it is called.
    pub usage: String,
    /// What it does.
    pub description: String,
    /// What it takes.
    pub arguments: Vec<Argument>,
    /// What it gives.
    pub value: String,
}

/// An argument of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub text: String,
}

/// The most exports that get a page.
pub(crate) const MAX_TOPICS: usize = 600;

/// Keeps the exports that a reader needs first, sorted by name, and returns a note for a reader where that leaves some out.
///
/// `rank` is 0 for what comes first. Within a rank, what is exported comes before what it contains.
pub(crate) fn bounded(
    mut topics: Vec<Topic>,
    rank: impl Fn(&Topic) -> usize,
) -> (Vec<Topic>, Option<String>) {
    let all = topics.len();
    topics.sort_by_cached_key(|topic| (rank(topic), topic.name.clone()));
    let left_out: Vec<Topic> = topics.split_off(all.min(MAX_TOPICS));
    topics.sort_by(|one, other| one.name.cmp(&other.name));
    let note = left_out.first().map(|first| {
        format!(
            "{all} exports were found and {MAX_TOPICS} have a page. The first without one is `{}`.",
            first.name
        )
    });
    (topics, note)
}

/// Returns the first sentence of a text, on one line.
pub(crate) fn first_sentence(text: &str) -> String {
    let paragraph: String = text
        .trim()
        .lines()
        .take_while(|line| !line.trim().is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.find(". ") {
        Some(end) => line[..=end].to_owned(),
        None => line,
    }
}
