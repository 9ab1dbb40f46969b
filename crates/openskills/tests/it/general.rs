use std::io::Read;
use std::process::Stdio;

use expect_test::expect;
use testkit::TestEnv;

use crate::{SKILLS, openskills};

#[test]
fn the_version_is_one_line() {
    let run = openskills(&TestEnv::new(), "--version");
    assert_eq!(
        run.transcript(),
        format!("exit 0\nstdout: openskills {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn help_lists_every_command() {
    expect![[r#"
        exit 0
        stdout: Agent Skills: find, disclose, activate, read and check folders with a SKILL.md
        stdout:
        stdout: Usage: openskills [OPTIONS] <COMMAND>
        stdout:
        stdout: Commands:
        stdout:   discover     Look for skills, and show every problem with its file and what to do
        stdout:   list         List the skills there are
        stdout:   search       Find skills by words in their names, descriptions and instructions
        stdout:   where        Show which skill a name means, why, and what it shadows
        stdout:   prompt       Write the block that tells a model which skills there are
        stdout:   activate     Print the instructions of a skill
        stdout:   deactivate   End what is active of a skill in a session
        stdout:   read         Print a file of a skill
        stdout:   files        List the files of a skill
        stdout:   check-tool   Decide whether a tool may be called
        stdout:   run          Run a script or module of a skill in the sandbox; `execute` is the same
        stdout:   undo         Take back what the last run committed to a workspace
        stdout:   sandbox      Look at the sandbox of this machine
        stdout:   approve      Let scripts of a skill run, as it is now
        stdout:   approvals    Show what was approved, and take it back
        stdout:   enable       Switch skills on again
        stdout:   disable      Switch skills off
        stdout:   trust        Trust a folder: its skills count as yours
        stdout:   log          Show, check and export the record of what skills did
        stdout:   replay       Compare what a log tells of with today's skills
        stdout:   new          Make the beginnings of a skill
        stdout:   validate     Check skills against the Agent Skills standard
        stdout:   cache        Show or clear what is kept to be faster
        stdout:   mcp          Serve skills to clients of the Model Context Protocol, and use those of its servers
        stdout:   migrate      Turn a skill into corteza.skill/v1, or back
        stdout:   skillify     Derive a bundle from an R, Python, Rust or npm package
        stdout:   pack         Pack a skill as a ZIP file
        stdout:   install      Install a skill from a folder or an archive
        stdout:   remove       Remove a skill that was installed
        stdout:   test         Run the tests that a skill brings
        stdout:   show         Show all properties of a skill, its digests and its files
        stdout:   man          Write manual pages into a folder
        stdout:   completions  Print a completion script for a shell
        stdout:   help         Print this message or the help of the given subcommand(s)
        stdout:
        stdout: Options:
        stdout:   -h, --help     Print help
        stdout:   -V, --version  Print version
        stdout:
        stdout: Global options:
        stdout:       --color <WHEN>  When to use color; `auto` means on a terminal, unless NO_COLOR is set [env:
        stdout:                       OPENSKILLS_COLOR] [default: auto] [possible values: auto, always, never]
        stdout:   -q, --quiet         Write only data, warnings and errors [env: OPENSKILLS_QUIET]
        stdout:
        stdout: Files:
        stdout:   ~/.config/openskills/config.json  more folders of skills, named once for all
        stdout:   ~/.local/state/openskills/        trusted folders, approvals, what is switched off, the log
        stdout:   /etc/openskills/policy.json       what the organisation forbids
        stdout:   ~/.local/share/openskills/skills  skills installed for the user
        stdout:   ~/.cache/openskills/              the index and compiled modules; `openskills cache` clears it
        stdout:
        stdout: Environment:
        stdout:   OPENSKILLS_PROJECT  as --project
        stdout:   OPENSKILLS_SESSION  as --session
        stdout:   OPENSKILLS_COLOR    as --color; NO_COLOR turns color off
        stdout:   OPENSKILLS_QUIET    as --quiet
        stdout:   OPENSKILLS_<FLAG>   as other flags that say how; the help of a command names them
        stdout:   XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME, XDG_CACHE_HOME
        stdout:                       instead of the folders in the home
        stdout:   CLAUDE_CONFIG_DIR   instead of ~/.claude
        stdout:
        stdout: Exit codes:
        stdout:   0      done
        stdout:   1      a skill is invalid, cannot be loaded or has changed meanwhile; an MCP server fails
        stdout:   2      the call or the configuration is wrong
        stdout:   3      there is no such skill, file or MCP server
        stdout:   4      it is not allowed, or the answer is no
        stdout:   5      approval or confirmation is required
        stdout:   6      the log cannot be read or written, or is not what was written
        stdout:   78     the sandbox cannot provide a required guarantee; nothing was started
        stdout:   124    `run`: the script took too long
        stdout:   125    `run`: the script was not started, or its changes were not applied to the workspace
        stdout:   134    `run`: a WebAssembly module trapped
        stdout:   137    `run`: the script used too much memory, wrote too much, or was killed
        stdout:   141    the reader of the output went away
        stdout:   129, 130, 143
        stdout:          `run`, `test`, `mcp`: openskills got HUP, INT or TERM
        stdout:   other  `run`: the script's own exit code
        stdout:
        stdout: Run `openskills <command> --help` for what a command reads and writes, its exit codes and examples.
    "#]].assert_eq(&openskills(&TestEnv::new(), "--help").transcript());
}

#[test]
fn every_command_documents_files_exit_codes_and_examples() {
    let commands = [
        "discover",
        "check-tool",
        "list",
        "search",
        "where",
        "prompt",
        "activate",
        "read",
        "files",
        "enable",
        "disable",
        "trust",
        "validate",
        "show",
    ];
    for command in commands {
        let run = openskills(&TestEnv::new(), &format!("{command} --help"));
        assert_eq!(run.code, Some(0));
        for part in
            ["Usage:", "Reads", "Exit codes:", "Examples:", &format!("openskills {command} ")]
        {
            assert!(run.stdout.contains(part), "{command}: {part}");
        }
    }
}

#[test]
fn a_wrong_call_is_exit_2_with_advice() {
    let env = TestEnv::new();
    for (arguments, said) in [
        ("", "Usage: openskills"),
        ("valdate", "subcommand exists: 'validate'"),
        ("validate --jsno", "a similar argument exists: '--json'"),
        ("validate --json --sarif", "cannot be used with"),
        ("activate", "required arguments were not provided"),
        ("prompt . --dir x", "cannot be used with"),
        ("prompt --recursive", "required arguments were not provided"),
        ("prompt . --format yaml", "possible values: xml, markdown, json"),
    ] {
        let run = openskills(&env, arguments);
        assert_eq!(run.code, Some(2), "{arguments}");
        assert!(run.stderr.contains(said), "{arguments}: {}", run.stderr);
        // Where data is asked for, failures are data as well.
        assert_eq!(
            run.stdout.contains("\"usage\""),
            arguments.contains("--json "),
            "{}",
            run.stdout
        );
        assert_eq!(run.stdout.is_empty(), !arguments.contains("--json "));
    }
}

#[test]
fn color_is_used_when_asked_and_not_otherwise() {
    let env = TestEnv::with(SKILLS);
    assert!(!openskills(&env, "validate skills/csv").stderr.contains('\u{1b}'));
    assert!(openskills(&env, "validate skills/csv --color always").stderr.contains("\u{1b}[1m"));
    let env = env.var("OPENSKILLS_COLOR", "always");
    assert!(openskills(&env, "validate skills/csv").stderr.contains("\u{1b}[1m"));
}

#[test]
fn settings_come_from_the_environment_and_an_empty_one_is_none() {
    let skill = "//- /s/SKILL.md\n---\nname: s\ndescription: d\n---\n[a](no.md)\n";
    let with = |name: &str, value: &str| TestEnv::with(skill).var(name, value);
    let plain = openskills(&TestEnv::with(skill), "validate s");
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    for (value, code) in [("1", 1), ("true", 1), ("0", 0), ("false", 0), ("", 0)] {
        let run = openskills(&with("OPENSKILLS_STRICT_WARNINGS", value), "validate s");
        assert_eq!(run.code, Some(code), "{value}: {}", run.stderr);
    }
    for name in ["OPENSKILLS_COLOR", "OPENSKILLS_PROJECT", "OPENSKILLS_SESSION"] {
        let run = openskills(&with(name, ""), "list");
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
    }
    let run = openskills(&with("OPENSKILLS_BUDGET", "1"), "prompt s");
    assert!(run.code == Some(2) && run.stderr.contains("budget of 1"), "{}", run.stderr);
    let run = openskills(&with("OPENSKILLS_BUDGET", "1"), "prompt s --budget 4000");
    assert_eq!(run.code, Some(0), "the call comes first: {}", run.stderr);
    // Paths are what they are in any project, and commands below `mcp` take no settings of the server.
    assert_eq!(openskills(&with("OPENSKILLS_PROJECT", "."), "prompt s").code, Some(0));
    assert_eq!(openskills(&with("OPENSKILLS_TOOL_NAMES", "underscore"), "mcp list").code, Some(0));
    assert_eq!(
        openskills(&with("OPENSKILLS_NO_NET", "0"), "approve s --dir . --net a.example --yes").code,
        Some(0)
    );
    let help = openskills(&TestEnv::new(), "run --help").stdout;
    assert!(help.contains("[env: OPENSKILLS_TIMEOUT]"), "{help}");
    // What the user agrees to is said in the call.
    for consent in ["YES", "NET", "APPROVE_ONCE", "DIRECT_WRITES", "DELETIONS", "ALLOW_DEGRADED"] {
        assert!(!help.contains(&format!("OPENSKILLS_{consent}")), "{help}");
    }
}

#[test]
fn no_color_wins_on_a_terminal() {
    let env = TestEnv::with(SKILLS);
    let program = env!("CARGO_BIN_EXE_openskills");
    let on_terminal = |before: &str| {
        let call = format!("{before} {program} validate skills/csv");
        env.run_args("script", &["-qec", &call, "/dev/null"])
    };
    if env.run("script", "--version").code != Some(0) {
        return testkit::skip(
            "no_color_wins_on_a_terminal",
            "there is no `script` to make a terminal",
        );
    }
    assert!(on_terminal("env").stdout.contains("\u{1b}[1m"));
    assert!(!on_terminal("env NO_COLOR=1").stdout.contains('\u{1b}'));
    assert!(!on_terminal("env TERM=dumb").stdout.contains('\u{1b}'));
}

#[test]
fn a_reader_that_goes_away_makes_no_noise() {
    let env = TestEnv::new();
    for number in 0..3000 {
        env.write(
            &format!("s/skill-{number:04}/SKILL.md"),
            format!("---\nname: skill-{number:04}\ndescription: d\n---\nB.\n").as_bytes(),
        );
    }
    let mut command = env.command(env!("CARGO_BIN_EXE_openskills"), &["validate", "-r", "s"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 12];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"Valid skill:");
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(141));
}
