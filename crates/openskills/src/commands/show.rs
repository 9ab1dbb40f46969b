//! `openskills show`: everything about one skill.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use skill::{Document, Frontmatter, Severity, Strictness, ToolRule};
use skill_fs::{FsError, Kind, WalkLimits, bundle_digest, content_digest, walk};
use term::{DiagnosticJson, counted, safe_line, safe_text};

use crate::cli::INVALID;
use crate::context::Context;
use crate::load::{Loaded, load};
use crate::output::{BodyJson, DigestsJson, FileJson, ShowJson, VERSION};
use crate::target::{Search, Target, file_problem, visit};

const AFTER: &str = "\
Reads every file of the skill, for its digests. Problems go to standard error.

Exit codes:
  0  the skill was shown
  1  it cannot be loaded, or one of its files cannot be read
  2  the call is wrong

Examples:
  openskills show .
  openskills show skills/pdf --json";

/// Show all properties of a skill, its digests and its files
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct ShowArgs {
    /// The folder of a skill, or its SKILL.md
    #[arg(default_value = ".", value_name = "PATH")]
    path: PathBuf,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn show(context: &mut Context, args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let palette = context.ui.error_palette;
    let paths = std::slice::from_ref(&args.path);
    let visited = visit(&context.cwd, paths, Search::Exact, Strictness::Lenient, |target| {
        let mut loaded = load(&target, Strictness::Lenient);
        let mut complain = |error: &FsError| {
            let below =
                error.path().strip_prefix(target.root.path().as_str()).unwrap_or(error.path());
            let shown = format!("{}/{}", target.shown, below.trim_start_matches('/'));
            let problem = file_problem(error, Strictness::Lenient, shown.trim_matches('/'));
            if !loaded.diagnostics.contains(&problem) {
                loaded.diagnostics.push(*problem);
            }
        };
        let digests = read_digests(&target).inspect_err(&mut complain).ok();
        let entries = read_entries(&target).inspect_err(&mut complain).unwrap_or_default();
        let files = Files { digests, entries };
        (target, loaded, files)
    });
    for problem in &visited.problems {
        context.ui.error(&(term::render(problem, None, palette) + "\n"))?;
    }
    let Some((target, loaded, files)) = visited.skills.into_iter().next() else {
        return Ok(ExitCode::from(INVALID));
    };
    context.ui.error(&loaded.rendered(palette))?;
    if let Some(document) = &loaded.document {
        let report = report(&target, &loaded, document, files);
        if args.json {
            context.ui.json(&report)?;
        } else {
            context.ui.out(&text(&report, document))?;
        }
    }
    let failed = loaded.count(Severity::Error) > 0;
    Ok(if failed { ExitCode::from(INVALID) } else { ExitCode::SUCCESS })
}

struct Files {
    digests: Option<DigestsJson>,
    entries: Vec<FileJson>,
}

fn read_digests(target: &Target) -> Result<DigestsJson, FsError> {
    Ok(DigestsJson {
        content_sha256: content_digest(&target.root)?.to_string(),
        bundle_sha256: bundle_digest(&target.root)?.to_string(),
    })
}

fn read_entries(target: &Target) -> Result<Vec<FileJson>, FsError> {
    let mut entries = Vec::new();
    for entry in walk(&target.root, &WalkLimits::SKILL)? {
        let (kind, size, executable, target) = match entry.kind {
            Kind::Folder => continue,
            Kind::File { size, executable } => ("file", size, executable, None),
            Kind::Link(target) => ("link", 0, false, Some(target)),
            Kind::Other(_) => ("other", 0, false, None),
        };
        entries.push(FileJson {
            path: entry.path.to_string(),
            kind: kind.to_owned(),
            size,
            executable,
            target,
        });
    }
    Ok(entries)
}

fn report(target: &Target, loaded: &Loaded, document: &Document, files: Files) -> ShowJson {
    let Frontmatter { name, description, license, compatibility, metadata, allowed_tools, .. } =
        &document.frontmatter;
    let folder = target.root.path();
    let file = loaded
        .name_of_file
        .as_ref()
        .map_or_else(String::new, |file| folder.join(file.as_str()).to_string());
    ShowJson {
        version: VERSION,
        name: name.clone(),
        description: description.clone(),
        path: folder.to_string(),
        location: file,
        license: license.clone(),
        compatibility: compatibility.clone(),
        metadata: metadata.iter().map(|(key, value)| (key.clone(), value.to_json())).collect(),
        allowed_tools: allowed_tools
            .as_ref()
            .map(|tools| tools.rules.iter().map(ToolRule::to_string).collect()),
        model_may_invoke: document.frontmatter.model_may_invoke(),
        user_may_invoke: document.frontmatter.user_may_invoke(),
        frontmatter: loaded.raw_frontmatter(),
        body: BodyJson { lines: document.body.lines(), tokens: document.body.tokens() },
        digests: files.digests,
        files: files.entries,
        diagnostics: loaded.diagnostics.iter().map(DiagnosticJson::from).collect(),
    }
}

/// Returns the report as people read it. Everything a skill brought is made safe to show.
fn text(report: &ShowJson, document: &Document) -> String {
    let mut text = String::new();
    let mut row = |key: &str, value: &str| {
        let value = safe_text(value).replace('\n', "\n               ");
        writeln!(text, "{:14} {value}", safe_line(key)).expect("writing to text cannot fail");
    };
    row("name", &report.name);
    row("description", &report.description);
    row("location", &report.location);
    if let Some(license) = &report.license {
        row("license", license);
    }
    if let Some(compatibility) = &report.compatibility {
        row("compatibility", compatibility);
    }
    if let Some(tools) = &report.allowed_tools {
        row("allowed-tools", &if tools.is_empty() { "none".to_owned() } else { tools.join(", ") });
    }
    row(
        "invoked by",
        match (report.model_may_invoke, report.user_may_invoke) {
            (true, true) => "the model and the user",
            (true, false) => "the model",
            (false, true) => "the user",
            (false, false) => "nobody",
        },
    );
    for (at, (key, value)) in document.frontmatter.metadata.iter().enumerate() {
        row(if at == 0 { "metadata" } else { "" }, &format!("{key}: {}", value.to_text()));
    }
    let standard = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
    for (key, value) in
        report.frontmatter.iter().filter(|(key, _)| !standard.contains(&key.as_str()))
    {
        row(key, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    row(
        "body",
        &format!(
            "{}, about {}",
            counted(report.body.lines, "line"),
            counted(report.body.tokens, "token")
        ),
    );
    if let Some(digests) = &report.digests {
        row("content", &digests.content_sha256);
        row("bundle", &digests.bundle_sha256);
    }
    let width =
        report.files.iter().map(|file| file.path.chars().count()).max().unwrap_or(0).min(60);
    for (at, file) in report.files.iter().enumerate() {
        let path = safe_line(&file.path);
        let rest = match &file.target {
            Some(target) => format!("-> {target}"),
            None if file.kind == "other" => "(neither file, folder nor link)".to_owned(),
            None => format!("{:>9}{}", file.size, if file.executable { " executable" } else { "" }),
        };
        row(if at == 0 { "files" } else { "" }, &format!("{path:width$} {rest}"));
    }
    text
}
