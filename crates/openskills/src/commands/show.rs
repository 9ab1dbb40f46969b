//! `openskills show`: shows everything about one skill.

use std::fmt::Write as _;
use std::path::PathBuf;

use openskills_runtime::{RuntimeError, file_problem};
use skill::{Document, Frontmatter, Severity, Strictness, ToolRule};
use skill_fs::{Digests, FsError, WalkLimits, digests, walk};
use term::{DiagnosticJson, HelpText, counted, safe_line, safe_text};

use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::load::{LoadedFolder, load};
use crate::output::{BodyJson, DigestsJson, FileJson, ShowJson, VERSION, file_json};
use crate::target::{Search, Target, has_missing_path, resolve_name, search_error, visit};

const HELP: HelpText = HelpText {
    text: "\
Problems go to standard error.

Reads:  every file of the skill, to compute its digests
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("done"),
        ExitCode::Invalid.when("the skill cannot be loaded, or one of its files cannot be read"),
        ExitCode::Usage.when("usage error, or the path does not exist"),
    ],
    examples: &[
        "openskills show .",
        "openskills show pdf",
        "openskills show pdf --dir ~/more-skills",
        "openskills show skills/pdf --json",
    ],
};

/// Show a skill's properties, digests and files
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ShowArgs {
    /// Skill folder, SKILL.md file or skill name
    #[arg(default_value = ".", value_name = "PATH")]
    path: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub(crate) fn show(context: &mut Context, args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let palette = context.ui.error_palette;
    let path = resolve_name(context, &args.discovery, &args.path)?;
    let visited = visit(&context.cwd, &[path], Search::Exact, |target| {
        let mut loaded = load(&target, Strictness::Lenient);
        let files = read_files(&target);
        if let Some(error) = &files.error {
            let shown = target.shown_path(error.path());
            loaded.diagnostics.push(file_problem(error, &shown));
        }
        (target, loaded, files)
    });
    let Some((target, loaded, files)) = visited.skills.into_iter().next() else {
        if args.json {
            return Err(search_error(visited.problems).into());
        }
        for problem in &visited.problems {
            context.ui.problem(problem)?;
        }
        return Ok(if has_missing_path(&visited.problems) {
            ExitCode::Usage
        } else {
            ExitCode::Invalid
        });
    };
    if args.json && loaded.document.is_none() {
        let LoadedFolder { file, diagnostics, .. } = loaded;
        return Err(RuntimeError::InvalidManifest { file, diagnostics }.into());
    }
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
    Ok(if failed { ExitCode::Invalid } else { ExitCode::Done })
}

/// The files of a skill and their digests. Without digests, `error` says why.
struct SkillFiles {
    entries: Vec<FileJson>,
    digests: Option<DigestsJson>,
    error: Option<FsError>,
}

fn read_files(target: &Target) -> SkillFiles {
    let entries = match walk(&target.root, &WalkLimits::SKILL) {
        Ok(entries) => entries,
        Err(error) => return SkillFiles { entries: Vec::new(), digests: None, error: Some(error) },
    };
    let (digests, error) = match digests(&target.root, &entries) {
        Ok(Digests { content, bundle }) => (
            Some(DigestsJson {
                content_sha256: content.to_string(),
                bundle_sha256: bundle.to_string(),
            }),
            None,
        ),
        Err(error) => (None, Some(error)),
    };
    SkillFiles {
        entries: entries
            .into_iter()
            .filter_map(|entry| file_json(entry.path.to_string(), entry.kind))
            .collect(),
        digests,
        error,
    }
}

fn report(
    target: &Target,
    loaded: &LoadedFolder,
    document: &Document,
    files: SkillFiles,
) -> ShowJson {
    let Frontmatter { name, description, license, compatibility, metadata, .. } =
        &document.frontmatter;
    let folder = target.root.path();
    let file = loaded
        .skill_file
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
        allowed_tools: document
            .frontmatter
            .tools_allowed()
            .map(|tools| tools.rules.iter().map(ToolRule::to_string).collect()),
        model_may_invoke: loaded.model_may_invoke(),
        user_may_invoke: document.frontmatter.user_may_invoke(),
        frontmatter: loaded.raw_frontmatter(),
        body: BodyJson { lines: document.body.lines(), tokens: document.body.tokens() },
        digests: files.digests,
        files: files.entries,
        diagnostics: loaded.diagnostics.iter().map(DiagnosticJson::from).collect(),
    }
}

/// Returns the report as text. Everything that comes from the skill is made safe to print.
fn text(report: &ShowJson, document: &Document) -> String {
    let invoked_by = match (report.model_may_invoke, report.user_may_invoke) {
        (true, true) => "the model and the user",
        (true, false) => "the model",
        (false, true) => "the user",
        (false, false) => "nobody",
    };
    let tools = report.allowed_tools.as_ref();
    let tools =
        tools.map(|tools| if tools.is_empty() { "none".to_owned() } else { tools.join(", ") });
    let digests = report.digests.as_ref();
    let metadata = document
        .frontmatter
        .metadata
        .iter()
        .map(|(key, value)| format!("{key}: {}", value.to_text()));
    let standard = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
    let others = report.frontmatter.iter().filter(|(key, _)| !standard.contains(&key.as_str()));
    let body = format!(
        "{}, about {}",
        counted(report.body.lines, "line"),
        counted(report.body.tokens, "token")
    );

    let mut rows = Rows(String::new());
    rows.add("name", &report.name);
    rows.add("description", &report.description);
    rows.add("location", &report.location);
    rows.add_some("license", report.license.as_deref());
    rows.add_some("compatibility", report.compatibility.as_deref());
    rows.add_some("allowed-tools", tools.as_deref());
    rows.add("invoked by", invoked_by);
    rows.add_all("metadata", metadata);
    for (key, value) in others {
        rows.add(key, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    rows.add("body", &body);
    rows.add_some("content", digests.map(|digests| digests.content_sha256.as_str()));
    rows.add_some("bundle", digests.map(|digests| digests.bundle_sha256.as_str()));
    rows.add_all("files", file_rows(&report.files));
    rows.0
}

fn file_rows(files: &[FileJson]) -> impl Iterator<Item = String> {
    let width = files.iter().map(|file| file.path.chars().count()).max().unwrap_or(0).min(60);
    files.iter().map(move |file| {
        let path = safe_line(&file.path);
        match &file.target {
            Some(target) => format!("{path:width$} -> {target}"),
            None if file.kind == "other" => {
                format!("{path:width$} (special file)")
            }
            None => format!(
                "{path:width$} {:>9}{}",
                file.size,
                if file.executable { " executable" } else { "" }
            ),
        }
    })
}

/// Lines with a key and a value, made safe to print.
struct Rows(String);

impl Rows {
    fn add(&mut self, key: &str, value: &str) {
        let value = safe_text(value).replace('\n', "\n               ");
        writeln!(self.0, "{:14} {value}", safe_line(key)).expect("writing to text cannot fail");
    }

    fn add_some(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.add(key, value);
        }
    }

    /// Adds a row for each value; only the first shows the key.
    fn add_all(&mut self, key: &str, values: impl Iterator<Item = String>) {
        for (index, value) in values.enumerate() {
            self.add(if index == 0 { key } else { "" }, &value);
        }
    }
}
