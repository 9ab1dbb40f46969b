//! Invalid skills: they do not affect others, and every problem is reported once.

use std::collections::HashMap;
use std::fs;

use openskills_runtime::RuntimeConfig;
use skill::{Input, Severity, Strictness, frontmatter_end, parse};
use testkit::corpus::{CaseKind, cases};

use crate::{World, discover, skill};

/// Writes every case of the corpus to its own folder; returns whether the parser accepts it.
fn corpus(world: &World, strictness: Strictness) -> HashMap<String, bool> {
    let mut expected = HashMap::new();
    for case in cases() {
        if case.kind != CaseKind::Skill || case.file.is_empty() {
            continue;
        }
        let folder = world.path(&format!("skills/{}", case.name));
        fs::create_dir_all(&folder).unwrap();
        case.write(&folder);
        // The body is not read during discovery.
        let head = &case.bytes[..frontmatter_end(&case.bytes).unwrap_or(case.bytes.len())];
        let input = Input { file: "f", directory: Some(&case.directory), bytes: head };
        let is_near = !["SKILL.md", "skill.md"].contains(&case.file.as_str());
        let is_refused = is_near && strictness == Strictness::Strict;
        let parsed = parse(&input, strictness);
        expected.insert(case.name, parsed.document.is_some() && !is_refused);
    }
    expected
}

#[test]
fn discovery_agrees_with_the_parser_on_every_case() {
    for strictness in [Strictness::Lenient, Strictness::Strict] {
        let world = World::new(&skill("skills/good", "good"));
        let expected = corpus(&world, strictness);
        assert!(expected.len() > 60, "{}", expected.len());
        let strict = strictness == Strictness::Strict;
        let directory = openskills_runtime::Directory::new(world.path("skills"));
        let config = RuntimeConfig {
            use_standard_locations: false,
            custom_directories: vec![directory],
            strict,
            ..world.config()
        };
        // The second discovery uses the cache and must agree.
        for _ in 0..2 {
            let runtime = discover(config.clone());
            assert!(runtime.skill("good").is_ok());
            let case_of = |path: &str| {
                let below = path.strip_prefix(world.path("skills").to_str().unwrap()).unwrap();
                below.split('/').nth(1).unwrap().to_owned()
            };
            let loaded: Vec<String> =
                runtime.all_skills().iter().map(|skill| case_of(skill.path())).collect();
            for (name, is_good) in &expected {
                assert_eq!(loaded.contains(name), *is_good, "{name}, strict: {strict}");
            }
            for refused in runtime.refused_skills() {
                let errors = refused.diagnostics.iter().filter(|d| d.severity == Severity::Error);
                assert!(errors.count() > 0, "{} has no error", refused.path);
            }
        }
    }
}

#[test]
fn each_problem_is_reported_once_with_its_file() {
    let world = World::new(&skill("work/.claude/skills/good", "good"));
    world.add("//- /work/.agents/skills/bad/SKILL.md\nno frontmatter\n");
    world.add("//- /work/.agents/skills/odd/SKILL.md\n---\nname: Odd\ndescription: d\n---\n");
    world.link("../../.agents/skills/bad", "work/.claude/skills/bad");
    world.link("../../.agents/skills/odd", "work/.claude/skills/odd");
    for _ in 0..2 {
        let runtime = world.discover();
        let reported = crate::problems(&world, &runtime);
        assert_eq!(
            reported.matches("no-frontmatter: [ROOT]/work/.agents/skills/bad/SKILL.md").count(),
            1,
            "{reported}"
        );
        assert_eq!(reported.matches("name-not-lowercase").count(), 1, "{reported}");
        assert!(
            runtime
                .problems()
                .iter()
                .all(|problem| problem.code.as_str() == "shadowed" || problem.hint.is_some())
        );
    }
}

#[test]
fn special_files_are_refused() {
    let world = World::new(&skill("s/good", "good"));
    fs::create_dir_all(world.path("s/fifo")).unwrap();
    let made = world.env.run_args("mkfifo", &[world.path("s/fifo/SKILL.md").to_str().unwrap()]);
    assert_eq!(made.code, Some(0));
    fs::create_dir_all(world.path("s/folder/SKILL.md")).unwrap();
    world.link("/etc/passwd", "s/out/SKILL.md");
    fs::create_dir_all(world.path("s/large")).unwrap();
    fs::File::create(world.path("s/large/SKILL.md")).unwrap().set_len(3 << 20).unwrap();
    let runtime = world.discover_in("s");
    assert_eq!(crate::ids(&runtime), "s/good user\n");
    let reported = crate::problems(&world, &runtime);
    for part in [
        "not-a-file: [ROOT]/s/fifo/SKILL.md",
        "not-a-file: [ROOT]/s/folder/SKILL.md",
        "link-escapes: [ROOT]/s/out/SKILL.md",
        "file-too-large: [ROOT]/s/large/SKILL.md",
    ] {
        assert!(reported.contains(part), "{part} in {reported}");
    }
    assert!(!reported.contains("root:"), "the content outside is not revealed");
}

#[test]
fn non_utf8_names_are_reported_and_affect_nothing_else() {
    use std::os::unix::ffi::OsStrExt;

    let world = World::new(&skill("s/good", "good"));
    let bad = world.path("s").join(std::ffi::OsStr::from_bytes(b"b\xffd"));
    fs::create_dir(bad).unwrap();
    let runtime = world.discover_in("s");
    assert_eq!(crate::ids(&runtime), "s/good user\n");
    assert!(crate::problems(&world, &runtime).contains("1 file name here is not valid UTF-8"));
}

#[test]
fn discovery_reads_only_the_frontmatter() {
    let world = World::new("");
    let mut bytes = b"---\nname: x\ndescription: d\n---\n".to_vec();
    bytes.extend(vec![b'a'; 200_000]);
    bytes.push(0xff);
    fs::create_dir_all(world.path("s/x")).unwrap();
    fs::write(world.path("s/x/SKILL.md"), bytes).unwrap();
    let mut runtime = world.discover_in("s");
    assert_eq!(runtime.list_skills().len(), 1, "the body was not read");
    let error = runtime.activate_skill("x").unwrap_err();
    assert_eq!(error.code(), "invalid-manifest");
    assert!(error.to_string().contains("not valid UTF-8"), "{error}");
}
