//! Programs that run scripts or code passed to them: one table shared by the runner, the environment filter, the tool
//! policy, the reserved command names and the audit.
//!
//! A new interpreter is one row in `interpreters/table.rs`. The fields of [`Interpreter`] document the columns. An
//! omitted column means that nothing is known, which readers treat as the stricter case. Variables are the exception:
//! only the listed ones are withheld from scripts.

mod table;

use crate::programs::Program;

/// An interpreter.
#[derive(Debug, Clone, Copy)]
pub struct Interpreter {
    /// Its names without a version. A rule that allows it permits arbitrary code.
    pub program: Program,
    /// What it runs. The audit uses this to parse code, and the policy to recognize shells.
    pub language: InterpreterLanguage,
    /// Where the runner looks for it.
    pub location: InterpreterLocation,
    /// File extensions that it runs, and the program that runs them.
    pub scripts: Option<Scripts>,
    /// Other file extensions that contain its code.
    pub sources: &'static [&'static str],
    /// Options that are followed by code; empty if the audit does not analyze that code.
    pub code_flags: &'static [&'static str],
    /// Variables that make it run or load other code. Scripts never receive them.
    pub variables: &'static [&'static str],
    /// Prefixes of such variables, where the rest is a version or a name.
    pub variable_prefixes: &'static [&'static str],
    /// Options that only print its version when used alone.
    pub version_flags: &'static [&'static str],
}

/// The language of an interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterpreterLanguage {
    /// A POSIX-like shell.
    Shell,
    /// PowerShell.
    PowerShell,
    /// Windows batch files.
    Batch,
    /// Python.
    Python,
    /// JavaScript or TypeScript.
    JavaScript,
    /// awk, whose programs mostly pass their input through.
    Awk,
    /// Another language.
    Other,
}

/// Where the runner looks for an interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterpreterLocation {
    /// Anywhere on the PATH that no skill can write to.
    Path,
    /// Only in system folders, because it is not known what it does with a file.
    System,
}

/// Scripts that an interpreter runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scripts {
    /// File extensions, without the dot.
    pub extensions: &'static [&'static str],
    /// The program that runs them.
    pub program: &'static str,
}

impl Interpreter {
    /// Returns its names without a version, the main one first.
    pub fn names(&self) -> &'static [&'static str] {
        self.program.names
    }

    /// Returns true if `word` makes the next word code: one of the flags, or for a shell, combined short options that
    /// end with `c`.
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

/// Returns the interpreter with exactly this name.
pub fn named(name: &str) -> Option<&'static Interpreter> {
    all().find(|row| row.names().contains(&name))
}

/// Returns the name of a program without its version: `python3.12` becomes `python`.
pub fn without_version(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// Returns the interpreter with this name, optionally followed by a version.
pub fn find(name: &str) -> Option<&'static Interpreter> {
    named(name).or_else(|| named(without_version(name)))
}

/// Like [`find`], but ignores case, for filesystems that do.
pub fn find_ignoring_case(name: &str) -> Option<&'static Interpreter> {
    let is_it = |row: &&Interpreter, name: &str| {
        row.names().iter().any(|known| known.eq_ignore_ascii_case(name))
    };
    all()
        .find(|row| is_it(row, name))
        .or_else(|| all().find(|row| is_it(row, without_version(name))))
}

/// Returns the program that runs files with this extension.
pub fn program_for(extension: &str) -> Option<&'static str> {
    let scripts = all().filter_map(|row| row.scripts);
    scripts
        .into_iter()
        .find(|known| known.extensions.contains(&extension))
        .map(|known| known.program)
}

/// Returns the interpreter whose code a file with this extension contains.
pub fn by_source(extension: &str) -> Option<&'static Interpreter> {
    all().find(|row| {
        row.sources.contains(&extension)
            || row.scripts.is_some_and(|scripts| scripts.extensions.contains(&extension))
    })
}

/// Returns true for a variable that makes an interpreter run or load other code.
pub fn loads_code(variable: &str) -> bool {
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
    fn every_row_is_complete_and_unique() {
        let (mut names, mut extensions) = (BTreeSet::new(), BTreeSet::new());
        for row in all() {
            let own = row.names()[0];
            assert!(row.names().iter().all(|name| names.insert(*name)), "{own}: duplicate name");
            let scripts = row.scripts.iter().flat_map(|scripts| scripts.extensions);
            assert!(
                scripts.chain(row.sources).all(|end| extensions.insert(*end)),
                "{own}: duplicate extension"
            );
            if let Some(scripts) = row.scripts {
                let by = find(scripts.program).map(Interpreter::names);
                assert_eq!(by, Some(row.names()), "{own} must run its own files");
                assert_eq!(row.location, InterpreterLocation::Path, "{own}");
            }
            if row.location == InterpreterLocation::Path {
                assert!(
                    !row.variables.is_empty(),
                    "{own}: missing the variables that make it load other code"
                );
            }
        }
    }

    #[test]
    fn every_interpreter_is_a_launcher_and_listed_once() {
        for row in all() {
            for name in row.names() {
                let found = crate::programs::find(name).map(|program| program.names);
                assert_eq!(found, Some(row.names()), "{name}");
            }
        }
    }

    #[test]
    fn interpreters_are_found_by_name_file_and_variable() {
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
        assert_eq!(find_ignoring_case("RScript").map(|row| row.names()[0]), Some("R"));
        for (extension, program) in [
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
            assert_eq!(program_for(extension), program, "{extension}");
        }
        for name in ["PYTHONPATH", "LUA_INIT", "LUA_INIT_5_4", "NODE_OPTIONS", "BASH_FUNC_x%%"] {
            assert!(loads_code(name), "{name}");
        }
        for name in ["HOME", "pythonpath", "LUA", ""] {
            assert!(!loads_code(name), "{name}");
        }
    }
}
