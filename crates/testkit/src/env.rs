//! A temporary folder for each test, with an empty HOME, and functions to run programs in it.

#![expect(clippy::disallowed_methods, reason = "runs programs in a temporary folder")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::foreign::ForeignPrograms;
use crate::tree::write_tree;

/// A temporary folder that contains `home` and `work`. Programs run in `work` and inherit only `PATH` from the
/// caller's environment.
#[derive(Debug)]
pub struct TestEnv {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
    foreign: Option<ForeignPrograms>,
}

/// The result of running a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    /// Standard output, with the path of the temporary folder replaced by `[ROOT]`.
    pub stdout: String,
    /// Standard error, with the path of the temporary folder replaced by `[ROOT]`.
    pub stderr: String,
}

impl TestEnv {
    /// Creates an empty environment.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("cocoa-test-")
            .tempdir()
            .expect("a temporary folder can be created");
        for name in ["home", "work"] {
            fs::create_dir(folder.path().join(name)).expect("the folder can be created");
        }
        Self { folder, variables: Vec::new(), foreign: ForeignPrograms::of_this_run() }
    }

    /// Creates an environment whose work folder contains the files of `literal` (see [`crate::entries`]).
    pub fn with(literal: &str) -> Self {
        let env = Self::new();
        write_tree(&env.work(), literal);
        env
    }

    /// Sets an environment variable for all programs that are run later.
    #[must_use]
    pub fn var(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the folder that programs run in, with symlinks resolved.
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// Returns the path of `name` in the work folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    /// Writes bytes to a file in the work folder.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("the path is below the root"))
            .expect("the folder can be created");
        fs::write(path, bytes).expect("the file can be written");
    }

    /// Returns the command `program arguments…`, ready to run in the work folder.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let home = self.root().join("home").to_string_lossy().into_owned();
        let mut variables = vec![("HOME".to_owned(), home)];
        variables.extend(self.variables.iter().cloned());
        let foreign = self.foreign.as_ref();
        let foreign = foreign.and_then(|all| all.command(program, arguments, &variables));
        let mut command = foreign.unwrap_or_else(|| {
            let mut command = Command::new(program);
            command.args(arguments).env_clear().env("PATH", &path).envs(variables);
            command
        });
        command.current_dir(self.work()).stdin(Stdio::null());
        command
    }

    /// Returns a path as the tested programs spell it in a config file.
    pub fn native(&self, path: &Path) -> String {
        let foreign = self.foreign.as_ref();
        foreign.map_or_else(|| path.display().to_string(), |all| all.native(path))
    }

    /// Runs `program` with `arguments`, split at whitespace.
    pub fn run(&self, program: &str, arguments: &str) -> Run {
        self.run_args(program, &arguments.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs `program` with `arguments`, unchanged.
    pub fn run_args(&self, program: &str, arguments: &[&str]) -> Run {
        self.output(&mut self.command(program, arguments))
    }

    /// Runs `command`.
    pub fn output(&self, command: &mut Command) -> Run {
        let output = command.output().expect("the program can be started");
        let root = self.root();
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let root = root.to_string_lossy();
            match &self.foreign {
                Some(foreign) => foreign.translated(&text, &root).replace(&*root, "[ROOT]"),
                None => text.replace(&*root, "[ROOT]"),
            }
        };
        Run {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(Path::new(self.folder.path())).expect("the temporary folder exists")
    }
}

impl Default for TestEnv {
    fn default() -> Self {
        Self::new()
    }
}

impl Run {
    /// Returns the exit code and both streams as one text, to compare with an expectation.
    pub fn transcript(&self) -> String {
        let mut text = match self.code {
            Some(code) => format!("exit {code}\n"),
            None => "killed\n".to_owned(),
        };
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            for line in stream.lines() {
                writeln!(text, "{name}: {line}").expect("writing to text cannot fail");
            }
        }
        text.lines().map(str::trim_end).fold(String::new(), |all, line| all + line + "\n")
    }
}
