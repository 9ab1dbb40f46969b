//! The exit codes of openskills, and what they mean. The help of every command and docs/reference.md are made from this.

use term::ExitCodeHelp;

/// How openskills ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCode {
    Done,
    Invalid,
    Usage,
    NotFound,
    NotAllowed,
    NeedsApproval,
    Log,
    SandboxUnavailable,
    TimedOut,
    NotStarted,
    Trapped,
    Killed,
    BrokenPipe,
    /// A signal ended it, which has this number.
    Signal(u8),
    /// As the script that was run.
    Script(u8),
}

/// A shell adds this to the number of the signal that ended a program.
const SIGNALLED: u8 = 128;

impl ExitCode {
    /// Those with a number of their own.
    pub(crate) const ALL: [Self; 13] = [
        Self::Done,
        Self::Invalid,
        Self::Usage,
        Self::NotFound,
        Self::NotAllowed,
        Self::NeedsApproval,
        Self::Log,
        Self::SandboxUnavailable,
        Self::TimedOut,
        Self::NotStarted,
        Self::Trapped,
        Self::Killed,
        Self::BrokenPipe,
    ];

    /// `openskills run` ends as the script that it runs.
    pub(crate) const OWN: ExitCodeHelp = ExitCodeHelp::several("other", Self::Script(0).meaning());

    /// As if INT had ended it: whoever waits for the end of a run has cancelled it.
    pub(crate) const INTERRUPTED: Self = Self::Signal(2);

    /// Returns the code of a process that a signal ended.
    pub(crate) fn of_signal(signal: i32) -> Self {
        u8::try_from(signal).map_or(Self::Killed, Self::Signal)
    }

    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Invalid => 1,
            Self::Usage => term::USAGE,
            Self::NotFound => 3,
            Self::NotAllowed => 4,
            Self::NeedsApproval => 5,
            Self::Log => 6,
            Self::SandboxUnavailable => 78,
            Self::TimedOut => 124,
            Self::NotStarted => 125,
            // What a shell reports for a program that aborted, and for one that was killed.
            Self::Trapped => 134,
            Self::Killed => 137,
            Self::BrokenPipe => term::BROKEN_PIPE,
            Self::Signal(signal) => SIGNALLED.saturating_add(signal),
            Self::Script(code) => code,
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Invalid => {
                "a skill is invalid, cannot be loaded or has changed meanwhile; an MCP server fails"
            }
            Self::Usage => "the call or the configuration is wrong",
            Self::NotFound => "there is no such skill, file or MCP server",
            Self::NotAllowed => "it is not allowed, or the answer is no",
            Self::NeedsApproval => "approval or confirmation is required",
            Self::Log => "the log cannot be read or written, or is not what was written",
            Self::SandboxUnavailable => {
                "the sandbox cannot provide a required guarantee; nothing was started"
            }
            Self::TimedOut => "`run`: the script took too long",
            Self::NotStarted => {
                "`run`: the script was not started, or its changes were not applied to the workspace"
            }
            Self::Trapped => "`run`: a WebAssembly module trapped",
            Self::Killed => "`run`: the script used too much memory, wrote too much, or was killed",
            Self::BrokenPipe => "the reader of the output went away",
            Self::Signal(_) => "`run`, `test`, `mcp`: openskills got HUP, INT or TERM",
            Self::Script(_) => "`run`: the script's own exit code",
        }
    }

    /// Returns it for a help, with its usual meaning.
    pub(crate) const fn usual(self) -> ExitCodeHelp {
        self.when(self.meaning())
    }

    /// Returns it for a help, with what it means for one command.
    pub(crate) const fn when(self, meaning: &'static str) -> ExitCodeHelp {
        ExitCodeHelp::number(self.number(), meaning)
    }

    /// Returns the codes of signals for a help.
    pub(crate) const fn signals(numbers: &'static str, meaning: &'static str) -> ExitCodeHelp {
        ExitCodeHelp::several(numbers, meaning)
    }

    /// Returns all of them, for the program's help and the reference.
    pub(crate) fn all() -> Vec<ExitCodeHelp> {
        let signals = Self::signals("129, 130, 143", Self::Signal(0).meaning());
        Self::ALL.into_iter().map(Self::usual).chain([signals, Self::OWN]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_code_is_listed() {
        let all: Vec<String> = ExitCode::ALL.iter().map(|code| format!("{code:?}")).collect();
        assert_eq!(testkit::tidy::plain_variants(include_str!("exit_code.rs"), "ExitCode"), all);
    }

    #[test]
    fn the_reference_lists_every_exit_code() {
        let table = term::exit_code_table(&ExitCode::all());
        testkit::same_section("docs/reference.md", "exit codes of openskills", &table);
    }
}
