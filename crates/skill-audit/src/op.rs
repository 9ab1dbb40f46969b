//! What a skill's code and commands do: one operation a line, each with the place it stands at.

use std::ops::Range;

use crate::decode::Encoding;
use crate::hosts::Remote;
use crate::value::Carry;

/// What a stretch of a file is to its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Text that people and agents read.
    Prose,
    /// A block of code in a text.
    Fence,
    /// Code in a line of text.
    Inline,
    /// The fields at the top of a SKILL.md.
    Frontmatter,
    /// Text that is not shown to people.
    Comment,
    /// A file that can be run.
    Script,
    /// A file of data.
    Data,
}

impl Role {
    const ALL: [Self; 7] = [
        Self::Prose,
        Self::Fence,
        Self::Inline,
        Self::Frontmatter,
        Self::Comment,
        Self::Script,
        Self::Data,
    ];

    /// Reads the word for it.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Fence => "fence",
            Self::Inline => "inline",
            Self::Frontmatter => "frontmatter",
            Self::Comment => "comment",
            Self::Script => "script",
            Self::Data => "data",
        }
    }
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file, by its number.
    pub file: usize,
    /// The bytes of it.
    pub span: Range<usize>,
    /// What that stretch is.
    pub role: Role,
    /// How often it had to be decoded to be seen.
    pub chain: Vec<Encoding>,
}

/// One thing that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// What.
    pub does: Action,
    /// Where.
    pub at: Location,
}

/// How something leaves the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// In what is sent.
    Body,
    /// In the address.
    Address,
    /// In a name that is looked up.
    Lookup,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Something is asked for on the network.
    Fetch(Remote),
    /// Something is sent.
    Send {
        /// Where to.
        to: Remote,
        /// What nobody sends anywhere, of all that is sent.
        secrets: Vec<Carry>,
        /// How.
        by: Channel,
    },
    /// What a host answers is run.
    RunFetched {
        /// The host.
        from: Remote,
        /// What runs it.
        by: String,
    },
    /// What was decoded is run.
    RunDecoded {
        /// How it was encoded.
        encoding: Encoding,
        /// What runs it.
        by: String,
        /// What it is, if that is known.
        text: Option<String>,
    },
    /// A program is started.
    Run {
        /// Its name; empty if it is not known.
        program: String,
    },
    /// Code is made from text while it runs.
    Evaluate {
        /// What makes it.
        by: String,
    },
    /// A name is put together to reach a function that runs something.
    Disguise {
        /// What is reached.
        what: String,
    },
    /// A file is read.
    Read(String),
    /// A file is written.
    Write {
        /// Which.
        path: String,
        /// What is written, as far as it is known.
        text: String,
    },
    /// A variable of the environment is read; all of them without a name.
    Variable(Option<String>),
    /// A package is installed.
    Install {
        /// What installs it.
        by: String,
        /// The package.
        what: String,
    },
    /// Somebody elsewhere gets a shell here.
    RemoteShell {
        /// How.
        form: String,
    },
    /// Files are destroyed.
    Destroy {
        /// Which.
        what: String,
    },
    /// A protection is switched off.
    Weaken {
        /// Which.
        what: String,
    },
    /// Work is done for somebody else's coins.
    Mine {
        /// How that is seen.
        what: String,
    },
}

/// Where operations are collected. What is found in decoded or quoted code stands where the code that holds it does.
pub(crate) struct OpCollector {
    pub(crate) ops: Vec<Op>,
    file: usize,
    role: Role,
    chain: Vec<Encoding>,
    offset: usize,
    fixed: Option<Range<usize>>,
    depth: usize,
    /// How many bytes of code inside of code were looked at.
    looked: usize,
    /// Whether something was not followed to its end.
    pub(crate) is_cut: bool,
}

/// How deep code is looked for in code.
const DEEPEST: usize = 6;
/// How much code inside of code is looked at, for one file: each level may hold many of the next.
const MOST_LOOKED: usize = 2 << 20;

impl OpCollector {
    pub(crate) fn new(file: usize, role: Role, offset: usize) -> Self {
        Self {
            ops: Vec::new(),
            file,
            role,
            chain: Vec::new(),
            offset,
            fixed: None,
            depth: 0,
            looked: 0,
            is_cut: false,
        }
    }

    /// Returns a scene all of which stands at one place.
    pub(crate) fn fixed(file: usize, role: Role, span: Range<usize>) -> Self {
        Self { fixed: Some(span), ..Self::new(file, role, 0) }
    }

    /// Adds an operation.
    pub(crate) fn add(&mut self, range: &Range<usize>, does: Action) {
        let span = self
            .fixed
            .clone()
            .unwrap_or_else(|| range.start + self.offset..range.end + self.offset);
        let (file, role, chain) = (self.file, self.role, self.chain.clone());
        let op = Op { does, at: Location { file, span, role, chain } };
        if self.ops.last() != Some(&op) {
            self.ops.push(op);
        }
    }

    /// Returns true if so much more code inside of code may be looked at.
    pub(crate) fn may_look(&mut self, bytes: usize) -> bool {
        self.looked = self.looked.saturating_add(bytes + 64);
        self.is_cut |= self.looked > MOST_LOOKED;
        self.looked <= MOST_LOOKED
    }

    /// Adds an operation that was found by itself, at a place of this scene.
    pub(crate) fn add_nested(&mut self, range: &Range<usize>, op: Op) {
        let chain = op.at.chain.len();
        self.chain.extend(op.at.chain);
        self.add(range, op.does);
        self.chain.truncate(self.chain.len() - chain);
    }

    /// Looks at code inside of code, all of which stands at `range`.
    pub(crate) fn inside(
        &mut self,
        range: &Range<usize>,
        chain: &[Encoding],
        look: impl FnOnce(&mut Self),
    ) {
        if self.depth >= DEEPEST || self.chain.len() + chain.len() > crate::decode::DEEPEST {
            self.is_cut = true;
            return;
        }
        let fixed = self.fixed.clone();
        let span = range.start + self.offset..range.end + self.offset;
        self.fixed.get_or_insert(span);
        self.depth += 1;
        self.chain.extend_from_slice(chain);
        look(self);
        self.chain.truncate(self.chain.len() - chain.len());
        self.depth -= 1;
        self.fixed = fixed;
    }
}
