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
        stdout: Runtime for Agent Skills: find, load, check, approve and run them in a sandbox
        stdout:
        stdout: Usage: openskills [OPTIONS] <COMMAND>
        stdout:
        stdout: Commands:
        stdout:   discover     Find skills, and report each problem with its file and a fix
        stdout:   list         List available skills
        stdout:   search       Search skill names, descriptions and instructions
        stdout:   where        Show which skill a name refers to, why, and what it shadows
        stdout:   prompt       Print the list of available skills for a system prompt
        stdout:   activate     Print a skill's instructions, as the model sees them
        stdout:   deactivate   Deactivate a skill in a session, lifting its tool restrictions
        stdout:   read         Print a file from a skill
        stdout:   files        List a skill's files
        stdout:   check-tool   Check whether the active skills allow a tool call
        stdout:   run          Run a skill's script or module in the sandbox (alias: `execute`)
        stdout:   exec         Run a command line in the sandbox, restricted to what the active skills may do
        stdout:   conflicts    List or resolve conflicts between a command's changes and the project
        stdout:   hook         Restrict an agent's tool calls while a skill is active
        stdout:   undo         Undo the changes that the last run applied to a workspace
        stdout:   sandbox      Check what the sandbox on this machine can enforce
        stdout:   approve      Allow the current version of a skill to run its scripts
        stdout:   approvals    List and revoke approvals
        stdout:   enable       Enable disabled skills
        stdout:   disable      Disable skills
        stdout:   trust        Trust a folder, so that its skills count as your own
        stdout:   log          Show, verify and export the log of what skills did
        stdout:   replay       Compare the skills recorded in a log with the current ones
        stdout:   new          Create a new skill from a template
        stdout:   validate     Check skills against the Agent Skills standard
        stdout:   cache        Show or clear the caches
        stdout:   mcp          Serve skills over MCP, and use skills from other MCP servers
        stdout:   migrate      Convert a skill to the corteza.skill/v1 format or to Claude Code's format
        stdout:   skillify     Generate a skill from an R, Python, Rust or npm package
        stdout:   pack         Pack a skill as a ZIP file
        stdout:   install      Install a skill from a folder or an archive
        stdout:   remove       Remove an installed skill
        stdout:   test         Run a skill's own tests in the sandbox
        stdout:   show         Show a skill's properties, digests and files
        stdout:   man          Write manual pages to a folder
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
        stdout:   -q, --quiet         Print only results, warnings and errors; no progress, notes or summaries [env:
        stdout:                       OPENSKILLS_QUIET]
        stdout:
        stdout: Files:
        stdout:   ~/.config/openskills/config.json  additional skill folders
        stdout:   ~/.local/state/openskills/        trusted folders, approvals, disabled skills, the log
        stdout:   /etc/openskills/policy.json       your organization's policy
        stdout:   ~/.local/share/openskills/skills  skills installed for your user account
        stdout:   ~/.cache/openskills/              index and compiled modules; clear with `openskills cache clear`
        stdout:
        stdout: Environment:
        stdout:   OPENSKILLS_PROJECT  same as --project
        stdout:   OPENSKILLS_SESSION  same as --session
        stdout:   OPENSKILLS_COLOR    same as --color; NO_COLOR disables color
        stdout:   OPENSKILLS_QUIET    same as --quiet
        stdout:   OPENSKILLS_<FLAG>   same as the flag of that name; each command's help lists the ones it supports
        stdout:   XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME, XDG_CACHE_HOME
        stdout:                       override the default locations above
        stdout:   CLAUDE_CONFIG_DIR   overrides ~/.claude
        stdout:
        stdout: Exit codes:
        stdout:   0      done
        stdout:   1      a skill is invalid, cannot be loaded, or changed while the command ran; or an MCP server
        stdout:          failed
        stdout:   2      usage or configuration error
        stdout:   3      no such skill, file or MCP server
        stdout:   4      not allowed, or you declined
        stdout:   5      approval or confirmation is required
        stdout:   6      the log cannot be read or written, or has been altered
        stdout:   10     `check-tool --hook --enforce`: the answer is complete
        stdout:   78     the sandbox cannot provide a required guarantee; nothing was started
        stdout:   124    `run`, `exec`: the script or command timed out
        stdout:   125    `run`, `exec`: the script or command was not started, or its changes could not be applied
        stdout:          to the workspace
        stdout:   134    `run`: a WebAssembly module trapped
        stdout:   137    `run`, `exec`: the script exceeded its memory or output limit, or was killed
        stdout:   141    the reader closed the output pipe
        stdout:   129, 130, 143
        stdout:          `run`, `exec`, `test`, `mcp`: openskills received HUP, INT or TERM
        stdout:   other  `run`, `exec`: the exit code of the script or command
        stdout:
        stdout: Run `openskills <command> --help` to see its exit codes, examples, and what it reads and writes.
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
fn usage_errors_exit_with_2_and_an_explanation() {
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
fn color_is_used_only_if_requested() {
    let env = TestEnv::with(SKILLS);
    assert!(!openskills(&env, "validate skills/csv").stderr.contains('\u{1b}'));
    assert!(openskills(&env, "validate skills/csv --color always").stderr.contains("\u{1b}[1m"));
    let env = env.var("OPENSKILLS_COLOR", "always");
    assert!(openskills(&env, "validate skills/csv").stderr.contains("\u{1b}[1m"));
}

#[test]
fn settings_are_read_from_nonempty_environment_variables() {
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
fn no_color_takes_precedence_on_a_terminal() {
    let env = TestEnv::with(SKILLS);
    let program = env!("CARGO_BIN_EXE_openskills");
    let on_terminal = |before: &str| {
        let call = format!("{before} {program} validate skills/csv");
        env.run_args("script", &["-qec", &call, "/dev/null"])
    };
    if env.run("script", "--version").code != Some(0) {
        return testkit::skip(
            "no_color_takes_precedence_on_a_terminal",
            "there is no `script` to make a terminal",
        );
    }
    assert!(on_terminal("env").stdout.contains("\u{1b}[1m"));
    assert!(!on_terminal("env NO_COLOR=1").stdout.contains('\u{1b}'));
    assert!(!on_terminal("env TERM=dumb").stdout.contains('\u{1b}'));
}

#[test]
fn a_closed_pipe_causes_no_error_message() {
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
