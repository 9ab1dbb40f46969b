//! `openskills skillify`: generates a skill from a package.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: packages, bundles and the --summarize command"
)]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use openskills_runtime::{Places, RuntimeError, back_up_bundle, clean_up, put_package, shell_word};
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
Generates a skill bundle in the corteza.skill/v1 format from a package. The bundle describes the
package's exports: how to call them, and what the documentation says about each argument. No code in
the package is executed. The same package always produces the same bytes.

  R        a source tree or its tarball (DESCRIPTION, NAMESPACE, man/), or an installed library
  Python   a source tree or its tarball (pyproject.toml or PKG-INFO), a wheel, or an installed
           package
  Rust     a crate: its folder or .crate file
  npm      a package: its folder or .tgz file

A package name is looked up among the installed R libraries, then Python packages, then Node.js
packages. The prefixes `r:`, `python:` and `node:` restrict the lookup to one kind.

The bundle is stored in the cache under its name, version and source digest, and never changed
there. With --output, it is also written to DIR/NAME. An existing bundle is replaced only if it was
generated from the same package; openskills shows the diff first, and backs up a bundle with local
edits to ~/.local/share/openskills/backups, which is not searched for skills. With --summarize, each
section is piped to your command (with its name in SKILLIFY_SECTION) and replaced by the output; the
bundle records this.

Reads:  the package; the bundle to be replaced
Writes: the cache; with --output, the bundle and a backup of local edits",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid.when("the package cannot be parsed; nothing was written"),
        ExitCode::Usage.when("usage error"),
        ExitCode::NotFound.when("no such package"),
        ExitCode::NotAllowed.when("you declined"),
        ExitCode::NeedsApproval
            .when("confirmation required, but stdin is not a terminal or --json is given"),
    ],
    examples: &[
        "openskills skillify jsonlite",
        "openskills skillify ./serde-1.0.228.crate --output ./skills",
        "openskills skillify python:requests --output .claude/skills --diff",
        "openskills skillify ./mypackage --summarize 'llm -s \"Shorten this page\"'",
    ],
};

/// Generate a skill from an R, Python, Rust or npm package
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct SkillifyArgs {
    /// Folder, tarball or wheel, or the name of an installed package
    #[arg(value_name = "PATH|PACKAGE")]
    package: String,
    /// Parent folder for the bundle
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Show the diff against the existing bundle without writing anything
    #[arg(long, requires = "output")]
    diff: bool,
    /// Command that rewrites each section
    #[arg(long, value_name = "COMMAND")]
    summarize: Option<String>,
    /// Replace an existing bundle without asking
    #[arg(long, short)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn skillify(context: &mut Context, args: &SkillifyArgs) -> anyhow::Result<ExitCode> {
    let places = Places::from_environment()?;
    if args.package.trim().is_empty() {
        let message = "the package name is empty".to_owned();
        let hint = Some("pass a folder, a tarball, or the name of an installed package".to_owned());
        return Err(RuntimeError::Setup { message, hint }.into());
    }
    let files = files(context, &places, &args.package)?;
    let library = derive(&files).map_err(|error| unusable(&args.package, &error.to_string()))?;
    let command = args.summarize.as_deref();
    let package = library.bundle(|name, text| summarize(command, name, text), command)?;
    let cached = if args.diff { None } else { store_in_cache(&places, &library, &package)? };
    let mut result = SkillifyJson {
        version: VERSION,
        name: package.name.clone(),
        package: library.name.clone(),
        package_version: library.version.clone(),
        source_hash: library.source.to_string(),
        topics: library.exports(),
        kind: library.kind.id().to_owned(),
        path: cached.as_ref().map(ToString::to_string),
        diff: None,
        backup: None,
        written: false,
    };
    if let Some(output) = &args.output {
        let skills = AbsPath::new(context.cwd.as_path().join(output))?;
        let target = skills.join(&package.name);
        let before = existing_bundle(&target, &library)?;
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
            if !consent.confirm(&mut context.ui, "Replace it?", "nothing was written")? {
                return Ok(ExitCode::NotAllowed);
            }
            if let Some(before) = before.filter(|before| !is_cached(&places, &library, before)) {
                let backup = back_up_bundle(&skills, &before.name, &places)?;
                if !args.json {
                    let note = format!("your edited version was backed up to {backup}");
                    context.ui.error(&format!("{}\n", safe_line(&note)))?;
                }
                result.backup = Some(backup.to_string());
            }
            put_package(&package, &skills, &places)?;
            result.written = true;
            result.path = Some(target.to_string());
        }
        result.diff = Some(diff);
    }
    if args.json {
        context.ui.json(&result)?;
        return Ok(ExitCode::Done);
    }
    let location = match result.path.as_deref() {
        Some(path) => path,
        None if args.diff => "nothing was written",
        None => "not stored: no cache folder",
    };
    let topics = counted(result.topics, "export");
    let line = format!("{} {} ({topics}): {location}", library.name, library.version);
    context.ui.out(&format!("{}\n", safe_line(&line)))?;
    if args.output.is_none() {
        let name = shell_word(&args.package);
        context.ui.note(&format!(
            "to use it, run `openskills skillify {} --output .claude/skills`\n",
            safe_line(&name)
        ))?;
    }
    Ok(ExitCode::Done)
}

fn unusable(package: &str, reason: &str) -> RuntimeError {
    RuntimeError::Unusable { what: package.to_owned(), message: reason.to_owned() }
}

/// Reads a package from a path, or an installed package by name.
fn files(context: &Context, places: &Places, package: &str) -> Result<Files, RuntimeError> {
    let failed = |error: skillify::SkillifyError| unusable(package, &error.to_string());
    let path = context.cwd.as_path().join(package);
    let is_path = package.contains('/') || path.exists();
    if !is_path || (package.starts_with("node:@") && !path.exists()) {
        let found = places.installed_library(package);
        let found =
            found.ok_or_else(|| RuntimeError::LibraryNotFound { name: package.to_owned() })?;
        // The RECORD of a Python package lists its files, whose names may differ from the package's.
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
        message: format!("cannot read `{package}`: {error}"),
        hint: Some("pass a folder, a tarball, or the name of an installed package".to_owned()),
    })?;
    if metadata.is_dir() {
        let folder = AbsPath::new(&path).map_err(|error| unusable(package, &error.to_string()))?;
        return Files::of_folder(&folder).map_err(failed);
    }
    if metadata.len() > MAX_ARCHIVE {
        return Err(unusable(package, "larger than 64 MiB"));
    }
    let bytes = std::fs::read(&path).map_err(|error| unusable(package, &error.to_string()))?;
    match format_of(&bytes) {
        Some(Format::TarGz) => Files::of_tarball(&bytes).map_err(failed),
        Some(Format::Zip) => Files::of_wheel(&bytes).map_err(failed),
        None => Err(unusable(package, "neither a tarball nor a wheel")),
    }
}

/// Size limit of a summarized section, in bytes.
const MAX_SECTION: u64 = 1 << 20;

/// Rewrites a section with the user's command.
fn summarize(
    command: Option<&str>,
    name: &str,
    text: &str,
) -> Result<Option<String>, RuntimeError> {
    let Some(command) = command else { return Ok(None) };
    let failed = |reason: String| RuntimeError::Unusable {
        what: name.to_owned(),
        message: format!("`{command}` failed: {reason}"),
    };
    let mut child = Command::new("sh")
        .args(["-c", command])
        .env("SKILLIFY_SECTION", name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let stdin = child.stdin.take();
    let input = text.to_owned();
    // Uses a thread, because the command may write before it has read everything.
    let writing =
        std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
    let mut written = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let read = stdout.take(MAX_SECTION + 1).read_to_end(&mut written);
        read.map_err(|error| failed(error.to_string()))?;
    }
    if written.len() as u64 > MAX_SECTION {
        let _ = child.kill();
        let _ = child.wait();
        return Err(failed("output is larger than 1 MiB".to_owned()));
    }
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    let _ = writing.join();
    if !status.success() {
        return Err(failed(status.to_string()));
    }
    let text =
        String::from_utf8(written).map_err(|_| failed("output is not valid UTF-8".to_owned()))?;
    if text.trim().is_empty() {
        return Err(failed("no output".to_owned()));
    }
    Ok(Some(text))
}

/// Stores a bundle in the cache, where it is never changed. Returns its folder.
fn store_in_cache(
    places: &Places,
    library: &Library,
    package: &Package,
) -> Result<Option<AbsPath>, RuntimeError> {
    let Some(bundles) = cache_folder(places, library) else { return Ok(None) };
    let all: Vec<u8> = package.files.iter().flat_map(|file| file.bytes.iter().copied()).collect();
    let (source, made) = (library.source.to_string(), skill::Digest::of(&all).to_string());
    let hash = format!("{}-{}", &source[7..23], &made[7..15]);
    let folder = bundles.join(plain(&library.version)).join(hash);
    let target = folder.join(&package.name);
    clean_up(&folder, places);
    if target.as_path().is_dir() {
        return Ok(Some(target));
    }
    make_private_folder(&folder)?;
    put_package(package, &folder, places)?;
    Ok(Some(target))
}

/// Returns the cache folder of all bundles generated from a package.
fn cache_folder(places: &Places, library: &Library) -> Option<AbsPath> {
    Some(places.cache.as_ref()?.join("skillified").join(plain(&library.name)))
}

/// Returns true if the bundle is unchanged since it was generated, so that no backup is needed.
fn is_cached(places: &Places, library: &Library, bundle: &Package) -> bool {
    let Some(bundles) = cache_folder(places, library) else { return false };
    let below = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.path())
    };
    let mut cached = below(bundles.as_path().to_owned()).flat_map(below);
    cached.any(|folder| {
        let cached = AbsPath::new(folder.join(&bundle.name)).ok();
        cached
            .is_some_and(|cached| Package::of_folder(&cached).is_ok_and(|cached| cached == *bundle))
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

/// Returns the existing bundle. Fails if it was not generated from the same package, because it may be handwritten.
fn existing_bundle(target: &AbsPath, library: &Library) -> Result<Option<Package>, RuntimeError> {
    let Ok(found) = std::fs::symlink_metadata(target.as_path()) else { return Ok(None) };
    let conflict = |reason: &str| RuntimeError::Setup {
        message: format!("cannot replace `{target}`: {reason}"),
        hint: Some("pass another folder with --output, or move the existing one".to_owned()),
    };
    if !found.is_dir() {
        return Err(conflict("not a folder"));
    }
    let other =
        format!("not generated from the {} package `{}`", library.kind.as_str(), library.name);
    let before = Package::of_folder(target).map_err(|_| conflict(&other))?;
    let text =
        before.file(SKILL_FILE).map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    let fields = text.as_deref().and_then(raw_frontmatter).map(|raw| raw.to_json());
    let from = |key: &str| {
        let value = fields.as_ref()?.pointer(&format!("/generated_from/{key}"))?;
        Some(value.as_str()?.to_owned())
    };
    let is_same = from("package").as_deref() == Some(library.name.as_str())
        && from("kind").as_deref() == Some(library.kind.id());
    if is_same { Ok(Some(before)) } else { Err(conflict(&other)) }
}

/// Returns the diff between two bundles.
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
