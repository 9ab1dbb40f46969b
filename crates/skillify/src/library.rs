//! A parsed package: its metadata and its exports.

use skill::Digest;

/// A kind of package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageKind {
    /// An R package.
    R,
    /// A Python package.
    Python,
    /// A Rust crate.
    Rust,
    /// An npm package.
    Npm,
}

impl PackageKind {
    /// Returns the value of `kind` in the frontmatter of a bundle.
    pub fn id(self) -> &'static str {
        match self {
            Self::R => "r",
            Self::Python => "python",
            Self::Rust => "rust",
            Self::Npm => "npm",
        }
    }

    /// Returns the name for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::R => "R",
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::Npm => "npm",
        }
    }
}

/// A parsed package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// The kind.
    pub kind: PackageKind,
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
    /// A summary, on one line.
    pub title: String,
    /// A longer description.
    pub description: String,
    /// The license, as declared by the package.
    pub license: Option<String>,
    /// The packages and modules that users import. Empty if the name of the package is the one to import.
    pub modules: Vec<String>,
    /// The exports, sorted by name.
    pub topics: Vec<Topic>,
    /// Exports that the bundle does not cover, as sentences for its reader.
    pub unread: Vec<String>,
    /// The titles of its vignettes.
    pub vignettes: Vec<String>,
    /// The digest of the files.
    pub source: Digest,
}

impl Library {
    /// Returns the number of exports; a page may document several.
    pub fn exports(&self) -> usize {
        self.topics.iter().map(|topic| 1 + topic.aliases.len()).sum()
    }
}

/// An export of a package, with the content of its page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topic {
    /// The name that users refer to it by.
    pub name: String,
    /// Other exports documented on the same page.
    pub aliases: Vec<String>,
    /// A summary, on one line.
    pub title: String,
    /// The signature, or how to import and call it.
    pub usage: String,
    /// A longer description.
    pub description: String,
    /// The documented arguments.
    pub arguments: Vec<Argument>,
    /// The documented result.
    pub value: String,
}

/// An argument of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// The name.
    pub name: String,
    /// The description.
    pub text: String,
}

/// The maximum number of exports with a page.
pub(crate) const MAX_TOPICS: usize = 600;

/// Keeps the most important exports, sorted by name. If some are dropped, also returns a note for the reader.
///
/// `rank` returns 0 for the most important ones. Within a rank, exports are kept in the order of their names, so that
/// an item comes before its members.
pub(crate) fn bounded(
    mut topics: Vec<Topic>,
    rank: impl Fn(&Topic) -> usize,
) -> (Vec<Topic>, Option<String>) {
    let all = topics.len();
    topics.sort_by_cached_key(|topic| (rank(topic), topic.name.clone()));
    let dropped: Vec<Topic> = topics.split_off(all.min(MAX_TOPICS));
    topics.sort_by(|one, other| one.name.cmp(&other.name));
    let note = dropped.first().map(|first| {
        format!(
            "Only {MAX_TOPICS} of {all} exports have a page. The first one without a page is `{}`.",
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
