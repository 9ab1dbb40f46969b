//! Malicious checkouts and repositories, and accidents that must not lose data.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::{SKILL, World};

#[test]
fn csk_never_writes_through_a_symlink_in_a_checkout() {
    for link in [
        ".agents",
        ".agents/skills",
        ".agents/.csk-stage",
        ".agents/backups",
        ".claude",
        ".claude/skills",
    ] {
        let world = World::new();
        world.env.write("outside/pdf/precious.txt", b"precious");
        world.env.write("outside/skills/pdf/precious.txt", b"precious");
        let path = world.app(link);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(world.env.path("outside"), &path).unwrap();
        let before = world.env.run("find", "outside").stdout;
        for command in ["install app", "install app --fix-gitignore", "status app"] {
            let run = world.csk(command);
            assert_eq!(run.code, Some(1), "{link}: {command}: {}{}", run.stdout, run.stderr);
            assert!(
                run.stderr
                    .contains(&format!("/{link}` is a symlink; csk only writes to real folders")),
                "{link}: {}",
                run.stderr
            );
        }
        assert_eq!(world.env.run("find", "outside").stdout, before, "{link}");
    }
}

#[test]
fn a_forged_journal_affects_nothing_outside_the_project() {
    let world = World::new();
    world.env.write(".csk-managed.json", b"{\"schema_version\": 1, \"entries\": []}");
    world.env.write("app/.agents/.csk-journal.json", br#"{"schema_version": 1, "adds": {"..": ["pdf"], "../other/.agents/skills": ["pdf"], "/etc": ["pdf"]}}"#);
    world.install();
    assert!(world.env.path(".csk-managed.json").exists());
    assert!(!world.env.path("other").exists());
}

#[test]
fn ledgers_that_are_not_regular_files_are_errors_and_do_not_block() {
    let world = World::new();
    fs::create_dir_all(world.app(".claude/skills")).unwrap();
    let ledger = world.app(".claude/skills/.csk-managed.json");
    symlink("/dev/zero", &ledger).unwrap();
    assert_eq!(world.csk("status app").code, Some(1));
    fs::remove_file(&ledger).unwrap();
    assert_eq!(world.env.run("mkfifo", "app/.claude/skills/.csk-managed.json").code, Some(0));
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(run.stderr.contains(".csk-managed.json"), "{}", run.stderr);
}

#[test]
fn symlinks_that_lead_out_or_form_a_loop_are_refused() {
    let world = World::bare();
    let out = world.repo("out", SKILL);
    fs::create_dir_all(out.path().join("references/d/e")).unwrap();
    fs::create_dir_all(out.path().join("references/etc")).unwrap();
    fs::write(out.path().join("references/etc/passwd"), "decoy").unwrap();
    symlink("../../..", out.path().join("references/d/e/up")).unwrap();
    symlink("up/../../../../../../../../../../etc/passwd", out.path().join("references/d/e/esc"))
        .unwrap();
    out.commit("");
    let circle = world.repo("circle", SKILL);
    symlink("two", circle.path().join("references/one")).unwrap();
    symlink("one", circle.path().join("references/two")).unwrap();
    circle.commit("");
    world.skillfile(r#"{"name": "out", "branch": "main"}, {"name": "circle", "branch": "main"}"#);
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stderr.matches("points outside the skill").count(), 2, "{}", run.stderr);
    assert_eq!(world.listing(".agents/skills"), "");
}

#[test]
fn a_git_tree_bomb_is_refused() {
    let world = World::bare();
    let repo = world.repo("bomb", SKILL);
    let run = |input: &str, arguments: &str| {
        world.env.write("input", input.as_bytes());
        let call = format!("git -C {} {arguments} < input", repo.path().display());
        let run = world.env.run_args("sh", &["-c", &call]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stdout.trim().to_owned()
    };
    let blob = run("x", "hash-object -w --stdin");
    let skill = run("---\nname: bomb\ndescription: d\n---\nB.\n", "hash-object -w --stdin");
    // With a file at the end of each path, and with folders only.
    for innermost in [format!("100644 blob {blob}\tf\n"), String::new()] {
        let mut tree = run(&innermost, "mktree");
        for _ in 0..9 {
            let lines: String =
                (0..10).map(|number| format!("040000 tree {tree}\td{number}\n")).collect();
            tree = run(&lines, "mktree");
        }
        let lines = format!("100644 blob {skill}\tSKILL.md\n040000 tree {tree}\treferences\n");
        let top = run(&lines, "mktree");
        let commit = run("", &format!("-c user.name=t -c user.email=t@t commit-tree -m x {top}"));
        world.skillfile(&format!(r#"{{"name": "bomb", "revision": "{commit}"}}"#));
        let run = world.csk("install app");
        assert_eq!(run.code, Some(1));
        assert!(run.stderr.contains("contains more than 200000 files"), "{}", run.stderr);
    }
}

/// Edits that keep the digest of the original csk: a file that absorbs the others, a mode, an added symlink.
#[test]
fn edits_that_keep_the_original_digest_are_detected() {
    let world = World::bare();
    let repo = world.repo("pdf", SKILL);
    testkit::write_tree(repo.path(), "//- /scripts/run.sh\necho\n");
    repo.git("add --all");
    repo.git("update-index --chmod=+x scripts/run.sh");
    repo.git("commit --quiet -m script");
    world.skillfile(r#"{"name": "pdf", "branch": "main"}"#);
    world.install();
    let edits = [
        r"printf '\0references/guide.md\0Guide.\n\0scripts/run.sh\0echo\n' >> SKILL.md; rm -r references scripts",
        "chmod -x scripts/run.sh",
        "ln -s references assets",
        "ln -s nowhere dangling",
    ];
    for edit in edits {
        let call = format!("cd app/.agents/skills/pdf && {edit}");
        assert_eq!(world.env.run_args("sh", &["-c", &call]).code, Some(0));
        assert_eq!(world.csk("status app --check").code, Some(1), "{edit}");
        let run = world.install();
        assert!(
            run.stderr.contains("your edits to pdf were backed up to"),
            "{edit}: {}",
            run.stderr
        );
        assert_eq!(world.csk("status app --check").code, Some(0), "{edit}");
    }
    assert_eq!(backups(&world).len(), edits.len());
}

/// An edit made while the new version is being prepared is backed up like any other.
#[test]
fn an_edit_during_an_install_is_backed_up() {
    let mut world = World::bare();
    let repo = world.repo("pdf", SKILL);
    fs::write(repo.path().join("references/large.bin"), "0123456789".repeat(200_000)).unwrap();
    repo.commit("");
    repo.git("repack -adq");
    world.skillfile(r#"{"name": "pdf", "branch": "main"}"#);
    world.install();
    world.commit("pdf", "//- /references/new.md\n");
    fs::remove_dir_all(world.home().join(".cocoaskills/cache")).unwrap();
    // Large packed files are read through git, which edits the skill before it answers.
    let file = world.installed("pdf/SKILL.md").display().to_string();
    world.wrap_git("*cat-file*", &format!("echo edited >> {file}"));
    let run = world.install();
    assert!(run.stderr.contains("your edits to pdf were backed up to"), "{}", run.stderr);
    assert!(world.read(backups(&world)[0].join("SKILL.md")).contains("edited"));
    assert!(!world.read(world.installed("pdf/SKILL.md")).contains("edited"));
    assert!(world.installed("pdf/references/new.md").exists());
}

/// Like packages, installs refuse a git repository inside a skill.
#[test]
fn a_skill_that_contains_a_repository_is_refused() {
    for (what, files, expected) in [
        (
            "bare",
            "//- /references/r/HEAD\nref: refs/heads/x\n//- /references/r/objects/x\n//- /references/r/refs/x\n//- /references/r/config\n",
            "`references/r` is not allowed in a skill",
        ),
        (
            "folded",
            "//- /assets/r/head\n//- /assets/r/Objects/x\n//- /assets/r/Refs/x\n",
            "`assets/r` is not allowed in a skill",
        ),
        (
            "runtime",
            "//- /tools/r/HEAD\n//- /tools/r/objects/x\n//- /tools/r/refs/x\n//- /tools/run\n#!/bin/sh\n//- /csk-skill.json\n{\"schema_version\": 2, \"runtime_roots\": [\"tools\"], \"commands\": {\"run-it\": {\"type\": \"script\", \"unix_path\": \"tools/run\"}}}\n",
            "`tools/r` is not allowed in a skill",
        ),
        ("short", "//- /references/git~1/config\n[core]\n", "references/git~1"),
        (
            "invisible",
            "//- /references/.g\u{200c}it/config\n[core]\n",
            "a skill cannot contain a git repository",
        ),
        ("case", "//- /references/.GIT/config\n[core]\n", "references/.GIT"),
    ] {
        let world = World::bare();
        world.repo("pdf", SKILL);
        testkit::write_tree(&world.env.path("skills/pdf"), files);
        // Git refuses such names by default, but a tree may contain them.
        let script = "cd skills/pdf && git config core.protectNTFS false && git config core.protectHFS false && git add -A . 2>&1 && \
            git -c user.name=t -c user.email=t@t commit -qm x && git tag v1 || echo skipped";
        let run = world.env.run_args("sh", &["-c", script]);
        if run.stdout.contains("skipped") || world.git("skills/pdf", "show --stat").is_empty() {
            let mut tree =
                String::from("cd skills/pdf && blob=$(echo x | git hash-object -w --stdin) && ");
            tree += "inner=$(printf '100644 blob %s\\tconfig\\n' $blob | git mktree) && ";
            tree += "middle=$(printf '040000 tree %s\\t.GIT\\n' $inner | git mktree) && ";
            tree += "top=$( (git ls-tree HEAD | grep -v references; printf '040000 tree %s\\treferences\\n' $middle) | git mktree) && ";
            tree += "git tag v1 $(git -c user.name=t -c user.email=t@t commit-tree -m x $top)";
            assert_eq!(what, "case", "{}", run.stdout);
            let run = world.env.run_args("sh", &["-c", &tree]);
            assert_eq!(run.code, Some(0), "{}", run.stderr);
        }
        world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
        let run = world.csk("install app");
        assert_eq!(run.code, Some(1), "{what}: {}", run.stdout);
        assert!(run.stderr.contains(expected), "{what}: {}", run.stderr);
        assert!(!world.installed("pdf").exists(), "{what}");
    }
}

#[test]
fn nothing_is_replaced_unless_edits_are_backed_up() {
    let world = World::new();
    world.install();
    fs::write(world.installed("pdf/SKILL.md"), "my own words").unwrap();
    world.env.write("app/.agents/backups", b"a file in the way");
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert_eq!(world.read(world.installed("pdf/SKILL.md")), "my own words");
    fs::remove_file(world.app(".agents/backups")).unwrap();
    world.install();
    let kept: Vec<_> = fs::read_dir(world.app(".agents/backups"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(world.read(kept[0].join("SKILL.md")), "my own words");
}

/// Returns the folders in the backups.
fn backups(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.app(".agents/backups")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn kept(world: &World) -> Vec<String> {
    let run = world.env.run_args("sh", &["-c", "find app/.agents/backups -type f -exec cat {} \\; 2>/dev/null | grep -a '^mine' | sort"]);
    run.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn edits_of_agent_entries_are_backed_up() {
    // Symlinks replaced by a folder and by a file.
    let world = World::new();
    world.install();
    for (agent, path) in [
        (".claude/skills/pdf", ".claude/skills/pdf/my.md"),
        (".codex/skills/pdf", ".codex/skills/pdf"),
    ] {
        fs::remove_file(world.app(agent)).unwrap();
        world.env.write(&format!("app/{path}"), format!("mine {agent}\n").as_bytes());
    }
    let run = world.install();
    assert_eq!(
        run.stderr.matches("your edits to pdf were backed up to ").count(),
        2,
        "{}",
        run.stderr
    );
    assert_eq!(kept(&world), ["mine .claude/skills/pdf", "mine .codex/skills/pdf"]);

    // Copies: edited, then updated; edited, then replaced by symlinks; edited, then the agent removed.
    let world = World::new();
    world.config(r#", "adapter_mode": "copy""#);
    world.install();
    fs::write(world.app(".claude/skills/pdf/SKILL.md"), "mine 1\n").unwrap();
    world.install();
    fs::write(world.app(".claude/skills/pdf/new.md"), "mine 2\n").unwrap();
    world.config("");
    world.install();
    world.config(r#", "adapter_mode": "copy""#);
    world.install();
    fs::write(world.app(".claude/skills/pdf/SKILL.md"), "mine 3\n").unwrap();
    world.env.write("app/Skillfile.json", br#"{"schema_version": 1, "agents": ["codex_cli"], "skills": [{"name": "pdf", "tag": "v1"}]}"#);
    world.install();
    assert_eq!(kept(&world), ["mine 1", "mine 2", "mine 3"]);
}

#[test]
fn a_damaged_skill_is_repaired() {
    let world = World::new();
    for damage in [
        "rm app/.agents/skills/pdf/.csk-install.json",
        "ln -s nowhere app/.agents/skills/pdf/references/dangling",
        "mkfifo app/.agents/skills/pdf/pipe",
    ] {
        world.install();
        assert_eq!(world.env.run_args("sh", &["-c", damage]).code, Some(0));
        let run = world.csk("status app");
        assert!(
            run.stdout.contains("content-drift") || run.stdout.contains("up-to-date"),
            "{damage}: {}",
            run.stdout
        );
        world.install();
        assert_eq!(world.csk("status app --check").code, Some(0), "{damage}");
    }
}

#[test]
fn a_failed_install_is_completed_by_the_next_run() {
    let world = World::new();
    world.env.write("app/.claude", b"a file in the way");
    assert_eq!(world.csk("install app").code, Some(1));
    fs::remove_file(world.app(".claude")).unwrap();
    world.install();
    assert_eq!(world.csk("status app --check").code, Some(0));
}

#[test]
fn many_projects_added_at_once_are_all_kept() {
    let world = World::new();
    let children: Vec<_> = (0..12)
        .map(|number| {
            let name = format!("p{number}");
            fs::create_dir(world.env.path(&name)).unwrap();
            let mut command =
                world.env.command(env!("CARGO_BIN_EXE_csk"), &["project", "add", &name, &name]);
            command.stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert_eq!(world.csk("list").stdout.lines().filter(|line| line.starts_with('p')).count(), 12);
}

#[test]
fn two_aliases_of_one_folder_are_one_project() {
    let world = World::new();
    symlink("app", world.env.path("link")).unwrap();
    let config = world.read(world.home().join(".cocoaskills/config.json"));
    let twice = config.replace(
        "\"projects\": {",
        &format!(
            "\"projects\": {{\"again\": {{\"path\": \"{}\"}},",
            world.env.path("link").display()
        ),
    );
    fs::write(world.home().join(".cocoaskills/config.json"), twice).unwrap();
    let run = world.csk("install --all");
    assert_eq!(
        (run.code, run.stdout.lines().count()),
        (Some(0), 1),
        "{}{}",
        run.stdout,
        run.stderr
    );
}

#[test]
fn a_full_disk_leaves_the_old_version() {
    let world = World::new();
    let mount = world.env.path("small");
    fs::create_dir(&mount).unwrap();
    let mounted = world
        .env
        .run_args("mount", &["-t", "tmpfs", "-o", "size=300k", "tmpfs", &mount.to_string_lossy()]);
    if mounted.code != Some(0) {
        return testkit::skip(
            "a_full_disk_leaves_the_old_version",
            "a small file system cannot be mounted here",
        );
    }
    let call = "cp -a app/. small/ && rm -rf small/.git/hooks && git -C small init --quiet";
    assert_eq!(world.env.run_args("sh", &["-c", call]).code, Some(0));
    let first = world.csk("install ./small");
    let repo = world.env.path("skills/pdf/references/large.md");
    fs::write(&repo, "x".repeat(900_000)).unwrap();
    world.commit("pdf", "");
    world.git("skills/pdf", "tag v2");
    fs::write(
        mount.join("Skillfile.json"),
        r#"{"schema_version": 1, "skills": [{"name": "pdf", "tag": "v2"}]}"#,
    )
    .unwrap();
    let second = world.csk("install ./small");
    let marker = fs::read_to_string(mount.join(".agents/skills/pdf/.csk-install.json"));
    let again = fs::write(
        mount.join("Skillfile.json"),
        r#"{"schema_version": 1, "skills": [{"name": "pdf", "tag": "v1"}]}"#,
    );
    let third = world.csk("install ./small");
    assert_eq!(world.env.run_args("umount", &[&mount.to_string_lossy()]).code, Some(0));
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert_eq!(second.code, Some(1), "{}", second.stdout);
    assert!(second.stderr.contains("o space left on device"), "{}", second.stderr);
    assert!(marker.unwrap().contains("\"ref\": \"v1\""));
    again.unwrap();
    assert_eq!(third.code, Some(0), "{}", third.stderr);
    assert!(third.stdout.contains("up-to-date"), "{}", third.stdout);
}

#[test]
fn a_symlink_of_the_user_is_backed_up() {
    let world = World::new();
    world.install();
    let link = world.app(".claude/skills/pdf");
    fs::remove_file(&link).unwrap();
    symlink("/home/me/other/.agents/skills/pdf", &link).unwrap();
    let run = world.install();
    assert!(run.stderr.contains("your edits to pdf were backed up to "), "{}", run.stderr);
    let kept = fs::read_dir(world.app(".agents/backups")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_link(kept).unwrap().to_str(), Some("/home/me/other/.agents/skills/pdf"));
}

#[test]
fn skill_names_do_not_collide_in_the_staging_folder() {
    let world = World::new();
    world.config(r#", "adapter_mode": "copy""#);
    let skill = |name: &str| format!(r#"{{"name": "{name}", "source": "pdf", "tag": "v1"}}"#);
    world.skillfile(
        &["a", "a..claude_skills", "a.claude_skills", "new.a", "old.a"].map(skill).join(","),
    );
    world.install();
    assert_eq!(world.csk("status app --check").code, Some(0));
    world.skillfile("");
    world.install();
    assert_eq!(world.listing(".agents/skills") + &world.listing(".claude"), "");
}

#[test]
fn many_symlinks_take_linear_time() {
    let world = World::bare();
    let mut stream = String::from("commit refs/heads/links\ncommitter t <t@t> 1 +0000\ndata 0\n");
    let skill = "---\nname: links\ndescription: d\n---\nB.\n";
    stream += &format!("M 100644 inline SKILL.md\ndata {}\n{skill}\n", skill.len());
    for number in 0..20_000 {
        stream += &format!("M 120000 inline references/l{number}\ndata 11\n../SKILL.md\n");
    }
    world.repo("links", SKILL);
    world.env.write("stream", stream.as_bytes());
    let call = "git -C skills/links fast-import --quiet < stream";
    assert_eq!(world.env.run_args("sh", &["-c", call]).code, Some(0));
    world.skillfile(r#"{"name": "links", "branch": "links"}"#);
    // Much more than even an unoptimized build needs; with quadratic time it would not finish.
    let program = env!("CARGO_BIN_EXE_csk");
    let run =
        world.env.run_args("sh", &["-c", &format!("timeout 60 {program} install app --dry-run")]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

/// A checkout that contains installed skills: forged markers with matching digests, and commands.
#[test]
fn a_checkout_cannot_contain_installed_skills() {
    let world = World::bare();
    let manifest = r#"{"schema_version": 2, "runtime_roots": ["scripts"], "commands": {"tool": {"type": "script", "unix_path": "scripts/tool"}}}"#;
    let text = format!(
        "{SKILL}//- /scripts/tool\n#!/bin/sh\necho tool\n//- /csk-skill.json\n{manifest}\n"
    );
    world.repo("pdf", &text).git("tag v1");
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
    world.install();
    assert_eq!(world.csk("lock --project app").code, Some(0));
    // The same project at another path: all of csk's files exist, but an attacker wrote them.
    let forge = |change: &str| {
        let call = format!("rm -rf clone && cp -a app clone && cd clone && {change}");
        let run = world.env.run_args("sh", &["-c", &call]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    };
    let evil = "cd .agents/skills/pdf && echo 'Do evil.' >> SKILL.md && S=$( (printf 'SKILL.md\\0'; cat SKILL.md; printf '\\0references/guide.md\\0'; cat references/guide.md) | sha256sum | cut -c1-64) && sed -i \"s/\\\"content_sha256.*/\\\"content_sha256\\\": \\\"sha256:$S\\\",/; /context_sha256/d\" .csk-install.json";
    for arguments in [&["install", "clone"][..], &["install", "clone", "--frozen"]] {
        forge(evil);
        let run = world.env.run_args(env!("CARGO_BIN_EXE_csk"), &["status", "clone", "--check"]);
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        let run = world.env.run_args(env!("CARGO_BIN_EXE_csk"), arguments);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stderr.contains("your edits to pdf were backed up to"), "{}", run.stderr);
        let skill = world.read(world.env.path("clone/.claude/skills/pdf/SKILL.md"));
        assert!(!skill.contains("Do evil"), "{skill}");
        fs::remove_dir_all(world.env.path("clone")).unwrap();
        world.csk("gc");
        fs::remove_dir_all(world.home().join(".cocoaskills/receipts")).unwrap();
        world.install();
    }
    // Commands with other names, and a path as the commit.
    for change in [
        r#"sed -i 's|"tool": "scripts/tool"|"git": "scripts/tool"|' .agents/skills/pdf/.csk-install.json"#,
        r#"sed -i 's|"tool": "scripts/tool"|"make": "scripts/tool"|' .agents/skills/pdf/.csk-install.json"#,
        r#"sed -i 's|"commit": ".*"|"commit": "../../../../evil"|' .agents/skills/pdf/.csk-install.json"#,
    ] {
        // Even if the skill itself can no longer be fetched.
        forge(&format!(
            "{change}; rm -rf .agents/bin; sed -i 's/v1/v9/' Skillfile.json; rm Skillfile.lock"
        ));
        world.env.run_args(env!("CARGO_BIN_EXE_csk"), &["install", "clone"]);
        let bin = world.env.path("clone/.agents/bin");
        let names: Vec<_> = fs::read_dir(&bin)
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with('.'))
            .collect();
        assert_eq!(names, Vec::<String>::new(), "{change}");
    }
}

/// If the files are exactly those that csk would install, it adopts them without reporting edits, as in a moved
/// project.
#[test]
fn a_moved_project_is_adopted() {
    let world = World::new();
    world.install();
    fs::rename(world.env.path("app"), world.env.path("moved")).unwrap();
    let csk = |arguments: &[&str]| world.env.run_args(env!("CARGO_BIN_EXE_csk"), arguments);
    assert_eq!(csk(&["status", "moved", "--check"]).code, Some(1));
    let run = csk(&["install", "moved"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
    assert!(!world.env.path("moved/.agents/backups").exists());
    assert_eq!(csk(&["status", "moved", "--check"]).code, Some(0));
    assert_eq!(csk(&["verify", "moved"]).code, Some(0));
}
