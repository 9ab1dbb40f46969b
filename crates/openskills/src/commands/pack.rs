//! `openskills pack`: a skill as a ZIP file.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::path::PathBuf;

use openskills_runtime::{Audited, RuntimeError, shell_word};
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
Checks the skill strictly and writes it as a ZIP file: the skill's folder at its root, entries
sorted, the same times and modes everywhere. The same files give the same bytes. Links and
names that some system cannot take are refused. So is whatever `openskills install` would
refuse: the archive is read back by the same limits, and the skill is audited.

With --sign the file is signed by a key of SSH (`ssh-keygen -Y sign -n openskills`); the
signature stands beside it, with .sig after its name.

Reads:  the skill
Writes: the ZIP file, in the working folder unless --output says otherwise; its signature",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid.when("the skill is invalid, or cannot be packed; nothing was written"),
        ExitCode::Usage
            .when("the call is wrong, the folder is not there, or the file cannot be written"),
        ExitCode::NotAllowed.when("the audit says BLOCK; nothing was written"),
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
    /// The folder of a skill
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The file to write; NAME.zip in the working folder by default
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Sign it with this key
    #[arg(long, value_name = "KEY")]
    sign: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn pack(context: &mut Context, args: &PackArgs) -> anyhow::Result<ExitCode> {
    let folder = real_path(&check_folder(context, &args.dir, SKILL_HINT)?)?;
    let package = Package::of_folder(&folder).map_err(RuntimeError::from)?;
    // What nobody could install is not packed.
    let config = DiscoveryArgs::default().config(context)?;
    let audited = runtime(config).check_package(&folder, &package, &args.dir.to_string_lossy())?;
    check_audit(&audited, args)?;
    let bytes = zip(&package).map_err(RuntimeError::from)?;
    let usual = PathBuf::from(format!("{}.zip", package.name));
    let file = AbsPath::new(context.cwd.as_path().join(args.output.as_ref().unwrap_or(&usual)))?;
    let is_there = std::fs::read(file.as_path()).ok();
    if file.as_path().starts_with(folder.as_path()) {
        let message = format!("{file} would be in the skill that it is made of");
        let hint = format!("name a file outside: --output ../{}.zip", package.name);
        return Err(RuntimeError::Setup { message, hint: Some(hint) }.into());
    }
    if is_there.as_ref().is_some_and(|there| *there != bytes) && !args.force {
        let message = format!("{file} is there already, and holds something else");
        let hint = "replace it: --force; or name another file: --output FILE";
        return Err(RuntimeError::Setup { message, hint: Some(hint.to_owned()) }.into());
    }
    // What cannot be signed leaves everything as it is.
    let signed = match &args.sign {
        Some(key) => {
            Some(sign(&bytes, &context.cwd.as_path().join(key)).map_err(RuntimeError::from)?)
        }
        None => None,
    };
    let changed = is_there.as_ref() != Some(&bytes);
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
    let told = format!("packed {} ({} bytes, {digest})", file, bytes.len());
    context.ui.done(&format!("{}\n", safe_line(&told)))?;
    if !hidden.is_empty() {
        let note = format!("note: files that begin with a dot are in it: {}", hidden.join(", "));
        context.ui.error(&format!("{}\n", safe_line(&note)))?;
    }
    if is_stale {
        let note = format!("note: {stale} is of what was there before; sign again by --sign KEY");
        context.ui.error(&format!("{}\n", safe_line(&note)))?;
    }
    if let Some(signature) = signature {
        context.ui.done(&format!("signed {}\n", safe_line(&signature)))?;
    }
    let next = format!("to install it: openskills install {}", shell_word(file.as_str()));
    context.ui.note(&format!("{}\n", safe_line(&next)))?;
    Ok(ExitCode::Done)
}

/// Refuses what an audit stands against: whoever installs it elsewhere may not even be asked.
fn check_audit(audited: &Audited, args: &PackArgs) -> Result<(), RuntimeError> {
    let (message, hint) = match &audited.decision {
        Decision::Go | Decision::Warn(_) => return Ok(()),
        Decision::Ask(asked) => {
            let dir = args.dir.to_string_lossy();
            (
                format!("the audit says BLOCK: {}", asked.reasons.join("; ")),
                format!("run `csk audit {}`, and take out what it finds", shell_word(&dir)),
            )
        }
        Decision::Refuse { reason, hint } => (reason.clone(), hint.clone()),
    };
    let message = format!("`openskills install` would refuse the skill: {message}");
    Err(RuntimeError::PermissionDenied { message, hint: Some(hint) })
}

/// Returns the files that a listing does not show: whoever gives a skill away should know of them.
fn hidden(package: &Package) -> Vec<String> {
    let is_hidden = |file: &&PackedFile| file.path.parts().any(|part| part.starts_with('.'));
    package.files.iter().filter(is_hidden).map(|file| file.path.to_string()).collect()
}
