//! Which files of a skill are installed, and what csk warns about.

use std::fs;
use std::os::unix::fs::symlink;

use crate::World;

/// A skill in a subfolder whose text mentions its manifest, with links to files that are not installed, and symlinks.
#[test]
fn referenced_files_are_installed_or_reported() {
    let world = World::bare();
    let text = "//- /skills/a/SKILL.md\n---\nname: a\ndescription: d\n---\n\
                See [other](../b/SKILL.md), [gone](gone.md), [tests](tests/) and [latest](docs/latest.md). Commands: `csk-skill.json`.\n\
                //- /skills/a/README.md\nRead me.\n//- /skills/a/docs/test/h.md\nH.\n//- /skills/a/tests/t.md\nT.\n\
                //- /skills/a/csk-skill.json\n{\"schema_version\": 1, \"commands\": {}}\n";
    world.repo("many", text);
    let folder = world.env.path("skills/many/skills/a");
    symlink("README.md", folder.join("CLAUDE.md")).unwrap();
    symlink("test/h.md", folder.join("docs/latest.md")).unwrap();
    world.commit("many", "");
    world.git("skills/many", "tag v1");
    world.skillfile(r#"{"name": "a", "source": "many", "path": "skills/a", "tag": "v1"}"#);
    let run = world.install();
    assert_eq!(
        world.listing(".agents/skills/a"),
        "./.csk-install.json\n./CLAUDE.md\n./README.md\n./SKILL.md\n./docs/latest.md\n./docs/test/h.md\n"
    );
    assert_eq!(fs::read_to_string(world.installed("a/docs/latest.md")).unwrap(), "H.\n");
    for warning in [
        "link to a missing file: `gone.md` (SKILL.md)",
        "link that points outside the skill: `../b/SKILL.md` (SKILL.md)",
        "referenced but not installed: `tests/` (SKILL.md)",
    ] {
        assert!(run.stderr.contains(warning), "{warning}: {}", run.stderr);
    }
    for command in ["status app --check", "verify app"] {
        let run = world.csk(command);
        assert_eq!(run.code, Some(0), "{command}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn a_description_from_the_locale_is_not_missing() {
    let world = World::bare();
    let text = "//- /SKILL.md\n---\nname: a\n---\nBody.\n//- /.skill_triggers/ru.md\n- x\n\
                //- /locales/metadata.json\n{\"locales\": {\"ru\": {\"description\": \"D.\"}}}\n";
    world.repo("a", text).git("tag v1");
    world.skillfile(r#"{"name": "a", "tag": "v1"}"#);
    let plain = world.csk("install app --dry-run");
    assert!(plain.stderr.contains("`description` is missing"), "{}{}", plain.stdout, plain.stderr);
    world.config(r#", "preferred_locale": "ru""#);
    let run = world.install();
    assert!(!run.stderr.contains("`description` is missing"), "{}", run.stderr);
    assert!(world.read(world.installed("a/SKILL.md")).contains("description: \"D.\""));
}

#[test]
fn files_too_large_to_scan_are_reported() {
    let world = World::bare();
    let text = "//- /SKILL.md\n---\nname: a\ndescription: d\n---\nSee [large](docs/large.md).\n\
                //- /docs/other.md\nOther.\n";
    world.repo("a", text);
    let large = format!("{}[other](other.md)\n", "0123456789\n".repeat(100_000));
    world.env.write("skills/a/docs/large.md", large.as_bytes());
    world.commit("a", "");
    world.git("skills/a", "tag v1");
    world.skillfile(r#"{"name": "a", "tag": "v1"}"#);
    let run = world.install();
    assert!(world.installed("a/docs/large.md").is_file());
    assert!(run.stderr.contains("too large to scan for links: docs/large.md"), "{}", run.stderr);
}
