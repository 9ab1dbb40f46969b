//! Real git repositories for tests.

use std::path::{Path, PathBuf};

use crate::{TestEnv, write_tree};

/// A repository in the environment of a test.
#[derive(Debug)]
pub struct GitRepo<'a> {
    env: &'a TestEnv,
    path: PathBuf,
}

impl<'a> GitRepo<'a> {
    /// Makes a repository at `path` in the work folder, on the branch `main`, with the files of `literal`
    /// in its first commit.
    pub fn new(env: &'a TestEnv, path: &str, literal: &str) -> Self {
        let repo = Self { env, path: env.path(path) };
        let made = env.run("git", &format!("init --quiet --initial-branch=main {path}"));
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        repo.commit(literal);
        repo
    }

    /// Returns where the repository is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the files of `literal`, commits everything and returns the commit's id.
    pub fn commit(&self, literal: &str) -> String {
        write_tree(&self.path, literal);
        self.git("add --all");
        self.git("commit --quiet --allow-empty --message=change");
        self.git("rev-parse HEAD").trim().to_owned()
    }

    /// Runs git in the repository; it must succeed. Returns what it printed.
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
        let words: Vec<&str> = ["-C", &*folder]
            .into_iter()
            .chain(identity)
            .chain(arguments.split_whitespace())
            .collect();
        let run = self.env.run_args("git", &words);
        assert_eq!(run.code, Some(0), "git {arguments}: {}", run.stderr);
        run.stdout
    }
}
