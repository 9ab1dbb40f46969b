//! `openskills install` and `openskills remove`: install skills from folders and archives, and remove them.

#![expect(clippy::disallowed_methods, reason = "the edge: files that the user passes")]

use std::path::{Path, PathBuf};

use openskills_runtime::{
    InstallOrigin, InstallPlan, InstallScope, OriginUrl, Places, RuntimeError, change_lines,
    shell_word,
};
use skill::Digest;
use skill_fs::{AbsPath, real_path};
use skill_pack::{MAX_ARCHIVE, PackError, Package, Signed, read, verify};
use term::{HelpText, safe_line, table};

use crate::ask::{Consent, ConsentFlags, effects, print_audit};
use crate::context::Context;
use crate::discovery::{DiscoveryArgs, runtime};
use crate::exit_code::ExitCode;
use crate::output::{InstallJson, RemoveJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Installs a skill from a folder, a ZIP file or a gzip-compressed tarball. An archive must contain the
skill's folder and nothing else. Everything is checked before anything is written: invalid skills,
paths that point outside the skill, links, devices, archive bombs, duplicate names and names that
differ only in case are rejected. The skill is audited as with `csk audit`: if the audit blocks it,
openskills asks on a terminal whether to install it anyway; without a terminal,
the install fails. openskills shows the
declared capabilities and, for an upgrade, those gained and lost.

The skill is installed to .keep-up/skills in the project or, with --user, to
~/.local/share/openskills/skills. openskills never replaces a skill it did not install; if you
edited the installed skill, your version is backed up next to it. Passwords, tokens and query
strings in --origin-url are not stored.

If there is a signature next to the archive (FILE.sig, from `openskills pack --sign` or
`ssh-keygen -Y sign -n openskills`), it is verified against the allowed signers in
~/.config/openskills/allowed_signers (ssh-keygen's format). An invalid signature is rejected. A
missing one is only reported, unless you pass --require-signature.

In a terminal, openskills asks for confirmation. Otherwise, and with --json, --yes is required.

Reads:  the folder or archive, its signature, the allowed signers
Writes: the skill, its install record (installed.json in the state folder, .openskills/ next to
        the skill), the log",
    exit_codes: &[
        ExitCode::Done.when("installed, or already installed"),
        ExitCode::Invalid.when("the package is invalid; nothing was written"),
        ExitCode::Usage.usual(),
        ExitCode::NotAllowed.when("blocked by the audit or the signature check, or you declined"),
        ExitCode::NeedsApproval
            .when("confirmation required, but stdin is not a terminal or --json is given"),
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
    /// Folder, ZIP file or tarball
    #[arg(value_name = "DIR|FILE")]
    source: PathBuf,
    #[command(flatten)]
    destination: DestinationArgs,
    /// URL the skill came from, stored in the install record
    #[arg(long, value_name = "URL")]
    origin_url: Option<String>,
    /// Archive signature [default: FILE.sig, if it exists]
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    /// File listing the allowed signers
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// Reject unsigned skills
    #[arg(long)]
    require_signature: bool,
    /// Show what would be done, without doing it
    #[arg(long)]
    dry_run: bool,
    /// Do not prompt for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

/// Where to install.
#[derive(Debug, clap::Args)]
struct DestinationArgs {
    /// Use the project's skills folder (the default)
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// Use your user account's skills folder, shared by all projects
    #[arg(long)]
    user: bool,
}

impl DestinationArgs {
    fn destination(&self) -> InstallScope {
        if self.user { InstallScope::User } else { InstallScope::Project }
    }
}

/// The project to use.
#[derive(Debug, clap::Args)]
struct ProjectArgs {
    /// Project folder [default: the enclosing git repository]
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
Removes a skill installed with `openskills install`. If you edited it, openskills backs up your
version and prints the path.

Reads:  installed.json in the state folder
Writes: the log; removes the skill's folder and its install record",
    exit_codes: &[
        ExitCode::Done.when("removed"),
        ExitCode::Usage.usual(),
        ExitCode::NotFound.when("not installed by openskills; nothing was removed"),
    ],
    examples: &["openskills remove pdf", "openskills remove pdf --user --json"],
};

/// Remove an installed skill
#[derive(Debug, clap::Args)]
#[command(after_help = REMOVE_HELP)]
pub(crate) struct RemoveArgs {
    /// Skill name
    #[arg(value_name = "NAME", add = term::names(crate::completion::installed))]
    name: String,
    #[command(flatten)]
    destination: DestinationArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

/// The signature of an archive.
enum Signature {
    Missing,
    /// Present, but there is no file of allowed signers to verify it against.
    Unverified,
    Verified(Signed),
}

impl Signature {
    fn describe(&self) -> String {
        match self {
            Self::Missing => "not signed".to_owned(),
            Self::Unverified => "signed, but not verified: no allowed_signers file".to_owned(),
            Self::Verified(signed) => format!("{} ({})", signed.signer, signed.key),
        }
    }
}

pub(crate) fn install(context: &mut Context, args: &InstallArgs) -> anyhow::Result<ExitCode> {
    let (package, origin, signature) = read_source(context, args)?;
    let runtime = runtime(args.project.discovery().config(context)?);
    let plan = runtime.plan_install(package, args.destination.destination(), origin.clone())?;
    let consent = Consent::of(ConsentFlags { yes: args.yes, json: args.json });
    if !args.json {
        let text = plan_text(&plan, &origin, &signature);
        consent.show(&mut context.ui, &text)?;
        for problem in &plan.diagnostics {
            context.ui.error(&format!("warning: {}\n", safe_line(&problem.message)))?;
        }
        print_audit(&mut context.ui, consent, &plan.audited)?;
    }
    if plan.is_known() {
        if !args.dry_run {
            runtime.clean_up_installs(args.destination.destination())?;
        }
        print_result(context, args, &plan, None, Outcome::AlreadyInstalled)?;
        return Ok(ExitCode::Done);
    }
    consent.check(&plan.audited)?;
    if args.dry_run {
        print_result(context, args, &plan, None, Outcome::DryRun)?;
        return Ok(ExitCode::Done);
    }
    if !consent.confirm(&mut context.ui, "Install it?", "nothing was installed")? {
        return Ok(ExitCode::NotAllowed);
    }
    let done = runtime.install(&plan)?;
    print_result(context, args, &plan, done.backup.as_ref(), Outcome::Installed)?;
    Ok(ExitCode::Done)
}

/// Reads the package to install and verifies its signature.
fn read_source(
    context: &Context,
    args: &InstallArgs,
) -> Result<(Package, InstallOrigin, Signature), RuntimeError> {
    let shown = args.source.display();
    let origin_url = args.origin_url.as_deref().map(origin_url).transpose()?;
    if args.source.to_string_lossy().contains("://") {
        return Err(RuntimeError::Setup {
            message: format!("`{shown}` is a URL; openskills does not download skills"),
            hint: Some("download it and pass the file, with --origin-url to record the URL; for git repositories, use csk".to_owned()),
        });
    }
    let unreadable = |reason: String| RuntimeError::Setup {
        message: format!("cannot read `{shown}`: {reason}"),
        hint: Some("pass a folder with a SKILL.md, a ZIP file or a tarball".to_owned()),
    };
    let path = AbsPath::new(context.cwd.as_path().join(&args.source))
        .map_err(|error| unreadable(error.to_string()))?;
    let path = real_path(&path).map_err(|error| unreadable(error.to_string()))?;
    let metadata =
        std::fs::metadata(path.as_path()).map_err(|error| unreadable(error.to_string()))?;
    let mut origin =
        InstallOrigin { source: path.to_string(), origin_url, ..InstallOrigin::default() };
    if metadata.is_dir() {
        if args.require_signature || args.signature.is_some() {
            let message = "a folder cannot be signed; only archives can".to_owned();
            let hint =
                Some("install an archive that was signed with `openskills pack --sign`".to_owned());
            return Err(RuntimeError::PermissionDenied { message, hint });
        }
        return Ok((Package::of_folder(&path)?, origin, Signature::Missing));
    }
    if !metadata.is_file() {
        return Err(unreadable("neither a file nor a folder".to_owned()));
    }
    if metadata.len() > MAX_ARCHIVE {
        let (what, size) = ("the archive".to_owned(), metadata.len());
        return Err(PackError::Size { what, size, limit: MAX_ARCHIVE }.into());
    }
    let bytes = std::fs::read(path.as_path()).map_err(|error| unreadable(error.to_string()))?;
    // The archive is not opened before its signature is verified.
    let signature = verify_signature(context, args, &path, &bytes)?;
    if let Signature::Verified(signed) = &signature {
        origin.signed = Some(signed.clone());
    }
    origin.archive = Some(Digest::of(&bytes));
    Ok((read(&bytes)?, origin, signature))
}

/// Parses `--origin-url`. The error does not show it, because it may contain a password.
fn origin_url(text: &str) -> Result<OriginUrl, RuntimeError> {
    OriginUrl::parse(text).map_err(|reason| RuntimeError::Setup {
        message: format!("invalid `--origin-url`: {reason}"),
        hint: Some(
            "use https://HOST/PATH, ssh://git@HOST/PATH or git@HOST:PATH, without a password; \
             write `%40` for an `@` in the path"
                .to_owned(),
        ),
    })
}

/// Verifies the signature of an archive, if there is one.
fn verify_signature(
    context: &Context,
    args: &InstallArgs,
    archive: &AbsPath,
    bytes: &[u8],
) -> Result<Signature, RuntimeError> {
    let default_file = PathBuf::from(format!("{archive}.sig"));
    let signature = match &args.signature {
        Some(file) => Some(context.cwd.as_path().join(file)),
        None => std::fs::symlink_metadata(&default_file).is_ok().then_some(default_file),
    };
    let Some(signature) = signature else {
        if args.require_signature {
            return Err(RuntimeError::PermissionDenied {
                message: format!("no signature for `{archive}`"),
                hint: Some(
                    "pass the signature with --signature, or get a signed archive".to_owned(),
                ),
            });
        }
        return Ok(Signature::Missing);
    };
    let default_signers =
        Places::from_environment()?.config.map(|config| config.join("allowed_signers"));
    let allowed = match (&args.allowed_signers, default_signers) {
        (Some(file), _) => Some(context.cwd.as_path().join(file)),
        (None, Some(file)) => Some(file.as_path().to_owned()).filter(|file| file.exists()),
        (None, None) => None,
    };
    let Some(allowed) = allowed else {
        if args.require_signature || args.signature.is_some() {
            return Err(RuntimeError::PermissionDenied {
                message: "cannot verify the signature: no allowed_signers file".to_owned(),
                hint: Some(
                    "create ~/.config/openskills/allowed_signers, or pass a file with --allowed-signers"
                        .to_owned(),
                ),
            });
        }
        return Ok(Signature::Unverified);
    };
    // Verifies private copies, so that nobody can change the files between verifying and reading.
    let copies = [
        private_copy(bytes)?,
        private_copy(&read_small("signature", &signature)?)?,
        private_copy(&read_small("allowed_signers file", &allowed)?)?,
    ];
    let [file, sig, signers] = copies.each_ref().map(tempfile::NamedTempFile::path);
    match verify(file, sig, signers) {
        Ok(signed) => Ok(Signature::Verified(signed)),
        Err(error @ PackError::Signature(_)) => Err(RuntimeError::PermissionDenied {
            message: error.to_string(),
            hint: Some(format!(
                "check that {} lists the signer, and that the archive is the one that was signed",
                shell_path(&allowed)
            )),
        }),
        Err(other) => Err(other.into()),
    }
}

/// Reads a small file that the user passed.
fn read_small(role: &str, file: &Path) -> Result<Vec<u8>, RuntimeError> {
    const MAX_SIZE: u64 = 1 << 20;
    let unreadable = |reason: String| RuntimeError::Setup {
        message: format!("cannot read {role} `{}`: {reason}", file.display()),
        hint: None,
    };
    let metadata = std::fs::metadata(file).map_err(|error| unreadable(error.to_string()))?;
    if !metadata.is_file() {
        return Err(unreadable("not a regular file".to_owned()));
    }
    if metadata.len() > MAX_SIZE {
        return Err(unreadable("larger than 1 MiB".to_owned()));
    }
    std::fs::read(file).map_err(|error| unreadable(error.to_string()))
}

fn private_copy(bytes: &[u8]) -> Result<tempfile::NamedTempFile, RuntimeError> {
    let failed =
        |error: std::io::Error| RuntimeError::Setup { message: error.to_string(), hint: None };
    let mut copy = tempfile::NamedTempFile::new().map_err(failed)?;
    std::io::Write::write_all(&mut copy, bytes).map_err(failed)?;
    Ok(copy)
}

fn shell_path(path: &Path) -> String {
    shell_word(&path.to_string_lossy()).into_owned()
}

/// Returns the install plan as text.
fn plan_text(plan: &InstallPlan, origin: &InstallOrigin, signature: &Signature) -> String {
    let mut rows = vec![
        vec!["  from".to_owned(), origin.source.clone()],
        vec!["  to".to_owned(), plan.target.to_string()],
    ];
    if !plan.version.is_empty() {
        rows.push(vec!["  version".to_owned(), plan.version.clone()]);
    }
    rows.push(vec!["  signature".to_owned(), signature.describe()]);
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
        let version = before.version.as_deref().unwrap_or("no version");
        let version = safe_line(version);
        let changes = plan.changes.as_ref().map(|changes| change_lines(changes));
        text += &match &changes {
            None => format!(
                "The installed version ({version}) has no recorded capabilities, so all capabilities count as new.\n"
            ),
            Some(lines) if lines.is_empty() => {
                format!(
                    "Its capabilities have not changed since the installed version ({version}).\n"
                )
            }
            Some(_) => {
                format!("Its capabilities have changed since the installed version ({version}):\n")
            }
        };
        for line in changes.into_iter().flatten() {
            text += &format!("  {}\n", safe_line(&line));
        }
        // An upgrade that drops the signature deserves attention.
        if let Some(signature) = before.signature.as_ref().filter(|_| origin.signed.is_none()) {
            let signer = safe_line(&signature.signer);
            text +=
                &format!("The installed version was signed by {signer}; this one is not signed.\n");
        }
    }
    if plan.is_edited && !plan.is_same {
        text += "The installed version has local edits; it will be backed up.\n";
    }
    text
}

/// The outcome of `openskills install`.
#[derive(Debug, Clone, Copy)]
enum Outcome {
    Installed,
    AlreadyInstalled,
    DryRun,
}

impl Outcome {
    /// Returns the `result` in the JSON output.
    fn as_str(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::AlreadyInstalled => "already installed",
            Self::DryRun => "would be installed",
        }
    }
}

fn print_result(
    context: &mut Context,
    args: &InstallArgs,
    plan: &InstallPlan,
    backup: Option<&AbsPath>,
    outcome: Outcome,
) -> std::io::Result<()> {
    if args.json {
        return context.ui.json(&InstallJson {
            version: VERSION,
            name: plan.package.name.clone(),
            path: plan.target.to_string(),
            result: outcome.as_str().to_owned(),
            changes: plan.changes.as_ref().map(|changes| change_lines(changes)),
            verdict: plan.audited.found.report.verdict.to_string(),
            backup: backup.map(ToString::to_string),
        });
    }
    let (name, target) = (&plan.package.name, &plan.target);
    let line = match outcome {
        Outcome::Installed => format!("installed {name} to {target}"),
        Outcome::AlreadyInstalled => format!("{name} is already installed in {target}"),
        Outcome::DryRun => format!("would install {name} to {target}"),
    };
    context.ui.done(&format!("{}\n", safe_line(&line)))?;
    if let Some(backup) = backup {
        context.ui.error(&format!(
            "your edited version was backed up to {}\n",
            safe_line(backup.as_str())
        ))?;
    }
    Ok(())
}

pub(crate) fn remove(context: &mut Context, args: &RemoveArgs) -> anyhow::Result<ExitCode> {
    let runtime = runtime(args.project.discovery().config(context)?);
    let (folder, backup) = runtime.uninstall(&args.name, args.destination.destination())?;
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
        context.ui.error(&format!(
            "your edited version was backed up to {}\n",
            safe_line(backup.as_str())
        ))?;
    }
    Ok(ExitCode::Done)
}
