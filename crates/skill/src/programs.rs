//! What is known about programs, as one table of data: what the tool rules of skills mean, and what a call of a program may do.
//!
//! There are three kinds. A *described* program has its safe options and operands written down, each with the document they
//! come from: a call that fits does no more than its words say, and a call that does not fit is never allowed by itself. A *launcher*
//! runs code that it is given or finds, so a rule for it means arbitrary code. Every other program is not known at all.
//!
//! The descriptions follow the Linux versions (GNU coreutils, git 2.47 and so on). They say nothing about what the user's own
//! configuration, or the configuration of a repository, makes a program do.

mod archives;
mod clusters;
mod files;
mod git;
mod git_history;
mod git_remote;
mod launchers;
mod network;
mod own;
mod packages;
mod rule;
mod system;
mod text;
mod usage;

pub use rule::{RuleMeaning, launcher_rules, meaning, prints_version};
pub use usage::{Arity, Count, OptionUsage, Role, Usage};

/// A program.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Its names, without folders.
    pub names: &'static [&'static str],
    /// The document that the description comes from.
    pub source: &'static str,
    /// What it is.
    pub kind: ProgramKind,
}

/// What a program, or a command of one, is.
#[derive(Debug, Clone, Copy)]
pub enum ProgramKind {
    /// A call that fits one of these does no more than its words say.
    Described(&'static [Usage]),
    /// The first word that is no option names a command.
    Commands(&'static Commands),
    /// It runs code that it is given or finds; the text says how.
    Launcher(&'static str),
    /// It changes what the user trusts; the text says how.
    ChangesTrust(&'static str),
}

/// A program whose first operand names a command.
#[derive(Debug, Clone, Copy)]
pub struct Commands {
    /// Options that may stand before the command.
    pub options: &'static str,
    /// The commands. A word that is none of them may be an alias or a plugin.
    pub commands: &'static [Command],
    /// What a call without a command may be.
    pub bare: &'static [Usage],
}

/// A command of a program.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Its names.
    pub names: &'static [&'static str],
    /// What it is.
    pub kind: ProgramKind,
}

impl Program {
    pub(crate) const fn described(
        names: &'static [&'static str],
        source: &'static str,
        usages: &'static [Usage],
    ) -> Self {
        Self { names, source, kind: ProgramKind::Described(usages) }
    }

    pub(crate) const fn commands(
        names: &'static [&'static str],
        source: &'static str,
        commands: &'static Commands,
    ) -> Self {
        Self { names, source, kind: ProgramKind::Commands(commands) }
    }

    pub(crate) const fn launcher(
        names: &'static [&'static str],
        source: &'static str,
        how: &'static str,
    ) -> Self {
        Self { names, source, kind: ProgramKind::Launcher(how) }
    }
}

impl Command {
    pub(crate) const fn described(
        names: &'static [&'static str],
        usages: &'static [Usage],
    ) -> Self {
        Self { names, kind: ProgramKind::Described(usages) }
    }

    pub(crate) const fn launcher(names: &'static [&'static str], how: &'static str) -> Self {
        Self { names, kind: ProgramKind::Launcher(how) }
    }

    pub(crate) const fn commands(
        names: &'static [&'static str],
        commands: &'static Commands,
    ) -> Self {
        Self { names, kind: ProgramKind::Commands(commands) }
    }
}

/// The folders in which a program of a known name is that program.
const SYSTEM_FOLDERS: [&str; 5] =
    ["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/run/current-system/sw/bin/"];

const TABLE: &[&[Program]] = &[
    files::PROGRAMS,
    text::PROGRAMS,
    system::PROGRAMS,
    git::PROGRAMS,
    network::PROGRAMS,
    archives::PROGRAMS,
    clusters::PROGRAMS,
    packages::PROGRAMS,
    own::PROGRAMS,
    launchers::PROGRAMS,
];

/// Returns every program of the table.
pub fn all() -> impl Iterator<Item = &'static Program> {
    let families = TABLE.iter().flat_map(|family| family.iter());
    families.chain(crate::interpreters::all().map(|interpreter| &interpreter.program))
}

/// Returns the name of a program without the folder, where the folder is one of the system's own. A program of any other folder
/// is not the one that the table knows.
pub fn plain_name(program: &str) -> Option<&str> {
    let name = SYSTEM_FOLDERS.iter().find_map(|folder| program.strip_prefix(folder));
    Some(name.unwrap_or(program)).filter(|name| !name.contains('/'))
}

/// Returns what is known about a program.
pub fn find(program: &str) -> Option<&'static Program> {
    let name = plain_name(program)?;
    // `python3.12` is python, as `gcc-13` is gcc.
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let by_name = |name: &str| all().find(|program| program.names.contains(&name));
    let is_versioned = |program: &&Program| matches!(program.kind, ProgramKind::Launcher(_));
    by_name(name).or_else(|| by_name(base).filter(is_versioned))
}

#[cfg(test)]
mod tests;
