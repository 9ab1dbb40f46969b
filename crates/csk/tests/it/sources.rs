use crate::{SKILL, World};

#[test]
fn tags_branches_and_revisions_are_resolved() {
    let world = World::bare();
    let repo = world.repo("pdf", SKILL);
    let first = repo.git("rev-parse HEAD").trim().to_owned();
    repo.git("tag light");
    repo.git("tag --annotate --message=x heavy");
    repo.commit("//- /references/two.md\n2\n");
    repo.git("pack-refs --all");
    repo.git("branch feature/x");
    for (reference, commit) in [
        (r#""tag": "light""#.to_owned(), first.clone()),
        (r#""tag": "heavy""#.to_owned(), first.clone()),
        (r#""branch": "feature/x""#.to_owned(), repo.git("rev-parse HEAD").trim().to_owned()),
        (format!(r#""revision": "{}""#, &first[..9]), first.clone()),
        (format!(r#""revision": "{first}""#), first.clone()),
    ] {
        world.skillfile(&format!(r#"{{"name": "pdf", {reference}}}"#));
        world.install();
        assert!(
            world.read(world.installed("pdf/.csk-install.json")).contains(&commit),
            "{reference}"
        );
    }
}

#[test]
fn a_remote_branch_takes_precedence_over_a_local_one() {
    let world = World::bare();
    let upstream = testkit::GitRepo::new(&world.env, "upstream", SKILL);
    let url = upstream.path().to_string_lossy().into_owned();
    assert_eq!(world.env.run_args("git", &["clone", "--quiet", &url, "skills/pdf"]).code, Some(0));
    world.commit("pdf", "//- /references/local.md\nl\n");
    world.skillfile(r#"{"name": "pdf", "branch": "main"}"#);
    world.install();
    assert!(!world.installed("pdf/references/local.md").exists());
    assert!(!world.installed("pdf/references/up.md").exists());
    // `install` does not fetch; `update` fetches but changes no project; `upgrade` does both.
    upstream.commit("//- /references/up.md\nu\n");
    world.config(r#", "allow_local_sources": true"#);
    world.install();
    assert!(!world.installed("pdf/references/up.md").exists());
    let run = world.csk("update");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "pdf: fetched\n"));
    assert!(!world.installed("pdf/references/up.md").exists());
    upstream.commit("//- /references/more.md\nm\n");
    assert_eq!(world.csk("upgrade app").code, Some(0));
    assert!(world.installed("pdf/references/more.md").exists());
    assert_eq!(
        world.git("skills/pdf", "status --porcelain"),
        "",
        "the working tree is never touched"
    );
    assert!(!world.env.path("skills/pdf/references/more.md").exists());
}

#[test]
fn a_missing_repository_is_cloned_from_its_url() {
    let world = World::bare();
    let upstream = testkit::GitRepo::new(&world.env, "upstream", SKILL);
    upstream.git("tag v1");
    let url = format!("file://{}", upstream.path().display());
    world.skillfile(&format!(r#"{{"name": "pdf", "git": "{url}", "tag": "v1"}}"#));
    let refused = world.csk("install app");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("Failed to clone pdf from `file://"), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("cloning from local paths requires `allow_local_sources`"),
        "{}",
        refused.stderr
    );
    world.config(r#", "allow_local_sources": true"#);
    world.install();
    assert!(world.installed("pdf/SKILL.md").exists());
    let left: Vec<_> = std::fs::read_dir(world.env.path("skills"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["pdf"], "no partial clone is left");
}

#[test]
fn an_ambiguous_revision_is_an_error() {
    let world = World::bare();
    let repo = world.repo("pdf", SKILL);
    // Of a thousand commits, some share their first four digits.
    let mut stream = String::new();
    for number in 0..1000 {
        stream +=
            &format!("commit refs/heads/n{number}\ncommitter t <t@t> {number} +0000\ndata 0\n\n");
    }
    world.env.write("stream", stream.as_bytes());
    let call = format!("git -C {} fast-import --quiet < stream", repo.path().display());
    assert_eq!(world.env.run_args("sh", &["-c", &call]).code, Some(0));
    let mut ids: Vec<String> = repo.git("rev-list --all").lines().map(str::to_owned).collect();
    ids.sort_unstable();
    let pair = ids
        .windows(2)
        .find(|pair| pair[0][..4] == pair[1][..4])
        .expect("two of a thousand share four digits");
    world.skillfile(&format!(r#"{{"name": "pdf", "revision": "{}"}}"#, &pair[0][..4]));
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("is ambiguous in ") && run.stderr.contains("use more digits"),
        "{}",
        run.stderr
    );
}

#[test]
fn unusable_repositories_are_reported_with_the_reason() {
    let world = World::bare();
    let repo = world.repo("modules", SKILL);
    repo.commit("//- /.gitmodules\n[submodule \"x\"]\n\tpath = x\n\turl = https://x.test/x\n");
    std::fs::create_dir(world.env.path("skills/plain")).unwrap();
    let leak = world.repo("leak", SKILL);
    std::os::unix::fs::symlink("/etc/passwd", leak.path().join("references/leak")).unwrap();
    leak.commit("");
    let up = world.repo("up", SKILL);
    std::os::unix::fs::symlink("../../../x", up.path().join("references/up")).unwrap();
    up.commit("");
    assert_eq!(
        world
            .env
            .run("git", "init --quiet --object-format=sha256 --initial-branch=main skills/modern")
            .code,
        Some(0)
    );
    let partial = world.repo("partial", SKILL);
    partial.git("config core.repositoryFormatVersion 1");
    partial.git("config extensions.partialClone origin");
    let table = world.repo("table", SKILL);
    table.git("config core.repositoryFormatVersion 1");
    table.git("config extensions.refStorage reftable");
    let skill = |name: &str| format!(r#"{{"name": "{name}", "branch": "main"}}"#);
    let names = ["modules", "plain", "leak", "up", "modern", "partial", "table"];
    world.skillfile(&names.map(skill).join(","));
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    for expected in [
        "app: modules: Submodules are not supported",
        "app: plain: Local skill path exists but is not a git repository",
        "app: leak: symlink `references/leak` -> `/etc/passwd` points outside the skill",
        "app: up: symlink `references/up` -> `../../../x` points outside the skill",
        "app: modern: repository ",
        "it is a partial clone",
        "it stores references in reftables",
    ] {
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
    }
    assert!(run.stderr.contains("uses SHA-256 object IDs, which are not supported"));
    assert_eq!(world.listing(".agents/skills"), "");
}

#[test]
fn bare_repositories_and_worktrees_can_be_sources() {
    let world = World::bare();
    let upstream = testkit::GitRepo::new(&world.env, "upstream", SKILL);
    upstream.git("tag v1");
    let url = upstream.path().to_string_lossy().into_owned();
    assert_eq!(
        world.env.run_args("git", &["clone", "--quiet", "--bare", &url, "skills/bare"]).code,
        Some(0)
    );
    upstream
        .git(&format!("worktree add --quiet --detach {}", world.env.path("skills/tree").display()));
    world.skillfile(r#"{"name": "a", "source": "bare", "tag": "v1"}, {"name": "b", "source": "tree", "tag": "v1"}"#);
    world.install();
    assert!(world.installed("a/SKILL.md").exists() && world.installed("b/SKILL.md").exists());
}

#[test]
fn uncommitted_changes_in_a_source_do_not_matter() {
    let world = World::new();
    world.env.write("skills/pdf/SKILL.md", b"dirty");
    world.install();
    assert!(world.read(world.installed("pdf/SKILL.md")).contains("Extracts text"));
    assert_eq!(world.env.path("skills/pdf/SKILL.md").metadata().unwrap().len(), 5);
}

#[test]
fn a_failed_fetch_does_not_stop_the_others() {
    let world = World::new();
    world.repo("lost", SKILL).git("remote add origin /nowhere/at/all");
    world.config(r#", "allow_local_sources": true"#);
    let run = world.csk("update");
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stdout, "pdf: no remote\n");
    assert!(run.stderr.starts_with("lost: fatal: "), "{}", run.stderr);
    let run = world.csk("upgrade app");
    assert_eq!(run.code, Some(1), "a fetch failed, but the local version was installed");
    assert!(world.installed("pdf/SKILL.md").exists());
}

/// In a hook, variables point git to the project; csk must ignore them.
#[test]
fn git_variables_set_by_a_hook_are_ignored() {
    let mut world = World::new();
    world.git("app", "commit --quiet --allow-empty -m x");
    world.git("app", "tag mine");
    testkit::GitRepo::new(&world.env, "upstream", SKILL);
    let upstream = world.env.path("upstream").display().to_string();
    world.git("app", &format!("remote add origin {upstream}"));
    world.config(r#", "allow_local_sources": true"#);
    fs_remove(&world, "app/.gitignore");
    world.env.write("app/.git/info/exclude", b".agents/\n.claude/\n.codex/\n");
    testkit::GitRepo::new(&world.env, "other", "//- /x\n");
    let git_dir = world.env.path("app/.git").display().to_string();
    world.env = world.env.var("GIT_DIR", &git_dir);
    assert_eq!(world.csk("update").stdout, "pdf: no remote\n");
    world.env.write(
        "other/Skillfile.json",
        br#"{"schema_version": 1, "skills": [{"name": "pdf", "tag": "v1"}]}"#,
    );
    let run = world.env.run_args(env!("CARGO_BIN_EXE_csk"), &["install", "other"]);
    assert_eq!(run.code, Some(1), "the rules of another repository do not count: {}", run.stdout);
    assert!(run.stderr.contains("not ignored by git"), "{}", run.stderr);
    assert_eq!(world.csk("install app").code, Some(0));
    let tags = world.env.run_args("git", &["--git-dir", &git_dir, "tag"]);
    assert_eq!(tags.stdout, "mine\n");
}

fn fs_remove(world: &World, path: &str) {
    std::fs::remove_file(world.env.path(path)).unwrap();
}

#[test]
fn a_fetch_moves_tags_and_deletes_no_local_ones() {
    let world = World::bare();
    let upstream = testkit::GitRepo::new(&world.env, "upstream", SKILL);
    upstream.git("tag v1");
    upstream.git("branch old");
    world.config(r#", "allow_local_sources": true"#);
    let url = format!("file://{}", upstream.path().display());
    world.skillfile(&format!(r#"{{"name": "pdf", "git": "{url}", "tag": "v1"}}"#));
    world.install();
    world.git("skills/pdf", "tag mine");
    upstream.git("branch -D old");
    upstream.git("commit --quiet --allow-empty -m next");
    upstream.git("tag --force v1");
    upstream.git("tag v2");
    assert_eq!(world.csk("update").code, Some(0));
    assert_eq!(world.git("skills/pdf", "tag"), "mine\nv1\nv2\n");
    assert_eq!(world.git("skills/pdf", "rev-parse v1^{commit}"), upstream.git("rev-parse HEAD"));
    let branches = world.git("skills/pdf", "branch --remotes");
    assert!(!branches.contains("origin/old"), "{branches}");
}

/// Everything in the repository except access times.
#[test]
fn installing_changes_nothing_in_a_source() {
    let world = World::new();
    world.env.write("skills/pdf/references/guide.md", b"dirty");
    let state = || {
        let call =
            "cd skills/pdf && find . -printf '%p %s %T@ %m\\n' | sort && cat .git/HEAD .git/index";
        world.env.run_args("sh", &["-c", call]).stdout
    };
    let before = state();
    world.install();
    world.csk("status app");
    assert_eq!(state(), before);
}

#[test]
fn leftovers_of_killed_clones_are_removed() {
    let world = World::bare();
    let upstream = testkit::GitRepo::new(&world.env, "upstream", SKILL);
    upstream.git("tag v1");
    world.config(r#", "allow_local_sources": true"#);
    let url = format!("file://{}", upstream.path().display());
    world.skillfile(&format!(r#"{{"name": "pdf", "git": "{url}", "tag": "v1"}}"#));
    for name in [".csk-clone-1-pdf", ".csk-clone-x-pdf", ".csk-clone-1-other"] {
        std::fs::create_dir_all(world.env.path("skills").join(name).join("objects")).unwrap();
    }
    world.install();
    let mut left: Vec<String> = std::fs::read_dir(world.env.path("skills"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort_unstable();
    assert_eq!(left, [".csk-clone-1-other", ".csk-clone-x-pdf", "pdf"]);
}

/// The environment for git: no prompts, and only allowed transports.
#[test]
fn git_never_prompts_and_uses_only_allowed_transports() {
    let mut world = World::bare();
    world.wrap_git("*clone*", "env > \"$HOME/seen\"; exit 1");
    world.skillfile(r#"{"name": "pdf", "git": "https://x.test/pdf.git", "tag": "v1"}"#);
    assert_eq!(world.csk("install app").code, Some(1));
    let seen = world.read(world.home().join("seen"));
    for line in [
        "GIT_TERMINAL_PROMPT=0",
        "GIT_ALLOW_PROTOCOL=https:ssh",
        "GIT_SSH_COMMAND=ssh -oBatchMode=yes",
    ] {
        assert!(seen.lines().any(|seen| seen == line), "{line} in {seen}");
    }
}

/// A folder that only looks like a repository, inside a repository of the user.
#[test]
fn a_repository_around_skills_root_is_left_alone() {
    let world = World::new();
    world.config(r#", "allow_local_sources": true"#);
    testkit::GitRepo::new(&world.env, "upstream", SKILL);
    assert_eq!(world.env.run_args("git", &["init", "--quiet", "."]).code, Some(0));
    world.git(".", "commit --quiet --allow-empty -m x");
    world.git(".", "tag mine");
    let upstream = world.env.path("upstream").display().to_string();
    world.git(".", &format!("remote add origin {upstream}"));
    std::fs::create_dir_all(world.env.path("skills/junk/.git")).unwrap();
    std::fs::create_dir_all(world.env.path("skills/head")).unwrap();
    world.env.write("skills/head/HEAD", b"ref: refs/heads/main");
    let run = world.csk("update");
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("pdf: no remote"), "{}", run.stdout);
    assert!(run.stderr.contains("skills/junk` is not a git repository"), "{}", run.stderr);
    assert_eq!(world.git(".", "tag"), "mine\n");
    assert!(!world.git(".", "branch --all").contains("origin"));
}

#[test]
fn a_repository_of_another_user_is_refused() {
    let world = World::new();
    if world.env.run_args("sh", &["-c", "test $(id -u) = 0"]).code != Some(0) {
        return testkit::skip("a repository of another user", "only root can give files away");
    }
    world.config(r#", "allow_local_sources": true"#);
    let upstream = testkit::GitRepo::new(&world.env, "upstream", SKILL);
    let url = format!("file://{}", upstream.path().display());
    world.git("skills/pdf", &format!("remote add origin {url}"));
    assert_eq!(world.env.run_args("chown", &["-R", "12345", "skills/pdf"]).code, Some(0));
    let run = world.csk("update");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("dubious ownership"), "{}{}", run.stdout, run.stderr);
    let path = world.env.path("skills/pdf").display().to_string();
    for value in ["/elsewhere", "", &path] {
        let words = ["config", "--global", "--add", "safe.directory", value];
        assert_eq!(world.env.run_args("git", &words).code, Some(0));
        let code = world.csk("update").code;
        assert_eq!(code == Some(0), value == path, "{value}");
    }
}

/// If a branch is renamed on the remote, csk must not fall back to the local one.
#[test]
fn a_branch_deleted_on_its_remote_is_an_error() {
    let world = World::bare();
    let upstream = testkit::GitRepo::new(&world.env, "upstream", SKILL);
    world.config(r#", "allow_local_sources": true"#);
    let url = format!("file://{}", upstream.path().display());
    world.skillfile(&format!(r#"{{"name": "pdf", "git": "{url}", "branch": "main"}}"#));
    world.install();
    upstream.commit("//- /references/new.md\nnew\n");
    assert_eq!(world.csk("upgrade app").code, Some(0));
    assert!(world.installed("pdf/references/new.md").exists());
    upstream.git("branch -m main trunk");
    let run = world.csk("upgrade app");
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(run.stderr.contains("branch `main` not found"), "{}", run.stderr);
    assert!(world.installed("pdf/references/new.md").exists(), "the installed version stays");
    // A branch that never existed on the remote is the user's own.
    world.git("skills/pdf", "branch mine origin/trunk --no-track");
    world.skillfile(&format!(r#"{{"name": "pdf", "git": "{url}", "branch": "mine"}}"#));
    world.install();
}

/// Local filters and hooks never process an untrusted file.
#[test]
fn a_clone_has_no_checkout() {
    let world = World::bare();
    let upstream = testkit::GitRepo::new(&world.env, "upstream", SKILL);
    upstream.commit("//- /.gitattributes\n* filter=x\n");
    upstream.git("tag v1");
    let mark = world.env.path("mark").display().to_string();
    let hook = format!("#!/bin/sh\ntouch {mark}\n");
    world.program("hooks/post-checkout", &hook);
    let hooks = world.env.path("hooks").display().to_string();
    let config =
        format!("[core]\n\thooksPath = {hooks}\n[filter \"x\"]\n\tsmudge = touch {mark}; cat\n");
    std::fs::write(world.home().join(".gitconfig"), config).unwrap();
    world.config(r#", "allow_local_sources": true"#);
    let url = format!("file://{}", upstream.path().display());
    world.skillfile(&format!(r#"{{"name": "pdf", "git": "{url}", "tag": "v1"}}"#));
    world.install();
    assert!(world.installed("pdf/SKILL.md").exists());
    assert!(!world.env.path("mark").exists());
}

#[test]
fn a_tampered_cache_is_rebuilt() {
    let world = World::new();
    world.repo("big", "//- /SKILL.md\n---\nname: big\ndescription: d\n---\n");
    std::fs::create_dir_all(world.env.path("skills/big/assets")).unwrap();
    std::fs::write(world.env.path("skills/big/assets/data"), "0123456789".repeat(300_000)).unwrap();
    std::os::unix::fs::symlink("data", world.env.path("skills/big/assets/link")).unwrap();
    world.commit("big", "//- /scripts/run.sh\necho\n");
    world.git("skills/big", "update-index --chmod=+x scripts/run.sh");
    world.git("skills/big", "commit --quiet -m executable");
    world.git("skills/big", "tag v1");
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}, {"name": "big", "tag": "v1"}"#);
    world.install();
    let good = world.env.run_args("sh", &["-c", "cd app/.agents/skills && tar c --mtime=0 --sort=name --exclude=.csk-install.json . | sha256sum"]);
    let cache = world.home().join(".cocoaskills/cache");
    let snapshot = |source: &str| {
        let tree = std::fs::read_dir(cache.join(source)).unwrap().next().unwrap().unwrap().path();
        tree.join("snapshot")
    };
    // Small files are read from git's objects each time.
    assert!(!cache.join("pdf").exists());
    let big = snapshot("big");
    let change = |what: &str| match what {
        "text" => std::fs::write(big.join("SKILL.md"), "---\nname: evil\n---\n").unwrap(),
        "large" => std::fs::write(big.join("assets/data"), "x".repeat(3_000_000)).unwrap(),
        "added" => std::fs::write(big.join("assets/evil.md"), "x").unwrap(),
        "removed" => std::fs::remove_file(big.join("scripts/run.sh")).unwrap(),
        "mode" => {
            std::fs::set_permissions(
                big.join("scripts/run.sh"),
                std::os::unix::fs::PermissionsExt::from_mode(0o644),
            )
            .unwrap();
        }
        "link" => {
            std::fs::remove_file(big.join("assets/data")).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", big.join("assets/data")).unwrap();
        }
        "gone" => std::fs::remove_dir_all(&cache).unwrap(),
        _ => {}
    };
    for what in ["nothing", "text", "large", "added", "removed", "mode", "link", "gone"] {
        change(what);
        std::fs::remove_dir_all(world.app(".agents")).unwrap();
        std::fs::remove_dir_all(world.app(".claude")).unwrap();
        std::fs::remove_dir_all(world.app(".codex")).unwrap();
        world.install();
        let now = world.env.run_args("sh", &["-c", "cd app/.agents/skills && tar c --mtime=0 --sort=name --exclude=.csk-install.json . | sha256sum"]);
        assert_eq!(now.stdout, good.stdout, "{what}");
        assert!(
            big.join("scripts/run.sh").exists() && !big.join("assets/evil.md").exists(),
            "{what}"
        );
    }
    // The cache is used: the repository has lost the file in the meantime.
    let id = world.git("skills/big", "rev-parse v1:assets/data");
    let (folder, file) = id.trim().split_at(2);
    std::fs::remove_file(world.env.path("skills/big/.git/objects").join(folder).join(file))
        .unwrap();
    std::fs::remove_dir_all(world.app(".agents/skills/big")).unwrap();
    world.install();
    assert!(world.installed("big/assets/data").exists());
    world.git("skills/big", "hash-object -w assets/data");
    // A dry run writes no cache.
    change("gone");
    world.commit("pdf", "//- /references/new.md\n");
    world.git("skills/pdf", "tag v2");
    world.skillfile(r#"{"name": "pdf", "tag": "v2"}, {"name": "big", "tag": "v1"}"#);
    let run = world.csk("install app --dry-run");
    assert!(run.stdout.contains("write .agents/skills/pdf/references/new.md"), "{}", run.stdout);
    assert!(!cache.exists());
}

#[test]
fn references_resolve_the_same_however_git_stores_them() {
    let world = World::new();
    world.install();
    let wanted = |world: &World| {
        let stdout = world.csk("status app --json").stdout;
        let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        json["projects"][0]["skills"][0]["wanted"].as_str().unwrap_or_default().to_owned()
    };
    let is_right = |world: &World, name: &str, what: &str| {
        let expected = world.git("skills/pdf", &format!("rev-parse {name}^{{commit}}"));
        assert_eq!(wanted(world), expected.trim(), "{what}");
    };
    is_right(&world, "v1", "a loose tag");
    world.commit("pdf", "//- /references/b.md\nb\n");
    world.git("skills/pdf", "tag -f -a -m annotated v1");
    is_right(&world, "v1", "an annotated tag");
    world.git("skills/pdf", "pack-refs --all");
    is_right(&world, "v1", "an annotated tag among the packed");
    world.git("skills/pdf", "repack -adq");
    is_right(&world, "v1", "and its object in a pack");
    world.commit("pdf", "//- /references/c.md\nc\n");
    world.git("skills/pdf", "tag -f v1");
    is_right(&world, "v1", "a loose one over a packed one");
    world.git("skills/pdf", "pack-refs --all");
    is_right(&world, "v1", "a plain one among the packed");
    // A packed-refs file without the header that says tags are peeled.
    let path = world.env.path("skills/pdf/.git/packed-refs");
    world.git("skills/pdf", "tag -f -a -m annotated v1");
    world.git("skills/pdf", "pack-refs --all");
    let text = world.read(&path);
    let plain: String = text
        .lines()
        .filter(|line| !line.starts_with(['#', '^']))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(&path, plain).unwrap();
    is_right(&world, "v1", "packed without what it leads to");
    // A remote branch: loose, packed, and by another name.
    world.skillfile(r#"{"name": "pdf", "branch": "next"}"#);
    world.git("skills/pdf", "update-ref refs/remotes/origin/next HEAD");
    is_right(&world, "HEAD", "a branch of the origin");
    world.git("skills/pdf", "pack-refs --all");
    is_right(&world, "HEAD", "a packed one");
    world.git("skills/pdf", "update-ref -d refs/remotes/origin/next");
    world.git("skills/pdf", "symbolic-ref refs/remotes/origin/next refs/heads/main");
    is_right(&world, "main", "one that names another");
    // A worktree keeps its references elsewhere.
    world.git("skills/pdf", "worktree add -q ../tree HEAD");
    world.skillfile(r#"{"name": "pdf", "source": "tree", "tag": "v1"}"#);
    is_right(&world, "v1", "in a worktree");
}

/// The first repository with a name under skills_root owns it; one with another origin is not used in its place.
#[test]
fn a_repository_with_another_origin_is_refused() {
    let world = World::bare();
    world.config(r#", "allow_local_sources": true"#);
    let mut urls = Vec::new();
    for host in ["a", "b"] {
        let upstream = testkit::GitRepo::new(
            &world.env,
            &format!("{host}/acme/skills"),
            &format!("//- /SKILL.md\n---\nname: one\ndescription: d\n---\nfrom {host}\n"),
        );
        upstream.git("tag v1");
        urls.push(format!("file://{}", upstream.path().display()));
    }
    let declared = |git: &str| {
        format!(r#"{{"name": "one", "source": "skills", "git": "{git}", "tag": "v1"}}"#)
    };
    world.skillfile(&declared(&urls[0]));
    world.install();
    // Another URL of the same repository is accepted.
    world.skillfile(&declared(urls[0].trim_start_matches("file://")));
    assert_eq!(world.csk("status app").code, Some(0));
    world.skillfile(&declared(&urls[1]));
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(
        run.stderr.contains("skills` was cloned from")
            && run.stderr.contains("a different `source`"),
        "{}",
        run.stderr
    );
    assert!(world.read(world.installed("one/SKILL.md")).contains("from a"));
    for arguments in ["lock --project app", "outdated app", "diff --project app"] {
        assert_eq!(world.csk(arguments).code, Some(1), "{arguments}");
    }
    // A lockfile does not change that, and the settings are read however they are written.
    world.skillfile(&declared(&urls[0]));
    assert_eq!(world.csk("lock --project app").code, Some(0));
    let config = world.env.path("skills/skills/.git/config");
    let settings = world.read(&config);
    for (old, new) in [
        ("[remote \"origin\"]", "[Remote \"origin\"]"),
        ("[remote \"origin\"]", "[remote  \"origin\"]"),
        ("[remote \"origin\"]", "[remote \"origin\"] # ]"),
    ] {
        let other = settings.replace(&urls[0], &urls[1]).replace(old, new);
        assert!(other.contains(new), "{other}");
        std::fs::write(&config, other).unwrap();
        let run = world.csk("install app --locked");
        assert!(
            run.code == Some(1) && run.stderr.contains("was cloned from"),
            "{new}: {}",
            run.stderr
        );
    }
    // Push URLs and URL abbreviations of the user change nothing.
    std::fs::write(&config, &settings).unwrap();
    world.git("skills/skills", "remote set-url --add origin https://mirror.invalid/x");
    assert_eq!(world.csk("install app --locked").code, Some(0));
    std::fs::write(&config, settings.replace(&urls[0], "short:skills")).unwrap();
    let base = urls[0].trim_end_matches("skills");
    world.git("skills/skills", &format!("config --global url.{base}.insteadOf short:"));
    assert_eq!(world.csk("install app --locked").code, Some(0));
    std::fs::write(&config, &settings).unwrap();
    std::fs::remove_file(world.app("Skillfile.lock")).unwrap();
    world.skillfile(&declared(&urls[1]));
    let url = &urls[1];
    let run = world.csk(&format!("add two --source skills --git {url} --tag v1 --project app"));
    assert!(run.code == Some(2) && run.stderr.contains("was cloned from"), "{}", run.stderr);
    let run =
        world.csk("add x --source skills --git https://me:secret@a.test/x --tag v1 --project app");
    assert!(run.code == Some(2) && run.stderr.contains("contains a password"), "{}", run.stderr);
    assert!(!run.stderr.contains("secret"), "{}", run.stderr);
}

/// `git replace` gives a commit ID other content on one machine only.
#[test]
fn git_replace_refs_are_ignored() {
    let world = World::new();
    let tagged = world.git("skills/pdf", "rev-parse v1").trim().to_owned();
    world.commit("pdf", "//- /SKILL.md\n---\nname: pdf\ndescription: d\n---\nevil\n");
    let other = world.git("skills/pdf", "rev-parse HEAD").trim().to_owned();
    world.git("skills/pdf", &format!("replace {tagged} {other}"));
    world.install();
    assert!(world.read(world.installed("pdf/SKILL.md")).contains("Body."));
    // Large packed files are read through git.
    world.env.write("skills/pdf/assets/data", "0123456789".repeat(300_000).as_bytes());
    world.commit("pdf", "");
    let blob = world.git("skills/pdf", "rev-parse HEAD:assets/data").trim().to_owned();
    let small = world.git("skills/pdf", "rev-parse HEAD:SKILL.md").trim().to_owned();
    world.git("skills/pdf", "gc --quiet --prune=now");
    world.git("skills/pdf", &format!("replace {blob} {small}"));
    world.skillfile(r#"{"name": "pdf", "branch": "main"}"#);
    world.install();
    assert_eq!(std::fs::metadata(world.installed("pdf/assets/data")).unwrap().len(), 3_000_000);
}

/// Special files do not block csk, and incomplete clones are reported.
#[test]
fn unusual_repositories_are_reported_and_do_not_block() {
    let world = World::new();
    let config = world.env.path("skills/pdf/.git/config");
    let settings = world.read(&config);
    std::fs::write(&config, format!("{settings}[remote \"origin\"]\n\tpromisor = true\n")).unwrap();
    let run = world.csk("install app");
    assert!(run.code == Some(1) && run.stderr.contains("partial clone"), "{}", run.stderr);
    std::fs::write(&config, &settings).unwrap();
    let id = world.git("skills/pdf", "rev-parse v1:SKILL.md").trim().to_owned();
    let object = world.env.path(&format!("skills/pdf/.git/objects/{}/{}", &id[..2], &id[2..]));
    std::fs::remove_file(&object).unwrap();
    assert_eq!(world.env.run_args("mkfifo", &[object.to_str().unwrap()]).code, Some(0));
    let run = world.env.run_args("timeout", &["60", env!("CARGO_BIN_EXE_csk"), "install", "app"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
}

/// Objects may be loose, packed, or in an alternate repository.
#[test]
fn objects_are_read_wherever_git_stores_them() {
    let world = World::new();
    world.install();
    let whole = || world.read(world.installed("pdf/SKILL.md"));
    let before = whole();
    let again = || {
        std::fs::remove_dir_all(world.app(".agents")).unwrap();
        world.install();
    };
    world.git("skills/pdf", "gc --quiet --aggressive --prune=now");
    assert!(world.git("skills/pdf", "count-objects -v").contains("count: 0"));
    again();
    assert_eq!(whole(), before);
    // As in a clone with shared objects.
    std::fs::rename(world.env.path("skills/pdf"), world.env.path("first")).unwrap();
    let (first, second) = (world.env.path("first"), world.env.path("skills/pdf"));
    let words = ["clone", "--quiet", "--shared", first.to_str().unwrap(), second.to_str().unwrap()];
    assert_eq!(world.env.run_args("git", &words).code, Some(0));
    again();
    assert_eq!(whole(), before);
    // A damaged object is an error, and the installed version stays.
    world.commit("pdf", "//- /SKILL.md\n---\nname: pdf\ndescription: d\n---\nnew\n");
    world.git("skills/pdf", "tag v2");
    world.skillfile(r#"{"name": "pdf", "tag": "v2"}"#);
    let id = world.git("skills/pdf", "rev-parse v2:SKILL.md").trim().to_owned();
    let object = world.env.path(&format!("skills/pdf/.git/objects/{}/{}", &id[..2], &id[2..]));
    let bytes = std::fs::read(&object).unwrap();
    std::fs::set_permissions(&object, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    for damaged in [&bytes[..bytes.len() / 2], b"", b"junk"] {
        std::fs::write(&object, damaged).unwrap();
        let run = world.csk("install app");
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        assert!(run.stderr.contains("is corrupt"), "{}", run.stderr);
        assert_eq!(whole(), before);
    }
}
