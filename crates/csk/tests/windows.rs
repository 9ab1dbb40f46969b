//! What only Windows has: `cmd.exe`, drive letters, the read-only attribute, the user profile. Real programs under Wine.
//!
//! `tests/windows/check` runs these tests; `cargo test` does not, because they need programs for Windows.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, clippy::panic, reason = "tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{GitRepo, Run, TestEnv};

const SHOW: &str = "\
//- /SKILL.md
---
name: show
description: Shows its arguments. Use when asked to.
---
Run `show`.
//- /csk-skill.json
{\"schema_version\": 2, \"runtime_roots\": [\"scripts\"],
 \"commands\": {\"show\": {\"type\": \"script\", \"unix_path\": \"scripts/show\", \"win_path\": \"scripts/show.cmd\"}}}
//- /scripts/show
#!/bin/sh
//- /scripts/show.cmd
@echo off
echo [%1] [%2] [%3] [%4] %~dp0
exit /b 7
";

/// One skill in a repository, and a project that declares it.
struct World {
    env: TestEnv,
}

impl World {
    fn new() -> Self {
        let world = Self { env: TestEnv::new() };
        GitRepo::new(&world.env, "skills/show", SHOW).git("tag v1");
        GitRepo::new(&world.env, "app", "//- /.gitignore\n.agents/\n.claude/skills/\n");
        world.env.write(
            "app/Skillfile.json",
            b"{\r\n  \"schema_version\": 1,\r\n  \"skills\": [\r\n    { \"name\": \"show\", \"tag\": \"v1\" }\r\n  ]\r\n}\r\n",
        );
        let skills = world.env.native(&world.env.path("skills"));
        let config = format!(
            "{{\"schema_version\": 1, \"skills_root\": \"{skills}\", \"default_agents\": [\"claude_code\"]}}"
        );
        fs::create_dir_all(world.home().join(".cocoaskills")).unwrap();
        fs::write(world.home().join(".cocoaskills/config.json"), config).unwrap();
        world
    }

    fn home(&self) -> PathBuf {
        self.env.work().parent().unwrap().join("home")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.env.command(env!("CARGO_BIN_EXE_csk"), arguments);
        command.current_dir(self.env.path("app"));
        command
    }

    fn csk(&self, arguments: &str) -> Run {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        self.env.output(&mut self.command(&arguments))
    }

    fn install(&self) {
        let run = self.csk("install");
        assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    }

    /// Runs a batch file in the project with Windows' own shell.
    fn batch(&self, lines: &str) -> Run {
        fs::write(self.env.path("app/batch.cmd"), lines.replace('\n', "\r\n")).unwrap();
        // The environment of csk, without csk itself.
        let csk = self.command(&[]);
        let mut command = Command::new("wine");
        command.args(["cmd", "/c", "batch.cmd"]).current_dir(self.env.path("app")).env_clear();
        for (name, value) in csk.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        self.env.output(&mut command)
    }

    fn app(&self, path: &str) -> PathBuf {
        self.env.path("app").join(path)
    }

    fn read(&self, path: impl AsRef<Path>) -> String {
        fs::read_to_string(path.as_ref())
            .unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
    }
}

#[test]
fn cmd_shims_pass_arguments_and_the_exit_code() {
    let world = World::new();
    world.install();
    let shim = world.read(world.app(".agents/bin/show.cmd"));
    assert!(shim.starts_with("@echo off\r\n\"Z:\\"), "{shim}");
    let run = world.batch(
        "@echo off\ncmd /c .agents\\bin\\show.cmd \"a b\" \"c&d\" x\necho code %errorlevel%\n",
    );
    assert!(run.stdout.contains("[\"a b\"] [\"c&d\"] [x]"), "{}", run.transcript());
    assert!(run.stdout.contains("code 7"), "{}", run.transcript());
}

#[test]
fn exec_finds_shims_and_returns_their_exit_code() {
    let world = World::new();
    world.install();
    let run = world.env.output(&mut world.command(&["exec", "--", "show", "a b", "c&d"]));
    assert_eq!(run.code, Some(7), "{}", run.transcript());
    assert!(run.stdout.contains("[\"a b\"] [\"c&d\"]"), "{}", run.transcript());
    // An argument with `%` is not tested: Wine's cmd.exe lacks the expansion that Rust's escaping relies on.
    let missing = world.csk("exec -- nothing-like-this");
    assert_eq!(missing.code, Some(127), "{}", missing.transcript());
}

#[test]
fn without_home_the_user_profile_is_used() {
    let world = World::new();
    let profile = world.env.path("profile");
    fs::create_dir(&profile).unwrap();
    let run = world.batch(
        "@echo off\nset HOME=\nset USERPROFILE=%CD%\\..\\profile\ncsk bootstrap --yes\ncsk config show\n",
    );
    assert!(run.stdout.contains("profile/.cocoaskills"), "{}", run.transcript());
    let run = world.batch("@echo off\nset HOME=\nset USERPROFILE=\ncsk status\n");
    assert!(
        run.stderr.contains("neither USERPROFILE nor CSK_CONFIG is set"),
        "{}",
        run.transcript()
    );
}

#[test]
fn agents_get_copies_where_symlinks_need_a_privilege() {
    let world = World::new();
    world.install();
    let entry = world.app(".claude/skills/show");
    assert!(fs::symlink_metadata(&entry).unwrap().is_dir(), "a copy, not a link");
    assert_eq!(
        world.read(entry.join("SKILL.md")),
        world.read(world.app(".agents/skills/show/SKILL.md"))
    );
    let again = world.csk("install");
    assert!(again.stdout.contains("up-to-date"), "{}", again.transcript());
    let links = world.csk("install --json");
    assert_eq!(links.code, Some(0), "{}", links.transcript());
}

#[test]
fn read_only_files_are_replaced_and_removed() {
    let world = World::new();
    world.install();
    for file in
        [".agents/skills/show/SKILL.md", ".claude/skills/show/SKILL.md", ".agents/bin/show.cmd"]
    {
        fs::set_permissions(world.app(file), PermissionsExt::from_mode(0o444)).unwrap();
    }
    let repository = GitRepo::new(
        &world.env,
        "skills/show",
        "//- /SKILL.md\n---\nname: show\ndescription: New.\n---\nNew.\n",
    );
    repository.git("tag v2");
    let skillfile = world.read(world.app("Skillfile.json")).replace("v1", "v2");
    fs::write(world.app("Skillfile.json"), skillfile).unwrap();
    world.install();
    assert!(world.read(world.app(".agents/skills/show/SKILL.md")).contains("New."));
    assert!(world.read(world.app(".claude/skills/show/SKILL.md")).contains("New."));
    fs::set_permissions(
        world.app(".agents/skills/show/SKILL.md"),
        PermissionsExt::from_mode(0o444),
    )
    .unwrap();
    let removed = world.csk("remove show");
    assert_eq!(removed.code, Some(0), "{}", removed.transcript());
    assert!(!world.app(".agents/skills/show").exists());
    assert!(!world.app(".agents/bin/show.cmd").exists());
}

#[test]
fn a_file_with_windows_line_ends_keeps_them() {
    let world = World::new();
    GitRepo::new(&world.env, "skills/other", &SHOW.replace("show", "other")).git("tag v1");
    let run = world.csk("add other --git https://example.test/other.git --tag v1 --no-install");
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let text = world.read(world.app("Skillfile.json"));
    assert!(text.contains("\"other\""), "{text}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{text:?}");
}

#[test]
fn paths_are_shown_as_users_type_them() {
    let world = World::new();
    world.install();
    for arguments in
        ["status", "status --json", "verify", "why show", "config show", "doctor", "list"]
    {
        let output = world.command(&arguments.split(' ').collect::<Vec<_>>()).output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!text.contains(r"\\?\") && !text.contains(r"\\\\?\\"), "{arguments}: {text}");
    }
}

#[test]
fn the_drive_letter_and_the_separator_do_not_matter() {
    let world = World::new();
    world.install();
    let path = world.app("").to_string_lossy().trim_end_matches('/').to_owned();
    for spelling in [
        format!("z:{path}"),
        format!("Z:{}", path.replace('/', r"\")),
        format!(r"\\?\Z:{}", path.replace('/', r"\")),
    ] {
        let run = world.env.output(&mut world.command(&["status", "--json", &spelling]));
        assert_eq!(run.code, Some(0), "{spelling}: {}", run.transcript());
        assert!(run.stdout.contains("up-to-date"), "{spelling}: {}", run.transcript());
    }
}

#[test]
fn long_paths_work() {
    let world = World::new();
    let deep = format!("deep/{}", ["a-folder-with-a-rather-long-name"; 6].join("/"));
    GitRepo::new(&world.env, &deep, "//- /.gitignore\n.agents/\n.claude/skills/\n");
    world.env.write(
        &format!("{deep}/Skillfile.json"),
        world.read(world.app("Skillfile.json")).as_bytes(),
    );
    // Files of the project have more than 260 characters; Wine allows no longer folders.
    let path = world.env.native(&world.env.path(&deep));
    let run = world.env.output(&mut world.command(&["install", &path]));
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert!(world.env.path(&deep).join(".agents/skills/show/SKILL.md").exists());
}

#[test]
fn two_installs_at_once_both_succeed() {
    let world = World::new();
    let mut running: Vec<_> =
        (0..3).map(|_| world.command(&["install"]).spawn().unwrap()).collect();
    for one in &mut running {
        assert!(one.wait().unwrap().success());
    }
    let run = world.csk("verify");
    assert_eq!(run.code, Some(0), "{}", run.transcript());
}

#[test]
fn a_link_inside_a_skill_is_an_error_that_names_it() {
    let world = World::new();
    let repository = GitRepo::new(&world.env, "skills/linked", &SHOW.replace("show", "linked"));
    repository.commit("//- /references/guide.md\nGuide.\n");
    let link = world.env.path("skills/linked/references/also.md");
    std::os::unix::fs::symlink("guide.md", link).unwrap();
    repository.commit("");
    repository.git("tag v1");
    fs::write(
        world.app("Skillfile.json"),
        "{\"schema_version\": 1, \"skills\": [{\"name\": \"linked\", \"tag\": \"v1\"}]}",
    )
    .unwrap();
    let run = world.csk("install");
    assert_eq!(run.code, Some(1), "{}", run.transcript());
    assert!(run.transcript().contains("also.md"), "{}", run.transcript());
    assert!(run.transcript().contains("Developer Mode"), "{}", run.transcript());
    assert!(!world.app(".agents/skills/linked").exists());
}
