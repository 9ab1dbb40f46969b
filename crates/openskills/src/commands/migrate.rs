//! `openskills migrate`: converts skills to corteza.skill/v1 and back.

use std::path::PathBuf;

use openskills_runtime::RuntimeError;
use serde_json::{Map, Value};
use similar::TextDiff;
use skill::{
    Input, MAX_SKILL_FILE_BYTES, Migrated, RelPath, SKILL_FILE, Strictness, parse, to_claude, to_v1,
};
use skill_fs::{FsError, Root, real_path, write_file};
use term::{HelpText, safe_line};

use crate::ask::{Consent, ConsentFlags};
use crate::context::Context;
use crate::discovery::check_folder;
use crate::exit_code::ExitCode;
use crate::output::{MigrateJson, VERSION};
use crate::target::SKILL_HINT;

const HELP: HelpText = HelpText {
    text: "\
Converts a skill to the corteza.skill/v1 format (docs/spec/corteza.skill-v1.md) or, with --to
claude, to Claude Code's format. openskills shows the change first. Nothing is lost in either
direction: fields that Claude Code does not support are stored in `metadata.corteza`. Lines that
need no change are left as they are.

A SKILL.json next to SKILL.md is read as well; SKILL.md takes precedence. If there is no SKILL.md,
it is created from SKILL.json. SKILL.json itself is never changed.

In a terminal, openskills asks for confirmation before it writes the file. Otherwise, and with
--json, --yes is required.

Reads:  the skill's SKILL.md and SKILL.json
Writes: SKILL.md",
    exit_codes: &[
        ExitCode::Done.when("written, or nothing to change"),
        ExitCode::Invalid.when("the skill cannot be parsed; nothing was written"),
        ExitCode::Usage.when("usage error, or the folder does not exist"),
        ExitCode::NotAllowed.when("you declined"),
        ExitCode::NeedsApproval
            .when("confirmation required, but stdin is not a terminal or --json is given"),
    ],
    examples: &[
        "openskills migrate skills/autoresearch",
        "openskills migrate skills/autoresearch --dry-run",
        "openskills migrate skills/autoresearch --to claude --yes",
    ],
};

/// Convert a skill to the corteza.skill/v1 format or to Claude Code's format
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct MigrateArgs {
    /// Skill folder
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Target format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    to: Format,
    /// Show the change without writing it
    #[arg(long)]
    dry_run: bool,
    /// Do not prompt for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// A target format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// corteza.skill/v1
    #[default]
    V1,
    /// Claude Code's format
    Claude,
}

pub(crate) fn migrate(context: &mut Context, args: &MigrateArgs) -> anyhow::Result<ExitCode> {
    let folder = real_path(&check_folder(context, &args.dir, SKILL_HINT)?)?;
    let root = Root::open(&folder)?;
    let (before, sidecar) = (text(&root, SKILL_FILE)?, sidecar(&root)?);
    let source = match (&before, &sidecar) {
        (Some(text), _) => text.clone(),
        (None, Some(sidecar)) => from_sidecar(sidecar),
        (None, None) => {
            let message = format!("no {SKILL_FILE} or SKILL.json in `{folder}`");
            return Err(RuntimeError::Setup { message, hint: Some(SKILL_HINT.to_owned()) }.into());
        }
    };
    let migrated = match args.to {
        Format::V1 => to_v1(&source, sidecar.as_ref()),
        Format::Claude => to_claude(&source),
    };
    let Migrated { text: after, mut notes } =
        migrated.map_err(|message| RuntimeError::Unusable { what: folder.to_string(), message })?;
    let input = Input { file: SKILL_FILE, directory: folder.file_name(), bytes: after.as_bytes() };
    if parse(&input, Strictness::Strict).document.is_none() {
        notes.push(format!(
            "the result is not valid yet; run `openskills validate {}` to see why",
            args.dir.display()
        ));
    }
    let file = folder.join(SKILL_FILE);
    let old = before.clone().unwrap_or_default();
    let diff = TextDiff::from_lines(old.as_str(), after.as_str());
    let diff = diff.unified_diff().header(file.as_str(), file.as_str()).to_string();
    if !args.json {
        for line in diff.lines() {
            context.ui.out(&format!("{}\n", safe_line(line)))?;
        }
        for note in &notes {
            context.ui.note(&format!("note: {}\n", safe_line(note)))?;
        }
    }
    let mut written = false;
    if !diff.is_empty() && !args.dry_run {
        let consent = Consent::of(ConsentFlags { yes: args.yes, json: args.json });
        if !consent.confirm(&mut context.ui, "Write it?", "nothing was written")? {
            return Ok(ExitCode::NotAllowed);
        }
        if text(&root, SKILL_FILE)? != before {
            let message = format!(
                "nothing was written: `{file}` was changed by another program in the meantime"
            );
            return Err(RuntimeError::Setup {
                message,
                hint: Some("run the command again".to_owned()),
            }
            .into());
        }
        write_file(&file, after.as_bytes())?;
        written = true;
    }
    if args.json {
        context.ui.json(&MigrateJson {
            version: VERSION,
            file: file.to_string(),
            diff,
            notes,
            written,
        })?;
    } else {
        let done = match (diff.is_empty(), written) {
            (true, _) => "nothing to change in",
            (false, true) => "wrote",
            (false, false) => "would write",
        };
        context.ui.note(&format!("{done} {}\n", safe_line(file.as_str())))?;
    }
    Ok(ExitCode::Done)
}

fn text(root: &Root, name: &str) -> Result<Option<String>, RuntimeError> {
    let path = RelPath::new(name)
        .map_err(|error| RuntimeError::Setup { message: error.to_string(), hint: None })?;
    match root.read(&path, MAX_SKILL_FILE_BYTES) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| RuntimeError::Unusable {
            what: root.path().to_string(),
            message: format!("{name} is not valid UTF-8"),
        }),
        Err(FsError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn sidecar(root: &Root) -> Result<Option<Map<String, Value>>, RuntimeError> {
    let Some(text) = text(root, "SKILL.json")? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| RuntimeError::Unusable {
        what: root.path().to_string(),
        message: format!("SKILL.json is not a JSON object: {error}"),
    })
}

/// Returns a SKILL.md made from SKILL.json alone.
fn from_sidecar(sidecar: &Map<String, Value>) -> String {
    let body = ["instructions", "body"].into_iter().find_map(|key| sidecar.get(key)?.as_str());
    let head = |key: &str| {
        let value = sidecar.get(key).cloned().unwrap_or_default();
        format!("{key}: {value}\n")
    };
    format!("---\n{}{}---\n{}\n", head("name"), head("description"), body.unwrap_or_default())
}
