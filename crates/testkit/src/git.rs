//! Real git repositories for tests.

use std::path::{Path, PathBuf};

use crate::{TestEnv, write_tree};

/// A repository in a test environment.
#[derive(Debug)]
pub struct GitRepo<'a> {
    env: &'a TestEnv,
    path: PathBuf,
}

impl<'a> GitRepo<'a> {
    /// Creates a repository at `path` in the work folder, on the branch `main`, with the files of `literal`
    /// in its first commit.
    pub fn new(env: &'a TestEnv, path: &str, literal: &str) -> Self {
        let repo = Self { env, path: env.path(path) };
        let init = env.run("git", &format!("init --quiet --initial-branch=main {path}"));
        assert_eq!(init.code, Some(0), "{}", init.stderr);
        repo.commit(literal);
        repo
    }

    /// Returns the path of the repository.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the files of `literal`, commits everything and returns the ID of the commit.
    pub fn commit(&self, literal: &str) -> String {
        write_tree(&self.path, literal);
        self.git("add --all");
        self.git("commit --quiet --allow-empty --message=change");
        self.git("rev-parse HEAD").trim().to_owned()
    }

    /// Runs git in the repository, checks that it succeeds, and returns its standard output.
    pub fn git(&self, arguments: &str) -> String {
        let folder = self.path.to_string_lossy();
        let identity = [
            "-c",
            "user.name=test",
            "-c",
            "user.email=test@example.test",
            "-c",
            "commit.gpgsign=false",
        ];
        let all: Vec<&str> = ["-C", &*folder]
            .into_iter()
            .chain(identity)
            .chain(arguments.split_whitespace())
            .collect();
        let run = self.env.run_args("git", &all);
        assert_eq!(run.code, Some(0), "git {arguments}: {}", run.stderr);
        run.stdout
    }
}
