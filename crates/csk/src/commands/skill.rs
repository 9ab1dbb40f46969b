//! `csk skill`: checks a skill before it is published.

#![expect(clippy::disallowed_methods, reason = "reads the skill")]

use std::fs;

use csk_core::output::{SkillCheckJson, VERSION};
use skill::{
    AGENT_MANIFEST_FILE, Code, Diagnostic, Input, MANIFEST_FILE, MAX_SKILL_FILE_BYTES, Manifest,
    SKILL_FILE, SKILL_FILE_FALLBACK, Severity, Strictness, TreeEntry, parse,
};
use skill_fs::{AbsPath, read_text};
use term::{Failure, HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::clean;

const HELP: HelpText = HelpText {
    text: "\
Purpose: checks the SKILL.md of a skill's repository as strictly as the standard does, the name against the \
folder included, and its csk-skill.json against the files that are there. `openskills validate` checks more.

Reads:  SKILL.md and csk-skill.json in the folder
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("the skill is valid"),
        ExitCode::Failed.when("it is not"),
        ExitCode::Usage.when("usage"),
    ],
    examples: &[
        "csk skill check .",
        "csk skill check ~/agents/skills/skill-tracker",
    ],
};

const GROUP: HelpText = HelpText {
    text: "\
Purpose: for authors of skills.

Keys of csk-skill.json, which stands in a skill that brings or needs commands:
  schema_version  1, 2 or 3
  runtime_roots   from 2: folders that commands run in; they are installed for commands, not for agents
  commands        {NAME: {type: script, unix_path, win_path}}: a command that the skill brings; \
{NAME: {type: system, command, hint}}: one that must be on PATH
  capabilities    from 3: {network, filesystem, exec, secrets, env_read, prompt_scope}: what the skill may do",
    exit_codes: &[
        ExitCode::Done.when("the skill is valid"),
        ExitCode::Failed.when("it is not"),
        ExitCode::Usage.when("usage"),
    ],
    examples: &[
        "csk skill check .",
    ],
};

/// Check skills
#[derive(Debug, clap::Args)]
#[command(after_help = GROUP)]
pub(crate) struct SkillArgs {
    #[command(subcommand)]
    command: SkillCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SkillCommand {
    /// Check a skill before it is published
    #[command(after_help = HELP)]
    Check {
        /// The folder of the skill
        dir: String,
        /// Write it as JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn skill(context: &mut Context, args: &SkillArgs) -> anyhow::Result<ExitCode> {
    let SkillCommand::Check { dir, json } = &args.command;
    let folder = clean(&context.cwd.join(dir));
    let has = |name: &str| folder.join(name).as_path().exists();
    let is_fallback = !has(SKILL_FILE) && has(SKILL_FILE_FALLBACK);
    let path = folder.join(if is_fallback { SKILL_FILE_FALLBACK } else { SKILL_FILE });
    let metadata = fs::symlink_metadata(path.as_path())
        .map_err(|error| Failure::files(format!("cannot read {path}"), error))?;
    if !metadata.is_file() || metadata.len() > MAX_SKILL_FILE_BYTES {
        return Err(Failure::usage(format!(
            "{path} is not a regular file of at most {MAX_SKILL_FILE_BYTES} bytes"
        ))
        .into());
    }
    let bytes = fs::read(path.as_path())
        .map_err(|error| Failure::files(format!("cannot read {path}"), error))?;
    let input = Input { file: path.as_str(), directory: folder.file_name(), bytes: &bytes };
    let mut parsed = parse(&input, Strictness::Strict);
    if is_fallback {
        let message = format!(
            "the file is called `{SKILL_FILE_FALLBACK}`; the standard asks for `{SKILL_FILE}`"
        );
        let problem =
            Diagnostic::of_file(Code::FileName, Strictness::Strict, path.as_str(), message);
        let hint = format!("rename it to `{SKILL_FILE}`");
        parsed.diagnostics.extend(problem.map(|problem| problem.with_hint(hint)));
    }
    if !json {
        context.ui.problems(&String::from_utf8_lossy(&bytes), &parsed.diagnostics)?;
    }
    let mut problems = parsed.diagnostics;
    let read = |name: &'static str| read_text(&folder.join(name));
    let show = |name: &'static str| folder.join(name).to_string();
    if let Some((_, found)) = Manifest::read(read, show, &|path| entry(&folder, path))? {
        for name in [AGENT_MANIFEST_FILE, MANIFEST_FILE] {
            let (text, file) = (read(name)?.unwrap_or_default(), show(name));
            let own = found.iter().filter(|problem| problem.file == file);
            if !json {
                context.ui.problems(&text, &own.cloned().collect::<Vec<_>>())?;
            }
        }
        problems.extend(found);
    }
    let is_valid = problems.iter().all(|problem| problem.severity != Severity::Error);
    if *json {
        let shown = |problem: &Diagnostic| {
            let place =
                problem.span.map(|span| format!(":{}:{}", span.start.line, span.start.column));
            format!("{}{}: {}", problem.file, place.unwrap_or_default(), problem.message)
        };
        context.ui.json(&SkillCheckJson {
            version: VERSION,
            path: folder.to_string(),
            valid: is_valid,
            problems: problems.iter().map(shown).collect(),
        })?;
        return Ok(ExitCode::failed_if(!is_valid));
    }
    let verdict = if is_valid { "valid" } else { "invalid" };
    context.ui.out(&format!("{}: {verdict}\n", safe_line(folder.as_str())))?;
    Ok(ExitCode::failed_if(!is_valid))
}

/// Tells what stands at a path of the skill.
fn entry(folder: &AbsPath, path: &str) -> Option<TreeEntry> {
    let metadata = fs::symlink_metadata(folder.join(path).as_path()).ok()?;
    match metadata.file_type() {
        kind if kind.is_dir() => Some(TreeEntry::Folder),
        kind if kind.is_symlink() => Some(TreeEntry::Link),
        kind => kind.is_file().then_some(TreeEntry::File),
    }
}
