use std::os::unix::fs::symlink;

use skill_fs::{FindLimits, FsError, Root, SkillFile, find_skills};
use testkit::TestEnv;

use crate::abs;

fn found(env: &TestEnv, path: &str, limits: FindLimits) -> (Vec<String>, Vec<FsError>) {
    let root = abs(env.path(path));
    let found = find_skills(Root::open(&root).unwrap(), &limits, |skill| {
        let name = skill.root.path().as_str().strip_prefix(root.as_str()).unwrap().to_owned();
        if skill.file == SkillFile::Standard {
            name
        } else {
            format!("{name} ({})", skill.file.path().unwrap())
        }
    });
    (found.skills, found.problems)
}

#[test]
fn skills_are_found_anywhere_and_in_order() {
    let env = TestEnv::with(
        "//- /r/SKILL.md\n//- /r/b/SKILL.md\n//- /r/a/x/skill.md\n//- /r/a/Skill.md\n//- /r/.hidden/SKILL.md\n\
         //- /r/b/nested/SKILL.md\n//- /r/c/readme.md\n",
    );
    let (skills, problems) = found(&env, "r", FindLimits::SEARCH);
    assert_eq!(skills, ["", "/.hidden", "/a (Skill.md)", "/a/x (skill.md)", "/b", "/b/nested"]);
    assert!(problems.is_empty());
}

#[test]
fn templates_dependencies_and_symlinks_are_not_searched() {
    let env = TestEnv::with(
        "//- /r/s/SKILL.md\n//- /r/s/templates/SKILL.md\n//- /r/s/assets/deep/SKILL.md\n//- /r/node_modules/x/SKILL.md\n\
         //- /r/.git/x/SKILL.md\n//- /r/templates/x/SKILL.md\n//- /elsewhere/deep/x/SKILL.md\n",
    );
    symlink("../elsewhere/deep", env.path("r/link")).unwrap();
    symlink("..", env.path("r/loop")).unwrap();
    let (skills, problems) = found(&env, "r", FindLimits::SEARCH);
    assert_eq!(skills, ["/s", "/templates/x"]);
    assert!(problems.is_empty());
}

#[test]
fn a_limit_is_reported_and_the_rest_is_still_found() {
    let env = TestEnv::with("//- /r/a/SKILL.md\n//- /r/1/2/3/SKILL.md\n");
    let (skills, problems) = found(&env, "r", FindLimits { depth: 3, ..FindLimits::SEARCH });
    assert_eq!(skills, ["/a"]);
    assert!(
        matches!(&problems[..], [FsError::Limit { what: "nested folder levels", limit: 3, .. }]),
        "{problems:?}"
    );
    let (_, problems) = found(&env, "r", FindLimits { folders: 2, ..FindLimits::SEARCH });
    assert!(
        matches!(&problems[..], [FsError::Limit { what: "folders", limit: 2, .. }]),
        "{problems:?}"
    );
}

#[test]
fn each_of_a_thousand_skills_is_found_once() {
    let env = TestEnv::new();
    let expected: Vec<String> =
        (0..1000).map(|number| format!("/g{}/s{number:04}", number % 7)).collect();
    expected.iter().for_each(|name| env.write(&format!("r{name}/SKILL.md"), b""));
    let mut sorted = expected.clone();
    sorted.sort();
    assert_eq!(found(&env, "r", FindLimits::SEARCH).0, sorted);
}
