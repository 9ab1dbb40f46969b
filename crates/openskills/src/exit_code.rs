//! The exit codes of openskills and their meanings. The help of every command and docs/reference.md are generated from
//! this file.

use term::ExitCodeHelp;

/// An exit code of openskills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCode {
    Done,
    Invalid,
    Usage,
    NotFound,
    NotAllowed,
    NeedsApproval,
    Log,
    Answered,
    SandboxUnavailable,
    TimedOut,
    NotStarted,
    Trapped,
    Killed,
    BrokenPipe,
    /// openskills was ended by the signal with this number.
    Signal(u8),
    /// The exit code of the script that ran.
    Script(u8),
}

/// Shells report a signal as this plus its number.
const SIGNAL_BASE: u8 = 128;

impl ExitCode {
    /// Every code with a fixed number.
    pub(crate) const ALL: [Self; 14] = [
        Self::Done,
        Self::Invalid,
        Self::Usage,
        Self::NotFound,
        Self::NotAllowed,
        Self::NeedsApproval,
        Self::Log,
        Self::Answered,
        Self::SandboxUnavailable,
        Self::TimedOut,
        Self::NotStarted,
        Self::Trapped,
        Self::Killed,
        Self::BrokenPipe,
    ];

    /// Help for the codes that `openskills run` passes through from the script.
    pub(crate) const SCRIPT_HELP: ExitCodeHelp =
        ExitCodeHelp::several("other", Self::Script(0).meaning());

    /// Used when the caller cancelled a run, as if it had pressed Ctrl-C.
    pub(crate) const INTERRUPTED: Self = Self::Signal(2);

    /// Returns the code for a process ended by `signal`.
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
            Self::Answered => 10,
            Self::SandboxUnavailable => 78,
            Self::TimedOut => 124,
            Self::NotStarted => 125,
            // 134 and 137 are what shells report for SIGABRT and SIGKILL.
            Self::Trapped => 134,
            Self::Killed => 137,
            Self::BrokenPipe => term::BROKEN_PIPE,
            Self::Signal(signal) => SIGNAL_BASE.saturating_add(signal),
            Self::Script(code) => code,
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Invalid => {
                "a skill is invalid, cannot be loaded, or changed while the command ran; or an MCP server failed"
            }
            Self::Usage => "usage or configuration error",
            Self::NotFound => "no such skill, file or MCP server",
            Self::NotAllowed => "not allowed, or you declined",
            Self::NeedsApproval => "approval or confirmation is required",
            Self::Log => "the log cannot be read or written, or has been altered",
            Self::Answered => "`check-tool --hook --enforce`: the answer is complete",
            Self::SandboxUnavailable => {
                "the sandbox cannot provide a required guarantee; nothing was started"
            }
            Self::TimedOut => "`run`, `exec`: the script or command timed out",
            Self::NotStarted => {
                "`run`, `exec`: the script or command was not started, or its changes could not be applied to the workspace"
            }
            Self::Trapped => "`run`: a WebAssembly module trapped",
            Self::Killed => {
                "`run`, `exec`: the script exceeded its memory or output limit, or was killed"
            }
            Self::BrokenPipe => "the reader closed the output pipe",
            Self::Signal(_) => "`run`, `exec`, `test`, `mcp`: openskills received HUP, INT or TERM",
            Self::Script(_) => "`run`, `exec`: the exit code of the script or command",
        }
    }

    /// Returns the help entry with the usual meaning.
    pub(crate) const fn usual(self) -> ExitCodeHelp {
        self.when(self.meaning())
    }

    /// Returns the help entry with the meaning for one command.
    pub(crate) const fn when(self, meaning: &'static str) -> ExitCodeHelp {
        ExitCodeHelp::number(self.number(), meaning)
    }

    /// Returns the help entry for exit codes caused by signals.
    pub(crate) const fn signals(numbers: &'static str, meaning: &'static str) -> ExitCodeHelp {
        ExitCodeHelp::several(numbers, meaning)
    }

    /// Returns every help entry, for `openskills --help` and the reference.
    pub(crate) fn all() -> Vec<ExitCodeHelp> {
        let signals = Self::signals("129, 130, 143", Self::Signal(0).meaning());
        Self::ALL.into_iter().map(Self::usual).chain([signals, Self::SCRIPT_HELP]).collect()
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
