//! `openskills pack`: a skill as a ZIP file.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::path::PathBuf;
use std::process::ExitCode;

use openskills_runtime::skill_pack::{Package, sign, zip};
use openskills_runtime::{RuntimeError, shell_word};
use skill::{Digest, Input, SKILL_FILE, Strictness, parse};
use skill_fs::{AbsPath, real_path, write_file};
use term::safe_line;

use crate::context::Context;
use crate::output::{PackJson, VERSION};

const AFTER: &str = "\
Checks the skill strictly and writes it as a ZIP file: the skill's folder at its root, entries
sorted, the same times and modes everywhere. The same files give the same bytes. Links and
names that some system cannot take are refused.

With --sign the file is signed by a key of SSH (`ssh-keygen -Y sign -n openskills`); the
signature stands beside it, with .sig after its name.

Reads:  the skill
Writes: the ZIP file, in the working folder unless --output says otherwise; its signature

Exit codes:
  0  done
  1  the skill is invalid, or cannot be packed; nothing was written
  2  the call is wrong, or the file cannot be written

Examples:
  openskills pack skills/pdf
  openskills pack skills/pdf --output pdf-1.2.zip --sign ~/.ssh/id_ed25519";

/// Pack a skill as a ZIP file
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
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
    pub(crate) json: bool,
}

pub(crate) fn pack(context: &mut Context, args: &PackArgs) -> anyhow::Result<ExitCode> {
    let folder = real_path(&AbsPath::new(context.cwd.as_path().join(&args.dir))?)?;
    let package = Package::of_folder(&folder).map_err(RuntimeError::from)?;
    check(&package)?;
    let bytes = zip(&package).map_err(RuntimeError::from)?;
    let usual = PathBuf::from(format!("{}.zip", package.name));
    let file = AbsPath::new(context.cwd.as_path().join(args.output.as_ref().unwrap_or(&usual)))?;
    let is_there = std::fs::read(file.as_path()).ok();
    if is_there.as_ref().is_some_and(|there| *there != bytes) && !args.force {
        let message = format!("{file} is there, and it is another");
        let hint = "replace it: --force; or name another file: --output FILE";
        return Err(RuntimeError::Setup { message, hint: Some(hint.to_owned()) }.into());
    }
    write_file(&file, &bytes)?;
    let mut signature = None;
    if let Some(key) = &args.sign {
        let path = format!("{file}.sig");
        // `ssh-keygen` asks before it writes over one; this file is what was asked for.
        let _ = std::fs::remove_file(&path);
        sign(file.as_path(), &context.cwd.as_path().join(key)).map_err(RuntimeError::from)?;
        signature = Some(path);
    }
    let digest = Digest::of(&bytes).to_string();
    if args.json {
        context.ui.json(&PackJson {
            version: VERSION,
            name: package.name,
            file: file.to_string(),
            size: bytes.len(),
            files: package.files.len(),
            digest,
            signature,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let told = format!("packed {} ({} bytes, {digest})", file, bytes.len());
    context.ui.out(&format!("{}\n", safe_line(&told)))?;
    if let Some(signature) = signature {
        context.ui.out(&format!("signed {}\n", safe_line(&signature)))?;
    }
    let next = format!("to install it: openskills install {}", shell_word(file.as_str()));
    context.ui.error(&format!("{}\n", safe_line(&next)))?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses a skill that whoever installs it would refuse.
fn check(package: &Package) -> Result<(), RuntimeError> {
    let bytes = package.file(SKILL_FILE).map_or(&[][..], |file| &file.bytes);
    let input = Input { file: SKILL_FILE, directory: Some(&package.name), bytes };
    let parsed = parse(&input, Strictness::Strict);
    match parsed.document {
        Some(_) => Ok(()),
        None => Err(RuntimeError::InvalidManifest {
            file: format!("{}/{SKILL_FILE}", package.name),
            diagnostics: parsed.diagnostics,
        }),
    }
}
