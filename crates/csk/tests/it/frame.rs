//! What all commands have in common: help and error output. Complete outputs are in files next to this one.

use expect_test::expect_file;
use testkit::whole_help;

use crate::World;

#[test]
fn the_help_of_every_command() {
    let world = World::bare();
    expect_file!["./help.txt"].assert_eq(&whole_help(&|arguments| world.csk(arguments)));
}

#[test]
fn common_failures_as_text_and_json() {
    let world = World::new();
    world.env.write("home.json", b"{");
    world.env.write("broken/SKILL.md", b"no frontmatter\n");
    world.env.write("file", b"x");
    let mut all = String::new();
    for call in [
        "instal",
        "install nosuch",
        "install --jsno",
        "status ap",
        "add",
        "diff nosuch",
        "audit nosuch",
        "audit pfd",
        "audit --explain DEL-99",
        "audit list extra",
        "skill check nosuch",
        "project resolve /",
        "outdated nosuch",
        "exec -- no-such-command",
        "man file",
    ] {
        all += &format!("=== {call}\n{}\n", world.csk(call).transcript());
        if !call.starts_with("exec") && !call.starts_with("man") {
            let call = format!("{call} --json");
            all += &format!("=== {call}\n{}\n", world.csk(&call).transcript());
        }
    }
    world.skillfile("nonsense");
    all += &format!("=== status app (malformed)\n{}\n", world.csk("status app").transcript());
    all += &format!(
        "=== status app --json (malformed)\n{}\n",
        world.csk("status app --json").transcript()
    );
    expect_file!["./failures.txt"].assert_eq(&all);
}

/// `list` and `verify` are subcommands; a folder with such a name must be given as a path.
#[test]
fn a_folder_named_like_a_subcommand_is_audited_by_its_path() {
    let world = World::new();
    let skill = b"---\nname: list\ndescription: Lists.\n---\nBody.\n";
    world.env.write("list/SKILL.md", skill);
    let run = world.csk("audit ./list");
    assert!(run.code == Some(0) && run.stdout.starts_with("list  PASS"), "{}", run.transcript());
    assert!(!world.csk("audit list").stdout.contains("PASS"));
    assert_eq!(world.csk("audit ./list verify").code, Some(2));
}
