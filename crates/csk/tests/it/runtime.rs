//! Commands of skills: the command store, the shims, the checks before an install, and garbage collection.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use crate::World;

const REVIEW: &str = r#"
//- /SKILL.md
---
name: review
description: Reviews.
---
Run `mr`.
//- /references/guide.md
Guide.
//- /scripts/mr
#!/usr/bin/env python3
import os, sys
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import helper
print(helper.hello(), *sys.argv[1:])
//- /scripts/helper.py
def hello():
    return "hello from the side"
//- /scripts/lib/peer.sh
echo peer
//- /scripts/lib/plain.txt
plain
//- /csk-skill.json
{
  "schema_version": 2,
  "runtime_roots": ["scripts"],
  "commands": {
    "mr": {"type": "script", "unix_path": "scripts/mr", "win_path": "scripts/mr"}
  }
}
"#;

/// A world in which `review` is declared at v1.
fn review_world() -> World {
    let world = World::bare();
    let repo = world.repo("review", REVIEW.trim_start());
    repo.git("update-index --chmod=+x scripts/lib/peer.sh");
    repo.git("commit --quiet -m peer");
    repo.git("tag v1");
    world.skillfile(r#"{"name": "review", "tag": "v1"}"#);
    world
}

impl World {
    /// Returns the folder in the command store of a skill's installed commit.
    fn runtime(&self, skill: &str) -> std::path::PathBuf {
        let marker = self.read(self.installed(&format!("{skill}/.csk-install.json")));
        let marker: serde_json::Value = serde_json::from_str(&marker).unwrap();
        self.store().join(skill).join(marker["commit"].as_str().unwrap())
    }

    fn store(&self) -> std::path::PathBuf {
        self.home().join(".cocoaskills/runtime")
    }

    /// Replaces the manifest of a skill and tags it.
    fn manifest(&self, skill: &str, manifest: &str, tag: &str) {
        self.env.write(&format!("skills/{skill}/csk-skill.json"), manifest.as_bytes());
        self.git(&format!("skills/{skill}"), "commit --quiet --all -m manifest");
        self.git(&format!("skills/{skill}"), &format!("tag {tag}"));
    }
}

#[test]
fn test_schema_v2_copies_runtime_root_to_runtime_store() {
    let world = review_world();
    world.install();
    let runtime = world.runtime("review");
    for file in ["scripts/mr", "scripts/helper.py", "scripts/lib/peer.sh"] {
        assert!(runtime.join(file).is_file(), "{file}");
    }
    assert_eq!(fs::read_link(world.app(".agents/bin/mr")).unwrap(), runtime.join("scripts/mr"));
    let marker = world.read(world.installed("review/.csk-install.json"));
    for part in ["\"mr\": \"scripts/mr\"", "\"runtime_roots\"", "\"skill_schema_version\": 2"] {
        assert!(marker.contains(part), "{part} in {marker}");
    }
    // Files and folders in the store are read-only.
    for path in
        ["", "scripts", "scripts/lib", "scripts/mr", "scripts/helper.py", ".csk-runtime.json"]
    {
        let mode = fs::metadata(runtime.join(path)).unwrap().mode();
        assert_eq!(mode & 0o222, 0, "{path}: {mode:o}");
    }
    assert!(world.install().stdout.contains("up-to-date"));
}

#[test]
fn test_schema_v2_runtime_root_side_file_is_available_to_command() {
    let world = review_world();
    world.install();
    // From any folder, through a symlink to the checkout, and in a path with spaces.
    symlink(world.env.path("app"), world.env.path("linked app")).unwrap();
    for (folder, shim) in [
        ("app", ".agents/bin/mr"),
        (".", "app/.agents/bin/mr"),
        (".", "linked app/.agents/bin/mr"),
        ("linked app", ".agents/bin/mr"),
    ] {
        let call = format!("cd '{folder}' && '{shim}' one 'two three'");
        let run = world.env.run_args("sh", &["-c", &call]);
        assert_eq!(run.stdout, "hello from the side one two three\n", "{folder}: {}", run.stderr);
    }
}

/// Python writes its caches next to modules if it can. Root can write everywhere; other users cannot write to the
/// store.
#[test]
fn running_a_command_is_not_detected_as_tampering() {
    let world = review_world();
    world.install();
    assert_eq!(world.env.run("app/.agents/bin/mr", "").code, Some(0));
    assert!(!world.runtime("review").join("scripts/__pycache__").is_dir());
    assert_eq!(world.csk("status app --check").code, Some(0));
    if world.env.run_args("sh", &["-c", "test $(id -u) = 0 && setpriv --version"]).code != Some(0) {
        return;
    }
    let call = "chown -R 65534 .. && chmod 755 .. && exec setpriv --reuid 65534 --regid 65534 --clear-groups app/.agents/bin/mr";
    let run = world.env.run_args("sh", &["-c", call]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!world.runtime("review").join("scripts/__pycache__").is_dir());
}

#[test]
fn test_schema_v2_excludes_runtime_roots_from_installed_context() {
    let world = review_world();
    world.install();
    assert_eq!(
        world.listing(".agents/skills/review"),
        "./.csk-install.json\n./SKILL.md\n./references/guide.md\n"
    );
    // A root that would otherwise be installed as context is excluded as well.
    world.manifest("review", r#"{"schema_version": 2, "runtime_roots": ["references"]}"#, "v2");
    world.skillfile(r#"{"name": "review", "tag": "v2"}"#);
    world.install();
    assert!(!world.installed("review/references").exists());
    assert!(world.installed("review/scripts/mr").exists(), "no command is declared any more");
    assert!(!world.app(".agents/bin/mr").exists());
}

#[test]
fn test_schema_v1_single_file_runtime_behavior_unchanged() {
    let world = review_world();
    let manifest = r#"{"schema_version": 1, "commands": {"mr": {"type": "script", "unix_path": "scripts/mr"},
        "peer": {"type": "script", "unix_path": "scripts/lib/plain.txt"}}}"#;
    world.manifest("review", manifest, "old");
    world.skillfile(r#"{"name": "review", "tag": "old"}"#);
    world.install();
    let runtime = world.runtime("review");
    let mut names: Vec<_> = fs::read_dir(runtime.join("bin"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["mr", "peer"]);
    assert!(!runtime.join("scripts").exists());
    // A command is executable, whatever its mode in the repository.
    assert_ne!(fs::metadata(runtime.join("bin/peer")).unwrap().mode() & 0o111, 0);
    assert_eq!(fs::read_link(world.app(".agents/bin/peer")).unwrap(), runtime.join("bin/peer"));
    assert!(!world.installed("review/scripts").exists());
    // Schema version 2 without roots behaves the same.
    let manifest = manifest.replace("\"schema_version\": 1", "\"schema_version\": 2");
    world.manifest("review", &manifest, "new");
    world.skillfile(r#"{"name": "review", "tag": "new"}"#);
    world.install();
    assert!(world.runtime("review").join("bin/mr").exists());
}

#[test]
fn test_missing_system_command_blocks_skill_install_without_overwriting_existing_install() {
    let world = review_world();
    world.repo("other", "//- /SKILL.md\n---\nname: other\ndescription: d\n---\n").git("tag v1");
    world.install();
    let before = world.read(world.installed("review/.csk-install.json"));
    let manifest = r#"{"schema_version": 2, "runtime_roots": ["scripts"], "commands": {
        "mr": {"type": "script", "unix_path": "scripts/mr"},
        "glab": {"type": "system", "command": "no-such-glab", "hint": "install glab with mise"},
        "sh": {"type": "system", "command": "sh"}}}"#;
    world.manifest("review", manifest, "v2");
    world.skillfile(r#"{"name": "review", "tag": "v2"}, {"name": "other", "tag": "v1"}"#);
    for _ in 0..2 {
        let run = world.csk("install app");
        assert_eq!(run.code, Some(1));
        assert!(
            run.stderr.contains("app: review: Missing system command: no-such-glab\n"),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains("hint: no-such-glab: install glab with mise"),
            "{}",
            run.stderr
        );
        assert_eq!(world.read(world.installed("review/.csk-install.json")), before);
        assert_eq!(fs::read_dir(world.store().join("review")).unwrap().count(), 1);
        assert_eq!(
            world.env.run("app/.agents/bin/mr", "").code,
            Some(0),
            "the old one still works"
        );
        assert!(
            world.installed("other/SKILL.md").exists(),
            "one failing skill does not stop the others"
        );
    }
    let run = world.csk("status app");
    assert!(run.stdout.contains("update-available"), "{}", run.stdout);
    assert!(run.stderr.contains("Missing system command: no-such-glab"), "{}", run.stderr);
    assert!(run.stderr.contains("install glab with mise"), "{}", run.stderr);
}

/// csk looks up a required program but never runs it.
#[test]
fn required_system_programs_are_never_run() {
    let mut world = review_world();
    let mark = world.env.path("mark").display().to_string();
    world.program("tools/glab", &format!("#!/bin/sh\ntouch {mark}\n"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", world.env.path("tools").display());
    world.env = std::mem::take(&mut world.env).var("PATH", &path);
    let manifest =
        r#"{"schema_version": 2, "commands": {"glab": {"type": "system", "command": "glab"}}}"#;
    world.manifest("review", manifest, "v2");
    world.skillfile(r#"{"name": "review", "tag": "v2"}"#);
    world.install();
    world.csk("status app");
    assert!(!world.env.path("mark").exists());
    assert!(
        !world.app(".agents/bin/glab").exists(),
        "only commands provided by a skill are put on PATH"
    );
    // Commands that csk itself puts on PATH do not count as system programs.
    world.program("app/.agents/bin/glab", "#!/bin/sh\n");
    fs::remove_file(world.env.path("tools/glab")).unwrap();
    let path = format!("{}:{path}", world.app(".agents/bin").display());
    world.env = std::mem::take(&mut world.env).var("PATH", &path);
    fs::remove_dir_all(world.installed("review")).unwrap();
    let run = world.csk("install app");
    assert!(run.stderr.contains("Missing system command: glab"), "{}", run.stderr);
}

#[test]
fn test_runtime_root_preserves_executable_bits_on_peer_files() {
    let world = review_world();
    world.install();
    let mode =
        |path: &str| fs::metadata(world.runtime("review").join(path)).unwrap().mode() & 0o111;
    assert_eq!(mode("scripts/lib/peer.sh"), 0o111);
    assert_eq!(mode("scripts/lib/plain.txt"), 0);
    assert_eq!(mode("scripts/helper.py"), 0);
    assert_eq!(
        mode("scripts/mr"),
        0o111,
        "it is a command, though the repository has no bit for it"
    );
}

#[test]
fn a_dry_run_validates_runtime_roots_without_writing() {
    let world = review_world();
    let run = world.csk("install app --dry-run");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for line in ["/scripts/helper.py\n", "  create .agents/bin/mr\n", "write .agents/env.sh\n"] {
        assert!(run.stdout.contains(line), "{line}: {}", run.stdout);
    }
    assert!(!world.store().exists() && !world.app(".agents").exists());
    assert!(!world.home().join(".cocoaskills/consumers.json").exists());
    let manifest = r#"{"schema_version": 2, "runtime_roots": ["/scripts", "nowhere"],
        "commands": {"bash": {"type": "script", "unix_path": "scripts/mr"}}}"#;
    world.manifest("review", manifest, "bad");
    world.skillfile(r#"{"name": "review", "tag": "bad"}"#);
    let run = world.csk("install app --dry-run");
    assert_eq!(run.code, Some(1));
    for part in [
        "1:41: runtime_roots[0] must be a relative path",
        "runtime root does not exist: nowhere",
        "a skill may not provide a command named `bash`",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

#[test]
fn a_newer_manifest_requires_a_newer_csk() {
    let world = review_world();
    world.manifest("review", r#"{"schema_version": 4}"#, "future");
    world.skillfile(r#"{"name": "review", "tag": "future"}"#);
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains(
            "Unsupported csk-skill.json schema_version 4; this skill requires a newer csk."
        ),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("hint: Upgrade csk"), "{}", run.stderr);
}

#[test]
fn a_tampered_command_store_is_reported_and_repaired() {
    let world = review_world();
    world.install();
    let runtime = world.runtime("review").display().to_string();
    for (change, expected) in [
        ("echo evil >> $R/scripts/mr", "scripts/mr` was changed"),
        ("rm $R/scripts/helper.py", "scripts/helper.py` is missing"),
        (
            "chmod u+w $R/scripts; echo x > $R/scripts/sitecustomize.py",
            "scripts/sitecustomize.py` was added",
        ),
        ("chmod u-x $R/scripts/lib/peer.sh", "scripts/lib/peer.sh` was changed"),
        ("rm $R/.csk-runtime.json", ".csk-runtime.json` is missing"),
        (
            "echo evil >> $R/scripts/lib/plain.txt; S=$(sha256sum $R/scripts/lib/plain.txt | cut -c1-64); sed -i \"/plain.txt/s/sha256:[0-9a-f]*/sha256:$S/\" $R/.csk-runtime.json",
            "their file list was changed",
        ),
        ("chmod -R u+w $R; rm -r $R; echo x > $R", "is not a folder"),
        ("chmod -R u+w $R; rm -r $R", "its command files are missing"),
    ] {
        let call = format!("R='{runtime}'; chmod -R u+w $R; {change}");
        assert_eq!(world.env.run_args("sh", &["-c", &call]).code, Some(0), "{change}");
        let run = world.csk("status app --check");
        assert_eq!(run.code, Some(1), "{change}: {}", run.stdout);
        assert!(
            run.stdout.contains("content-drift") && run.stdout.contains(expected),
            "{change}: {}",
            run.stdout
        );
        let run = world.install();
        assert!(run.stdout.contains("installed"), "{}", run.stdout);
        assert_eq!(
            world.env.run("app/.agents/bin/mr", "").stdout,
            "hello from the side\n",
            "{change}"
        );
        assert_eq!(world.csk("status app --check").code, Some(0), "{change}");
        assert!(world.install().stdout.contains("up-to-date"));
    }
}

#[test]
fn shims_are_recreated_but_never_replace_files_of_the_user() {
    let world = review_world();
    world.install();
    let shim = world.app(".agents/bin/mr");
    let inode = fs::symlink_metadata(&shim).unwrap().ino();
    world.install();
    assert_eq!(fs::symlink_metadata(&shim).unwrap().ino(), inode, "it was not recreated");
    for damage in
        ["rm app/.agents/bin/mr", "ln -sf $HOME/.cocoaskills/runtime/review/x/y app/.agents/bin/mr"]
    {
        assert_eq!(world.env.run_args("sh", &["-c", damage]).code, Some(0));
        let run = world.csk("status app --check");
        assert_eq!(run.code, Some(1));
        assert!(run.stdout.contains(".agents/bin/mr is missing or incorrect"), "{}", run.stdout);
        world.install();
        assert_eq!(world.csk("status app --check").code, Some(0), "{damage}");
    }
    // A tool of the user is kept, and one with the same name as a command fails the skill.
    world.program("app/.agents/bin/tool", "#!/bin/sh\n");
    fs::remove_file(&shim).unwrap();
    fs::write(&shim, "mine").unwrap();
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains(".agents/bin/mr` exists and was not created by csk"),
        "{}",
        run.stderr
    );
    world.skillfile("");
    world.install();
    assert_eq!(world.read(&shim), "mine");
    // A symlink of the user in place of a command is kept as well.
    fs::remove_file(&shim).unwrap();
    world.skillfile(r#"{"name": "review", "tag": "v1"}"#);
    world.install();
    fs::remove_file(&shim).unwrap();
    symlink("/bin/true", &shim).unwrap();
    world.skillfile("");
    world.install();
    assert_eq!(fs::read_link(&shim).unwrap().to_str(), Some("/bin/true"));
    assert!(world.app(".agents/bin/tool").exists());
}

#[test]
fn a_command_collision_fails_the_project_before_any_change() {
    let world = review_world();
    world
        .repo("second", &REVIEW.trim_start().replace("name: review", "name: second"))
        .git("tag v1");
    world.skillfile(r#"{"name": "review", "tag": "v1"}, {"name": "second", "tag": "v1"}"#);
    for command in ["install app", "install app --dry-run"] {
        let run = world.csk(command);
        assert_eq!(run.code, Some(1));
        assert!(
            run.stderr.contains("app: Command collision: `mr` is provided by review and second"),
            "{}",
            run.stderr
        );
        assert!(!world.app(".agents").exists() && !world.store().exists());
    }
    assert_eq!(world.csk("status app").code, Some(1));
    // A command moves from one skill to another in one install.
    world.skillfile(r#"{"name": "review", "tag": "v1"}"#);
    world.install();
    world.skillfile(r#"{"name": "second", "tag": "v1"}"#);
    world.install();
    assert!(
        fs::read_link(world.app(".agents/bin/mr"))
            .unwrap()
            .starts_with(world.store().join("second"))
    );
    assert_eq!(world.csk("status app --check").code, Some(0));
}

#[test]
fn the_legacy_file_provides_commands_unless_there_is_a_manifest() {
    let world = World::bare();
    let repo = world.repo(
        "old",
        "//- /SKILL.md\n---\nname: old\ndescription: d\n---\n//- /scripts/a\n#!/bin/sh\necho a\n\
         //- /scripts/b\n#!/bin/sh\necho b\n//- /agents/runtime.json\n{\"commands\": {\"a\": \"scripts/a\", \"gone\": \"scripts/none\"}}\n",
    );
    repo.git("tag v1");
    world.skillfile(r#"{"name": "old", "tag": "v1"}"#);
    let run = world.install();
    assert!(run.stderr.contains("skipped command `gone`"), "{}", run.stderr);
    assert_eq!(world.env.run("app/.agents/bin/a", "").stdout, "a\n");
    assert!(world.installed("old/agents/runtime.json").exists(), "it is still context");
    assert!(!world.installed("old/scripts").exists());
    repo.commit("//- /csk-skill.json\n{\"schema_version\": 1, \"commands\": {\"b\": {\"type\": \"script\", \"unix_path\": \"scripts/b\"}}}\n");
    repo.git("tag v2");
    world.skillfile(r#"{"name": "old", "tag": "v2"}"#);
    world.install();
    assert_eq!(world.env.run("app/.agents/bin/b", "").stdout, "b\n");
    assert!(!world.app(".agents/bin/a").exists());
}

#[test]
fn a_repository_cannot_put_programs_on_path() {
    let world = review_world();
    world.program("app/.agents/bin/ls", "#!/bin/sh\n");
    world.git("app", "add --force .agents/bin/ls");
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("git tracks `.agents/bin/ls`"), "{}", run.stderr);
    assert!(!world.installed("review").exists());
    world.git("app", "rm --quiet --cached .agents/bin/ls");
    // A submodule would have the same effect.
    let sub = testkit::GitRepo::new(&world.env, "sub", "//- /bin/make\n");
    let id = sub.git("rev-parse HEAD");
    world.git("app", &format!("update-index --add --cacheinfo 160000,{},.agents", id.trim()));
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("git tracks `.agents"), "{}", run.stderr);
    world.git("app", "update-index --force-remove .agents");
    world.install();
    assert!(world.app(".agents/bin/ls").exists(), "it belongs to the user now");
}

#[test]
fn gc_keeps_used_command_files_and_removes_the_rest() {
    let world = review_world();
    world.install();
    let first = world.runtime("review");
    // A checkout that is not in the config uses it as well.
    assert_eq!(world.env.run_args("sh", &["-c", "cp -r app/.git app/.gitignore app/Skillfile.json -t $(mkdir other && echo other)"]).code, Some(0));
    assert_eq!(world.csk("install other").code, Some(0));
    world.commit("review", "//- /scripts/helper.py\ndef hello():\n    return 'new'\n");
    world.git("skills/review", "tag v2");
    world.skillfile(r#"{"name": "review", "tag": "v2"}"#);
    world.install();
    assert!(first.exists(), "the other checkout has it on its PATH");
    assert_eq!(world.env.run("other/.agents/bin/mr", "").stdout, "hello from the side\n");
    assert_eq!(world.env.run("app/.agents/bin/mr", "").stdout, "new\n");
    let consumers = world.read(world.home().join(".cocoaskills/consumers.json"));
    assert!(consumers.contains("work/app\"") && consumers.contains("work/other\""), "{consumers}");
    // If a marker is malformed, everything of its skill is kept.
    let marker = world.env.path("other/.agents/skills/review/.csk-install.json");
    let good = world.read(&marker);
    fs::write(&marker, "{").unwrap();
    assert_eq!(world.csk("gc").code, Some(0));
    assert!(first.exists());
    fs::write(&marker, good).unwrap();
    // A partial folder left by a kill, and a deleted checkout.
    fs::create_dir_all(world.store().join("review/.new-abc")).unwrap();
    fs::remove_dir_all(world.env.path("other")).unwrap();
    let run = world.csk("gc --dry-run");
    assert!(run.stdout.contains("review/") && run.stdout.contains("work/other"), "{}", run.stdout);
    assert!(first.exists());
    let run = world.csk("gc");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!first.exists() && !world.store().join("review/.new-abc").exists());
    assert!(world.runtime("review").exists());
    assert!(!world.read(world.home().join(".cocoaskills/consumers.json")).contains("other"));
    assert_eq!(world.csk("gc").stdout, "nothing to remove\n");
    // After the skill is removed, nothing of it is left.
    world.skillfile("");
    world.install();
    assert!(!world.store().join("review").exists());
    assert!(!world.app(".agents/bin/mr").exists());
}

/// With a malformed list of consumers, nothing counts as garbage.
#[test]
fn a_malformed_list_of_consumers_stops_gc() {
    let world = review_world();
    world.install();
    let list = world.home().join(".cocoaskills/consumers.json");
    fs::write(&list, "[").unwrap();
    let run = world.csk("gc");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("consumers.json"), "{}", run.stderr);
    assert!(world.runtime("review").exists());
    assert_eq!(world.read(&list), "[");
}

/// Ten concurrent processes, each in its own project, switch versions for a while: nothing is lost, and every command
/// prints the version that was just installed.
#[test]
fn ten_concurrent_runs_lose_nothing() {
    let world = review_world();
    world.commit("review", "//- /scripts/helper.py\ndef hello():\n    return 'new'\n");
    world.git("skills/review", "tag v2");
    for number in 0..10 {
        world.env.write(&format!("p{number}/Skillfile.json"), b"");
    }
    let program = env!("CARGO_BIN_EXE_csk");
    let script = format!(
        r#"cd $1; end=$(( $(date +%s) + 4 )); n=0
        while [ $(date +%s) -lt $end ]; do
            n=$((n + 1)); tag=v$((n % 2 + 1))
            printf '{{"schema_version": 1, "skills": [{{"name": "review", "tag": "%s"}}]}}' $tag > Skillfile.json
            {program} install . > out 2>&1 || {{ echo "exit $?"; cat out; exit 1; }}
            got=$(.agents/bin/mr) || exit 1
            case $tag in v1) want='hello from the side' ;; v2) want=new ;; esac
            [ "$got" = "$want" ] || {{ echo "$got instead of $want"; exit 1; }}
        done; echo done $n"#
    );
    let mut children = Vec::new();
    for number in 0..10 {
        let mut command = world.env.command("sh", &["-c", &script, "sh", &format!("p{number}")]);
        children.push(command.stdout(std::process::Stdio::piped()).spawn().unwrap());
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && stdout.starts_with("done"), "{stdout}");
    }
    for number in 0..10 {
        assert_eq!(world.csk(&format!("verify p{number}")).code, Some(0));
    }
    // Only the two versions in use remain.
    assert!(fs::read_dir(world.store().join("review")).unwrap().count() <= 2);
}

/// A project that is temporarily missing, and one that cannot be read.
#[test]
fn gc_removes_nothing_that_may_be_in_use() {
    let world = review_world();
    world.install();
    let first = world.runtime("review");
    world.env.write(
        "other/Skillfile.json",
        br#"{"schema_version": 1, "skills": [{"name": "review", "tag": "v1"}]}"#,
    );
    assert_eq!(world.csk("install other").code, Some(0));
    fs::rename(world.env.path("other"), world.env.path("away")).unwrap();
    world.commit("review", "//- /scripts/helper.py\ndef hello():\n    return 'new'\n");
    world.git("skills/review", "tag v2");
    world.skillfile(r#"{"name": "review", "tag": "v2"}"#);
    world.install();
    assert!(first.exists(), "an install forgets no project");
    fs::rename(world.env.path("away"), world.env.path("other")).unwrap();
    assert_eq!(world.env.run("other/.agents/bin/mr", "").stdout, "hello from the side\n");
    // The next install rebuilds a lost list.
    fs::remove_file(world.home().join(".cocoaskills/consumers.json")).unwrap();
    assert_eq!(world.csk("install other").code, Some(0));
    world.install();
    assert_eq!(world.csk("gc").stdout, "nothing to remove\n");
    // An unreadable project does not affect installs of others, and nothing is removed.
    fs::remove_dir_all(world.env.path("other/.agents/skills")).unwrap();
    symlink("skills", world.env.path("other/.agents/skills")).unwrap();
    world.skillfile(r#"{"name": "review", "tag": "v1"}"#);
    assert!(world.install().stdout.contains("installed"));
    let run = world.csk("gc");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("nothing was removed"), "{}", run.stderr);
    assert_eq!(fs::read_dir(world.store().join("review")).unwrap().count(), 2);
}

/// If the command files of a new version cannot be written, the old version keeps all its commands.
#[test]
fn command_files_that_cannot_be_written_leave_the_old_commands() {
    let world = review_world();
    if world.env.run("strace", "--version").code != Some(0) {
        return testkit::skip("an unwritable store", "`strace` is not installed");
    }
    world.install();
    // The new version renames its command.
    let manifest = r#"{"schema_version": 2, "runtime_roots": ["scripts"], "commands": {"other": {"type": "script", "unix_path": "scripts/mr"}}}"#;
    world.manifest("review", manifest, "v2");
    world.skillfile(r#"{"name": "review", "tag": "v2"}"#);
    let calls = "chmod,fchmod,fchmodat";
    let (trace, inject) = (format!("trace={calls}"), format!("inject={calls}:error=EPERM"));
    let program = env!("CARGO_BIN_EXE_csk");
    let arguments =
        ["-qf", "-o", "/dev/null", "-e", &trace, "-e", &inject, program, "install", "app"];
    let run = world.env.run_args("strace", &arguments);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("Operation not permitted"), "{}", run.stderr);
    assert_eq!(world.env.run("app/.agents/bin/mr", "").stdout, "hello from the side\n");
    assert!(!world.app(".agents/bin/other").exists());
    world.install();
    assert!(world.app(".agents/bin/other").exists() && !world.app(".agents/bin/mr").exists());
    assert_eq!(world.csk("verify app").code, Some(0));
}
