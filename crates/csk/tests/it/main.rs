//! Tests of csk with the real program, real git repositories and real folders.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, clippy::panic, reason = "tests")]

mod adapters;
mod add;
mod add_more;
mod adopt;
mod audit;
mod bad_input;
mod checkouts;
mod commands;
mod content;
mod doctor;
mod editing;
mod first_hour;
mod flows;
mod frame;
mod global;
mod hostile;
mod import;
mod install;
mod kill;
mod layers;
mod lessons;
mod lock;
mod manners;
mod parts;
mod progress;
mod readme;
mod runtime;
mod same;
mod second_look;
mod shells;
mod sources;
mod status;
mod verbs;
mod whole;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use testkit::{GitRepo, Run, TestEnv};

/// An environment with a config, one skill repository and one project that declares it.
struct World {
    env: TestEnv,
}

const SKILL: &str = "\
//- /SKILL.md
---
name: pdf
description: Extracts text.
license: MIT
---
Body.
//- /references/guide.md
Guide.
//- /README.md
For developers.
//- /tests/x.py
";

impl World {
    /// `pdf` in skills/, tagged v1; a project `app` that declares it for two agents.
    fn new() -> Self {
        let world = Self::bare();
        world.repo("pdf", SKILL).git("tag v1");
        world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
        world
    }

    /// Adds a skill with a file that is large, so that its snapshot is kept in the cache.
    fn with_large(self) -> Self {
        self.repo("big", &SKILL.replace("name: pdf", "name: big"));
        self.env.write("skills/big/assets/data", "0123456789".repeat(200_000).as_bytes());
        self.commit("big", "");
        self.git("skills/big", "tag v1");
        self.skillfile(r#"{"name": "pdf", "tag": "v1"}, {"name": "big", "tag": "v1"}"#);
        self
    }

    /// A config and an empty project, no skill.
    fn bare() -> Self {
        let env = TestEnv::new();
        fs::create_dir_all(env.path("skills")).unwrap();
        let world = Self { env };
        GitRepo::new(
            &world.env,
            "app",
            "//- /.gitignore\n.agents/\n.claude/skills/\n.codex/skills/\n.cursor/rules/\n.gemini/skills/\n",
        );
        world.config("");
        world
    }

    /// Writes the config; `more` are further keys, each with a comma before it.
    fn config(&self, more: &str) {
        let (skills, app) = (self.env.path("skills"), self.env.path("app"));
        let text = format!(
            r#"{{"schema_version": 1, "skills_root": "{}", "default_agents": ["claude_code", "codex_cli"],
                "projects": {{"app": {{"path": "{}"}}}}{more}}}"#,
            self.env.native(&skills),
            self.env.native(&app)
        );
        let folder = self.home().join(".cocoaskills");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.json"), text).unwrap();
    }

    fn home(&self) -> PathBuf {
        self.env.work().parent().unwrap().join("home")
    }

    fn repo(&self, name: &str, literal: &str) -> GitRepo<'_> {
        GitRepo::new(&self.env, &format!("skills/{name}"), literal)
    }

    /// Runs git in an existing repository.
    fn git(&self, folder: &str, arguments: &str) -> String {
        let path = self.env.path(folder).to_string_lossy().into_owned();
        let words: Vec<&str> = ["-C", &path, "-c", "user.name=t", "-c", "user.email=t@t"]
            .into_iter()
            .chain(arguments.split_whitespace())
            .collect();
        let run = self.env.run_args("git", &words);
        assert_eq!(run.code, Some(0), "git {arguments}: {}", run.stderr);
        run.stdout
    }

    /// Writes files into a skill's repository and commits them.
    fn commit(&self, name: &str, literal: &str) {
        testkit::write_tree(&self.env.path(&format!("skills/{name}")), literal);
        self.git(&format!("skills/{name}"), "add --all");
        self.git(&format!("skills/{name}"), "commit --quiet --allow-empty -m change");
    }

    fn skillfile(&self, skills: &str) {
        self.env.write(
            "app/Skillfile.json",
            format!("{{\"schema_version\": 1, \"skills\": [{skills}]}}").as_bytes(),
        );
    }

    /// Puts a wrapper for `git` on PATH, which first runs `what` if the arguments match `pattern`.
    fn wrap_git(&mut self, pattern: &str, what: &str) {
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in {pattern}) {what};; esac\nPATH=${{PATH#*:}} exec git \"$@\"\n"
        );
        self.program("bin/git", &script);
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.env.path("bin").display());
        self.env = std::mem::take(&mut self.env).var("PATH", &path);
    }

    /// Writes an executable file.
    fn program(&self, path: &str, text: &str) {
        self.env.write(path, text.as_bytes());
        fs::set_permissions(self.env.path(path), PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn csk(&self, arguments: &str) -> Run {
        self.env.run(env!("CARGO_BIN_EXE_csk"), arguments)
    }

    /// Installs and checks that it succeeds.
    fn install(&self) -> Run {
        let run = self.csk("install app");
        assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
        run
    }

    fn app(&self, path: &str) -> PathBuf {
        self.env.path("app").join(path)
    }

    fn installed(&self, path: &str) -> PathBuf {
        self.app(".agents/skills").join(path)
    }

    fn read(&self, path: impl AsRef<Path>) -> String {
        fs::read_to_string(path.as_ref())
            .unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
    }

    /// Returns the paths of all files and symlinks below a folder of the app, sorted.
    fn listing(&self, folder: &str) -> String {
        let call = format!("cd app/{folder} 2>/dev/null && find . ! -type d | sort");
        self.env.run_args("sh", &["-c", &call]).stdout
    }
}
