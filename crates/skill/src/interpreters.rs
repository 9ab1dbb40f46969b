//! Programs that run scripts and code which they are given: the one table that the runner, the environment filter, the tool policy, the
//! reserved names of commands and the audit read.
//!
//! A new interpreter is one row in `interpreters/table.rs`. What each column means for whom is said at the fields of [`Interpreter`];
//! a column that is left out means that nothing is known. Readers take that for the stricter case, but for variables: only those that are
//! named are kept from scripts.

mod table;

use crate::programs::Program;

/// An interpreter.
#[derive(Debug, Clone, Copy)]
pub struct Interpreter {
    /// Its names without a version, and what a rule for it means: any code.
    pub program: Program,
    /// What it runs: how the audit reads its code, and whether it is a shell to the policy.
    pub language: InterpreterLanguage,
    /// Where the runner takes it from.
    pub location: InterpreterLocation,
    /// Ends of names of files that it runs, and the program that runs them.
    pub scripts: Option<Scripts>,
    /// Further ends of names of files that hold its code.
    pub sources: &'static [&'static str],
    /// Options after which code stands; none where the audit follows nothing into it.
    pub code_flags: &'static [&'static str],
    /// Variables that make it run or load other code: no script is ever given one.
    pub variables: &'static [&'static str],
    /// Beginnings of such names, where the rest is a version or a name.
    pub variable_prefixes: &'static [&'static str],
    /// Options that alone print its version and do nothing else.
    pub version_flags: &'static [&'static str],
}

/// What an interpreter runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterpreterLanguage {
    /// Commands of a shell.
    Shell,
    /// PowerShell.
    PowerShell,
    /// Batch files of Windows.
    Batch,
    /// Python.
    Python,
    /// JavaScript or TypeScript.
    JavaScript,
    /// awk, whose programs mostly pass on what they read.
    Awk,
    /// Another language.
    Other,
}

/// Where the runner takes an interpreter from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterpreterLocation {
    /// From anywhere on the PATH that no skill can write.
    Path,
    /// From folders of the system alone: what it does with a file is not known.
    System,
}

/// Files that an interpreter runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scripts {
    /// Ends of their names, without the dot.
    pub endings: &'static [&'static str],
    /// The program that runs them.
    pub program: &'static str,
}

impl Interpreter {
    /// Returns its names without a version, its own first.
    pub fn names(&self) -> &'static [&'static str] {
        self.program.names
    }

    /// Returns true if the word before this one makes it code: one of the flags, or, for a shell, letters of options that end with `c`.
    pub fn takes_code(&self, word: &str) -> bool {
        let is_cluster = self.language == InterpreterLanguage::Shell
            && word.starts_with('-')
            && !word.starts_with("--")
            && word.ends_with('c');
        !self.code_flags.is_empty() && (self.code_flags.contains(&word) || is_cluster)
    }
}

/// Returns every interpreter.
pub fn all() -> impl Iterator<Item = &'static Interpreter> {
    table::ROWS.iter()
}

/// Returns the interpreter of exactly this name.
pub fn named(name: &str) -> Option<&'static Interpreter> {
    all().find(|row| row.names().contains(&name))
}

/// Returns the name of a program without its version: `python3.12` is python.
pub fn without_version(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// Returns the interpreter of this name, with any version after it.
pub fn find(name: &str) -> Option<&'static Interpreter> {
    named(name).or_else(|| named(without_version(name)))
}

/// Returns the same for a name in any case, as systems have it that do not tell cases apart.
pub fn find_in_any_case(name: &str) -> Option<&'static Interpreter> {
    let is_it = |row: &&Interpreter, name: &str| {
        row.names().iter().any(|known| known.eq_ignore_ascii_case(name))
    };
    all()
        .find(|row| is_it(row, name))
        .or_else(|| all().find(|row| is_it(row, without_version(name))))
}

/// Returns the program that runs a file whose name ends so.
pub fn program_for(ending: &str) -> Option<&'static str> {
    let scripts = all().filter_map(|row| row.scripts);
    scripts.into_iter().find(|known| known.endings.contains(&ending)).map(|known| known.program)
}

/// Returns the interpreter whose code a file holds, by the end of its name.
pub fn by_source(ending: &str) -> Option<&'static Interpreter> {
    all().find(|row| {
        row.sources.contains(&ending)
            || row.scripts.is_some_and(|scripts| scripts.endings.contains(&ending))
    })
}

/// Returns true for a variable that makes an interpreter run or load other code.
pub fn is_steered_by(variable: &str) -> bool {
    all().any(|row| {
        row.variables.contains(&variable)
            || row.variable_prefixes.iter().any(|start| variable.starts_with(start))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_is_whole_and_no_two_say_the_same() {
        let (mut names, mut endings) = (BTreeSet::new(), BTreeSet::new());
        for row in all() {
            let own = row.names()[0];
            assert!(row.names().iter().all(|name| names.insert(*name)), "{own}: a name twice");
            let scripts = row.scripts.iter().flat_map(|scripts| scripts.endings);
            assert!(scripts.chain(row.sources).all(|end| endings.insert(*end)), "{own}: an ending");
            if let Some(scripts) = row.scripts {
                let by = find(scripts.program).map(Interpreter::names);
                assert_eq!(by, Some(row.names()), "{own} runs its files by itself");
                assert_eq!(row.location, InterpreterLocation::Path, "{own}");
            }
            if row.location == InterpreterLocation::Path {
                assert!(!row.variables.is_empty(), "{own}: what makes it load other code?");
            }
        }
    }

    #[test]
    fn every_interpreter_is_a_launcher_to_the_policy_and_no_launcher_is_described_twice() {
        for row in all() {
            for name in row.names() {
                let found = crate::programs::find(name).map(|program| program.names);
                assert_eq!(found, Some(row.names()), "{name}");
            }
        }
    }

    #[test]
    fn interpreters_are_found_by_their_names_their_files_and_their_variables() {
        for (name, own) in [
            ("python3.12", Some("python")),
            ("python", Some("python")),
            ("nodejs", Some("nodejs")),
            ("lua5.4", Some("lua")),
            ("python-", None),
            ("pythonx", None),
            ("Python", None),
            ("", None),
        ] {
            assert_eq!(find(name).map(|row| row.names()[0]), own, "{name}");
        }
        assert_eq!(find_in_any_case("RScript").map(|row| row.names()[0]), Some("R"));
        for (ending, program) in [
            ("py", Some("python3")),
            ("sh", Some("sh")),
            ("bash", Some("bash")),
            ("js", Some("node")),
            ("mjs", Some("node")),
            ("cjs", Some("node")),
            ("ts", Some("node")),
            ("rb", Some("ruby")),
            ("pl", Some("perl")),
            ("pyw", None),
            ("lua", None),
            ("", None),
        ] {
            assert_eq!(program_for(ending), program, "{ending}");
        }
        for name in ["PYTHONPATH", "LUA_INIT", "LUA_INIT_5_4", "NODE_OPTIONS", "BASH_FUNC_x%%"] {
            assert!(is_steered_by(name), "{name}");
        }
        for name in ["HOME", "pythonpath", "LUA", ""] {
            assert!(!is_steered_by(name), "{name}");
        }
    }
}
