//! One capability of every kind, from the declaration to the log: declared, parsed, observed by the audit, shown to whoever approves it, granted to
//! the sandbox or refused by it (or decided by policy), and recorded.
//!
//! [`walk`] matches every kind: a new one without a row does not compile.

use std::fs;

use serde_json::{Value, json};
use skill::capabilities::{CapabilityKind, Extent};
use skill_audit::{File, ObservedKind, Report, RuleId, audit};
use testkit::{Run, TestEnv};

use crate::openskills;

/// The way of one kind.
struct Walk {
    /// The skill that declares it.
    declaring: Skill,
    /// The same skill with a declaration that leaves it out.
    lacking: Skill,
    script: (&'static str, &'static str),
    /// How the declaration is shown.
    declared: &'static str,
    /// What of the kind the audit sees the script use; nothing where scripts have no way to use it.
    observed: Option<&'static str>,
    enforced: Enforced,
}

/// Frontmatter and manifest.
#[derive(Clone, Copy)]
struct Skill {
    fields: &'static str,
    capabilities: &'static str,
}

/// Who holds a skill to the declaration, and what is seen of that.
enum Enforced {
    /// The sandbox: what a run with the grant writes, what its record then says after the name of the kind, and what a run without it writes.
    BySandbox {
        flags: &'static str,
        granted: &'static str,
        recorded: &'static str,
        refused: &'static str,
    },
    /// The policy: calls of tools that it allows and denies.
    ByPolicy { tool: &'static str, allowed: Value, denied: Value },
    /// Nothing grants it: the run sees nothing, and its record says nothing.
    Never,
}

fn walk(kind: CapabilityKind) -> Walk {
    let of = |capabilities| Skill { fields: "", capabilities };
    match kind {
        CapabilityKind::Read => Walk {
            declaring: of(r#"{"filesystem": ["~/data"]}"#),
            lacking: of(r#"{"filesystem": "repo"}"#),
            script: ("go.sh", "cat ~/data/a.txt 2>/dev/null\ncat \"$1\" || echo refused\n"),
            declared: "the skill's folder, ~/data",
            observed: Some("~/data/a.txt"),
            enforced: Enforced::BySandbox {
                flags: "--read ~/data",
                granted: "canary-of-data",
                recorded: "[ROOT]/home/data",
                refused: "refused",
            },
        },
        CapabilityKind::Write => Walk {
            declaring: of(r#"{"filesystem": "repo"}"#),
            lacking: of(r#"{"filesystem": ["~/data"]}"#),
            script: ("go.sh", "echo x > out.txt || echo refused\ncat out.txt\n"),
            declared: "the workspace",
            observed: Some("the workspace"),
            enforced: Enforced::BySandbox {
                flags: "--workspace work",
                granted: "x",
                recorded: "the workspace",
                refused: "refused",
            },
        },
        CapabilityKind::Network => Walk {
            declaring: of(r#"{"network": ["api.github.com"]}"#),
            lacking: of(r#"{"network": "none"}"#),
            script: (
                "go.py",
                "import os, socket, sys, urllib.request\n\
                 if len(sys.argv) > 9: urllib.request.urlopen('https://api.github.com/zen')\n\
                 try:\n    socket.socket()\n    print('proxy', 'HTTPS_PROXY' in os.environ)\n\
                 except OSError:\n    print('refused')\n",
            ),
            declared: "api.github.com",
            observed: Some("api.github.com"),
            enforced: Enforced::BySandbox {
                flags: "--net api.github.com",
                granted: "proxy True",
                recorded: "api.github.com",
                refused: "refused",
            },
        },
        CapabilityKind::Exec => Walk {
            declaring: Skill {
                fields: "allowed-tools: Bash(git:*)\n",
                capabilities: r#"{"exec": ["git"]}"#,
            },
            lacking: of(r#"{"exec": "none"}"#),
            script: ("go.sh", "git status\n"),
            declared: "git",
            observed: Some("git"),
            enforced: Enforced::ByPolicy {
                tool: "Bash",
                allowed: json!({ "command": "git status" }),
                denied: json!({ "command": "curl https://x.test" }),
            },
        },
        CapabilityKind::Env => Walk {
            declaring: of(r#"{"exec": "none", "env_read": ["WALK_NAME"]}"#),
            lacking: of(r#"{"exec": "none", "env_read": []}"#),
            script: ("go.sh", "printenv WALK_NAME || echo refused\n"),
            declared: "WALK_NAME",
            observed: Some("WALK_NAME"),
            enforced: Enforced::BySandbox {
                flags: "--env WALK_NAME",
                granted: "canary-of-env",
                recorded: "WALK_NAME",
                refused: "refused",
            },
        },
        CapabilityKind::Secrets => Walk {
            declaring: of(r#"{"exec": "none", "secrets": ["github"]}"#),
            lacking: of(r#"{"exec": "none", "secrets": "none"}"#),
            script: ("go.sh", "cat ~/.netrc 2>/dev/null\ncat \"$2\" || echo refused\n"),
            declared: "github",
            observed: Some("~/.netrc"),
            enforced: Enforced::Never,
        },
        CapabilityKind::Tools => Walk {
            declaring: Skill { fields: "allowed-tools: Read\n", capabilities: "{}" },
            lacking: Skill { fields: "allowed-tools: Grep\n", capabilities: "{}" },
            script: ("go.sh", "echo hello\n"),
            declared: "Read",
            observed: None,
            enforced: Enforced::ByPolicy {
                tool: "Read",
                allowed: json!({ "file_path": "a.txt" }),
                denied: json!({ "file_path": "a.txt" }),
            },
        },
    }
}

impl Walk {
    /// Returns the files of a skill of that name.
    fn files(&self, name: &str, skill: Skill) -> [(String, String); 3] {
        let Skill { fields, capabilities } = skill;
        let text = format!("---\nname: {name}\ndescription: d\n{fields}---\nBody.\n");
        let manifest =
            format!(r#"{{"schema_version": 3, "commands": {{}}, "capabilities": {capabilities}}}"#);
        let script = (format!("scripts/{}", self.script.0), self.script.1.to_owned());
        [("SKILL.md".to_owned(), text), ("csk-skill.json".to_owned(), manifest), script]
    }
}

fn report(files: &[(String, String)]) -> Report {
    let files = files.iter().map(|(path, text)| File {
        path,
        bytes: text.as_bytes(),
        is_executable: false,
    });
    audit("x", &files.collect::<Vec<_>>())
}

/// Returns what is found undeclared of a kind.
fn undeclared(report: &Report, kind: CapabilityKind) -> Option<&str> {
    let start = format!("scripts use `{kind}` beyond what is declared: ");
    let mut all = report.findings.iter().filter(|finding| finding.rule.id == RuleId::UNDECLARED);
    all.find_map(|finding| finding.message.strip_prefix(&start))
}

/// Returns what the record of the last run has of a kind.
fn recorded(env: &TestEnv, kind: CapabilityKind) -> Vec<String> {
    let shown = openskills(env, "log show --json --event skill.script_executed").stdout;
    let last: Value = serde_json::from_str(shown.lines().last().unwrap()).unwrap();
    let granted = last["record"]["permissions_granted"].as_array().unwrap();
    let of_kind = |one: &Value| one.as_str()?.strip_prefix(&format!("{kind}: ")).map(str::to_owned);
    granted.iter().filter_map(of_kind).collect()
}

fn machine(walk: &Walk) -> TestEnv {
    let env = TestEnv::new().var("WALK_NAME", "canary-of-env");
    for (name, skill) in [("declaring", walk.declaring), ("lacking", walk.lacking)] {
        for (path, text) in walk.files(name, skill) {
            env.write(&format!("s/{name}/{path}"), text.as_bytes());
        }
    }
    env.write("work/a.txt", b"a\n");
    env.write("../home/data/a.txt", b"canary-of-data\n");
    env.write("../home/.netrc", b"canary-of-secret\n");
    env
}

fn home(env: &TestEnv) -> String {
    fs::canonicalize(env.path("../home")).unwrap().display().to_string()
}

/// Runs the script; its arguments are a file that may be granted and one that never is.
fn run(env: &TestEnv, skill: &str, flags: &str) -> Run {
    let home = home(env);
    let line =
        format!("run {skill} --dir s --approve-once {flags} -- {home}/data/a.txt {home}/.netrc");
    openskills(env, &line)
}

fn check_policy(env: &TestEnv, skill: &str, (tool, input): (&str, &Value), decision: &str) {
    let input = input.to_string();
    let call = ["check-tool", "--dir", "s", "--skill", skill, "--tool", tool, "--input", &input];
    let done = env.run_args(env!("CARGO_BIN_EXE_openskills"), &call);
    assert!(done.stdout.starts_with(decision), "{skill} {input}: {}{}", done.stdout, done.stderr);
    let shown = openskills(env, "log show --json --event policy.decided").stdout;
    let last: Value = serde_json::from_str(shown.lines().last().unwrap()).unwrap();
    assert_eq!((&last["action"], &last["decision"]), (&json!(tool), &json!(decision)), "{last}");
}

#[test]
fn every_capability_is_consistent_from_declaration_to_log() {
    for kind in CapabilityKind::ALL {
        let walk = walk(kind);
        // Declared and parsed: the key of the kind is what stands in the file.
        let files = walk.files("x", walk.declaring);
        assert!(files.iter().any(|(_, text)| text.contains(kind.declared_as())), "{kind}");
        let report = report(&files);
        assert_eq!(report.declared.of(kind).to_string(), walk.declared, "{kind}");
        // Observed: what is declared is no finding, and what is not is one.
        let observed = report.observed.scripts.get(&ObservedKind::Capability(kind));
        let has = |item: &str| observed.is_some_and(|items| items.contains(item));
        assert_eq!(walk.observed.is_some_and(has), walk.observed.is_some(), "{kind}: {observed:?}");
        assert_eq!(undeclared(&report, kind), None, "{kind}");
        let lacking = self::report(&walk.files("x", walk.lacking));
        assert_eq!(undeclared(&lacking, kind), walk.observed, "{kind}");
        // Shown to whoever approves it.
        let env = machine(&walk);
        let asked = openskills(&env, "approve declaring --dir s").stderr;
        let is_shown =
            |line: &str| line.trim().starts_with(kind.as_str()) && line.contains(walk.declared);
        assert!(asked.lines().any(is_shown), "{kind}: {asked}");
        // Enforced and recorded.
        match &walk.enforced {
            Enforced::BySandbox { flags, granted, recorded, refused } => {
                let entry = (*recorded).to_owned();
                let done = run(&env, "declaring", flags);
                assert!(done.stdout.contains(granted), "{kind}: {}{}", done.stdout, done.stderr);
                let record = self::recorded(&env, kind);
                assert!(record.contains(&entry), "{kind}: {record:?}");
                // The workspace is named by whoever runs it, and written only if that is declared; everything else is granted by name.
                let flags = if kind == CapabilityKind::Write { *flags } else { "" };
                let done = run(&env, "lacking", flags);
                assert!(done.stdout.contains(refused), "{kind}: {}{}", done.stdout, done.stderr);
                let record = self::recorded(&env, kind);
                assert!(!record.contains(&entry), "{kind}: {record:?}");
            }
            Enforced::ByPolicy { tool, allowed, denied } => {
                check_policy(&env, "declaring", (tool, allowed), "allow");
                let skill = if walk.lacking.fields.is_empty() { "declaring" } else { "lacking" };
                check_policy(&env, skill, (tool, denied), "deny");
            }
            Enforced::Never => {
                let done = run(&env, "declaring", "");
                assert!(done.stdout.contains("refused"), "{kind}: {}{}", done.stdout, done.stderr);
                assert!(!done.stdout.contains("canary"), "{kind}: {}", done.stdout);
                assert_eq!(recorded(&env, kind), Vec::<String>::new(), "{kind}");
            }
        }
        assert!(matches!(lacking.declared.of(kind), Extent::Only(_)), "{kind}");
    }
}
