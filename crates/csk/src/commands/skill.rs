//! `csk skill`: checks a skill before publication.

#![expect(clippy::disallowed_methods, reason = "reads the skill")]

use std::fs;

use csk_core::output::{SkillCheckJson, VERSION};
use skill::{
    AGENT_MANIFEST_FILE, ByteSize, Code, Diagnostic, Input, MANIFEST_FILE, MAX_SKILL_FILE_BYTES,
    Manifest, SKILL_FILE, SKILL_FILE_FALLBACK, Severity, Strictness, TreeEntry, parse,
};
use skill_fs::{AbsPath, read_text};
use term::{Failure, HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{canonical, located_message};

const HELP: HelpText = HelpText {
    text: "\
Checks that SKILL.md strictly follows the standard, that the skill's name matches the folder, and that csk-skill.json matches \
the files in the folder. For more checks, run `openskills validate`.

Reads:  SKILL.md, csk-skill.json and agents/runtime.json in the folder
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("the skill is valid"),
        ExitCode::Failed.when("the skill is invalid"),
        ExitCode::Usage.when("usage error, or the skill cannot be read"),
    ],
    examples: &[
        "csk skill check .",
        "csk skill check ~/agents/skills/skill-tracker",
    ],
};

const GROUP: HelpText = HelpText {
    text: "\
Commands for skill authors.

Reads:  the skill's files
Writes: nothing

Keys of csk-skill.json, for skills that provide or need commands:
  schema_version  1, 2 or 3
  runtime_roots   schema_version 2 or later: folders with files that commands need; agents do not see them
  commands        {NAME: {type: script, unix_path, win_path}}: a command the skill provides; \
{NAME: {type: system, command, hint}}: a program that must be on PATH
  capabilities    schema_version 3: {network, filesystem, exec, secrets, env_read, prompt_scope}: what the skill may do",
    exit_codes: &[
        ExitCode::Done.when("the skill is valid"),
        ExitCode::Failed.when("the skill is invalid"),
        ExitCode::Usage.when("usage error, or the skill cannot be read"),
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
    /// Check a skill before publishing it
    #[command(after_help = HELP)]
    Check {
        /// Skill folder
        dir: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn skill(context: &mut Context, args: &SkillArgs) -> anyhow::Result<ExitCode> {
    let SkillCommand::Check { dir, json } = &args.command;
    let folder = canonical(&context.cwd.join(dir));
    let has = |name: &str| folder.join(name).as_path().exists();
    let is_fallback = !has(SKILL_FILE) && has(SKILL_FILE_FALLBACK);
    let path = folder.join(if is_fallback { SKILL_FILE_FALLBACK } else { SKILL_FILE });
    let metadata = fs::symlink_metadata(path.as_path()).map_err(|error| {
        Failure::files(format!("cannot read `{path}`"), error)
            .with_hint("specify a skill folder, which contains a SKILL.md")
    })?;
    if !metadata.is_file() || metadata.len() > MAX_SKILL_FILE_BYTES {
        return Err(Failure::usage(format!(
            "`{path}` is not a regular file, or is larger than {}",
            ByteSize(MAX_SKILL_FILE_BYTES)
        ))
        .into());
    }
    let bytes = fs::read(path.as_path())
        .map_err(|error| Failure::files(format!("cannot read `{path}`"), error))?;
    let input = Input { file: path.as_str(), directory: folder.file_name(), bytes: &bytes };
    let mut parsed = parse(&input, Strictness::Strict);
    if is_fallback {
        let message = format!(
            "the file is named `{SKILL_FILE_FALLBACK}`; the standard requires `{SKILL_FILE}`"
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
        context.ui.json(&SkillCheckJson {
            version: VERSION,
            path: folder.to_string(),
            valid: is_valid,
            problems: problems.iter().map(located_message).collect(),
        })?;
        return Ok(ExitCode::failed_if(!is_valid));
    }
    let verdict = if is_valid { "valid" } else { "invalid" };
    context.ui.out(&format!("{}: {verdict}\n", safe_line(folder.as_str())))?;
    Ok(ExitCode::failed_if(!is_valid))
}

/// Returns the kind of the entry at a path of the skill.
fn entry(folder: &AbsPath, path: &str) -> Option<TreeEntry> {
    let metadata = fs::symlink_metadata(folder.join(path).as_path()).ok()?;
    match metadata.file_type() {
        kind if kind.is_dir() => Some(TreeEntry::Folder),
        kind if kind.is_symlink() => Some(TreeEntry::Link),
        kind => kind.is_file().then_some(TreeEntry::File),
    }
}
