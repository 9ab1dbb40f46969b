//! Changes are noticed as they happen, and told together.

use std::fs;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use openskills_runtime::{Event, OpenSkillRuntime, Watching};

use crate::{World, skill};

/// Watches, does `steps` one after the other, each when the one before was told, and returns what was told.
fn watch(world: &World, steps: &[&dyn Fn(&World)]) -> Vec<Vec<String>> {
    let mut runtime = OpenSkillRuntime::with_config(world.config());
    let mut told: Vec<Vec<String>> = Vec::new();
    let started = Instant::now();
    runtime
        .watch(|_, watching| {
            assert!(started.elapsed() < Duration::from_secs(30), "{told:?}");
            let Watching::News(events) = watching else { return ControlFlow::Continue(()) };
            let lines: Vec<String> = events
                .iter()
                .map(|event| match event {
                    Event::Discovered { skill_id, change, .. } => format!("{skill_id} {change:?}"),
                    Event::Removed { skill_id, .. } => format!("{skill_id} Removed"),
                    other => panic!("{other:?}"),
                })
                .collect();
            // The first call is for what is there; later ones without news are for changes that mean nothing.
            if told.is_empty() || !lines.is_empty() {
                told.push(lines);
                match steps.get(told.len() - 1) {
                    Some(step) => step(world),
                    None => return ControlFlow::Break(()),
                }
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    told
}

#[test]
fn skills_that_come_change_and_go_are_told() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    let told = watch(
        &world,
        &[
            &|world| world.add(&skill("home/.claude/skills/y", "y")),
            &|world| {
                let text = "---\nname: x\ndescription: other\n---\n";
                fs::write(world.path("home/.claude/skills/x/SKILL.md"), text).unwrap();
            },
            &|world| fs::remove_dir_all(world.path("home/.claude/skills/y")).unwrap(),
            // A place that was not there when the watch began.
            &|world| world.add(&skill("work/.agents/skills/z", "z")),
            &|world| world.add(&skill("work/packages/a/.claude/skills/n", "n")),
            // A file beside a SKILL.md makes another version, too.
            &|world| world.add("//- /home/.claude/skills/x/scripts/run.sh\nx\n"),
            // Half a configuration stops nothing, a whole one is heard.
            &|world| {
                world.add("//- /home/.config/openskills/config.json\n{\n");
                world.add(&skill("team/t", "t"));
                let path = world.root().join("team");
                let config = format!(
                    r#"{{"schema_version": 1, "directories": {{"team": {{"path": "{path}"}}}}}}"#
                );
                std::thread::sleep(Duration::from_millis(600));
                fs::write(world.path("home/.config/openskills/config.json"), config).unwrap();
            },
        ],
    );
    assert_eq!(
        told,
        [
            vec!["personal/x New"],
            vec!["personal/y New"],
            vec!["personal/x Changed"],
            vec!["personal/y Removed"],
            vec!["project-agents/z New"],
            vec!["nested-packages/a/n New"],
            vec!["personal/x Changed"],
            vec!["team/t New"],
        ]
    );
}

#[test]
fn a_root_that_is_replaced_is_watched_on() {
    let world = World::new(&skill("work/.claude/skills/one", "one"));
    let told = watch(
        &world,
        &[
            &|world| {
                fs::remove_dir_all(world.path("work/.claude/skills")).unwrap();
                world.add(&skill("work/.claude/skills/two", "two"));
            },
            &|world| world.add(&skill("work/.claude/skills/three", "three")),
            &|world| {
                fs::rename(world.path("work/.claude"), world.path("work/.old")).unwrap();
                world.add(&skill("work/.claude/skills/four", "four"));
            },
            &|world| fs::remove_dir_all(world.path("work/.claude/skills/four")).unwrap(),
        ],
    );
    assert_eq!(
        told,
        [
            vec!["project/one New"],
            vec!["project/two New", "project/one Removed"],
            vec!["project/three New"],
            vec!["project/four New", "project/three Removed", "project/two Removed"],
            vec!["project/four Removed"],
        ]
    );
}

#[test]
fn links_are_watched_only_where_they_were_followed() {
    let world = World::new(&[skill("team/pdf", "pdf"), skill("outside/secret", "secret")].concat());
    world.link("../../../team", "home/.claude/skills/team");
    world.link("../../../outside", "work/.claude/skills/out");
    // Links that lead to each other in every order would never end if they were followed.
    for one in 0..10 {
        for other in (0..10).filter(|other| *other != one) {
            world.link(&format!("../f{other}"), &format!("work/m/f{one}/l{other}"));
        }
    }
    world.link("../../m", "work/.claude/skills/m");
    let told = watch(&world, &[&|world| world.add(&skill("team/new", "new"))]);
    assert_eq!(told, [vec!["personal/pdf New"], vec!["personal/new New"]]);
}

#[test]
fn many_changes_at_once_are_told_together() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    let told = watch(
        &world,
        &[&|world| {
            for number in 0..50 {
                world.add(&skill(&format!("home/.claude/skills/s{number}"), &format!("s{number}")));
            }
        }],
    );
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[1].len(), 50);
}

/// What git does in the repository of a skill is no other version of the skill.
#[test]
fn a_change_in_the_repository_of_a_skill_is_not_told() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    world.add("//- /home/.claude/skills/x/.git/HEAD\nx\n");
    let told = watch(
        &world,
        &[&|world| {
            world.add("//- /home/.claude/skills/x/.git/FETCH_HEAD\nx\n");
            world.add(&skill("home/.claude/skills/y", "y"));
        }],
    );
    assert_eq!(told, [vec!["personal/x New"], vec!["personal/y New"]]);
}
