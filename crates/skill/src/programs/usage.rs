//! Usage descriptions of programs: options and operands, each on one line.
//!
//! An option is `-a`, `-a|--all` (spellings of one option), `-n|--lines=NUM` (takes an argument) or `--color[=TEXT]`
//! (takes an optional argument, attached to it). `-#` is a number with a dash. Two roles after the `=` are two
//! arguments. An operand is a role; `?` marks it as optional, `*` as repeatable.

/// One way to call a program.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// The options, in groups that commands can share.
    pub options: &'static [&'static str],
    /// The operands.
    pub operands: &'static str,
    /// One option from each of these is required.
    pub needs: &'static str,
    /// Options that make the program write to its input files.
    pub writes_if: &'static str,
    /// Whether no option of the program, described or not, writes, runs or sends anything. Unknown arguments, such as
    /// patterns, are then harmless.
    pub only_prints: bool,
    /// For a program that treats every argument after its first operand as another operand: the options that it still
    /// recognizes there.
    pub options_first: Option<&'static str>,
    /// Whether every argument is plain text, even those with a dash.
    pub is_all_text: bool,
}

impl Usage {
    /// No options and no operands.
    pub const NOTHING: Self = Self::new(&[], "");
    /// A program that does the same with any arguments.
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

    pub(crate) const fn options_first(self, exceptions: &'static str) -> Self {
        Self { options_first: Some(exceptions), ..self }
    }

    pub(crate) const fn only_prints(self) -> Self {
        Self { only_prints: true, ..self }
    }

    /// Returns its options.
    pub fn all_options(&self) -> impl Iterator<Item = OptionUsage> {
        self.options.iter().flat_map(|group| Self::options_of(group))
    }

    /// Parses a group of options.
    pub fn options_of(group: &'static str) -> impl Iterator<Item = OptionUsage> {
        group.split_whitespace().map(OptionUsage::read)
    }

    /// Returns the roles of its operands, each with how often it may occur.
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

/// How often an operand may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Once.
    One,
    /// At most once.
    Optional,
    /// Any number of times.
    Any,
}

/// An option of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionUsage {
    /// Its spellings, the main one first.
    pub names: Vec<&'static str>,
    /// The arguments it takes.
    pub arity: Arity,
}

/// The arguments of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arity {
    /// None.
    Flag,
    /// An optional argument, attached to the option.
    Optional(Role),
    /// One argument per role.
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

/// The meaning of an argument to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Text that is shown, searched for or compared; names of things other than files; commits.
    Text,
    /// A number, optionally with a unit.
    Number,
    /// A file or a folder that is read.
    Read,
    /// A name or a file; a URL would be fetched from another machine.
    Local,
    /// A file or a folder that is created, changed or removed.
    Write,
    /// The output file of a program that otherwise only reads.
    Output,
    /// A folder that files are put into; it may be the workspace itself.
    Destination,
    /// A folder that receives the contents of an archive, so it must not be the workspace itself.
    Folder,
    /// A file or a folder that is copied under its own name.
    Copied,
    /// A file or a folder that is moved under its own name.
    Moved,
    /// A file or a folder that is removed; a pattern removes links without following them.
    Removed,
    /// A commit, without a prefix that ends in a colon.
    Commit,
    /// A git format that does not verify signatures, which would run gpg.
    Pretty,
    /// A repository as `owner/name`.
    Hub,
    /// The name of a skill, as given by a model.
    Skill,
    /// A format that begins with a `+`.
    Format,
    /// A URL that is fetched.
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
    /// The format that curl prints at the end.
    WriteOut,
    /// A file name suffix.
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

    /// Parses a role. A test checks the table, so every name in it is known.
    fn read(name: &str) -> Self {
        let known = Self::NAMES.iter().find(|(known, _)| *known == name);
        // The strictest role, in case the test missed a name.
        known.map_or(Self::Folder, |(_, role)| *role)
    }

    /// Returns true for a known role.
    #[cfg(test)]
    pub(crate) fn is_known(name: &str) -> bool {
        Self::NAMES.iter().any(|(known, _)| *known == name)
    }
}
