//! `openskills test`: runs a skill's own tests in the sandbox.

use openskills_runtime::{Caller, Cancel, ExecutionOptions, ResourceEntry, RuntimeError};
use skill_fs::Kind as FileKind;
use term::{HelpText, safe_line};

use crate::commands::run::code_of;
use crate::context::Context;
use crate::discovery::{DiscoveryArgs, discover};
use crate::exit_code::ExitCode;
use crate::output::{TestJson, TestedJson, VERSION};
use crate::signals::{self, AfterRuns};

const HELP: HelpText = HelpText {
    text: "\
Runs every file in the skill's tests/ folder whose name starts with `test`, in order, like
`openskills run SKILL tests/FILE`: in the sandbox, with an empty workspace and the approved
permissions. A test passes if it exits with 0.

Reads:  the skill, approvals.json, the organization's policy
Writes: the log",
    exit_codes: &[
        ExitCode::Done.when("all tests passed"),
        ExitCode::Invalid.when("a test failed"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("no such skill, or it has no tests"),
        ExitCode::NotAllowed.when("the skill is not allowed to run"),
        ExitCode::NeedsApproval.when("the skill is not approved"),
        ExitCode::Log.when("the log cannot be written"),
        ExitCode::SandboxUnavailable.usual(),
        ExitCode::signals("129, 130, 143", "openskills received HUP, INT or TERM"),
    ],
    examples: &["openskills test pdf", "openskills test pdf --dir ./skills --json"],
};

/// Run a skill's own tests in the sandbox
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct TestArgs {
    /// Skill name or ID
    #[arg(value_name = "SKILL", add = term::names(crate::completion::skills))]
    skill: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// Returns the tests among the files of a skill.
fn tests(files: &[ResourceEntry]) -> Vec<String> {
    let is_test = |file: &&ResourceEntry| {
        let name = file.path.strip_prefix("tests/");
        let last = name.map(|name| name.rsplit('/').next().unwrap_or(name));
        matches!(file.kind, FileKind::File { .. })
            && last.is_some_and(|name| name.starts_with("test"))
    };
    files.iter().filter(is_test).map(|file| file.path.clone()).collect()
}

pub(crate) fn test(context: &mut Context, args: &TestArgs) -> anyhow::Result<ExitCode> {
    let runtime = discover(args.discovery.config(context)?)?;
    let tests = tests(&runtime.files(&args.skill)?);
    if tests.is_empty() {
        let (skill, path) = (args.skill.clone(), "tests/test…".to_owned());
        return Err(RuntimeError::ResourceNotFound { skill, path, nearest: None }.into());
    }
    let cancel = Cancel::default();
    signals::watch(&cancel, AfterRuns::Continue)?;
    let mut results = Vec::new();
    let mut skipped = Vec::new();
    for test in tests {
        let options = ExecutionOptions {
            script: Some(test.clone()),
            caller: Caller {
                cancel: cancel.clone(),
                discovery_flags: args.discovery.flags(),
                ..Caller::default()
            },
            ..ExecutionOptions::default()
        };
        let done = match runtime.execute_skill(&args.skill, options) {
            Ok(done) => done,
            // Test data is sometimes named like a test.
            Err(RuntimeError::Script { .. }) => {
                skipped.push(test);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(signal) = done.interrupted {
            return Ok(ExitCode::of_signal(signal));
        }
        let code = code_of(&done).number();
        if !args.json {
            let label = if code == 0 { "ok" } else { "FAILED" };
            context.ui.out(&format!("{label:6} {}\n", safe_line(&test)))?;
            if code != 0 {
                let output = [done.stdout.as_slice(), done.stderr.as_slice()].concat();
                for line in String::from_utf8_lossy(&output).lines() {
                    context.ui.out(&format!("       {}\n", safe_line(line)))?;
                }
            }
        }
        results.push(TestedJson {
            test,
            passed: code == 0,
            exit_code: code,
            output: done.output,
            stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
        });
    }
    let failed = results.iter().filter(|result| !result.passed).count();
    let passed = results.len() - failed;
    if results.is_empty() {
        let message = format!(
            "its tests have no `#!` line and no known file extension: {}",
            skipped.join(", ")
        );
        let hint = Some("start each test file with a `#!` line".to_owned());
        return Err(RuntimeError::Script { skill: args.skill.clone(), message, hint }.into());
    }
    if args.json {
        let version = VERSION;
        context.ui.json(&TestJson { version, passed, failed, tests: results, skipped })?;
    } else {
        if !skipped.is_empty() {
            let note = format!("note: skipped, cannot tell how to run: {}", skipped.join(", "));
            context.ui.error(&format!("{}\n", safe_line(&note)))?;
        }
        context.ui.out(&format!("{passed} passed, {failed} failed\n"))?;
    }
    Ok(if failed == 0 { ExitCode::Done } else { ExitCode::Invalid })
}
