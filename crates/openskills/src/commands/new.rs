//! `openskills new`: creates a skill from a template.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use openskills_runtime::{RuntimeError, shell_word};
use skill::{Input, Severity, SkillName, Strictness, parse};
use skill_fs::FsError;
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{NewJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Creates a folder named NAME with a SKILL.md, starter code and tests: a Python script or, with
--wasm, a small Rust program compiled to WebAssembly. Existing files are not changed.

Reads:  nothing
Writes: the new folder",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage error, or the folder already exists or cannot be created"),
    ],
    examples: &[
        "openskills new word-count",
        "openskills new score --wasm --description 'Scores answers. Use when grading an exam.'",
        "openskills new word-count --dir .claude/skills",
    ],
};

/// Create a new skill from a template
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct NewArgs {
    /// Skill name: lowercase letters, digits and hyphens
    #[arg(value_name = "NAME", value_parser = name)]
    name: SkillName,
    /// Use the Python script template (the default)
    #[arg(long, conflicts_with = "wasm")]
    script: bool,
    /// Use the template for a Rust program compiled to WebAssembly
    #[arg(long)]
    wasm: bool,
    /// Description: what the skill does and when to use it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Parent folder [default: the current directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

fn name(text: &str) -> Result<SkillName, String> {
    SkillName::parse(text)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

const SCRIPT_DESCRIPTION: &str = "Counts the words in a text. Use when asked how long a text is.";
const WASM_DESCRIPTION: &str = "Adds up numbers. Use when asked for a total or a mean.";

/// A template file: its path, its content and whether it is executable. SKILL.md comes first.
type Template = (&'static str, &'static str, bool);

const SCRIPT: [Template; 3] = [
    ("SKILL.md", include_str!("new/script/SKILL.md"), false),
    ("scripts/main.py", include_str!("new/script/main.py"), true),
    ("tests/test_main.py", include_str!("new/script/test_main.py"), false),
];

const WASM: [Template; 4] = [
    ("SKILL.md", include_str!("new/wasm/SKILL.md"), false),
    ("wasm-src/Cargo.toml", include_str!("new/wasm/Cargo.toml"), false),
    ("wasm-src/build.sh", include_str!("new/wasm/build.sh"), true),
    ("wasm-src/src/main.rs", include_str!("new/wasm/main.rs"), false),
];

pub(crate) fn new(context: &mut Context, args: &NewArgs) -> anyhow::Result<ExitCode> {
    let name = args.name.as_str();
    let dir = args.dir.as_deref().unwrap_or(Path::new(""));
    let parent = context.cwd.as_path().join(dir);
    let folder = parent.join(name);
    if folder.symlink_metadata().is_ok() {
        return Err(RuntimeError::Setup {
            message: format!("`{}` already exists; nothing was changed", folder.display()),
            hint: Some("choose another name, or another folder with --dir".to_owned()),
        }
        .into());
    }
    let templates: &[Template] = if args.wasm { &WASM } else { &SCRIPT };
    let default = if args.wasm { WASM_DESCRIPTION } else { SCRIPT_DESCRIPTION };
    let files = fill(templates, name, args.description.as_deref().unwrap_or(default))?;
    write(&parent, &folder, &files)?;
    let next = if args.wasm { next_wasm(name, dir) } else { next_script(name, dir) };
    let mut files: Vec<String> = templates.iter().map(|(path, _, _)| (*path).to_owned()).collect();
    files.sort();
    if args.json {
        let path = folder.display().to_string();
        context.ui.json(&NewJson { version: VERSION, path, files, next })?;
    } else {
        let line = |text: &str| format!("{}\n", safe_line(text));
        context.ui.done(&line(&format!("created {}", folder.display())))?;
        for file in &files {
            context.ui.done(&line(&format!("  {file}")))?;
        }
        context.ui.note("next:\n")?;
        for command in &next {
            context.ui.note(&line(&format!("  {command}")))?;
        }
    }
    Ok(ExitCode::Done)
}

fn next_script(name: &str, dir: &Path) -> Vec<String> {
    let (folder, parent) = (shell_path(&dir.join(name)), shell_path(parent_of(dir)));
    vec![
        format!("openskills validate {folder}"),
        format!("openskills approve {name} --dir {parent}"),
        format!("openskills run {name} --dir {parent} --input '{{\"text\": \"one two\"}}'"),
        format!("openskills run {name} tests/test_main.py --dir {parent}"),
    ]
}

fn next_wasm(name: &str, dir: &Path) -> Vec<String> {
    let (folder, parent) = (shell_path(&dir.join(name)), shell_path(parent_of(dir)));
    vec![
        format!("openskills validate {folder}"),
        "rustup target add wasm32-wasip1".to_owned(),
        format!("sh {folder}/wasm-src/build.sh"),
        format!("openskills approve {name} --dir {parent}"),
        format!("openskills run {name} --dir {parent} --input '[1, 2.5]'"),
    ]
}

/// Returns the folder to pass as `--dir` to find the new skill.
fn parent_of(dir: &Path) -> &Path {
    if dir.as_os_str().is_empty() { Path::new(".") } else { dir }
}

fn shell_path(path: &Path) -> String {
    shell_word(&path.to_string_lossy()).into_owned()
}

/// A file to write: its path, its content and whether it is executable.
type NewFile = (&'static str, String, bool);

/// Fills in the templates. Fails if the result would not be a valid skill, before anything is written.
fn fill(
    templates: &[Template],
    name: &str,
    description: &str,
) -> Result<Vec<NewFile>, RuntimeError> {
    // A JSON string is also a YAML string.
    let description = serde_json::Value::from(description).to_string();
    // The description comes last, so that placeholders in it are not replaced.
    let fill_in = |text: &str| text.replace("NAME", name).replace("DESCRIPTION", &description);
    let files: Vec<NewFile> = templates
        .iter()
        .map(|(path, text, is_program)| (*path, fill_in(text), *is_program))
        .collect();
    let (file, text, _) = &files[0];
    let input = Input { file, directory: Some(name), bytes: text.as_bytes() };
    let parsed = parse(&input, Strictness::Strict);
    // Notes are fine: the script template gets one about its tools.
    let mut problems = parsed.diagnostics.iter().filter(|found| found.severity != Severity::Note);
    if let Some(problem) = problems.next() {
        return Err(RuntimeError::Setup {
            message: format!("the new skill would be invalid: {}", problem.message),
            hint: problem.hint.clone(),
        });
    }
    Ok(files)
}

/// Writes the files to a temporary folder and renames it, so that the new folder appears complete.
fn write(parent: &Path, folder: &Path, files: &[NewFile]) -> Result<(), FsError> {
    let error_at = |path: &Path| {
        let path = path.display().to_string();
        move |source: io::Error| FsError::Io { path, source }
    };
    fs::create_dir_all(parent).map_err(error_at(parent))?;
    let stage = tempfile::Builder::new()
        .prefix(".openskills-new-")
        .tempdir_in(parent)
        .map_err(|error| error_at(parent)(error.kind().into()))?;
    for (path, text, is_program) in files {
        let file = stage.path().join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(error_at(parent))?;
        }
        fs::write(&file, text).map_err(error_at(&file))?;
        set_mode(&file, if *is_program { 0o755 } else { 0o644 }).map_err(error_at(&file))?;
    }
    set_mode(stage.path(), 0o755).map_err(error_at(stage.path()))?;
    fs::rename(stage.path(), folder).map_err(error_at(folder))?;
    // The temporary folder was renamed and must not be deleted.
    let _ = stage.keep();
    Ok(())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}
