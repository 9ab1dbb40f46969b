//! `openskills new`: the beginnings of a skill.

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
Makes a folder of this name with a SKILL.md, code and tests, ready to be changed: with a Python
script by default, or with a small program in Rust that is built to WebAssembly. Nothing that is
there already is touched.

Reads:  nothing
Writes: the new folder",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage
            .when("the call is wrong, there is something of this name, or it cannot be written"),
    ],
    examples: &[
        "openskills new word-count",
        "openskills new score --wasm --description 'Scores answers. Use when an exam is marked.'",
        "openskills new word-count --dir .claude/skills",
    ],
};

/// Make the beginnings of a skill
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct NewArgs {
    /// Its name: lowercase letters, digits and hyphens
    #[arg(value_name = "NAME", value_parser = name)]
    name: SkillName,
    /// With a Python script (the default)
    #[arg(long, conflicts_with = "wasm")]
    script: bool,
    /// With a program in Rust, built to WebAssembly
    #[arg(long)]
    wasm: bool,
    /// What it does and when to use it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The folder that its folder is made in; by default the current one
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

fn name(text: &str) -> Result<SkillName, String> {
    SkillName::parse(text)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

const SCRIPT_DESCRIPTION: &str = "Counts the words of a text. Use when asked how long a text is.";
const WASM_DESCRIPTION: &str = "Adds up numbers. Use when asked for a total or a mean.";

/// A file of a new skill, SKILL.md first: where it is, what is in it, and whether it can be run.
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
            message: format!("{} is there already; nothing was changed", folder.display()),
            hint: Some("take another name, or another folder by --dir".to_owned()),
        }
        .into());
    }
    let templates: &[Template] = if args.wasm { &WASM } else { &SCRIPT };
    let usual = if args.wasm { WASM_DESCRIPTION } else { SCRIPT_DESCRIPTION };
    let files = filled(templates, name, args.description.as_deref().unwrap_or(usual))?;
    write(&parent, &folder, &files)?;
    let next = if args.wasm { next_wasm(name, dir) } else { next_script(name, dir) };
    let mut files: Vec<String> = templates.iter().map(|(path, _, _)| (*path).to_owned()).collect();
    files.sort();
    if args.json {
        let path = folder.display().to_string();
        context.ui.json(&NewJson { version: VERSION, path, files, next })?;
    } else {
        let line = |text: &str| format!("{}\n", safe_line(text));
        context.ui.done(&line(&format!("made {}", folder.display())))?;
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
    let (at, look) = (word(&dir.join(name)), word(parent_of(dir)));
    vec![
        format!("openskills validate {at}"),
        format!("openskills approve {name} --dir {look}"),
        format!("openskills run {name} --dir {look} --input '{{\"text\": \"one two\"}}'"),
        format!("openskills run {name} tests/test_main.py --dir {look}"),
    ]
}

fn next_wasm(name: &str, dir: &Path) -> Vec<String> {
    let (at, look) = (word(&dir.join(name)), word(parent_of(dir)));
    vec![
        format!("openskills validate {at}"),
        "rustup target add wasm32-wasip1".to_owned(),
        format!("sh {at}/wasm-src/build.sh"),
        format!("openskills approve {name} --dir {look}"),
        format!("openskills run {name} --dir {look} --input '[1, 2.5]'"),
    ]
}

/// Where the new skill is looked for.
fn parent_of(dir: &Path) -> &Path {
    if dir.as_os_str().is_empty() { Path::new(".") } else { dir }
}

fn word(path: &Path) -> String {
    shell_word(&path.to_string_lossy()).into_owned()
}

/// A file with what it is to hold.
type Filled = (&'static str, String, bool);

/// Fills the templates in. What would not be a valid skill is refused before anything is written.
fn filled(
    templates: &[Template],
    name: &str,
    description: &str,
) -> Result<Vec<Filled>, RuntimeError> {
    // A text in JSON's quotes is the same in YAML.
    let description = serde_json::Value::from(description).to_string();
    // What the user wrote comes last: it is filled in, and nothing in it is.
    let fill = |text: &str| text.replace("NAME", name).replace("DESCRIPTION", &description);
    let files: Vec<Filled> =
        templates.iter().map(|(path, text, is_program)| (*path, fill(text), *is_program)).collect();
    let (file, text, _) = &files[0];
    let input = Input { file, directory: Some(name), bytes: text.as_bytes() };
    let parsed = parse(&input, Strictness::Strict);
    // A note is no problem: a skill with a script has a tool that runs it.
    let mut problems = parsed.diagnostics.iter().filter(|found| found.severity != Severity::Note);
    if let Some(problem) = problems.next() {
        return Err(RuntimeError::Setup {
            message: format!("it would not be a valid skill: {}", problem.message),
            hint: problem.hint.clone(),
        });
    }
    Ok(files)
}

/// Writes everything beside the new folder, and then puts it there in one step.
fn write(parent: &Path, folder: &Path, files: &[Filled]) -> Result<(), FsError> {
    let at = |path: &Path| {
        let path = path.display().to_string();
        move |source: io::Error| FsError::Io { path, source }
    };
    fs::create_dir_all(parent).map_err(at(parent))?;
    let stage = tempfile::Builder::new()
        .prefix(".openskills-new-")
        .tempdir_in(parent)
        .map_err(|error| at(parent)(error.kind().into()))?;
    for (path, text, is_program) in files {
        let place = stage.path().join(path);
        if let Some(above) = place.parent() {
            fs::create_dir_all(above).map_err(at(above))?;
        }
        fs::write(&place, text).map_err(at(&place))?;
        set_mode(&place, if *is_program { 0o755 } else { 0o644 }).map_err(at(&place))?;
    }
    set_mode(stage.path(), 0o755).map_err(at(stage.path()))?;
    fs::rename(stage.path(), folder).map_err(at(folder))?;
    // It is not there any more under that name.
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
