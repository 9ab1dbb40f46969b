//! `openskills skillify`: a bundle derived from a package.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: packages, bundles and a program that the user names"
)]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use openskills_runtime::{Places, RuntimeError, clean_up, put_aside, put_package, shell_word};
use similar::TextDiff;
use skill::{SKILL_FILE, raw_frontmatter};
use skill_fs::{AbsPath, make_private_folder};
use skill_pack::{Format, MAX_ARCHIVE, Package, format_of};
use skillify::{Files, Library, derive};
use term::{HelpText, counted, safe_line};

use crate::ask::{Consent, ConsentFlags};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{SkillifyJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Derives a bundle of corteza.skill/v1 from a package: what it exports, how it is called, and
what its own help says of each argument. Nothing of the package is run. The same package gives
the same bytes.

  R        a source tree or its tarball (DESCRIPTION, NAMESPACE, man/), or a library as it is
           installed
  Python   a source tree or its tarball (pyproject.toml or PKG-INFO), a wheel, or what is
           installed
  Rust     a crate: its folder, or the .crate file
  npm      a package: its folder, or the .tgz file

PACKAGE is looked for where libraries are installed: as one of R, then of Python, then of
Node.js; with `r:`, `python:` or `node:` before it as one of that kind alone.

The bundle is kept in the cache by name, version and digest of the source, and never changed
there. With --output it is written to DIR/NAME as well; a bundle that is there is replaced only
if it was derived from the same package, and the difference is shown first; one that was edited
is kept in ~/.local/share/openskills/backups, where no skills are discovered. With --summarize
each section goes to a program of yours on standard input (its name in SKILLIFY_SECTION), and
what that writes takes its place; the bundle says so.

Reads:  the package; the bundle that would be replaced
Writes: the cache; with --output the bundle, and a copy of what was edited",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid.when("the package cannot be understood; nothing was written"),
        ExitCode::Usage.when("the call is wrong"),
        ExitCode::NotFound.when("there is no such package"),
        ExitCode::NotAllowed.when("the answer is no"),
        ExitCode::NeedsApproval.when("confirmation required, but stdin is not a terminal"),
    ],
    examples: &[
        "openskills skillify jsonlite",
        "openskills skillify ./serde-1.0.228.crate --output ./skills",
        "openskills skillify python:requests --output .claude/skills --diff",
        "openskills skillify ./mypackage --summarize 'llm -s \"Shorten this page\"'",
    ],
};

/// Derive a bundle from an R, Python, Rust or npm package
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct SkillifyArgs {
    /// A folder or a tarball, or the name of an installed package
    #[arg(value_name = "PATH|PACKAGE")]
    package: String,
    /// The folder that the bundle's folder is written to
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Show how it differs from the bundle that it would replace, and write nothing
    #[arg(long, requires = "output")]
    diff: bool,
    /// A program that rewrites each section
    #[arg(long, value_name = "COMMAND")]
    summarize: Option<String>,
    /// Do not ask before a bundle is replaced
    #[arg(long, short)]
    yes: bool,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn skillify(context: &mut Context, args: &SkillifyArgs) -> anyhow::Result<ExitCode> {
    let places = Places::from_environment()?;
    if args.package.trim().is_empty() {
        let message = "there is no package without a name".to_owned();
        let hint = Some("name a folder, a tarball, or an installed package".to_owned());
        return Err(RuntimeError::Setup { message, hint }.into());
    }
    let files = files(context, &places, &args.package)?;
    let library = derive(&files).map_err(|error| unusable(&args.package, &error.to_string()))?;
    let command = args.summarize.as_deref();
    let package = library.bundle(|name, text| summarized(command, name, text), command)?;
    let kept = if args.diff { None } else { keep(&places, &library, &package)? };
    let mut told = SkillifyJson {
        version: VERSION,
        name: package.name.clone(),
        package: library.name.clone(),
        package_version: library.version.clone(),
        source_hash: library.source.to_string(),
        topics: library.exports(),
        kind: library.kind.word().to_owned(),
        path: kept.as_ref().map(ToString::to_string),
        diff: None,
        backup: None,
        written: false,
    };
    if let Some(output) = &args.output {
        let skills = AbsPath::new(context.cwd.as_path().join(output))?;
        let target = skills.join(&package.name);
        let before = replaced(&target, &library)?;
        let diff = difference(before.as_ref(), &package);
        if !args.diff {
            clean_up(&skills, &places);
        }
        if !args.json && (args.diff || before.is_some()) {
            for line in diff.lines() {
                context.ui.out(&format!("{}\n", safe_line(line)))?;
            }
        }
        if !args.diff && !diff.is_empty() {
            let consent =
                Consent::of(ConsentFlags { yes: args.yes || before.is_none(), json: args.json });
            if !consent.agreed(&mut context.ui, "Replace it?", "nothing was written")? {
                return Ok(ExitCode::NotAllowed);
            }
            if let Some(before) = before.filter(|before| !is_kept(&places, &library, before)) {
                let backup = put_aside(&skills, &before.name, &places)?;
                if !args.json {
                    let note = format!("what was edited is kept in {backup}");
                    context.ui.error(&format!("{}\n", safe_line(&note)))?;
                }
                told.backup = Some(backup.to_string());
            }
            put_package(&package, &skills, &places)?;
            told.written = true;
            told.path = Some(target.to_string());
        }
        told.diff = Some(diff);
    }
    if args.json {
        context.ui.json(&told)?;
        return Ok(ExitCode::Done);
    }
    let at = match told.path.as_deref() {
        Some(path) => path,
        None if args.diff => "nothing was written",
        None => "nowhere: there is no cache",
    };
    let topics = counted(told.topics, "export");
    let line = format!("{} {} ({topics}): {at}", library.name, library.version);
    context.ui.out(&format!("{}\n", safe_line(&line)))?;
    if args.output.is_none() {
        let name = shell_word(&args.package);
        context.ui.note(&format!(
            "to use it: openskills skillify {} --output .claude/skills\n",
            safe_line(&name)
        ))?;
    }
    Ok(ExitCode::Done)
}

fn unusable(package: &str, why: &str) -> RuntimeError {
    RuntimeError::Unusable { what: package.to_owned(), message: why.to_owned() }
}

/// Reads a package: a path, or the name of one that is installed.
fn files(context: &Context, places: &Places, package: &str) -> Result<Files, RuntimeError> {
    let failed = |error: skillify::SkillifyError| unusable(package, &error.to_string());
    let path = context.cwd.as_path().join(package);
    let is_path = package.contains('/') || path.exists();
    if !is_path || (package.starts_with("node:@") && !path.exists()) {
        let found = places.installed_library(package);
        let found =
            found.ok_or_else(|| RuntimeError::LibraryNotFound { name: package.to_owned() })?;
        // A package of Python is what its RECORD lists: one module, or several folders, whatever they are called.
        let is_record = |path: &&PathBuf| path.join("RECORD").is_file();
        if let Some(about) = found.first().filter(is_record) {
            let about =
                AbsPath::new(about).map_err(|error| unusable(package, &error.to_string()))?;
            return Files::of_installed_python(&about).map_err(failed);
        }
        let mut all = Files::default();
        for folder in &found {
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
            let folder =
                AbsPath::new(folder).map_err(|error| unusable(package, &error.to_string()))?;
            let prefix = if found.len() > 1 { name.unwrap_or_default() } else { String::new() };
            all.extend(&prefix, Files::of_folder(&folder).map_err(failed)?);
        }
        return Ok(all);
    }
    let metadata = std::fs::metadata(&path).map_err(|error| RuntimeError::Setup {
        message: format!("cannot read {package}: {error}"),
        hint: Some("name a folder, a tarball, or an installed package".to_owned()),
    })?;
    if metadata.is_dir() {
        let folder = AbsPath::new(&path).map_err(|error| unusable(package, &error.to_string()))?;
        return Files::of_folder(&folder).map_err(failed);
    }
    if metadata.len() > MAX_ARCHIVE {
        return Err(unusable(package, "it is larger than 64 MiB"));
    }
    let bytes = std::fs::read(&path).map_err(|error| unusable(package, &error.to_string()))?;
    match format_of(&bytes) {
        Some(Format::TarGz) => Files::of_tarball(&bytes).map_err(failed),
        Some(Format::Zip) => Files::of_wheel(&bytes).map_err(failed),
        None => Err(unusable(package, "it is neither a tarball nor a wheel")),
    }
}

/// The most that a program may write for a section.
const MAX_SECTION: u64 = 1 << 20;

/// Has the user's program rewrite a section.
fn summarized(
    command: Option<&str>,
    name: &str,
    text: &str,
) -> Result<Option<String>, RuntimeError> {
    let Some(command) = command else { return Ok(None) };
    let failed = |why: String| RuntimeError::Unusable {
        what: name.to_owned(),
        message: format!("`{command}` fails: {why}"),
    };
    let mut child = Command::new("sh")
        .args(["-c", command])
        .env("SKILLIFY_SECTION", name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let stdin = child.stdin.take();
    let given = text.to_owned();
    // It may write before it has read everything.
    let writing =
        std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(given.as_bytes())));
    let mut written = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let read = stdout.take(MAX_SECTION + 1).read_to_end(&mut written);
        read.map_err(|error| failed(error.to_string()))?;
    }
    if written.len() as u64 > MAX_SECTION {
        let _ = child.kill();
        let _ = child.wait();
        return Err(failed("it writes more than 1 MiB".to_owned()));
    }
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    let _ = writing.join();
    if !status.success() {
        return Err(failed(status.to_string()));
    }
    let text = String::from_utf8(written).map_err(|_| failed("it writes no UTF-8".to_owned()))?;
    if text.trim().is_empty() {
        return Err(failed("it writes nothing".to_owned()));
    }
    Ok(Some(text))
}

/// Keeps a bundle in the cache, where it is never changed.
fn keep(
    places: &Places,
    library: &Library,
    package: &Package,
) -> Result<Option<AbsPath>, RuntimeError> {
    let Some(derived) = derived(places, library) else { return Ok(None) };
    let all: Vec<u8> = package.files.iter().flat_map(|file| file.bytes.iter().copied()).collect();
    let (source, made) = (library.source.to_string(), skill::Digest::of(&all).to_string());
    let hash = format!("{}-{}", &source[7..23], &made[7..15]);
    let folder = derived.join(plain(&library.version)).join(hash);
    let target = folder.join(&package.name);
    clean_up(&folder, places);
    if target.as_path().is_dir() {
        return Ok(Some(target));
    }
    make_private_folder(&folder)?;
    put_package(package, &folder, places)?;
    Ok(Some(target))
}

/// Returns the folder of all bundles that were derived from a package.
fn derived(places: &Places, library: &Library) -> Option<AbsPath> {
    Some(places.cache.as_ref()?.join("skillified").join(plain(&library.name)))
}

/// Returns true if a bundle is as it was derived once: it can be had again.
fn is_kept(places: &Places, library: &Library, bundle: &Package) -> bool {
    let Some(derived) = derived(places, library) else { return false };
    let below = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.path())
    };
    let mut kept = below(derived.as_path().to_owned()).flat_map(below);
    kept.any(|folder| {
        let kept = AbsPath::new(folder.join(&bundle.name)).ok();
        kept.is_some_and(|kept| Package::of_folder(&kept).is_ok_and(|kept| kept == *bundle))
    })
}

fn plain(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '_' })
        .take(60)
        .collect();
    if text.trim_matches('.').is_empty() { "_".to_owned() } else { text }
}

/// Returns the bundle that would be replaced. One that was not derived from the same package is somebody's own.
fn replaced(target: &AbsPath, library: &Library) -> Result<Option<Package>, RuntimeError> {
    let Ok(found) = std::fs::symlink_metadata(target.as_path()) else { return Ok(None) };
    let stays = |what: &str| RuntimeError::Setup {
        message: format!("{target} is there, and it {what}"),
        hint: Some("name another folder by --output, or move it away".to_owned()),
    };
    if !found.is_dir() {
        return Err(stays("is no folder"));
    }
    let other =
        format!("was not derived from the {} package `{}`", library.kind.as_str(), library.name);
    let before = Package::of_folder(target).map_err(|_| stays(&other))?;
    let text =
        before.file(SKILL_FILE).map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    let fields = text.as_deref().and_then(raw_frontmatter).map(|raw| raw.to_json());
    let from = |key: &str| {
        let value = fields.as_ref()?.pointer(&format!("/generated_from/{key}"))?;
        Some(value.as_str()?.to_owned())
    };
    let is_same = from("package").as_deref() == Some(library.name.as_str())
        && from("kind").as_deref() == Some(library.kind.word());
    if is_same { Ok(Some(before)) } else { Err(stays(&other)) }
}

/// Returns how a bundle differs from the one before it.
fn difference(before: Option<&Package>, now: &Package) -> String {
    let text = |package: Option<&Package>, path: &str| -> String {
        let file = package.and_then(|package| package.file(path));
        file.map(|file| String::from_utf8_lossy(&file.bytes).into_owned()).unwrap_or_default()
    };
    let mut paths: Vec<&str> = now
        .files
        .iter()
        .chain(before.iter().flat_map(|before| &before.files))
        .map(|file| file.path.as_str())
        .collect();
    paths.sort_unstable();
    paths.dedup();
    let mut shown = String::new();
    for path in paths {
        let (old, new) = (text(before, path), text(Some(now), path));
        let diff = TextDiff::from_lines(old.as_str(), new.as_str());
        let name = Path::new(&now.name).join(path).display().to_string();
        shown += &diff.unified_diff().header(&name, &name).to_string();
    }
    shown
}
