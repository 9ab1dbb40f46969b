//! `openskills migrate`: skills of other formats into corteza.skill/v1, and back.

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
Turns a skill into the format corteza.skill/v1 (docs/spec/corteza.skill-v1.md), or with --to
claude into what Claude Code reads. It shows the change first. Nothing is lost on the way there
and back: what Claude Code has no field for is kept in `metadata.corteza`. Lines that need no
change stay as they are.

A SKILL.json beside the SKILL.md is read as well; what SKILL.md says holds. Where there is no
SKILL.md, one is made of it. The SKILL.json itself is left where it is.

On a terminal it asks before it writes. Elsewhere, and with --json, it needs --yes.

Reads:  SKILL.md and SKILL.json of the skill
Writes: SKILL.md",
    exit_codes: &[
        ExitCode::Done.when("written, or there was nothing to change"),
        ExitCode::Invalid.when("the skill cannot be understood; nothing was written"),
        ExitCode::Usage.when("the call is wrong, or the folder is not there"),
        ExitCode::NotAllowed.when("the answer is no"),
        ExitCode::NeedsApproval.when("confirmation required, but stdin is not a terminal"),
    ],
    examples: &[
        "openskills migrate skills/autoresearch",
        "openskills migrate skills/autoresearch --dry-run",
        "openskills migrate skills/autoresearch --to claude --yes",
    ],
};

/// Turn a skill into corteza.skill/v1, or back
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct MigrateArgs {
    /// The folder of a skill
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The format to turn it into
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    to: Format,
    /// Show the change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

/// A format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// corteza.skill/v1
    #[default]
    V1,
    /// What Claude Code reads
    Claude,
}

pub(crate) fn migrate(context: &mut Context, args: &MigrateArgs) -> anyhow::Result<ExitCode> {
    let folder = real_path(&check_folder(context, &args.dir, SKILL_HINT)?)?;
    let root = Root::open(&folder)?;
    let (before, sidecar) = (text(&root, SKILL_FILE)?, sidecar(&root)?);
    let source = match (&before, &sidecar) {
        (Some(text), _) => text.clone(),
        (None, Some(sidecar)) => made_of(sidecar),
        (None, None) => {
            let message = format!("there is neither a {SKILL_FILE} nor a SKILL.json in {folder}");
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
            "it is not valid yet; `openskills validate {}` says why",
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
        if !consent.agreed(&mut context.ui, "Write it?", "nothing was written")? {
            return Ok(ExitCode::NotAllowed);
        }
        if text(&root, SKILL_FILE)? != before {
            let message = format!("{file} was changed meanwhile");
            return Err(RuntimeError::Setup { message, hint: Some("try again".to_owned()) }.into());
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
            message: format!("{name} is not UTF-8"),
        }),
        Err(FsError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn sidecar(root: &Root) -> Result<Option<Map<String, Value>>, RuntimeError> {
    let Some(text) = text(root, "SKILL.json")? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| RuntimeError::Unusable {
        what: root.path().to_string(),
        message: format!("SKILL.json is no object of JSON: {error}"),
    })
}

/// Returns a SKILL.md of nothing but a SKILL.json.
fn made_of(sidecar: &Map<String, Value>) -> String {
    let body = ["instructions", "body"].into_iter().find_map(|key| sidecar.get(key)?.as_str());
    let head = |key: &str| {
        let value = sidecar.get(key).cloned().unwrap_or_default();
        format!("{key}: {value}\n")
    };
    format!("---\n{}{}---\n{}\n", head("name"), head("description"), body.unwrap_or_default())
}
