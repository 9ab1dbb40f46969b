//! The exit codes of csk, and what they mean. The help of every command and docs/reference.md are made from this.

use term::ExitCodeHelp;

/// How csk ends. A greater one is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum ExitCode {
    Done = 0,
    Failed = 1,
    Usage = term::USAGE,
    Locked = 3,
    NotExecutable = 126,
    CommandNotFound = 127,
    BrokenPipe = term::BROKEN_PIPE,
}

impl ExitCode {
    pub(crate) const ALL: [Self; 7] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Locked,
        Self::NotExecutable,
        Self::CommandNotFound,
        Self::BrokenPipe,
    ];

    /// `csk exec` ends as the command that it becomes.
    pub(crate) const OWN: ExitCodeHelp =
        ExitCodeHelp::several("other", "`exec`: the command's own exit code");

    pub(crate) const fn number(self) -> u8 {
        self as u8
    }

    const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "a skill or a project failed; the others are done",
            Self::Usage => "usage or configuration",
            Self::Locked => "another csk holds the process lock",
            Self::NotExecutable => "`exec`: the command cannot be run",
            Self::CommandNotFound => "`exec`: the command is not found",
            Self::BrokenPipe => "the reader of the output went away",
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

    /// Returns `Failed` if something failed, else `Done`.
    #[expect(clippy::fn_params_excessive_bools, reason = "it turns what was found into a code")]
    pub(crate) fn failed_if(failed: bool) -> Self {
        if failed { Self::Failed } else { Self::Done }
    }

    /// Returns all of them, for the program's help and the reference.
    pub(crate) fn all() -> Vec<ExitCodeHelp> {
        Self::ALL.into_iter().map(Self::usual).chain([Self::OWN]).collect()
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
        testkit::same_section("docs/reference.md", "exit codes of csk", &table);
    }
}
