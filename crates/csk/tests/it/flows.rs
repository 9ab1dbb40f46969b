//! The main flow of every command: whole outputs, in `flows.txt` beside this file.

use expect_test::expect_file;
use testkit::stable;

use crate::{SKILL, World};

const REVIEW: &str = "\
//- /SKILL.md
---
name: review
description: Lists open reviews.
---
Run `reviews`.
//- /csk-skill.json
{\"schema_version\": 3, \"runtime_roots\": [\"scripts\"],
 \"commands\": {\"reviews\": {\"type\": \"script\", \"unix_path\": \"scripts/reviews\"}},
 \"capabilities\": {\"network\": \"none\", \"filesystem\": \"repo\", \"exec\": \"none\"}}
//- /scripts/reviews
#!/bin/sh
echo nothing to review
";

/// Commands in the order in which a user would type them. Lines that start with `!` are run by a shell.
const FLOW: &str = "\
bootstrap --skills-root skills --agents claude_code,codex_cli --shell-hook skip --force
project add app app
init app
add pdf --tag v1 --project app
add review --tag v1 --project app
show review
show review --json
find reviews
install app
install app
list
list --paths
status app
status app --json
why reviews
lock --project app
install app --locked
verify app
outdated app
exec --project app -- reviews
audit
audit review@v1
audit --explain DEL-01
audit list
audit verify
skill check skills/review
!printf 'changed\\n' >> app/.agents/skills/pdf/SKILL.md
status app
diff --local --project app
doctor app
install app
!cd skills/pdf && printf 'new\\n' >> SKILL.md && git -c user.name=t -c user.email=t@t commit -qam new && git tag v2
outdated app
diff --project app --to v2 pdf
update
add pdf --tag v2 --project app
upgrade app
remove review --project app
gc
global init
global add pdf --tag v2
global install
global list
global status
global update
global upgrade
global remove pdf
project resolve app
config show
cache dir
cache size
cache clean
shell-init bash
import --project app
project remove app
";

#[test]
fn the_main_flow_of_every_command() {
    let world = World::bare();
    world.repo("pdf", SKILL).git("tag v1");
    let review = world.repo("review", REVIEW);
    std::fs::set_permissions(
        review.path().join("scripts/reviews"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    review.commit("");
    review.git("tag v1");
    let mut all = String::new();
    for line in FLOW.lines() {
        match line.strip_prefix('!') {
            Some(call) => {
                let run = world.env.run_args("sh", &["-c", call]);
                assert_eq!(run.code, Some(0), "{call}: {}", run.stderr);
                all += &format!("$ {call}\n\n");
            }
            None => {
                let text = stable(&world.csk(line).transcript());
                // The hash depends on the temporary folder.
                let text = text.lines().map(|line| match line.split_once("path_hash: ") {
                    Some((start, _)) => format!("{start}path_hash: HASH\n"),
                    None => format!("{line}\n"),
                });
                all += &format!("$ csk {line}\n{}\n", text.collect::<String>());
            }
        }
    }
    expect_file!["./flows.txt"].assert_eq(&all);
}
