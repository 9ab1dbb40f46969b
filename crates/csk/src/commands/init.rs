//! `csk init`: makes a project ready for skills.

#![expect(clippy::disallowed_methods, reason = "makes the folder of git's own rules")]

use csk_core::{
    ExcludeFile, LOCKFILE, Lockfile, SKILLFILE, Skillfile, exclude_file, not_ignored, with_block,
};
use skill_fs::{AbsPath, read_text, write_file};
use term::{Failure, HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::clean;

const HELP: HelpText = HelpText {
    text: "\
Purpose: makes a folder of a git repository ready for skills: an empty Skillfile.json with its lock, if there is none, and \
entries that keep git from seeing what csk installs. They go into .gitignore: commit it with both files, and every clone can \
`csk install --frozen`. With --private they go into .git/info/exclude, which is yours alone. What is there already stays as \
it is.

Reads:  config.json
Writes: Skillfile.json, Skillfile.lock, .gitignore or .git/info/exclude",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage or configuration, or the folder is not inside a git repository"),
    ],
    examples: &[
        "csk init",
        "csk init ../demo-app --private",
    ],
};

/// Make a folder ready for skills
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct InitArgs {
    /// The folder
    #[arg(default_value = ".")]
    path: String,
    /// Write the ignore entries to .git/info/exclude, which no other clone gets
    #[arg(long)]
    private: bool,
}

pub(crate) fn init(context: &mut Context, args: &InitArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let root = clean(&context.cwd.join(&args.path));
    if !root.as_path().is_dir() {
        let what = if root.as_path().exists() { "is no folder" } else { "does not exist" };
        return Err(Failure::usage(format!("{root} {what}")).into());
    }
    let exclude = exclude_file(&root)?;
    if exclude == ExcludeFile::NoRepository {
        return Err(Failure::usage(format!("{root} is not inside a git repository"))
            .with_hint("run `git init` there; what csk writes must be ignored by git")
            .into());
    }
    let file = match exclude {
        _ if !args.private => root.join(".gitignore"),
        ExcludeFile::File(file) => file,
        ExcludeFile::NoRepository | ExcludeFile::Elsewhere(_) => {
            return Err(Failure::usage(format!(
                "csk does not write ignore rules through `.git`: it leads out of {root}"
            ))
            .with_hint("run `csk init` without --private")
            .into());
        }
    };
    let (path, lock) = (root.join(SKILLFILE), root.join(LOCKFILE));
    let has_lock = read_text(&lock)?.is_some();
    let is_new = read_text(&path)?.is_none();
    if is_new {
        // The agents are written down, so that every clone has the same ones, whatever its user's config says.
        let custom = config.agents.custom();
        let shared = config.default_agents.iter().map(String::as_str);
        let shared: Vec<&str> =
            shared.filter(|id| !custom.iter().any(|agent| agent.id == *id)).collect();
        write_file(&path, Skillfile::empty(&shared).as_bytes())?;
        context.ui.done(&format!("made {}\n", safe_line(path.as_str())))?;
        if !has_lock {
            // Without skills there is nothing to be locked, and that is what the lockfile says.
            let text = Lockfile::default().to_json();
            write_file(&lock, text.as_bytes())?;
            context.ui.done(&format!("made {}\n", safe_line(lock.as_str())))?;
        }
    } else if !has_lock {
        let what = "`csk lock` writes Skillfile.lock, which `csk install --frozen` needs";
        context.ui.error(&format!("note: there is no lockfile; {what}\n"))?;
    }
    let agents = config.default_agents.iter().filter_map(|id| config.agents.find(id));
    let folders = agents.filter_map(|agent| agent.adapter).map(|folder| format!("{folder}/"));
    let mut entries: Vec<String> = std::iter::once(".agents/".to_owned()).chain(folders).collect();
    entries.dedup();
    let is_ignored = ignore(context, &file, &entries)?;
    let lockfile = [LOCKFILE.to_owned()];
    if not_ignored(&root, &lockfile).is_ok_and(|kept| kept.is_empty()) {
        let what = "clones do not get it, and `csk install --frozen` fails there";
        context.ui.error(&format!("warning: git ignores {LOCKFILE}: {what}\n"))?;
    }
    if !is_new && !is_ignored {
        context.ui.done(&format!("{} is set up already\n", safe_line(root.as_str())))?;
    }
    Ok(ExitCode::Done)
}

/// Adds what is missing of `entries` to the end of a file of ignore rules; true if something was.
fn ignore(context: &mut Context, file: &AbsPath, entries: &[String]) -> anyhow::Result<bool> {
    let old = read_text(file)?.unwrap_or_default();
    let missing: Vec<&str> = entries
        .iter()
        .map(String::as_str)
        .filter(|entry| !old.lines().any(|line| line.trim() == *entry))
        .collect();
    if missing.is_empty() {
        return Ok(false);
    }
    let text = with_block(&old, &missing.join("\n"));
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder.as_path())?;
    }
    write_file(file, text.as_bytes())?;
    let shown = safe_line(file.as_str()).into_owned();
    context.ui.done(&format!("added {} to {shown}\n", missing.join(" ")))?;
    Ok(true)
}
