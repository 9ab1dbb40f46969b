//! Watching: changes are detected as they happen and reported together.

use std::fs;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use openskills_runtime::{Event, OpenSkillRuntime, WatchUpdate};

use crate::{World, skill};

/// Watches while running `steps`, each after the previous one was reported; returns the reports.
fn watch(world: &World, steps: &[&dyn Fn(&World)]) -> Vec<Vec<String>> {
    let mut runtime = OpenSkillRuntime::with_config(world.config());
    let mut reports: Vec<Vec<String>> = Vec::new();
    let started = Instant::now();
    runtime
        .watch(|_, watching| {
            assert!(started.elapsed() < Duration::from_secs(30), "{reports:?}");
            let WatchUpdate::Changed(events) = watching else { return ControlFlow::Continue(()) };
            let lines: Vec<String> = events
                .iter()
                .map(|event| match event {
                    Event::Discovered { skill_id, change, .. } => format!("{skill_id} {change:?}"),
                    Event::Removed { skill_id, .. } => format!("{skill_id} Removed"),
                    other => panic!("{other:?}"),
                })
                .collect();
            // The first call reports the initial discovery; later empty ones are for irrelevant changes.
            if reports.is_empty() || !lines.is_empty() {
                reports.push(lines);
                match steps.get(reports.len() - 1) {
                    Some(step) => step(world),
                    None => return ControlFlow::Break(()),
                }
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    reports
}

#[test]
fn added_changed_and_removed_skills_are_reported() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    let reports = watch(
        &world,
        &[
            &|world| world.add(&skill("home/.claude/skills/y", "y")),
            &|world| {
                let text = "---\nname: x\ndescription: other\n---\n";
                fs::write(world.path("home/.claude/skills/x/SKILL.md"), text).unwrap();
            },
            &|world| fs::remove_dir_all(world.path("home/.claude/skills/y")).unwrap(),
            // A root that did not exist when watching started.
            &|world| world.add(&skill("work/.agents/skills/z", "z")),
            &|world| world.add(&skill("work/packages/a/.claude/skills/n", "n")),
            // A file next to SKILL.md also makes a new version.
            &|world| world.add("//- /home/.claude/skills/x/scripts/run.sh\nx\n"),
            // A truncated configuration stops nothing; a complete one takes effect.
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
        reports,
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
fn a_replaced_root_stays_watched() {
    let world = World::new(&skill("work/.claude/skills/one", "one"));
    let reports = watch(
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
        reports,
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
fn only_followed_symlinks_are_watched() {
    let world = World::new(&[skill("team/pdf", "pdf"), skill("outside/secret", "secret")].concat());
    world.link("../../../team", "home/.claude/skills/team");
    world.link("../../../outside", "work/.claude/skills/out");
    // Following symlinks that point to each other would never end.
    for one in 0..10 {
        for other in (0..10).filter(|other| *other != one) {
            world.link(&format!("../f{other}"), &format!("work/m/f{one}/l{other}"));
        }
    }
    world.link("../../m", "work/.claude/skills/m");
    let reports = watch(&world, &[&|world| world.add(&skill("team/new", "new"))]);
    assert_eq!(reports, [vec!["personal/pdf New"], vec!["personal/new New"]]);
}

#[test]
fn many_changes_are_reported_together() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    let reports = watch(
        &world,
        &[&|world| {
            for number in 0..50 {
                world.add(&skill(&format!("home/.claude/skills/s{number}"), &format!("s{number}")));
            }
        }],
    );
    assert_eq!(reports.len(), 2, "{reports:?}");
    assert_eq!(reports[1].len(), 50);
}

/// Git operations in a skill's repository do not change the skill.
#[test]
fn changes_in_a_skills_git_repository_are_not_reported() {
    let world = World::new(&skill("home/.claude/skills/x", "x"));
    world.add("//- /home/.claude/skills/x/.git/HEAD\nx\n");
    let reports = watch(
        &world,
        &[&|world| {
            world.add("//- /home/.claude/skills/x/.git/FETCH_HEAD\nx\n");
            world.add(&skill("home/.claude/skills/y", "y"));
        }],
    );
    assert_eq!(reports, [vec!["personal/x New"], vec!["personal/y New"]]);
}
