//! The exit codes of csk and their meanings. The help of every command and docs/reference.md are generated from them.

use term::ExitCodeHelp;

/// The exit code of csk. A greater value is a worse outcome.
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

    /// `csk exec` replaces itself with a command, which has exit codes of its own.
    pub(crate) const OWN: ExitCodeHelp =
        ExitCodeHelp::several("other", "the command's own exit code");

    pub(crate) const fn number(self) -> u8 {
        self as u8
    }

    const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "success",
            Self::Failed => "a skill or project failed; the others were processed",
            Self::Usage => "usage or configuration error",
            Self::Locked => "another csk process holds the process lock",
            Self::NotExecutable => "`exec`: the command cannot be executed",
            Self::CommandNotFound => "`exec`: command not found",
            Self::BrokenPipe => "broken pipe: the program reading the output exited",
        }
    }

    /// Returns the help entry with the general meaning.
    pub(crate) const fn usual(self) -> ExitCodeHelp {
        self.when(self.meaning())
    }

    /// Returns the help entry with the meaning it has for one command.
    pub(crate) const fn when(self, meaning: &'static str) -> ExitCodeHelp {
        ExitCodeHelp::number(self.number(), meaning)
    }

    /// Returns `Failed` if something failed, else `Done`.
    #[expect(clippy::fn_params_excessive_bools, reason = "it converts a result to an exit code")]
    pub(crate) fn failed_if(failed: bool) -> Self {
        if failed { Self::Failed } else { Self::Done }
    }

    /// Returns all exit codes, for the program's help and docs/reference.md.
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
