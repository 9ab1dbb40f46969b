//! Where skills are discovered, their trust level, and which skill a name refers to.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use expect_test::expect;
use openskills_runtime::{Directory, RuntimeConfig};
use skill_fs::AbsPath;
use skill_state::SkillSource;

use crate::{World, discover, ids, problems, skill};

fn everywhere() -> World {
    let world = World::new(
        &[
            skill("home/.local/share/openskills/skills/installed", "installed"),
            skill("home/.agents/skills/agents", "agents"),
            skill("home/.claude/skills/claude", "claude"),
            skill("work/.claude/skills/p-claude", "p-claude"),
            skill("work/.agents/skills/p-agents", "p-agents"),
            skill("work/.keep-up/skills/p-keep", "p-keep"),
            skill("work/.corteza/skills/p-corteza", "p-corteza"),
            skill("work/packages/a/.claude/skills/nested", "nested"),
            skill("work/packages/a/.agents/skills/nested-agents", "nested-agents"),
            skill("lib/pensar/skills/pensar/autoresearch", "autoresearch"),
            skill("team/t", "t"),
        ]
        .concat(),
    );
    fs::create_dir(world.path("work/.git")).unwrap();
    world
}

#[test]
fn all_standard_locations_are_searched() {
    let world = everywhere();
    fs::create_dir_all(world.path("home/.config/openskills")).unwrap();
    let config = format!(
        r#"{{"schema_version": 1, "directories": {{"team": {{"path": "{root}/team", "source": "org"}}}}, "packages": ["{root}/lib"]}}"#,
        root = world.root()
    );
    fs::write(world.path("home/.config/openskills/config.json"), config).unwrap();
    let runtime = world.discover();
    assert_eq!(problems(&world, &runtime), "");
    expect![[r#"
        personal-agents/agents user
        package-pensar/autoresearch user
        personal/claude user
        personal-installed/installed user
        nested-packages/a/nested third_party
        nested-packages/a-agents/nested-agents third_party
        project-agents/p-agents third_party
        project/p-claude third_party
        project-corteza/p-corteza third_party
        project-keep-up/p-keep third_party
        team/t org
    "#]]
    .assert_eq(&ids(&runtime));
    // The result is the same from any folder of the project.
    let mut config = world.config();
    let places = config.places.as_mut().unwrap();
    places.cwd = places.cwd.join("packages/a");
    let below = discover(config);
    assert_eq!(ids(&below), ids(&runtime));
}

#[test]
fn the_reference_lists_every_root() {
    let page = include_str!("../../../../docs/reference.md");
    let table = page.split("## Where openskills looks").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    for root in everywhere().discover().roots() {
        let is_nested = root.label.starts_with("nested-");
        let shown = if is_nested { "nested-<path>" } else { root.label.as_str() };
        assert!(table.contains(&format!("`{shown}`")), "docs/reference.md does not list {shown}");
    }
}

#[test]
fn standard_locations_can_be_disabled() {
    let world = everywhere();
    let config = RuntimeConfig {
        use_standard_locations: false,
        custom_directories: vec![Directory::new("../team")],
        ..world.config()
    };
    assert_eq!(ids(&discover(config)), "team/t user\n");
    let config = RuntimeConfig { use_builtin_skills: true, ..world.config() };
    assert!(ids(&discover(config)).contains("builtin/cocoaskills builtin\n"));
}

#[test]
fn a_root_may_be_a_skill_and_groups_may_be_nested() {
    let world = World::new(
        &[
            skill("pdf", "pdf"),
            skill("many/one", "one"),
            skill("many/group/two", "two"),
            skill("many/a/b/c/d/e/f/three", "three"),
            skill("many/.curated/four", "four"),
            skill("many/node_modules/five", "five"),
            skill("many/.git/six", "six"),
            skill("many/one/inner", "inner"),
        ]
        .concat(),
    );
    assert_eq!(ids(&world.discover_in("pdf")), "pdf/pdf user\n");
    let found = world.discover_in("many");
    expect![[r#"
        many/four user
        many/one user
        many/three user
        many/two user
    "#]]
    .assert_eq(&ids(&found));
    assert_eq!(problems(&world, &found), "");
    let mut deep = world.path("many");
    deep.extend(["d"; 20]);
    fs::create_dir_all(&deep).unwrap();
    let reported = problems(&world, &world.discover_in("many"));
    assert!(reported.contains("contains more than 16 nested folder levels"), "{reported}");
}

#[test]
fn a_symlink_to_a_skill_folder_is_entered_once() {
    let world = World::new(&[skill("team/pdf", "pdf"), skill("team/group/csv", "csv")].concat());
    world.link("../../../team", "home/.claude/skills/team");
    world.link("../../../team", "home/.claude/skills/team-again");
    world.link("..", "team/group/up");
    for _ in 0..3 {
        let runtime = world.discover();
        assert_eq!(ids(&runtime), "personal/csv user\npersonal/pdf user\n");
        assert_eq!(problems(&world, &runtime), "");
        let path = runtime.skill("csv").unwrap().path().to_owned();
        assert_eq!(world.shown(&path), "[ROOT]/team/group/csv", "the real path");
        assert!(world.discover().activate_skill("csv").is_ok());
    }
}

#[test]
fn precedence_is_trust_level_then_location() {
    let places = [
        "home/.agents/skills/x",
        "home/.claude/skills/x",
        "work/.agents/skills/x",
        "work/.claude/skills/x",
        "work/a/.claude/skills/x",
        "work/a/b/.claude/skills/x",
    ];
    let world = World::new(&places.map(|place| skill(place, "x")).concat());
    expect![[r#"
        personal/x user
        personal-agents/x user < personal/x
        nested-a/b/x third_party < personal/x
        nested-a/x third_party < personal/x
        project/x third_party < personal/x
        project-agents/x third_party < personal/x
    "#]]
    .assert_eq(&ids(&world.discover()));
    let work = AbsPath::new(world.path("work")).unwrap();
    world.discover().trust_folder(&work).unwrap();
    let runtime = world.discover();
    expect![[r#"
        nested-a/b/x user
        nested-a/x user < nested-a/b/x
        project/x user < nested-a/b/x
        project-agents/x user < nested-a/b/x
        personal/x user < nested-a/b/x
        personal-agents/x user < nested-a/b/x
    "#]]
    .assert_eq(&ids(&runtime));
    // Each shadowed skill is reported, with a hint.
    assert_eq!(problems(&world, &runtime).matches("is shadowed by `nested-a/b/x`").count(), 5);
    assert_eq!(runtime.skill("x").unwrap().id, "nested-a/b/x");
    assert_eq!(runtime.skill("personal/x").unwrap().id, "personal/x", "the id still works");
    world.discover().distrust_folder(&work).unwrap();
    assert_eq!(world.discover().skill("x").unwrap().id, "personal/x");
}

#[test]
fn lookalike_names_cannot_take_over_a_name() {
    let named = |path: &str, name: &str, body: &str| {
        format!("//- /{path}/SKILL.md\n---\nname: \"{name}\"\ndescription: d\n---\n{body}\n")
    };
    let world = World::new(
        &[
            named("home/.claude/skills/tools", "PDF Tools", "Mine."),
            named("work/.claude/skills/a", "PDF TOOLS", "Evil."),
            named("work/.claude/skills/b", "pdf-tools", "Evil."),
            named("work/.claude/skills/c", "PDF  Tools", "Evil."),
            named("work/.claude/skills/d", "pdf-tools\u{200b}", "Evil."),
            named("work/.claude/skills/e", "personal/pdf-tools", "Evil."),
        ]
        .concat(),
    );
    let mut runtime = world.discover();
    for name in ["pdf-tools", "PDF Tools", "PDF TOOLS", "personal/pdf-tools"] {
        assert_eq!(runtime.skill(name).unwrap().id, "personal/pdf-tools", "{name}");
    }
    assert_eq!(ids(&runtime).matches(" < personal/pdf-tools").count(), 4, "{}", ids(&runtime));
    // A disabled name does not refer to another skill either.
    runtime.disable_skill("PDF Tools").unwrap();
    let error = runtime.activate_skill("pdf-tools").unwrap_err();
    assert_eq!(error.code(), "permission-denied", "{error}");
}

#[test]
fn a_broken_own_skill_keeps_its_name() {
    let world = World::new(&skill("work/.claude/skills/pdf", "pdf"));
    world.add("//- /home/.claude/skills/pdf/SKILL.md\n---\nname: pdf\n");
    let mut runtime = world.discover();
    assert_eq!(ids(&runtime), "project/pdf third_party < personal/pdf\n");
    let error = runtime.activate_skill("pdf").unwrap_err();
    assert_eq!(error.code(), "invalid-manifest", "{error}");
    assert!(error.to_string().contains("home/.claude/skills/pdf"), "{error}");
    assert!(
        problems(&world, &runtime)
            .contains("is shadowed by `personal/pdf`, which cannot be loaded")
    );
    assert!(runtime.activate_skill("project/pdf").is_ok(), "the id still works");
    // Within one trust level, later locations still take precedence.
    world.discover().trust_folder(&AbsPath::new(world.path("work")).unwrap()).unwrap();
    assert_eq!(ids(&world.discover()), "project/pdf user\n");
}

#[test]
fn a_broken_own_skill_keeps_every_name_it_might_have() {
    for make in [
        // Only its name can be parsed.
        (|world: &World| {
            let text = "---\nname: pdf\ndescription:\n---\n";
            world.add(&format!("//- /home/.claude/skills/other/SKILL.md\n{text}"));
        }) as fn(&World),
        // A symlink to a folder with a different name.
        |world: &World| {
            world.add("//- /ext/pdf-v2/SKILL.md\nbroken\n");
            world.link("../../../ext/pdf-v2", "home/.claude/skills/pdf");
        },
        // A broken symlink, and one to itself.
        |world: &World| world.link("nowhere", "home/.claude/skills/pdf"),
        |world: &World| world.link("pdf", "home/.claude/skills/pdf"),
    ] {
        let world = World::new(&skill("work/.claude/skills/pdf", "pdf"));
        make(&world);
        for _ in 0..2 {
            let mut runtime = world.discover();
            let error = runtime.activate_skill("pdf").unwrap_err();
            assert_eq!(error.code(), "invalid-manifest", "{}", ids(&runtime));
        }
    }
    // A missing or broken id does not refer to anything else.
    let world = World::new(&skill("work/.claude/skills/personal-pdf", "personal-pdf"));
    assert_eq!(
        world.discover().activate_skill("personal/pdf").unwrap_err().code(),
        "skill-not-found"
    );
    world.add("//- /home/.claude/skills/pdf/SKILL.md\nbroken\n");
    let mut runtime = world.discover();
    assert_eq!(runtime.activate_skill("personal/pdf").unwrap_err().code(), "invalid-manifest");
    assert!(runtime.disable_skill("personal/pdf").is_err());
    // A personal skill folder that is a broken symlink is reported.
    let world = World::new("");
    world.link("nowhere", "home/.claude/skills");
    assert!(problems(&world, &world.discover()).contains("home/.claude/skills"));
}

#[test]
fn different_names_stay_different() {
    let named = |path: &str, name: &str| {
        format!("//- /s/{path}/SKILL.md\n---\nname: '{name}'\ndescription: d\n---\n")
    };
    let world = World::new(&[named("c1", "C++"), named("c2", "C#"), named("c3", "c")].concat());
    let runtime = world.discover_in("s");
    assert_eq!(runtime.list_skills().len(), 3, "{}", ids(&runtime));
    for name in ["C++", "C#", "c"] {
        assert_eq!(&*runtime.skill(name).unwrap().name, name);
    }
    let world = World::new(&[skill("s/cafe", "cafe"), skill("s/café", "café")].concat());
    let mut runtime = world.discover_in("s");
    assert_eq!(&*runtime.skill("cafe\u{301}").unwrap().name, "café");
    runtime.disable_skill("cafe\u{301}").unwrap();
    assert!(runtime.skill("cafe").is_ok() && runtime.skill("café").is_err());
}

#[test]
fn prompts_contain_each_name_once() {
    let named = |path: &str, name: &str| {
        format!("//- /{path}/SKILL.md\n---\nname: \"{name}\"\ndescription: d\n---\n")
    };
    let world = World::new(
        &[
            named("home/.claude/skills/pdf", "pdf"),
            named("work/.claude/skills/a", "pdf\u{3164}"),
            named("work/.claude/skills/b", "pd\u{200b}f"),
            named("work/.claude/skills/c", "p\u{ad}df"),
            named("work/.claude/skills/d", "pdf\u{180b}"),
            named("work/.claude/skills/e", "pd\u{200d}f"),
        ]
        .concat(),
    );
    let prompt = world.discover().prompt(&openskills_runtime::PromptOptions::default()).unwrap();
    assert_eq!(prompt.prompt.text.matches("<name>pdf</name>").count(), 1, "{}", prompt.prompt.text);
    assert!(prompt.prompt.text.contains("home/.claude/skills/pdf/SKILL.md"));
}

#[test]
fn a_shared_group_is_always_entered_through_the_same_symlink() {
    let world = World::new(
        &[skill("grp/pdf", "pdf"), skill("work/.claude/skills/l150x/pdf", "pdf")].concat(),
    );
    world.link("../../../grp", "work/.claude/skills/z");
    let deep = "work/.claude/skills/a/".to_owned() + &"b/".repeat(13);
    world.link(world.path("grp").to_str().unwrap(), &format!("{deep}l"));
    for number in 100..260 {
        world.link("../../../grp", &format!("work/.claude/skills/l{number}"));
    }
    world.discover().trust_folder(&AbsPath::new(world.path("work")).unwrap()).unwrap();
    let first = ids(&world.discover());
    assert!(first.contains("project/pdf~2"), "both exist: {first}");
    for _ in 0..20 {
        assert_eq!(ids(&world.discover()), first);
    }
}

#[test]
fn untrusted_folders_cannot_take_the_label_of_a_trusted_one() {
    let world = World::new(
        &[
            skill("work/a-b/.claude/skills/deploy", "deploy"),
            skill("work/a b/.claude/skills/deploy", "deploy"),
            skill("work/x-agents/.claude/skills/rel", "rel"),
            skill("work/x/.agents/skills/rel", "rel"),
        ]
        .concat(),
    );
    for folder in ["work/a-b", "work/x-agents"] {
        world.discover().trust_folder(&AbsPath::new(world.path(folder)).unwrap()).unwrap();
    }
    let runtime = world.discover();
    for id in ["nested-a-b/deploy", "nested-x-agents/rel"] {
        assert_eq!(runtime.skill(id).unwrap().source, SkillSource::User, "{id}");
    }
}

#[test]
fn hand_written_names_are_disabled() {
    let world = World::new(
        "//- /home/.claude/skills/x/SKILL.md\n---\nname: PDF Tools\ndescription: d\n---\n",
    );
    world.add("//- /home/.local/state/openskills/disabled-skills.json\n{\"schema_version\": 1, \"names\": [\"PDF Tools\"]}\n");
    let mut runtime = world.discover();
    assert_eq!(runtime.list_skills().len(), 0);
    assert!(runtime.enable_skill("PDF Tools").unwrap());
    assert_eq!(world.discover().list_skills().len(), 1);
}

#[test]
fn project_folders_cannot_take_the_label_of_a_configured_folder() {
    let world = World::new(
        &[skill("home/team/deploy", "deploy"), skill("work/team/.claude/skills/deploy", "deploy")]
            .concat(),
    );
    world.add("//- /home/.config/openskills/config.json\n{\"schema_version\": 1, \"directories\": {\"nested-team\": {\"path\": \"~/team\"}}}\n");
    expect![[r#"
        nested-team/deploy user
        nested-team~2/deploy third_party < nested-team/deploy
    "#]]
    .assert_eq(&ids(&world.discover()));
}

#[test]
fn many_skills_with_one_name_are_not_slower() {
    let world = World::new("");
    for number in 0..3_000 {
        let folder = world.path(&format!("s/f{number}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), "---\nname: x\ndescription: d\n---\n").unwrap();
    }
    let runtime = world.discover_in("s");
    assert_eq!(runtime.list_skills().len(), 1);
    assert_eq!(runtime.skill("s/x~3000").unwrap().shadowed_by.as_deref(), Some("s/x"));
}

#[test]
fn untrusted_ignore_rules_are_limited() {
    let world = World::new(&skill("work/.claude/skills/x", "x"));
    let rules: String = (0..2_000).map(|n| format!("*a*b*c?[a-z][!x]{n}*\n")).collect();
    for number in 0..40 {
        world.add(&format!("//- /work/d{number}/.gitignore\n{rules}"));
    }
    let runtime = world.discover();
    let reported = problems(&world, &runtime);
    assert_eq!(reported.matches("bytes of ignore rules in one project").count(), 1, "{reported}");
    assert_eq!(ids(&runtime), "project/x third_party\n");
}

#[test]
fn a_builtin_skill_is_never_shadowed() {
    let world = World::new(&skill("home/.claude/skills/cocoaskills", "cocoaskills"));
    let runtime = discover(RuntimeConfig { use_builtin_skills: true, ..world.config() });
    assert_eq!(runtime.skill("cocoaskills").unwrap().source, SkillSource::Builtin);
    assert!(ids(&runtime).contains("personal/cocoaskills user < builtin/cocoaskills"));
}

#[test]
fn a_home_folder_cannot_be_trusted_as_a_whole() {
    let world = World::new(&skill("home/work/.claude/skills/x", "x"));
    let runtime = world.discover();
    for folder in ["home", ""] {
        let folder = AbsPath::new(world.path(folder)).unwrap();
        let error = runtime.trust_folder(&folder).unwrap_err();
        assert_eq!(error.code(), "permission-denied", "{folder}");
    }
    let missing = AbsPath::new(world.path("none")).unwrap();
    assert_eq!(runtime.trust_folder(&missing).unwrap_err().code(), "files");
}

#[test]
fn malformed_decision_files_are_errors_and_stay_unchanged() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    for (file, text) in [
        ("home/.local/state/openskills/trusted-folders.json", "{"),
        ("home/.local/state/openskills/disabled-skills.json", r#"{"schema_version": 9}"#),
        (
            "home/.local/state/openskills/disabled-skills.json",
            r#"{"schema_version": 1, "name": ["x"]}"#,
        ),
        (
            "home/.local/state/openskills/trusted-folders.json",
            r#"{"schema_version": 1, "folders": ["/"]}"#,
        ),
        (
            "home/.local/state/openskills/trusted-folders.json",
            r#"{"schema_version": 1, "folders": ["relative"]}"#,
        ),
        (
            "home/.local/state/openskills/trusted-folders.json",
            r#"{"schema_version": 1, "folders": ["/a/"]}"#,
        ),
        ("home/.config/openskills/config.json", r#"{"directories": 3}"#),
    ] {
        fs::create_dir_all(world.path(file).parent().unwrap()).unwrap();
        fs::write(world.path(file), text).unwrap();
        let mut runtime = openskills_runtime::OpenSkillRuntime::with_config(world.config());
        let error = runtime.discover_skills().unwrap_err();
        assert_eq!(error.code(), "invalid-config", "{file}");
        assert!(error.to_string().contains(file.rsplit('/').next().unwrap()), "{error}");
        if file.contains("state") {
            assert!(runtime.disable_skill("x").is_err());
        }
        assert_eq!(fs::read_to_string(world.path(file)).unwrap(), text, "the file is unchanged");
        fs::remove_file(world.path(file)).unwrap();
    }
    world.link("nowhere", "home/.local/state/openskills/disabled-skills.json");
    let mut runtime = openskills_runtime::OpenSkillRuntime::with_config(world.config());
    assert!(runtime.discover_skills().is_err(), "a broken symlink is not an empty file");
}

#[test]
fn concurrent_decisions_are_all_kept() {
    let world = World::new("");
    std::thread::scope(|scope| {
        for number in 0..12 {
            let world = &world;
            scope.spawn(move || {
                let folder = world.path(&format!("work/p{number}"));
                fs::create_dir_all(&folder).unwrap();
                let runtime = openskills_runtime::OpenSkillRuntime::with_config(world.config());
                runtime.trust_folder(&AbsPath::new(folder).unwrap()).unwrap();
            });
        }
    });
    let state = world.root().join("home/.local/state/openskills");
    let trusted = openskills_runtime::TrustedFolders::load(Some(&state)).unwrap();
    assert_eq!(trusted.iter().count(), 12);
}

#[test]
fn symlinks_of_an_untrusted_project_stay_inside() {
    let world =
        World::new(&[skill("outside/secret", "secret"), skill("work/kept/in", "in")].concat());
    world.link("../../../outside/secret", "work/.claude/skills/secret");
    world.link("../../kept/in", "work/.claude/skills/in");
    world.link("nowhere", "work/.claude/skills/dangling");
    world.link("../../outside", "work/a/.claude/skills");
    let runtime = world.discover();
    assert_eq!(ids(&runtime), "project/in third_party\n");
    expect![[r#"
        error link-escapes: [ROOT]/work/.claude/skills/secret: symlink points outside the untrusted folder `[ROOT]/work`
        error path-not-found: [ROOT]/work/a/.claude/skills: no such file or folder
        error path-not-found: [ROOT]/work/.claude/skills/dangling/SKILL.md: broken symlink
    "#]]
    .assert_eq(&problems(&world, &runtime));
    world.discover().trust_folder(&AbsPath::new(world.path("work")).unwrap()).unwrap();
    expect![[r#"
        project/in user
        project/secret user
    "#]]
    .assert_eq(&ids(&world.discover()));
}

#[test]
fn a_folder_in_several_roots_is_one_skill() {
    let world = World::new(&skill("work/.agents/skills/pdf", "pdf"));
    world.link("../../.agents/skills/pdf", "work/.claude/skills/pdf");
    world.link("../../.agents/skills/pdf", "work/.claude/skills/pdf-again");
    let runtime = world.discover();
    assert_eq!(
        (ids(&runtime), problems(&world, &runtime)),
        ("project/pdf third_party\n".into(), String::new())
    );
    assert!(runtime.skill("pdf").unwrap().path().ends_with("/.agents/skills/pdf"));
}

#[test]
fn symlink_loops_end() {
    let world = World::new(&skill("work/.claude/skills/a/b", "b"));
    world.link("..", "work/.claude/skills/a/up");
    world.link("../../..", "work/.claude/skills/project");
    world.link("self", "work/.claude/skills/self");
    world.link("..", "work/packages/loop");
    let runtime = world.discover();
    assert_eq!(ids(&runtime), "project/b third_party\n");
    assert!(problems(&world, &runtime).contains("skills/self"), "the loop is reported");
}

#[test]
fn nested_roots_are_not_searched_in_ignored_folders() {
    let world = World::new(
        &[
            skill("work/packages/a/.claude/skills/a", "a"),
            skill("work/node_modules/m/.claude/skills/m", "m"),
            skill("work/build/.claude/skills/built", "built"),
            skill("work/packages/out/.claude/skills/out", "out"),
            skill("work/packages/kept/.claude/skills/kept", "kept"),
            skill("work/excluded/.claude/skills/excluded", "excluded"),
            skill("work/.venv/x/.claude/skills/venv", "venv"),
            "//- /work/.gitignore\nbuild/\n.claude/\nout\n[broken\n".to_owned(),
            "//- /work/packages/.gitignore\n!kept\n/out\n".to_owned(),
            "//- /work/.git/info/exclude\nexcluded\n".to_owned(),
        ]
        .concat(),
    );
    // `.claude` itself is ignored by git, as csk sets it up, but still found.
    expect![[r#"
        nested-packages/a/a third_party
        nested-packages/kept/kept third_party
    "#]]
    .assert_eq(&ids(&world.discover()));
}

#[test]
fn a_search_that_exceeds_limits_stops_with_a_warning() {
    let world = World::new(&skill("work/.claude/skills/x", "x"));
    let mut deep = world.path("work");
    for _ in 0..40 {
        deep.push("d");
    }
    fs::create_dir_all(deep).unwrap();
    let runtime = world.discover();
    assert!(
        problems(&world, &runtime).contains("contains more than 16 nested folder levels"),
        "{}",
        problems(&world, &runtime)
    );
    assert_eq!(ids(&runtime), "project/x third_party\n");
}

#[test]
fn a_repository_of_the_home_folder_is_not_a_project() {
    let world = World::new(
        &[skill("home/.claude/skills/x", "x"), skill("home/dev/app/.claude/skills/y", "y")]
            .concat(),
    );
    fs::create_dir(world.path("home/.git")).unwrap();
    let mut config = world.config();
    config.places.as_mut().unwrap().cwd = world.root().join("home/dev/app");
    expect![[r#"
        personal/x user
        project/y third_party
    "#]]
    .assert_eq(&ids(&discover(config.clone())));
    // In the home folder itself, skills are personal, and subfolders are not searched.
    config.places.as_mut().unwrap().cwd = world.root().join("home");
    assert_eq!(ids(&discover(config)), "personal/x user\n");
}

#[test]
fn skills_are_disabled_by_name_or_by_id() {
    let world = World::new(
        &[skill("home/.agents/skills/x", "x"), skill("home/.claude/skills/x", "x")].concat(),
    );
    let mut runtime = world.discover();
    assert!(runtime.disable_skill("personal/x").unwrap());
    assert_eq!(ids(&runtime), "personal/x user disabled\npersonal-agents/x user\n");
    assert!(runtime.disable_skill("x").unwrap());
    assert!(!runtime.disable_skill("x").unwrap(), "it already was");
    assert_eq!(ids(&runtime), "personal/x user disabled\npersonal-agents/x user disabled\n");
    assert_eq!(runtime.list_skills().len(), 0);
    let error = runtime.activate_skill("x").unwrap_err();
    assert_eq!(error.code(), "permission-denied");
    assert!(error.hint().unwrap().contains("openskills enable personal/x"), "{error}");
    assert_eq!(runtime.activate_skill("personal/x").unwrap_err().code(), "permission-denied");
    // Another process sees the same.
    let mut other = world.discover();
    assert_eq!(ids(&other), ids(&runtime));
    assert!(other.enable_skill("x").unwrap());
    assert_eq!(ids(&other), "personal/x user\npersonal-agents/x user < personal/x\n");
    assert_eq!(other.disable_skill("y").unwrap_err().code(), "skill-not-found");
    assert_eq!(other.enable_skill("y").unwrap_err().code(), "skill-not-found");
}

#[test]
fn one_of_several_skills_can_be_enabled() {
    let places = ["home/.agents/skills/x", "home/.claude/skills/x", "work/.claude/skills/x"];
    let world = World::new(&places.map(|place| skill(place, "x")).concat());
    let mut runtime = world.discover();
    runtime.disable_skill("x").unwrap();
    assert!(runtime.enable_skill("personal-agents/x").unwrap());
    expect![[r#"
        personal/x user disabled
        personal-agents/x user
        project/x third_party disabled
    "#]]
    .assert_eq(&ids(&runtime));
    assert!(!runtime.enable_skill("personal-agents/x").unwrap(), "it already was");
}

#[test]
fn hints_cannot_inject_commands() {
    let world = World::new("");
    world
        .add("//- /home/.claude/skills/x/SKILL.md\n---\nname: 'x; touch y'\ndescription: d\n---\n");
    world
        .add("//- /home/.agents/skills/x/SKILL.md\n---\nname: 'x; touch y'\ndescription: d\n---\n");
    let mut runtime = world.discover();
    let hints: Vec<String> =
        runtime.problems().iter().filter_map(|problem| problem.hint.clone()).collect();
    assert!(
        hints.iter().any(|hint| hint.contains("openskills where personal-agents/x-touch-y")),
        "{hints:?}"
    );
    runtime.disable_skill("x; touch y").unwrap();
    let hint = runtime.activate_skill("x; touch y").unwrap_err().hint().unwrap();
    assert_eq!(hint, "the user can run `openskills enable personal/x-touch-y`");
}

#[test]
fn folders_with_the_same_name_in_one_root_have_different_ids() {
    let world = World::new(&[skill("s/a", "x"), skill("s/b", "x"), skill("s/c", "X")].concat());
    expect![[r#"
        s/x user
        s/x~2 user < s/x
        s/x~3 user < s/x
    "#]]
    .assert_eq(&ids(&world.discover_in("s")));
}

#[test]
fn only_the_administrators_folder_counts_as_the_organizations() {
    let world = World::new(&skill("org/policy", "policy"));
    let is_root = fs::metadata(world.path("org"))
        .map(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0)
        .unwrap();
    let expected = if is_root { "org/policy org\n" } else { "" };
    assert_eq!(ids(&world.discover()), expected);
    fs::set_permissions(world.path("org"), fs::Permissions::from_mode(0o777)).unwrap();
    let runtime = world.discover();
    assert_eq!(ids(&runtime), "");
    assert!(problems(&world, &runtime).contains("writable by others"));
}

#[test]
fn a_configured_folder_must_exist() {
    let world = World::new("");
    let runtime = world.discover_in("none");
    assert_eq!(
        problems(&world, &runtime),
        "error path-not-found: [ROOT]/none: no such file or folder\n"
    );
}
