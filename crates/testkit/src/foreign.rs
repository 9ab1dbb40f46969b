//! The same tests with programs that were built for another system: Windows programs under Wine, programs for another
//! processor under qemu.
//!
//! If `TEST_WINDOWS_PROGRAMS` or `TEST_EMULATED_PROGRAMS` names a folder with programs, tests run those instead of the
//! ones they were built with; `TEST_EMULATOR` is the command that runs the latter. For Windows, arguments and variables
//! with a path of the test are translated, and the output is translated back, so that one expectation fits both
//! systems. `tests/windows/check` and `tests/arm/check` build the folders and choose the tests.

#![expect(
    clippy::disallowed_methods,
    reason = "reads the settings of this test run, starts programs"
)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The drive on which Wine shows the file system.
const DRIVE: &str = "Z:";

/// Programs for another system.
#[derive(Debug)]
pub(crate) enum ForeignPrograms {
    /// A folder with `csk.exe` or `openskills.exe`, and a stand-in for git.
    Windows(PathBuf),
    /// A folder with `csk` or `openskills`, and the command that runs them.
    Emulated { folder: PathBuf, emulator: Vec<String> },
}

impl ForeignPrograms {
    /// Returns the programs if this test run uses any.
    pub(crate) fn of_this_run() -> Option<Self> {
        if let Some(folder) = env::var_os("TEST_WINDOWS_PROGRAMS") {
            return Some(Self::Windows(folder.into()));
        }
        let folder = env::var_os("TEST_EMULATED_PROGRAMS")?.into();
        let emulator = env::var("TEST_EMULATOR").expect("TEST_EMULATOR is set");
        Some(Self::Emulated { folder, emulator: emulator.split(' ').map(str::to_owned).collect() })
    }

    /// Returns the command that starts the program of the same name with these variables and no others; `None` if there
    /// is none.
    pub(crate) fn command(
        &self,
        program: &str,
        arguments: &[&str],
        variables: &[(String, String)],
    ) -> Option<Command> {
        // Fixtures are made by this machine's own git and shells.
        let name = Path::new(program).file_name()?.to_str();
        let name = name.filter(|name| ["csk", "openskills"].contains(name))?;
        match self {
            Self::Windows(folder) => {
                let program = folder.join(name).with_extension("exe");
                program.is_file().then(|| under_wine(folder, &program, arguments, variables))
            }
            Self::Emulated { folder, emulator } => {
                let program = folder.join(name);
                let (first, rest) = emulator.split_first()?;
                program.is_file().then(|| {
                    let mut command = Command::new(first);
                    command.args(rest).arg(program).args(arguments).env_clear();
                    command.env("PATH", env::var_os("PATH").unwrap_or_default());
                    command.envs(variables.iter().map(|(name, value)| (name, value)));
                    command
                })
            }
        }
    }

    /// Returns a path as the programs spell it.
    pub(crate) fn native(&self, path: &Path) -> String {
        match self {
            Self::Windows(_) => format!("{DRIVE}{}", path.display()),
            Self::Emulated { .. } => path.display().to_string(),
        }
    }

    /// Translates output into what the programs of this system print.
    pub(crate) fn translated(&self, text: &str, root: &str) -> String {
        match self {
            Self::Windows(_) => from_windows(text, root),
            Self::Emulated { .. } => text.to_owned(),
        }
    }
}

fn under_wine(
    folder: &Path,
    program: &Path,
    arguments: &[&str],
    variables: &[(String, String)],
) -> Command {
    let mut command = Command::new("wine");
    command.arg(program).args(arguments.iter().map(|argument| to_windows(argument))).env_clear();
    for name in ["PATH", "WINEPREFIX", "GIT_RELAY"] {
        if let Some(value) = env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("WINEDEBUG", "-all").env("WINEPATH", windows_path(folder, ""));
    for (name, value) in variables {
        match name.as_str() {
            // Wine passes these on only under names of its own.
            "HOME" => command.env("WINEHOME", to_windows(value)).env("HOME", value),
            "PATH" => command.env("WINEPATH", windows_path(folder, value)),
            _ => command.env(name, to_windows(value)),
        };
    }
    command
}

/// Returns PATH for Windows: the folders of the test, then that of the programs.
fn windows_path(programs: &Path, path: &str) -> String {
    let test = path.split(':').filter(|folder| folder.contains("cocoa-test-"));
    let folders = test.chain([programs.to_str().expect("the folder has a plain name")]);
    folders.map(to_windows).collect::<Vec<_>>().join(";")
}

/// Returns an argument or a variable as Windows has it.
fn to_windows(text: &str) -> String {
    match text.strip_prefix('/') {
        Some(_) => format!("{DRIVE}{}", text.replace('/', r"\")),
        None => text.replace("=/tmp/", &format!("={DRIVE}/tmp/")),
    }
}

/// Translates output: paths below `root` as Unix has them, and no `\r` at the end of lines.
fn from_windows(text: &str, root: &str) -> String {
    let spellings = [
        format!("{DRIVE}{}", root.replace('/', r"\\")),
        format!("{DRIVE}{}", root.replace('/', r"\")),
        format!("{DRIVE}{root}"),
    ];
    let mut rest = text.replace("\r\n", "\n");
    for spelling in spellings {
        rest = rest.replace(&spelling, root);
    }
    let mut result = String::new();
    while let Some(at) = rest.find(root) {
        let end = rest[at..].find([' ', '\n', '"', '\'', '`', ')', ',']);
        let end = end.map_or(rest.len(), |end| at + end);
        result += &rest[..at];
        result += &rest[at..end].replace(r"\\", "/").replace('\\', "/");
        rest = rest.split_off(end);
    }
    result + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_output_are_those_of_the_test() {
        let text = "in Z:\\tmp\\x\\app\\a (Z:/tmp/x/b), \"Z:\\\\tmp\\\\x\\\\c\\\\d\"\r\na\\b\n";
        let expected = "in /tmp/x/app/a (/tmp/x/b), \"/tmp/x/c/d\"\na\\b\n";
        assert_eq!(from_windows(text, "/tmp/x"), expected);
    }
}
