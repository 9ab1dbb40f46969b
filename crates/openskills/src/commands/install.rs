//! `openskills install` and `openskills remove`: skills from folders and archives.

#![expect(clippy::disallowed_methods, reason = "the edge: files that the user names")]

use std::path::{Path, PathBuf};

use openskills_runtime::{
    InstallOrigin, InstallPlace, InstallPlan, OriginUrl, Places, RuntimeError, change_lines,
    shell_word,
};
use skill::Digest;
use skill_fs::{AbsPath, real_path};
use skill_pack::{MAX_ARCHIVE, PackError, Package, Signed, read, verify};
use term::{HelpText, safe_line, table};

use crate::ask::{Consent, ConsentFlags, effects, tell_found};
use crate::context::Context;
use crate::discovery::{DiscoveryArgs, runtime};
use crate::exit_code::ExitCode;
use crate::output::{InstallJson, RemoveJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Installs a skill from its folder, from a ZIP file or from a tarball compressed with gzip, that
hold the skill's folder and nothing else. All of it is looked at before anything is written:
names that lead elsewhere, links, devices, bombs, names that stand twice or differ only in case
are refused, and so is a skill that is not valid. It is audited as `csk audit` does: what is
bad is asked about on a terminal and refused elsewhere. What it declares is shown, and of a
newer one what it gains and loses.

It goes to .keep-up/skills of the project, or with --user to ~/.local/share/openskills/skills.
What openskills did not put there it never replaces; what you edited is kept in the backups
beside it. Of --origin-url no password, token or query is kept.

A signature beside the archive (FILE.sig, by `openskills pack --sign` or `ssh-keygen -Y sign -n
openskills`) is verified against the file of allowed signers:
~/.config/openskills/allowed_signers, in the format of ssh-keygen. One that does not hold is
refused; none is told, and refused with --require-signature.

On a terminal it asks. Elsewhere, and with --json, it needs --yes.

Reads:  the folder or archive, its signature, the allowed signers
Writes: the skill, what is known of it (installed.json in the state folder, .openskills/ beside
        it), the log",
    exit_codes: &[
        ExitCode::Done.when("installed, or it was there already"),
        ExitCode::Invalid.when("the package cannot be taken; nothing was written"),
        ExitCode::Usage.usual(),
        ExitCode::NotAllowed
            .when("the audit or a signature stands against it, or the answer is no"),
        ExitCode::NeedsApproval.when("confirmation required, but stdin is not a terminal"),
    ],
    examples: &[
        "openskills install ./downloads/pdf.zip",
        "openskills install ./skills/pdf --user --yes",
        "openskills install pdf.zip --require-signature --dry-run",
    ],
};

/// Install a skill from a folder or an archive
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct InstallArgs {
    /// A folder, a ZIP file or a tarball
    #[arg(value_name = "DIR|FILE")]
    source: PathBuf,
    #[command(flatten)]
    place: PlaceArgs,
    /// Where it is from, to be remembered
    #[arg(long, value_name = "URL")]
    origin_url: Option<String>,
    /// The signature of the archive; FILE.sig by default, if it is there
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    /// Who may sign
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// Take nothing that is not signed
    #[arg(long)]
    require_signature: bool,
    /// Show what it would do, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

/// Whom it is for.
#[derive(Debug, clap::Args)]
struct PlaceArgs {
    /// For everybody who works on the project (the default)
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// For you alone, in every project
    #[arg(long)]
    user: bool,
}

impl PlaceArgs {
    fn place(&self) -> InstallPlace {
        if self.user { InstallPlace::User } else { InstallPlace::Project }
    }
}

/// Which project it is.
#[derive(Debug, clap::Args)]
struct ProjectArgs {
    /// The folder of the project, instead of the git repository around the working folder
    #[arg(long, value_name = "DIR", env = "OPENSKILLS_PROJECT", hide_env_values = true)]
    project_dir: Option<PathBuf>,
}

impl ProjectArgs {
    fn discovery(&self) -> DiscoveryArgs {
        DiscoveryArgs { dir: Vec::new(), project: self.project_dir.clone() }
    }
}

const REMOVE_HELP: HelpText = HelpText {
    text: "\
Removes a skill that `openskills install` put there. What you edited is kept in the backups
beside it.

Reads:  installed.json in the state folder
Writes: removes the skill's folder and what is known of it; the log",
    exit_codes: &[
        ExitCode::Done.when("removed"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("it was not installed by openskills; nothing was removed"),
    ],
    examples: &["openskills remove pdf", "openskills remove pdf --user --json"],
};

/// Remove a skill that was installed
#[derive(Debug, clap::Args)]
#[command(after_help = REMOVE_HELP)]
pub(crate) struct RemoveArgs {
    /// Its name
    #[arg(value_name = "NAME", add = term::names(crate::completion::installed))]
    name: String,
    #[command(flatten)]
    place: PlaceArgs,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

/// What is known of a signature.
enum Signature {
    /// There is none.
    None,
    /// There is one, and nobody said who may sign.
    Unverified,
    /// It holds.
    Verified(Signed),
}

impl Signature {
    fn told(&self) -> String {
        match self {
            Self::None => "nobody, as far as is known".to_owned(),
            Self::Unverified => {
                "somebody; it is not verified, since nobody is named in allowed_signers".to_owned()
            }
            Self::Verified(signed) => format!("{} ({})", signed.signer, signed.key),
        }
    }
}

pub(crate) fn install(context: &mut Context, args: &InstallArgs) -> anyhow::Result<ExitCode> {
    let (package, origin, signature) = taken(context, args)?;
    let runtime = runtime(args.project.discovery().config(context)?);
    let plan = runtime.plan_install(package, args.place.place(), origin.clone())?;
    let consent = Consent::of(ConsentFlags { yes: args.yes, json: args.json });
    if !args.json {
        let shown = shown(&plan, &origin, &signature);
        consent.show(&mut context.ui, &shown)?;
        for problem in &plan.diagnostics {
            context.ui.error(&format!("warning: {}\n", safe_line(&problem.message)))?;
        }
        tell_found(&mut context.ui, consent, &plan.audited)?;
    }
    if plan.is_known() {
        if !args.dry_run {
            runtime.clean_up_installs(args.place.place())?;
        }
        tell(context, args, &plan, None, "is there already")?;
        return Ok(ExitCode::Done);
    }
    consent.check(&plan.audited)?;
    if args.dry_run {
        tell(context, args, &plan, None, "would be installed")?;
        return Ok(ExitCode::Done);
    }
    if !consent.agreed(&mut context.ui, "Install it?", "nothing was installed")? {
        return Ok(ExitCode::NotAllowed);
    }
    let done = runtime.install(&plan)?;
    tell(context, args, &plan, done.backup.as_ref(), "installed")?;
    Ok(ExitCode::Done)
}

/// Reads what is to be installed.
fn taken(
    context: &Context,
    args: &InstallArgs,
) -> Result<(Package, InstallOrigin, Signature), RuntimeError> {
    let shown = args.source.display();
    let origin_url = args.origin_url.as_deref().map(origin_url).transpose()?;
    if args.source.to_string_lossy().contains("://") {
        return Err(RuntimeError::Setup {
            message: format!("{shown} is an address, and nothing is downloaded"),
            hint: Some("download it yourself, and remember where from by --origin-url; or use csk for git repositories".to_owned()),
        });
    }
    let wrong = |why: String| RuntimeError::Setup {
        message: format!("cannot read {shown}: {why}"),
        hint: Some("name a folder with a SKILL.md, a ZIP file or a tarball".to_owned()),
    };
    let path = AbsPath::new(context.cwd.as_path().join(&args.source))
        .map_err(|error| wrong(error.to_string()))?;
    let path = real_path(&path).map_err(|error| wrong(error.to_string()))?;
    let metadata = std::fs::metadata(path.as_path()).map_err(|error| wrong(error.to_string()))?;
    let mut origin =
        InstallOrigin { source: path.to_string(), origin_url, ..InstallOrigin::default() };
    if metadata.is_dir() {
        if args.require_signature || args.signature.is_some() {
            let message = "a folder has no signature; only archives do".to_owned();
            return Err(RuntimeError::PermissionDenied { message, hint: None });
        }
        return Ok((Package::of_folder(&path)?, origin, Signature::None));
    }
    if !metadata.is_file() {
        return Err(wrong("it is neither a file nor a folder".to_owned()));
    }
    if metadata.len() > MAX_ARCHIVE {
        let (what, found) = ("bytes of the archive", metadata.len());
        return Err(PackError::Limit { what, found, limit: MAX_ARCHIVE }.into());
    }
    let bytes = std::fs::read(path.as_path()).map_err(|error| wrong(error.to_string()))?;
    // A stranger's archive is not even looked into before its signature holds.
    let signature = signed(context, args, &path, &bytes)?;
    if let Signature::Verified(signed) = &signature {
        origin.signed = Some(signed.clone());
    }
    origin.archive = Some(Digest::of(&bytes));
    Ok((read(&bytes)?, origin, signature))
}

/// Reads where it is from. What cannot be read is not shown: it may hold a password.
fn origin_url(text: &str) -> Result<OriginUrl, RuntimeError> {
    OriginUrl::parse(text).map_err(|why| RuntimeError::Setup {
        message: format!("cannot remember --origin-url: {why}"),
        hint: Some(
            "use https://HOST/PATH, ssh://git@HOST/PATH or git@HOST:PATH, without a password; \
             write `%40` for an `@` in the path"
                .to_owned(),
        ),
    })
}

/// Verifies the signature of an archive, if there is one.
fn signed(
    context: &Context,
    args: &InstallArgs,
    archive: &AbsPath,
    bytes: &[u8],
) -> Result<Signature, RuntimeError> {
    let beside = PathBuf::from(format!("{archive}.sig"));
    let signature = match &args.signature {
        Some(file) => Some(context.cwd.as_path().join(file)),
        None => std::fs::symlink_metadata(&beside).is_ok().then_some(beside),
    };
    let Some(signature) = signature else {
        if args.require_signature {
            return Err(RuntimeError::PermissionDenied {
                message: format!("there is no signature beside {archive}"),
                hint: Some("name it by --signature, or ask for a signed archive".to_owned()),
            });
        }
        return Ok(Signature::None);
    };
    let usual = Places::from_environment()?.config.map(|config| config.join("allowed_signers"));
    let allowed = match (&args.allowed_signers, usual) {
        (Some(file), _) => Some(context.cwd.as_path().join(file)),
        (None, Some(usual)) => Some(usual.as_path().to_owned()).filter(|file| file.exists()),
        (None, None) => None,
    };
    let Some(allowed) = allowed else {
        if args.require_signature || args.signature.is_some() {
            return Err(RuntimeError::PermissionDenied {
                message: "nobody may sign: there is no file of allowed signers".to_owned(),
                hint: Some(
                    "write ~/.config/openskills/allowed_signers, or name one by --allowed-signers"
                        .to_owned(),
                ),
            });
        }
        return Ok(Signature::Unverified);
    };
    // What is verified is what is read: copies that nobody else writes to.
    let copies = [
        copied(bytes)?,
        copied(&small("the signature", &signature)?)?,
        copied(&small("the file of allowed signers", &allowed)?)?,
    ];
    let [file, sig, signers] = copies.each_ref().map(tempfile::NamedTempFile::path);
    match verify(file, sig, signers) {
        Ok(signed) => Ok(Signature::Verified(signed)),
        Err(error @ PackError::Signature(_)) => Err(RuntimeError::PermissionDenied {
            message: error.to_string(),
            hint: Some(format!("who may sign is in {}", shown_path(&allowed))),
        }),
        Err(other) => Err(other.into()),
    }
}

/// Reads a small file that the user named.
fn small(what: &str, file: &Path) -> Result<Vec<u8>, RuntimeError> {
    const MOST: u64 = 1 << 20;
    let wrong = |why: String| RuntimeError::Setup {
        message: format!("{what} cannot be read: {}: {why}", file.display()),
        hint: None,
    };
    let metadata = std::fs::metadata(file).map_err(|error| wrong(error.to_string()))?;
    if !metadata.is_file() {
        return Err(wrong("it is no file".to_owned()));
    }
    if metadata.len() > MOST {
        return Err(wrong("it is larger than 1 MiB".to_owned()));
    }
    std::fs::read(file).map_err(|error| wrong(error.to_string()))
}

fn copied(bytes: &[u8]) -> Result<tempfile::NamedTempFile, RuntimeError> {
    let failed =
        |error: std::io::Error| RuntimeError::Setup { message: error.to_string(), hint: None };
    let mut copy = tempfile::NamedTempFile::new().map_err(failed)?;
    std::io::Write::write_all(&mut copy, bytes).map_err(failed)?;
    Ok(copy)
}

fn shown_path(path: &Path) -> String {
    shell_word(&path.to_string_lossy()).into_owned()
}

/// Returns a plan as people read it.
fn shown(plan: &InstallPlan, origin: &InstallOrigin, signature: &Signature) -> String {
    let mut rows = vec![
        vec!["  from".to_owned(), origin.source.clone()],
        vec!["  to".to_owned(), plan.target.to_string()],
    ];
    if !plan.version.is_empty() {
        rows.push(vec!["  version".to_owned(), plan.version.clone()]);
    }
    rows.push(vec!["  signed by".to_owned(), signature.told()]);
    let mut text = format!("{}\n{}", safe_line(&plan.package.name), table(&rows, None));
    text += "It declares:\n";
    let rows: Vec<Vec<String>> = plan
        .capabilities
        .iter()
        .map(|(kind, extent)| vec![format!("  {}", kind.as_str()), extent.to_string()])
        .collect();
    text += &table(&rows, None);
    text += &effects(plan.side_effects.as_deref());
    if let Some(before) = &plan.before {
        let version = before.version.as_deref().unwrap_or("without a version");
        let version = safe_line(version);
        let changes = plan.changes.as_ref().map(|changes| change_lines(changes));
        text += &match &changes {
            None => format!(
                "What was installed ({version}) did not say its capabilities: all of them are new.\n"
            ),
            Some(lines) if lines.is_empty() => {
                format!("Its capabilities are those of what was installed ({version}).\n")
            }
            Some(_) => {
                format!("Its capabilities are not those of what was installed ({version}):\n")
            }
        };
        for line in changes.into_iter().flatten() {
            text += &format!("  {}\n", safe_line(&line));
        }
        // Whoever was asked before is not asked now.
        if let Some(signature) = before.signature.as_ref().filter(|_| origin.signed.is_none()) {
            let signer = safe_line(&signature.signer);
            text += &format!("What was installed was signed by {signer}; this is not.\n");
        }
    }
    if plan.is_edited && !plan.is_same {
        text += "What is there was edited; it is kept in the backups.\n";
    }
    text
}

fn tell(
    context: &mut Context,
    args: &InstallArgs,
    plan: &InstallPlan,
    backup: Option<&AbsPath>,
    what: &'static str,
) -> std::io::Result<()> {
    if args.json {
        return context.ui.json(&InstallJson {
            version: VERSION,
            name: plan.package.name.clone(),
            path: plan.target.to_string(),
            result: what.to_owned(),
            changes: plan.changes.as_ref().map(|changes| change_lines(changes)),
            verdict: plan.audited.found.report.verdict.to_string(),
            backup: backup.map(ToString::to_string),
        });
    }
    let told = format!("{} {what}: {}", plan.package.name, plan.target);
    context.ui.done(&format!("{}\n", safe_line(&told)))?;
    if let Some(backup) = backup {
        context
            .ui
            .error(&format!("what was edited is kept in {}\n", safe_line(backup.as_str())))?;
    }
    Ok(())
}

pub(crate) fn remove(context: &mut Context, args: &RemoveArgs) -> anyhow::Result<ExitCode> {
    let runtime = runtime(args.project.discovery().config(context)?);
    let (folder, backup) = runtime.uninstall(&args.name, args.place.place())?;
    if args.json {
        context.ui.json(&RemoveJson {
            version: VERSION,
            name: args.name.clone(),
            path: folder.to_string(),
            backup: backup.map(|backup| backup.to_string()),
        })?;
        return Ok(ExitCode::Done);
    }
    context.ui.done(&format!("removed {}\n", safe_line(folder.as_str())))?;
    if let Some(backup) = backup {
        context
            .ui
            .error(&format!("what was edited is kept in {}\n", safe_line(backup.as_str())))?;
    }
    Ok(ExitCode::Done)
}
