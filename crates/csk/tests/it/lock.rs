//! Skillfile.lock, and the verification that the files on disk are those that were installed.

use std::fs;

use serde_json::Value;

use crate::{SKILL, World};

impl World {
    fn lockfile(&self) -> Value {
        serde_json::from_str(&self.read(self.app("Skillfile.lock"))).unwrap()
    }

    fn head(&self, name: &str) -> String {
        self.git(&format!("skills/{name}"), "rev-parse HEAD").trim().to_owned()
    }
}

#[test]
fn a_lockfile_pins_the_commits_of_branches() {
    let world = World::new();
    world.skillfile(r#"{"name": "pdf", "branch": "main"}"#);
    let run = world.csk("lock --project app");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let first = world.head("pdf");
    let lock = world.lockfile();
    let entry = &lock["skills"]["pdf"];
    assert_eq!(entry["commit"], first.as_str());
    assert_eq!(entry["tree"], world.git("skills/pdf", "rev-parse HEAD^{tree}").trim());
    assert!(entry["bundle_sha256"].as_str().unwrap().starts_with("sha256:"));
    world.install();
    let marker = world.read(world.installed("pdf/.csk-install.json"));
    assert!(marker.contains(entry["bundle_sha256"].as_str().unwrap()), "both have the same digest");
    // The branch gets a new commit; neither install nor status follows it.
    world.commit("pdf", "//- /references/new.md\n");
    let before = world.read(world.app("Skillfile.lock"));
    let run = world.install();
    assert!(
        run.stdout.contains("up-to-date") && run.stderr.is_empty(),
        "{}{}",
        run.stdout,
        run.stderr
    );
    assert_eq!(world.csk("status app --check").code, Some(0));
    assert_eq!(
        world.csk("install app --locked").code,
        Some(0),
        "new commits on a branch do not count"
    );
    assert_eq!(world.read(world.app("Skillfile.lock")), before);
    // An upgrade updates both.
    let run = world.csk("upgrade app");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.installed("pdf/references/new.md").exists());
    assert_eq!(world.lockfile()["skills"]["pdf"]["commit"], world.head("pdf").as_str());
    assert_eq!(world.csk("verify app").code, Some(0));
}

#[test]
fn moved_tags_and_force_pushed_branches_use_the_locked_commit_and_are_reported() {
    for (reference, kind) in [(r#""tag": "v1""#, "tag"), (r#""branch": "main""#, "branch")] {
        let world = World::new();
        world.skillfile(&format!(r#"{{"name": "pdf", {reference}}}"#));
        assert_eq!(world.csk("lock --project app").code, Some(0));
        let old = world.head("pdf");
        world.git("skills/pdf", "commit --quiet --amend --allow-empty -m other");
        world.git("skills/pdf", "tag --force v1");
        let new = world.head("pdf");
        let moved = format!("Moved {kind} for pdf: ");
        let run = world.csk("install app --locked");
        assert_eq!(run.code, Some(1), "{kind}");
        assert!(run.stderr.contains(&moved), "{}", run.stderr);
        assert!(run.stderr.contains(&old[..7]) && run.stderr.contains(&new[..7]), "{}", run.stderr);
        assert!(!world.installed("pdf").exists());
        let run = world.install();
        assert!(
            run.stderr.contains(&moved) && run.stderr.contains("using the locked commit"),
            "{}",
            run.stderr
        );
        assert!(world.read(world.installed("pdf/.csk-install.json")).contains(&old));
        assert_eq!(world.csk("status app --check").code, Some(0));
        let run = world.csk("lock --project app --upgrade");
        assert!(
            run.stdout.contains(&format!("{} -> {} pinned", &old[..7], &new[..7])),
            "{}",
            run.stdout
        );
        assert_eq!(world.csk("install app --locked").code, Some(0));
        assert!(world.read(world.installed("pdf/.csk-install.json")).contains(&new));
    }
}

#[test]
fn a_mismatched_lockfile_fails_with_locked() {
    let world = World::new();
    world.repo("other", &SKILL.replace("name: pdf", "name: other")).git("tag v1");
    let run = world.csk("install app --locked");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("Skillfile.lock is missing"), "{}", run.stderr);
    assert_eq!(world.csk("lock --project app").code, Some(0));
    assert_eq!(world.csk("install app --frozen").code, Some(0));
    // A new skill: refused with `--locked`, otherwise installed and added.
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}, {"name": "other", "tag": "v1"}"#);
    let run = world.csk("install app --locked");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("Skillfile.lock is out of date for `other`"), "{}", run.stderr);
    let run = world.csk("install app --verbose");
    assert!(run.stdout.contains("app: write Skillfile.lock"), "{}", run.stdout);
    assert_eq!(world.lockfile()["skills"].as_object().unwrap().len(), 2);
    assert_eq!(world.csk("install app --locked").code, Some(0));
    // A removed skill: refused with `--locked`, otherwise dropped.
    world.skillfile(r#"{"name": "other", "tag": "v1"}"#);
    let run = world.csk("install app --locked");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("contains `pdf`, which is not declared"), "{}", run.stderr);
    world.install();
    assert_eq!(world.lockfile()["skills"].as_object().unwrap().len(), 1);
    // A digest that differs from the locked one.
    let path = world.app("Skillfile.lock");
    let good = world.read(&path);
    let digest = world.lockfile()["skills"]["other"]["bundle_sha256"].as_str().unwrap().to_owned();
    fs::write(&path, good.replace(&digest, &format!("sha256:{}", "0".repeat(64)))).unwrap();
    fs::remove_dir_all(world.app(".agents")).unwrap();
    fs::remove_dir_all(world.app(".claude")).unwrap();
    fs::remove_dir_all(world.app(".codex")).unwrap();
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("do not match Skillfile.lock"), "{}", run.stderr);
    assert!(!world.installed("other").exists());
    // A commit that is not in the local clone.
    let commit = world.lockfile()["skills"]["other"]["commit"].as_str().unwrap().to_owned();
    fs::write(&path, good.replace(&commit, &"1".repeat(40))).unwrap();
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("is not in its repository") && run.stderr.contains("csk update"),
        "{}",
        run.stderr
    );
    // A lockfile with merge conflicts is invalid.
    fs::write(&path, format!("<<<<<<< ours\n{good}")).unwrap();
    let run = world.csk("install app");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("Skillfile.lock"), "{}", run.stderr);
}

#[test]
fn offline_clones_nothing() {
    let world = World::bare();
    let upstream = testkit::GitRepo::new(&world.env, "upstream", SKILL);
    upstream.git("tag v1");
    world.config(r#", "allow_local_sources": true"#);
    let url = format!("file://{}", upstream.path().display());
    world.skillfile(&format!(r#"{{"name": "pdf", "git": "{url}", "tag": "v1"}}"#));
    for command in
        ["install app --offline", "lock --project app --offline", "upgrade app --offline"]
    {
        let run = world.csk(command);
        assert_eq!(run.code, Some(1), "{command}: {}", run.stdout);
        assert!(run.stderr.contains("repository not cloned yet"), "{}", run.stderr);
        assert!(!world.env.path("skills/pdf").exists(), "{command}");
    }
    assert_eq!(world.csk("lock --project app").code, Some(0));
    assert_eq!(world.lockfile()["skills"]["pdf"]["git"], url.replace("[ROOT]", "").as_str());
    assert_eq!(world.csk("install app --frozen").code, Some(0));
}

#[test]
fn a_lockfile_can_be_upgraded_per_skill_and_previewed() {
    let world = World::new();
    world.repo("other", &SKILL.replace("name: pdf", "name: other"));
    world.skillfile(r#"{"name": "pdf", "branch": "main"}, {"name": "other", "branch": "main"}"#);
    assert_eq!(world.csk("lock --project app").code, Some(0));
    let before = world.read(world.app("Skillfile.lock"));
    world.commit("pdf", "//- /references/new.md\n");
    world.commit("other", "//- /references/new.md\n");
    let run = world.csk("lock --project app --upgrade pdf --dry-run");
    assert!(
        run.stdout.contains("pdf") && run.stdout.contains("-> ") && run.stdout.contains("other"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("would be written (dry-run)"), "{}", run.stdout);
    assert_eq!(world.read(world.app("Skillfile.lock")), before);
    assert_eq!(world.csk("lock --project app --upgrade pdf").code, Some(0));
    assert_eq!(world.lockfile()["skills"]["pdf"]["commit"], world.head("pdf").as_str());
    assert_ne!(world.lockfile()["skills"]["other"]["commit"], world.head("other").as_str());
    let run = world.csk("lock --project app --upgrade pfd");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("did you mean `pdf`?"), "{}", run.stderr);
    // A skill that cannot be locked keeps its old entry and does not stop the others.
    world.skillfile(r#"{"name": "pdf", "branch": "none"}, {"name": "other", "branch": "main"}"#);
    let run = world.csk("lock --project app --upgrade");
    assert_eq!(run.code, Some(1));
    assert_eq!(world.lockfile()["skills"]["other"]["commit"], world.head("other").as_str());
    assert!(world.lockfile()["skills"]["pdf"].is_object());
}

#[test]
fn verify_reads_every_byte() {
    let world = World::bare();
    let repo = world.repo(
        "pdf",
        &format!("{SKILL}//- /scripts/tool\n#!/bin/sh\necho tool\n//- /csk-skill.json\n{{\"schema_version\": 2, \"runtime_roots\": [\"scripts\"], \"commands\": {{\"tool\": {{\"type\": \"script\", \"unix_path\": \"scripts/tool\"}}}}}}\n"),
    );
    repo.git("tag v1");
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
    assert_eq!(world.csk("verify app").code, Some(1), "nothing is installed");
    assert_eq!(world.csk("lock --project app").code, Some(0));
    world.install();
    let run = world.csk("verify app");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "app: pdf verified\n"), "{}", run.stderr);
    let marker = ".agents/skills/pdf/.csk-install.json";
    let runtime = "$(dirname $(dirname $(readlink .agents/bin/tool)))";
    for (change, expected) in [
        (
            "echo x >> .agents/skills/pdf/SKILL.md".to_owned(),
            "installed files differ from commit",
        ),
        ("chmod +x .agents/skills/pdf/SKILL.md".to_owned(), "modes, links or files differ"),
        ("touch .agents/skills/pdf/extra".to_owned(), "installed files differ from commit"),
        ("rm .claude/skills/pdf".to_owned(), ".claude/skills/pdf is missing or incorrect"),
        ("rm .agents/bin/tool".to_owned(), ".agents/bin/tool is missing or incorrect"),
        ("rm .agents/env.sh".to_owned(), ".agents/env.sh is missing or incorrect"),
        (format!("R={runtime}; chmod -R u+w $R; echo x >> $R/scripts/tool"), "its command files differ"),
        // A list of digests changed to match does not help.
        (
            format!(
                "R={runtime}; chmod -R u+w $R; echo x >> $R/scripts/tool; S=$(sha256sum $R/scripts/tool | cut -c1-64); sed -i \"s/sha256:[0-9a-f]*/sha256:$S/\" $R/.csk-runtime.json"
            ),
            "its command files differ: they do not match the commit",
        ),
        // Nor does a marker changed to match the files.
        (
            format!(
                "rm -r .agents/skills/pdf/references; cd .agents/skills/pdf; S=$( (printf 'SKILL.md\\0'; cat SKILL.md) | sha256sum | cut -c1-64); sed -i \"s/\\\"content_sha256.*/\\\"content_sha256\\\": \\\"sha256:$S\\\",/; /context_sha256/d\" ../../../{marker}"
            ),
            "installed files differ from commit",
        ),
        (
            // Replaces the first digit by another one.
            "sed -i 's/\"commit\": \"0/\"commit\": \"x/; s/\"commit\": \"[1-9a-f]/\"commit\": \"0/; s/\"commit\": \"x/\"commit\": \"1/' Skillfile.lock".to_owned(),
            "is not in its repository",
        ),
    ] {
        let call = format!("cp -a app saved && cp -a ../home saved-home && cd app && {change}");
        let run = world.env.run_args("sh", &["-c", &call]);
        assert_eq!(run.code, Some(0), "{change}: {}", run.stderr);
        let run = world.csk("verify app");
        assert_eq!(run.code, Some(1), "{change}");
        assert!(run.stderr.contains(expected), "{change}: {}", run.stderr);
        let call =
            "chmod -R u+w ../home; rm -rf app ../home && mv saved app && mv saved-home ../home";
        assert_eq!(world.env.run_args("sh", &["-c", call]).code, Some(0));
    }
    let run = world.csk("verify app --json");
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(value["ok"], true);
    assert_eq!(value["projects"][0]["skills"][0]["problems"], serde_json::json!([]));
}

/// Every field of the lockfile counts, even if there is nothing to install.
#[test]
fn a_lockfile_with_other_digests_is_refused_by_every_command() {
    let world = World::new();
    assert_eq!(world.csk("lock --project app").code, Some(0));
    world.install();
    let path = world.app("Skillfile.lock");
    let good = world.read(&path);
    let lock = world.lockfile();
    for (key, other) in
        [("tree", "1".repeat(40)), ("bundle_sha256", format!("sha256:{}", "1".repeat(64)))]
    {
        let value = lock["skills"]["pdf"][key].as_str().unwrap();
        fs::write(&path, good.replace(value, &other)).unwrap();
        for command in [
            "install app --locked",
            "install app --frozen",
            "install app",
            "status app --check",
            "verify app",
        ] {
            let run = world.csk(command);
            assert_eq!(run.code, Some(1), "{key}: {command}: {}{}", run.stdout, run.stderr);
        }
    }
    fs::write(&path, good).unwrap();
    assert_eq!(world.csk("install app --frozen").code, Some(0));
    // With `--strict-tags`, a moved tag is an error, locked or not.
    world.git("skills/pdf", "commit --quiet --amend --allow-empty -m other");
    world.git("skills/pdf", "tag --force v1");
    assert_eq!(world.csk("install app").code, Some(0));
    let run = world.csk("install app --strict-tags");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("Moved tag for pdf"), "{}", run.stderr);
}

/// `verify` trusts no field of a marker.
#[test]
fn every_field_of_a_marker_is_verified() {
    let world = World::new();
    world.install();
    let marker = world.installed("pdf/.csk-install.json");
    let good = world.read(&marker);
    for (found, forged) in [
        ("\"commands\": []", "\"commands\": [\"x\"]"),
        ("\"source\": \"pdf\"", "\"capabilities\": {\"network\": \"none\"}, \"source\": \"pdf\""),
        ("\"source\": \"pdf\"", "\"skill_schema_version\": 3, \"source\": \"pdf\""),
        ("\"files\": [", "\"files\": [\"x\", "),
    ] {
        assert!(good.contains(found), "{found} in {good}");
        fs::write(&marker, good.replace(found, forged)).unwrap();
        let run = world.csk("verify app");
        assert_eq!(run.code, Some(1), "{forged}");
        assert!(run.stderr.contains("its install marker was changed"), "{forged}: {}", run.stderr);
        assert_eq!(
            world.csk("status app --check").code,
            Some(1),
            "{forged}: there is no receipt for it"
        );
        world.install();
        assert_eq!(world.csk("verify app").code, Some(0));
    }
    fs::write(world.app(".agents/env.sh"), "echo evil").unwrap();
    assert_eq!(world.csk("verify app").code, Some(1), "a changed env file is an error");
}
