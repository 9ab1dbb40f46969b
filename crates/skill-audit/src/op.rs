//! Operations that a skill's scripts and commands perform, each with its location.

use std::ops::Range;

use crate::decode::Encoding;
use crate::hosts::Remote;
use crate::value::Taint;

/// The role of a part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Prose.
    Prose,
    /// A fenced or indented code block.
    Fence,
    /// Inline code.
    Inline,
    /// The frontmatter of a SKILL.md.
    Frontmatter,
    /// Text that rendering hides: comments and invisible elements.
    Comment,
    /// A script.
    Script,
    /// A data file.
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

    /// Parses the name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }

    /// Returns the name.
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

/// A location in the files of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The index of the file.
    pub file: usize,
    /// The byte range in the original file.
    pub span: Range<usize>,
    /// The role of that range.
    pub role: Role,
    /// The encodings around it, outermost first.
    pub chain: Vec<Encoding>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub action: Action,
    /// Where it is written.
    pub location: Location,
    /// Whether the text is code or a command by evidence, rather than text that could be one.
    pub is_certain: bool,
}

/// How data leaves the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// In the request body.
    Body,
    /// In the URL.
    Address,
    /// In a DNS lookup.
    Lookup,
    /// In a request header.
    Header,
}

/// What a protection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protection {
    /// Checks downloaded programs.
    Downloads,
    /// Restricts programs and connections: SELinux, a firewall.
    System,
    /// Finds malware.
    Malware,
    /// Records what happens on the system.
    Logs,
    /// Records what the user ran.
    History,
}

/// What an operation does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Downloads something.
    Fetch(Remote),
    /// Sends data.
    Send {
        /// The receiver.
        to: Remote,
        /// The secrets in the data.
        secrets: Vec<Taint>,
        /// How the data leaves.
        by: Channel,
    },
    /// Executes a response from a host.
    RunFetched {
        /// The host.
        from: Remote,
        /// The program or function that executes it.
        by: String,
    },
    /// Executes decoded text.
    RunDecoded {
        /// The encoding.
        encoding: Encoding,
        /// The program or function that executes it.
        by: String,
        /// The decoded text, if known.
        text: Option<String>,
    },
    /// Stores a response from a host in a file.
    Save {
        /// The host.
        from: Remote,
        /// The file.
        path: String,
    },
    /// Executes a file.
    Execute {
        /// The file.
        path: String,
    },
    /// Starts a program.
    Run {
        /// The program's name; empty if it is dynamic.
        program: String,
    },
    /// Executes code built at run time.
    Evaluate {
        /// The function that executes it.
        by: String,
    },
    /// Calls a function that runs commands through a computed name.
    Disguise {
        /// The function.
        what: String,
    },
    /// Reads a file.
    Read(String),
    /// Writes a file.
    Write {
        /// The path.
        path: String,
        /// The known part of what is written.
        text: String,
    },
    /// Reads an environment variable; all of them if there is no name.
    Variable(Option<String>),
    /// Installs a package.
    Install {
        /// The package manager.
        by: String,
        /// The registry that it installs from: `pip`, `npm`.
        registry: String,
        /// The package or its URL.
        what: String,
    },
    /// Opens a shell for a remote host.
    RemoteShell {
        /// What the shell runs over: `/dev/tcp`, a socket, a program.
        transport: String,
    },
    /// Destroys data.
    Destroy {
        /// What is destroyed, as a phrase.
        what: String,
    },
    /// Disables a protection of the system, or erases its records.
    Weaken {
        /// The protection, as a phrase.
        what: String,
        /// What it protects.
        protection: Protection,
    },
    /// Mines cryptocurrency.
    Mine {
        /// The program.
        what: String,
    },
}

/// Collects operations. An operation in decoded or quoted code gets the location of the surrounding code.
pub(crate) struct OpCollector {
    pub(crate) ops: Vec<Op>,
    file: usize,
    role: Role,
    chain: Vec<Encoding>,
    /// Whether the text being analyzed is known to be code or a command.
    pub(crate) is_certain: bool,
    offset: usize,
    fixed: Option<Range<usize>>,
    depth: usize,
    /// How many bytes of nested code were analyzed.
    nested_bytes: usize,
    /// Whether a limit stopped the analysis.
    pub(crate) is_truncated: bool,
}

/// The maximum nesting of code in code.
const MAX_DEPTH: usize = 6;
/// The maximum bytes of nested code per file: each level can contain many of the next.
const MAX_NESTED_BYTES: usize = 2 << 20;

impl OpCollector {
    pub(crate) fn new(file: usize, role: Role, offset: usize) -> Self {
        Self {
            ops: Vec::new(),
            file,
            role,
            chain: Vec::new(),
            is_certain: role == Role::Script,
            offset,
            fixed: None,
            depth: 0,
            nested_bytes: 0,
            is_truncated: false,
        }
    }

    /// Returns a collector that gives every operation the same location.
    pub(crate) fn fixed(file: usize, role: Role, span: Range<usize>) -> Self {
        Self { fixed: Some(span), ..Self::new(file, role, 0) }
    }

    /// Returns the offset of the text being analyzed.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn add(&mut self, range: &Range<usize>, action: Action) {
        let span = self
            .fixed
            .clone()
            .unwrap_or_else(|| range.start + self.offset..range.end + self.offset);
        let (file, role, chain) = (self.file, self.role, self.chain.clone());
        let location = Location { file, span, role, chain };
        let op = Op { action, location, is_certain: self.is_certain };
        if self.ops.last() != Some(&op) {
            self.ops.push(op);
        }
    }

    /// Counts nested code against the limit. Returns false once the limit is exceeded.
    pub(crate) fn count_nested(&mut self, bytes: usize) -> bool {
        self.nested_bytes = self.nested_bytes.saturating_add(bytes + 64);
        self.is_truncated |= self.nested_bytes > MAX_NESTED_BYTES;
        self.nested_bytes <= MAX_NESTED_BYTES
    }

    /// Adds an operation from another collector, at a range of this one.
    pub(crate) fn add_nested(&mut self, range: &Range<usize>, op: Op) {
        let chain = op.location.chain.len();
        self.chain.extend(op.location.chain);
        self.add(range, op.action);
        self.chain.truncate(self.chain.len() - chain);
    }

    /// Analyzes nested code, all of which gets the location `range`.
    pub(crate) fn inside(
        &mut self,
        range: &Range<usize>,
        chain: &[Encoding],
        analyze: impl FnOnce(&mut Self),
    ) {
        if self.depth >= MAX_DEPTH || self.chain.len() + chain.len() > crate::decode::MAX_DEPTH {
            self.is_truncated = true;
            return;
        }
        let fixed = self.fixed.clone();
        let span = range.start + self.offset..range.end + self.offset;
        self.fixed.get_or_insert(span);
        self.depth += 1;
        self.chain.extend_from_slice(chain);
        analyze(self);
        self.chain.truncate(self.chain.len() - chain.len());
        self.depth -= 1;
        self.fixed = fixed;
    }
}
