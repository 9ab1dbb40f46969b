//! How a described program is called: its options and operands, written in one line each.
//!
//! An option is `-a`, `-a|--all` (spellings of one option), `-n|--lines=NUM` (it takes an argument) or `--color[=TEXT]` (it may
//! take one, joined to it). `-#` is a number with a dash. Two roles after the `=` are two arguments. An operand is a role; `?` after it
//! means that it may be missing, `*` that there may be any number.

/// One way to call a program.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// The options: groups, so that commands can share them.
    pub options: &'static [&'static str],
    /// The operands.
    pub operands: &'static str,
    /// One option of each of these must be there.
    pub needs: &'static str,
    /// Options that turn files that are read into files that are written.
    pub writes_if: &'static str,
    /// Whether no option of the program, described or not, writes, runs or sends anything: then a word that is not known,
    /// such as a pattern, does no harm.
    pub only_prints: bool,
    /// For a program that takes every word after its first operand for another operand: the options that it knows there all the same.
    pub options_first: Option<&'static str>,
    /// Whether every word is mere text, those with a dash as well.
    pub is_all_text: bool,
}

impl Usage {
    /// No options and no operands.
    pub const NOTHING: Self = Self::new(&[], "");
    /// A program that does the same with any words.
    pub(crate) const TEXT: Self =
        Self { is_all_text: true, ..Self::new(&[], "TEXT*").only_prints() };

    pub(crate) const fn new(options: &'static [&'static str], operands: &'static str) -> Self {
        Self {
            options,
            operands,
            needs: "",
            writes_if: "",
            only_prints: false,
            options_first: None,
            is_all_text: false,
        }
    }

    pub(crate) const fn needs(self, needs: &'static str) -> Self {
        Self { needs, ..self }
    }

    pub(crate) const fn writes_if(self, writes_if: &'static str) -> Self {
        Self { writes_if, ..self }
    }

    pub(crate) const fn options_first(self, but_for: &'static str) -> Self {
        Self { options_first: Some(but_for), ..self }
    }

    pub(crate) const fn only_prints(self) -> Self {
        Self { only_prints: true, ..self }
    }

    /// Returns its options.
    pub fn all_options(&self) -> impl Iterator<Item = OptionUsage> {
        self.options.iter().flat_map(|group| Self::options_of(group))
    }

    /// Reads a group of options.
    pub fn options_of(group: &'static str) -> impl Iterator<Item = OptionUsage> {
        group.split_whitespace().map(OptionUsage::read)
    }

    /// Returns the roles of its operands, each with how often it may stand.
    pub fn all_operands(&self) -> Vec<(Role, Count)> {
        let count = |text: &'static str| match text.strip_suffix('*') {
            Some(role) => (role, Count::Any),
            None => match text.strip_suffix('?') {
                Some(role) => (role, Count::Optional),
                None => (text, Count::One),
            },
        };
        let operands = self.operands.split_whitespace().map(count);
        operands.map(|(role, count)| (Role::read(role), count)).collect()
    }
}

/// How often an operand may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Once.
    One,
    /// Once or not at all.
    Optional,
    /// Any number of times.
    Any,
}

/// An option of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionUsage {
    /// Its spellings, the first of which it is known by.
    pub names: Vec<&'static str>,
    /// What follows it.
    pub arity: Arity,
}

/// What follows an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arity {
    /// Nothing.
    Flag,
    /// Something that is joined to it, or nothing.
    Optional(Role),
    /// As many words.
    Required(Vec<Role>),
}

impl OptionUsage {
    fn read(text: &'static str) -> Self {
        let (names, arity) = match text.split_once('=') {
            None => (text, Arity::Flag),
            Some((names, role)) => match names.strip_suffix('[') {
                Some(names) => (names, Arity::Optional(Role::read(role.trim_end_matches(']')))),
                None => (names, Arity::Required(role.split(',').map(Role::read).collect())),
            },
        };
        Self { names: names.split('|').collect(), arity }
    }
}

/// What an argument is to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Text that is shown, searched for or compared; names of things that are no files; commits.
    Text,
    /// A number, with a unit perhaps.
    Number,
    /// A file or a folder that is read.
    Read,
    /// A name or a file, where an address would be fetched from another machine.
    Local,
    /// A file or a folder that is made, changed or removed.
    Write,
    /// A file that the output of a program goes to which is not there to write.
    Output,
    /// A folder that files are put into; it may be the workspace itself.
    Destination,
    /// A folder that gets whatever an archive holds, so it must not be the workspace itself.
    Folder,
    /// A file or a folder that is copied under its own name.
    Copied,
    /// A file or a folder that is moved under its own name.
    Moved,
    /// A file or a folder that is removed; a pattern removes links, and follows none.
    Removed,
    /// A commit, and nothing that is written before it with a colon.
    Commit,
    /// A format of git that verifies no signature, which would run gpg.
    Pretty,
    /// A repository as `owner/name`.
    Hub,
    /// The name of a skill, as a model gives it.
    Skill,
    /// A format that begins with a `+`.
    Format,
    /// An address that is fetched.
    Url,
    /// A file that is sent to another machine.
    Sent,
    /// The name of a package in a registry.
    Package,
    /// Text that is sent, or a file after an `@`.
    Data,
    /// A field of a form: `name=text`, `name=@file`.
    Form,
    /// Cookies: text with a `=`.
    Cookie,
    /// What curl prints at the end.
    WriteOut,
    /// The ending of a file's name.
    Ending,
    /// A script of sed.
    Sed,
    /// A repository on another machine, or the name of a remote.
    Remote,
    /// A repository on another machine.
    Repository,
    /// A key of git's configuration.
    Key,
}

impl Role {
    const NAMES: [(&'static str, Self); 28] = [
        ("TEXT", Self::Text),
        ("NUM", Self::Number),
        ("READ", Self::Read),
        ("LOCAL", Self::Local),
        ("WRITE", Self::Write),
        ("OUT", Self::Output),
        ("DEST", Self::Destination),
        ("FOLDER", Self::Folder),
        ("COPIED", Self::Copied),
        ("MOVED", Self::Moved),
        ("REMOVED", Self::Removed),
        ("COMMIT", Self::Commit),
        ("PRETTY", Self::Pretty),
        ("HUB", Self::Hub),
        ("SKILL", Self::Skill),
        ("FORMAT", Self::Format),
        ("URL", Self::Url),
        ("SENT", Self::Sent),
        ("PACKAGE", Self::Package),
        ("DATA", Self::Data),
        ("FORM", Self::Form),
        ("COOKIE", Self::Cookie),
        ("WRITEOUT", Self::WriteOut),
        ("ENDING", Self::Ending),
        ("SED", Self::Sed),
        ("REMOTE", Self::Remote),
        ("REPOSITORY", Self::Repository),
        ("KEY", Self::Key),
    ];

    /// Reads a role. The table is checked by a test, so every name in it is known.
    fn read(name: &str) -> Self {
        let known = Self::NAMES.iter().find(|(known, _)| *known == name);
        // The strictest one, should a test ever have missed one.
        known.map_or(Self::Folder, |(_, role)| *role)
    }

    /// Returns true for a name that is known.
    #[cfg(test)]
    pub(crate) fn is_known(name: &str) -> bool {
        Self::NAMES.iter().any(|(known, _)| *known == name)
    }
}
