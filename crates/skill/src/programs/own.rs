//! csk and openskills themselves.
//!
//! Commands that change what the user trusts always need approval, whatever a skill allows. Commands that run programs
//! are launchers.

use super::{Command, Commands, Program, ProgramKind, Usage};

const LOOK: &str = "--json --dir=READ --project=READ";

const fn trust(names: &'static [&'static str], how: &'static str) -> Command {
    Command { names, kind: ProgramKind::ChangesTrust(how) }
}

const LOG: &[Usage] = &[Usage::new(
    &[
        "--skill=TEXT --event=TEXT --session=TEXT --since=TEXT --until=TEXT --from=NUM --json -n|--count=NUM -f|--follow",
    ],
    "READ?",
)];

const OPENSKILLS: &[Command] = &[
    Command::described(&["list"], &[Usage::new(&[LOOK, "--all --installed"], "")]),
    Command::described(&["show"], &[Usage::new(&["--json"], "READ?")]),
    Command::described(&["search"], &[Usage::new(&[LOOK, "--all --limit=NUM"], "TEXT*")]),
    Command::described(&["where", "files"], &[Usage::new(&[LOOK], "TEXT")]),
    Command::described(
        &["read"],
        &[Usage::new(&[LOOK, "--nested --max-bytes=NUM --raw --session=TEXT"], "SKILL TEXT")],
    ),
    Command::described(
        &["activate"],
        &[Usage::new(&[LOOK, "--session=TEXT --task=TEXT --again"], "SKILL TEXT*")],
    ),
    Command::described(&["discover"], &[Usage::new(&[LOOK, "--strict -v|--verbose"], "")]),
    Command::described(
        &["prompt"],
        &[Usage::new(
            &[LOOK, "-r|--recursive --format=TEXT --no-location --budget=NUM --instructions"],
            "READ*",
        )],
    ),
    Command::described(
        &["validate"],
        &[Usage::new(&["-r|--recursive --lenient --strict-warnings --json --sarif"], "READ*")],
    ),
    Command::described(
        &["check-tool"],
        &[Usage::new(&[LOOK, "--skill=TEXT --tool=TEXT --input=TEXT --session=TEXT"], "")],
    ),
    Command::commands(
        &["log"],
        &Commands {
            options: "",
            commands: &[
                Command::described(&["show", "stats", "tail"], LOG),
                Command::described(&["verify"], &[Usage::new(&["--json"], "READ?")]),
                trust(&["archive", "export"], "moves or exports the audit log"),
            ],
            bare: &[],
        },
    ),
    Command::commands(
        &["approvals"],
        &Commands {
            options: "",
            commands: &[
                Command::described(&["list"], &[Usage::new(&["--json"], "")]),
                trust(&["revoke"], "revokes approvals"),
            ],
            bare: &[],
        },
    ),
    Command::commands(
        &["mcp"],
        &Commands {
            options: "",
            commands: &[
                Command::described(&["list"], &[Usage::new(&["--json"], "")]),
                trust(
                    &["add", "remove", "sync", "install"],
                    "changes which servers are started and trusted",
                ),
            ],
            bare: &[],
        },
    ),
    Command::commands(
        &["sandbox"],
        &Commands {
            options: "",
            commands: &[Command::described(&["check"], &[Usage::new(&["--json"], "")])],
            bare: &[],
        },
    ),
    Command::commands(
        &["cache"],
        &Commands {
            options: "",
            commands: &[Command::described(&["show"], &[Usage::new(&["--json"], "")])],
            bare: &[],
        },
    ),
    Command::described(&["completions"], &[Usage::new(&[], "TEXT")]),
    Command::launcher(&["run", "test", "replay", "exec"], "runs skill scripts"),
    Command::launcher(
        &["skillify"],
        "runs the program passed to `--summarize`, and reads packages",
    ),
    trust(&["approve"], "approves skills"),
    trust(&["trust"], "trusts folders"),
    trust(&["enable", "disable"], "enables and disables skills"),
    trust(&["install", "remove", "migrate"], "changes which skills are installed"),
    trust(&["hook", "policy", "config", "key", "keys"], "changes the openskills policy"),
];

const CSK: &[Command] = &[
    Command::described(&["status"], &[Usage::new(&["--all --global --check --json"], "READ?")]),
    Command::described(&["list"], &[Usage::new(&["--paths --json"], "")]),
    Command::described(
        &["outdated"],
        &[Usage::new(&["--all --global --current --check --offline --json"], "READ?")],
    ),
    Command::described(
        &["diff"],
        &[Usage::new(
            &["--project=READ --global --to=TEXT --local --all-files --check --json"],
            "TEXT?",
        )],
    ),
    Command::described(&["why"], &[Usage::new(&["--json"], "TEXT")]),
    Command::described(&["verify", "doctor"], &[Usage::new(&["--all --global --json"], "READ?")]),
    Command::described(
        &["audit"],
        &[Usage::new(&["--diff=TEXT,TEXT --explain=TEXT --json --sarif --strict"], "TEXT?")],
    ),
    Command::commands(
        &["config"],
        &Commands {
            options: "",
            commands: &[Command::described(&["show"], &[Usage::new(&["--json"], "")])],
            bare: &[],
        },
    ),
    Command::commands(
        &["cache"],
        &Commands {
            options: "",
            commands: &[Command::described(&["dir", "size"], &[Usage::new(&["--json"], "")])],
            bare: &[],
        },
    ),
    Command::commands(
        &["global"],
        &Commands {
            options: "",
            commands: &[
                Command::described(&["list", "status"], &[Usage::new(&["--check --json"], "")]),
                trust(
                    &["add", "remove", "init", "install", "update", "upgrade"],
                    "changes which skills are installed",
                ),
            ],
            bare: &[],
        },
    ),
    Command::commands(
        &["project"],
        &Commands {
            options: "",
            commands: &[
                Command::described(&["resolve"], &[Usage::new(&["--json"], "READ?")]),
                trust(&["add", "remove"], "changes which projects csk manages"),
            ],
            bare: &[],
        },
    ),
    Command::commands(
        &["skill"],
        &Commands {
            options: "",
            commands: &[Command::described(&["check"], &[Usage::new(&["--json"], "READ")])],
            bare: &[],
        },
    ),
    Command::described(&["completions"], &[Usage::new(&[], "TEXT")]),
    Command::launcher(&["exec"], "runs skill commands"),
    trust(
        &["add", "remove", "install", "update", "upgrade", "import", "lock", "init", "bootstrap"],
        "changes which skills are installed",
    ),
    trust(&["gc", "shell-init"], "changes csk's files and the user's shell"),
];

pub(super) const PROGRAMS: &[Program] = &[
    Program::commands(
        &["openskills"],
        "docs/commands/openskills*.md",
        &Commands {
            options: "",
            commands: OPENSKILLS,
            bare: &[Usage::new(&["-V|--version -h|--help"], "")],
        },
    ),
    Program::commands(
        &["csk"],
        "docs/commands/csk*.md",
        &Commands {
            options: "",
            commands: CSK,
            bare: &[Usage::new(&["-V|--version -h|--help"], "")],
        },
    ),
];
