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
fn a_branch_of_the_origin_wins_over_a_local_one() {
    let world = World::bare();
    let upstream = testkit::GitRepo::new(&world.env, "upstream", SKILL);
    let url = upstream.path().to_string_lossy().into_owned();
    assert_eq!(world.env.run_args("git", &["clone", "--quiet", &url, "skills/pdf"]).code, Some(0));
    world.commit("pdf", "//- /references/local.md\nl\n");
    world.skillfile(r#"{"name": "pdf", "branch": "main"}"#);
    world.install();
    assert!(!world.installed("pdf/references/local.md").exists());
    assert!(!world.installed("pdf/references/up.md").exists());
    // install does not fetch, update does and changes no project, upgrade does both.
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
    assert!(refused.stderr.contains("Failed to clone pdf from file://"), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("local sources need `allow_local_sources`"),
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
    assert_eq!(left, ["pdf"], "no half clone is left");
}

#[test]
fn an_ambiguous_revision_is_an_error() {
    let world = World::bare();
    let repo = world.repo("pdf", SKILL);
    // Among a thousand commits some share their first four digits.
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
        run.stderr.contains("is ambiguous in ") && run.stderr.contains("give more digits"),
        "{}",
        run.stderr
    );
}

#[test]
fn repositories_that_cannot_be_used_say_why() {
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
    let skill = |name: &str| format!(r#"{{"name": "{name}", "branch": "main"}}"#);
    world.skillfile(&["modules", "plain", "leak", "up", "modern"].map(skill).join(","));
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    for said in [
        "app: modules: Submodules are not supported",
        "app: plain: Local skill path exists but is not a git repository",
        "app: leak: the link references/leak -> /etc/passwd leads out of the skill",
        "app: up: the link references/up -> ../../../x leads out of the skill",
        "app: modern: the repository ",
    ] {
        assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
    }
    assert!(run.stderr.contains("uses SHA-256 object ids, which are not supported"));
    assert_eq!(world.listing(".agents/skills"), "");
}

#[test]
fn a_bare_repository_and_a_worktree_are_sources_too() {
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
fn dirty_files_of_a_source_do_not_matter() {
    let world = World::new();
    world.env.write("skills/pdf/SKILL.md", b"dirty");
    world.install();
    assert!(world.read(world.installed("pdf/SKILL.md")).contains("Extracts text"));
    assert_eq!(world.env.path("skills/pdf/SKILL.md").metadata().unwrap().len(), 5);
}

#[test]
fn a_repository_that_cannot_be_fetched_stops_no_other() {
    let world = World::new();
    world.repo("lost", SKILL).git("remote add origin /nowhere/at/all");
    world.config(r#", "allow_local_sources": true"#);
    let run = world.csk("update");
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stdout, "pdf: no remote\n");
    assert!(run.stderr.starts_with("fetching lost\nlost: fatal: "), "{}", run.stderr);
    let run = world.csk("upgrade app");
    assert_eq!(run.code, Some(1), "a fetch failed, and what is here was installed");
    assert!(world.installed("pdf/SKILL.md").exists());
}

#[test]
fn a_cache_that_was_tampered_with_is_made_again() {
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
    let (pdf, big) = (snapshot("pdf"), snapshot("big"));
    let change = |what: &str| match what {
        "text" => std::fs::write(pdf.join("SKILL.md"), "---\nname: evil\n---\n").unwrap(),
        "large" => std::fs::write(big.join("assets/data"), "x".repeat(3_000_000)).unwrap(),
        "added" => std::fs::write(pdf.join("references/evil.md"), "x").unwrap(),
        "removed" => std::fs::remove_file(pdf.join("references/guide.md")).unwrap(),
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
            pdf.join("references/guide.md").exists() && !pdf.join("references/evil.md").exists(),
            "{what}"
        );
    }
    // It is used: the repository has lost the file meanwhile.
    let id = world.git("skills/pdf", "rev-parse v1:references/guide.md");
    let (folder, file) = id.trim().split_at(2);
    std::fs::remove_file(world.env.path("skills/pdf/.git/objects").join(folder).join(file))
        .unwrap();
    std::fs::remove_dir_all(world.app(".agents/skills/pdf")).unwrap();
    world.install();
    assert!(world.installed("pdf/references/guide.md").exists());
    world.git("skills/pdf", "hash-object -w references/guide.md");
    // A dry run writes no cache.
    change("gone");
    world.commit("pdf", "//- /references/new.md\n");
    world.git("skills/pdf", "tag v2");
    world.skillfile(r#"{"name": "pdf", "tag": "v2"}, {"name": "big", "tag": "v1"}"#);
    let run = world.csk("install app --dry-run");
    assert!(run.stdout.contains("write .agents/skills/pdf/references/new.md"), "{}", run.stdout);
    assert!(!cache.exists());
}
