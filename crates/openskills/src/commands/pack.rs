//! `openskills pack`: packs a skill as a ZIP file.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::path::PathBuf;

use openskills_runtime::{AuditOutcome, RuntimeError, shell_word};
use skill::ByteSize;
use skill::Digest;
use skill_fs::{AbsPath, real_path, write_file};
use skill_pack::{Package, PackedFile, sign, zip};
use skill_state::audit::Decision;
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::discovery::{DiscoveryArgs, check_folder, runtime};
use crate::exit_code::ExitCode;
use crate::output::{PackJson, VERSION};
use crate::target::SKILL_HINT;

const HELP: HelpText = HelpText {
    text: "\
Validates the skill strictly and writes a reproducible ZIP file: the skill's folder at the root,
sorted entries, fixed times and modes. The same files always produce the same bytes. Links and
non-portable names are rejected, as is anything that `openskills install` would reject: the archive
is read back with the same limits, and the skill is audited.

With --sign, the file is signed with an SSH key (`ssh-keygen -Y sign -n openskills`). The signature
is written next to it as FILE.sig.

Reads:  the skill; the key for --sign
Writes: the ZIP file, in the current directory unless --output is given; its signature",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid.when("the skill is invalid or cannot be packed; nothing was written"),
        ExitCode::Usage
            .when("usage error, the folder does not exist, or the file cannot be written"),
        ExitCode::NotAllowed.when("blocked by the audit; nothing was written"),
    ],
    examples: &[
        "openskills pack skills/pdf",
        "openskills pack skills/pdf --output pdf-1.2.zip --sign ~/.ssh/id_ed25519",
    ],
};

/// Pack a skill as a ZIP file
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct PackArgs {
    /// Skill folder
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// File to write [default: NAME.zip in the current directory]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Sign the file with this SSH key
    #[arg(long, value_name = "KEY")]
    sign: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn pack(context: &mut Context, args: &PackArgs) -> anyhow::Result<ExitCode> {
    let folder = real_path(&check_folder(context, &args.dir, SKILL_HINT)?)?;
    let package = Package::of_folder(&folder).map_err(RuntimeError::from)?;
    // Refuses to pack what could not be installed.
    let config = DiscoveryArgs::default().config(context)?;
    let audited = runtime(config).check_package(&folder, &package, &args.dir.to_string_lossy())?;
    check_audit(&audited, args)?;
    let bytes = zip(&package).map_err(RuntimeError::from)?;
    let default = PathBuf::from(format!("{}.zip", package.name));
    let file = AbsPath::new(context.cwd.as_path().join(args.output.as_ref().unwrap_or(&default)))?;
    let existing = std::fs::read(file.as_path()).ok();
    if file.as_path().starts_with(folder.as_path()) {
        let message = format!("`{file}` is inside the skill being packed");
        let hint = format!("write it elsewhere: --output ../{}.zip", package.name);
        return Err(RuntimeError::Setup { message, hint: Some(hint) }.into());
    }
    if existing.as_ref().is_some_and(|existing| *existing != bytes) && !args.force {
        let message = format!("`{file}` already exists with different content");
        let hint = "pass --force to overwrite it, or --output FILE to write a different file";
        return Err(RuntimeError::Setup { message, hint: Some(hint.to_owned()) }.into());
    }
    // Signs before writing, so that a failure leaves everything unchanged.
    let signed = match &args.sign {
        Some(key) => {
            Some(sign(&bytes, &context.cwd.as_path().join(key)).map_err(RuntimeError::from)?)
        }
        None => None,
    };
    let changed = existing.as_ref() != Some(&bytes);
    if changed {
        write_file(&file, &bytes)?;
    }
    let signature = match signed {
        Some(signed) => {
            let path = AbsPath::new(format!("{file}.sig"))?;
            write_file(&path, &signed)?;
            Some(path.to_string())
        }
        None => None,
    };
    let stale = format!("{file}.sig");
    let is_stale = signature.is_none() && changed && std::path::Path::new(&stale).exists();
    let hidden = hidden(&package);
    let digest = Digest::of(&bytes).to_string();
    if args.json {
        context.ui.json(&PackJson {
            version: VERSION,
            name: package.name,
            file: file.to_string(),
            size: bytes.len(),
            files: package.files.len(),
            hidden,
            digest,
            signature,
        })?;
        return Ok(ExitCode::Done);
    }
    let line = format!("packed {file} ({}, {digest})", ByteSize(bytes.len() as u64));
    context.ui.done(&format!("{}\n", safe_line(&line)))?;
    if !hidden.is_empty() {
        let note = format!("note: the archive contains hidden files: {}", hidden.join(", "));
        context.ui.error(&format!("{}\n", safe_line(&note)))?;
    }
    if is_stale {
        let note = format!(
            "note: {stale} is the signature of the previous file; sign again with --sign KEY"
        );
        context.ui.error(&format!("{}\n", safe_line(&note)))?;
    }
    if let Some(signature) = signature {
        context.ui.done(&format!("signed {}\n", safe_line(&signature)))?;
    }
    let next = format!("to install it: openskills install {}", shell_word(file.as_str()));
    context.ui.note(&format!("{}\n", safe_line(&next)))?;
    Ok(ExitCode::Done)
}

/// Refuses what the audit blocks: `openskills install` may not be able to ask.
fn check_audit(audited: &AuditOutcome, args: &PackArgs) -> Result<(), RuntimeError> {
    let (message, hint) = match &audited.decision {
        Decision::Go | Decision::Warn(_) => return Ok(()),
        Decision::Ask(asked) => {
            let dir = args.dir.to_string_lossy();
            (
                format!("blocked by the audit: {}", asked.reasons.join("; ")),
                format!("run `csk audit {}` and fix the findings", shell_word(&dir)),
            )
        }
        Decision::Refuse { reason, hint } => (reason.clone(), hint.clone()),
    };
    let message = format!("`openskills install` would reject the skill: {message}");
    Err(RuntimeError::PermissionDenied { message, hint: Some(hint) })
}

/// Returns hidden files. The author should know that they are published with the skill.
fn hidden(package: &Package) -> Vec<String> {
    let is_hidden = |file: &&PackedFile| file.path.parts().any(|part| part.starts_with('.'));
    package.files.iter().filter(is_hidden).map(|file| file.path.to_string()).collect()
}
