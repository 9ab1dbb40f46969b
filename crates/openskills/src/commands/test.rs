//! `openskills test`: a skill's own tests, in the sandbox.

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
Runs the tests that a skill brings: every file in its tests/ whose name begins with `test`, in
order, each like `openskills run SKILL tests/FILE`: in the sandbox, with an empty workspace,
with what was approved. A test has passed if it ends with 0.

Reads:  the skill, approvals.json, the policy of the organisation
Writes: the log",
    exit_codes: &[
        ExitCode::Done.when("all tests passed"),
        ExitCode::Invalid.when("a test failed"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("there is no such skill, or it has no tests"),
        ExitCode::NeedsApproval.when("the skill is not approved"),
    ],
    examples: &["openskills test pdf", "openskills test pdf --dir ./skills --json"],
};

/// Run the tests that a skill brings
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct TestArgs {
    /// A name or an id
    #[arg(value_name = "SKILL", add = term::names(crate::completion::skills))]
    skill: String,
    /// Write it as JSON
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
    signals::watch(&cancel, AfterRuns::GoOn)?;
    let mut results = Vec::new();
    let mut left_out = Vec::new();
    for test in tests {
        let options = ExecutionOptions {
            script: Some(test.clone()),
            caller: Caller {
                cancel: cancel.clone(),
                look: args.discovery.words(),
                ..Caller::default()
            },
            ..ExecutionOptions::default()
        };
        let done = match runtime.execute_skill(&args.skill, options) {
            Ok(done) => done,
            // Data that tests read is called like them, now and then.
            Err(RuntimeError::Script { .. }) => {
                left_out.push(test);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(signal) = done.interrupted {
            return Ok(ExitCode::of_signal(signal));
        }
        let code = code_of(&done).number();
        if !args.json {
            let word = if code == 0 { "ok" } else { "FAILED" };
            context.ui.out(&format!("{word:6} {}\n", safe_line(&test)))?;
            if code != 0 {
                let said = [done.stdout.as_slice(), done.stderr.as_slice()].concat();
                for line in String::from_utf8_lossy(&said).lines() {
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
        let message = format!("none of its tests can be run: {}", left_out.join(", "));
        return Err(RuntimeError::Script { skill: args.skill.clone(), message, hint: None }.into());
    }
    if args.json {
        let version = VERSION;
        context.ui.json(&TestJson { version, passed, failed, tests: results, left_out })?;
    } else {
        if !left_out.is_empty() {
            let note = format!("note: nothing says how these are run: {}", left_out.join(", "));
            context.ui.error(&format!("{}\n", safe_line(&note)))?;
        }
        context.ui.out(&format!("{passed} passed, {failed} failed\n"))?;
    }
    Ok(if failed == 0 { ExitCode::Done } else { ExitCode::Invalid })
}
