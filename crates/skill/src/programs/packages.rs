//! Package managers: read-only commands are described; everything that installs, builds or runs code is a launcher.

use super::{Command, Commands, Program, Usage};

const SCRIPTS: &str = "runs scripts of the project and its packages";

/// npm accepts any option with one dash or two, and abbreviated, so only these are listed.
const NPM: &str = "--json --depth=NUM -g|--global -a|--all -l|--long --parseable --omit=TEXT";

const NPM_COMMANDS: &[Command] = &[
    Command::described(&["ls", "list", "ll", "la"], &[Usage::new(&[NPM], "TEXT*")]),
    // A URL or `user/name` would be fetched with git and built.
    Command::described(
        &["view", "info", "show", "v"],
        &[Usage::new(&["--json"], "PACKAGE? TEXT*")],
    ),
    Command::described(&["outdated"], &[Usage::new(&[NPM], "TEXT*")]),
    Command::described(&["root", "prefix", "whoami", "ping"], &[Usage::new(&["-g|--global"], "")]),
    Command::described(&["audit"], &[Usage::new(&["--json --omit=TEXT --audit-level=TEXT"], "")]),
    Command::described(&["explain", "why"], &[Usage::new(&["--json"], "TEXT*")]),
    Command::launcher(
        &[
            "run",
            "run-script",
            "rum",
            "urn",
            "test",
            "t",
            "tst",
            "start",
            "stop",
            "restart",
            "exec",
            "x",
            "install",
            "i",
            "in",
            "ins",
            "add",
            "ci",
            "install-test",
            "it",
            "update",
            "up",
            "upgrade",
            "rebuild",
            "rb",
            "init",
            "create",
            "innit",
            "dedupe",
            "ddp",
            "link",
            "ln",
            "pack",
            "publish",
            "explore",
            "edit",
            "prune",
            "uninstall",
            "rm",
            "remove",
            "un",
            "version",
            "config",
            "set",
            "doctor",
            "docs",
            "dlx",
        ],
        SCRIPTS,
    ),
];

const PIP: &[Command] = &[
    Command::described(
        &["list"],
        &[Usage::new(
            &[
                "-o|--outdated -u|--uptodate -e|--editable -l|--local --user --format=TEXT --not-required",
            ],
            "",
        )],
    ),
    Command::described(&["show"], &[Usage::new(&["-f|--files --verbose"], "TEXT*")]),
    Command::described(
        &["freeze"],
        &[Usage::new(&["-l|--local --user --all --exclude-editable"], "")],
    ),
    Command::described(&["check"], &[Usage::new(&[], "")]),
    Command::launcher(
        &["install", "wheel", "download", "uninstall", "config", "cache"],
        "runs the build scripts of packages",
    ),
];

const VERSION: &[Usage] = &[Usage::new(&["-V|--version"], "")];

pub(super) const PROGRAMS: &[Program] = &[
    Program::commands(
        &["npm"],
        "npm CLI documentation 10",
        &Commands {
            options: "",
            commands: NPM_COMMANDS,
            bare: &[Usage::new(&["-v|--version"], "").needs("-v")],
        },
    ),
    Program::commands(
        &["pip", "pip3"],
        "pip documentation 24",
        &Commands { options: "", commands: PIP, bare: VERSION },
    ),
    Program::commands(
        &["uv"],
        "uv reference 0.4",
        &Commands {
            options: "",
            commands: &[
                Command::described(&["version"], &[Usage::new(&[], "")]),
                Command::launcher(
                    &[
                        "run", "sync", "add", "remove", "lock", "pip", "tool", "build", "venv",
                        "python", "init", "export", "tree", "publish", "x",
                    ],
                    "installs packages and runs their code",
                ),
            ],
            bare: &[Usage::new(&["-V|--version"], "").needs("-V")],
        },
    ),
];
