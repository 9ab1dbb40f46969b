//! `csk skill`: checks a skill before it is published.

#![expect(clippy::disallowed_methods, reason = "reads the SKILL.md")]

use std::fs;

use skill::{Input, MAX_SKILL_FILE_BYTES, SKILL_FILE, Severity, Strictness, parse};
use term::safe_line;

use crate::context::Context;
use crate::failure::{Failure, rendered};
use crate::projects::clean;

const AFTER: &str = "\
Purpose: checks the SKILL.md of a skill's repository as strictly as the standard does, the name against the
folder included. `openskills validate` checks more.

Reads:  SKILL.md in the folder
Writes: nothing

Exit codes:
  0  the skill is valid
  1  it is not
  2  usage

Examples:
  csk skill check .
  csk skill check ~/agents/skills/skill-tracker";

/// Check skills
#[derive(Debug, clap::Args)]
pub(crate) struct SkillArgs {
    #[command(subcommand)]
    command: SkillCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SkillCommand {
    /// Check a skill before it is published
    #[command(after_help = AFTER)]
    Check {
        /// The folder of the skill
        dir: String,
    },
}

pub(crate) fn skill(context: &mut Context, args: &SkillArgs) -> Result<u8, Failure> {
    let SkillCommand::Check { dir } = &args.command;
    let folder = clean(&context.cwd.join(dir));
    let path = folder.join(SKILL_FILE);
    let metadata = fs::symlink_metadata(path.as_path())
        .map_err(|error| Failure::usage(format!("cannot read {path}: {error}")))?;
    if !metadata.is_file() || metadata.len() > MAX_SKILL_FILE_BYTES {
        return Err(Failure::usage(format!(
            "{path} is not a regular file of at most {MAX_SKILL_FILE_BYTES} bytes"
        )));
    }
    let bytes = fs::read(path.as_path())
        .map_err(|error| Failure::usage(format!("cannot read {path}: {error}")))?;
    let input = Input { file: path.as_str(), directory: folder.file_name(), bytes: &bytes };
    let parsed = parse(&input, Strictness::Strict);
    let words = rendered(&String::from_utf8_lossy(&bytes), &parsed.diagnostics, &context.ui);
    context.ui.error(&words)?;
    let is_valid = parsed.diagnostics.iter().all(|problem| problem.severity != Severity::Error);
    let verdict = if is_valid { "valid" } else { "invalid" };
    context.ui.out(&format!("{}: {verdict}\n", safe_line(folder.as_str())))?;
    Ok(u8::from(!is_valid))
}
