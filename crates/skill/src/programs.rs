//! A table of known programs: what the tool rules of skills permit, and what a call of a program may do.
//!
//! There are three kinds. A *described* program has its safe options and operands listed, with the document they come
//! from: a call that matches does only what its arguments say, and any other call always needs approval. A *launcher*
//! runs code that it is given or finds, so a rule for it permits arbitrary code. All other programs are unknown.
//!
//! The descriptions follow the Linux versions (GNU coreutils, git 2.47 and so on). They do not cover what the
//! configuration of the user or of a repository makes a program do.

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
    /// The document that the description is based on.
    pub source: &'static str,
    /// What kind of program it is.
    pub kind: ProgramKind,
}

/// What is known about a program, or about one of its subcommands.
#[derive(Debug, Clone, Copy)]
pub enum ProgramKind {
    /// A call that matches one of these does only what its arguments say.
    Described(&'static [Usage]),
    /// The first argument that is not an option is a subcommand.
    Commands(&'static Commands),
    /// Runs code that it is given or finds; the text says how.
    Launcher(&'static str),
    /// Changes what the user trusts; the text says how.
    ChangesTrust(&'static str),
}

/// A program whose first operand is a subcommand.
#[derive(Debug, Clone, Copy)]
pub struct Commands {
    /// Options that may precede the subcommand.
    pub options: &'static str,
    /// The subcommands. Any other word may be an alias or a plugin.
    pub commands: &'static [Command],
    /// Valid calls without a subcommand.
    pub bare: &'static [Usage],
}

/// A subcommand of a program.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Its names.
    pub names: &'static [&'static str],
    /// What kind of subcommand it is.
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

/// The folders in which a program with a known name is trusted to be that program.
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

/// Returns the name of a program without its folder, if that is a system folder. A program in any other folder is not
/// the one in the table.
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
