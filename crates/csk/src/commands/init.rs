//! `csk init`: sets up a project for skills.

#![expect(clippy::disallowed_methods, reason = "creates the folder of git's exclude file")]

use csk_core::{
    ExcludeFile, LOCKFILE, Lockfile, SKILLFILE, Skillfile, exclude_file, not_ignored, with_block,
};
use skill_fs::{AbsPath, read_text, write_file};
use term::{Failure, HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::canonical;

const HELP: HelpText = HelpText {
    text: "\
Sets up a project folder inside a git repository to use skills. csk creates an empty Skillfile.json and Skillfile.lock if they do \
not exist, and adds ignore rules for the installed files to .gitignore. Commit all three files, so that every clone can run \
`csk install --frozen`. With --private, the ignore rules go to .git/info/exclude, which is not shared. Existing content is \
not changed.

Reads:  config.json
Writes: Skillfile.json, Skillfile.lock, .gitignore or .git/info/exclude",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage or configuration error, or the folder is not inside a git repository"),
    ],
    examples: &[
        "csk init",
        "csk init ../demo-app --private",
    ],
};

/// Set up a project for skills
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct InitArgs {
    /// Project folder
    #[arg(default_value = ".")]
    path: String,
    /// Add ignore rules to .git/info/exclude instead of .gitignore, so that they are not shared
    #[arg(long)]
    private: bool,
}

pub(crate) fn init(context: &mut Context, args: &InitArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let root = canonical(&context.cwd.join(&args.path));
    if !root.as_path().is_dir() {
        let problem = if root.as_path().exists() { "is not a folder" } else { "does not exist" };
        return Err(Failure::usage(format!("`{root}` {problem}")).into());
    }
    let exclude = exclude_file(&root)?;
    if exclude == ExcludeFile::NoRepository {
        return Err(Failure::usage(format!("`{root}` is not inside a git repository"))
            .with_hint("run `git init` there first; csk requires a git repository that ignores the files it installs")
            .into());
    }
    let file = match exclude {
        _ if !args.private => root.join(".gitignore"),
        ExcludeFile::File(file) => file,
        ExcludeFile::NoRepository | ExcludeFile::Elsewhere(_) => {
            return Err(Failure::usage(format!(
                "cannot write ignore rules: `.git` points outside `{root}`"
            ))
            .with_hint("run `csk init` without --private")
            .into());
        }
    };
    let (path, lock) = (root.join(SKILLFILE), root.join(LOCKFILE));
    let has_lock = read_text(&lock)?.is_some();
    let is_new = read_text(&path)?.is_none();
    if is_new {
        // Record the agents, so that every clone uses the same ones regardless of the user's config.
        let custom = config.agents.custom();
        let shared = config.default_agents.iter().map(String::as_str);
        let shared: Vec<&str> =
            shared.filter(|id| !custom.iter().any(|agent| agent.id == *id)).collect();
        write_file(&path, Skillfile::empty(&shared).as_bytes())?;
        context.ui.done(&format!("created {}\n", safe_line(path.as_str())))?;
        if !has_lock {
            // A project without skills has an empty lockfile.
            let text = Lockfile::default().to_json();
            write_file(&lock, text.as_bytes())?;
            context.ui.done(&format!("created {}\n", safe_line(lock.as_str())))?;
        }
    } else if !has_lock {
        context.ui.error(
            "note: no Skillfile.lock yet; run `csk lock` to create it, so that `csk install --frozen` works\n",
        )?;
    }
    let agents = config.default_agents.iter().filter_map(|id| config.agents.find(id));
    let folders = agents.filter_map(|agent| agent.adapter).map(|folder| format!("{folder}/"));
    let mut entries: Vec<String> = std::iter::once(".agents/".to_owned()).chain(folders).collect();
    entries.dedup();
    let is_ignored = ignore(context, &file, &entries)?;
    let lockfile = [LOCKFILE.to_owned()];
    if not_ignored(&root, &lockfile).is_ok_and(|kept| kept.is_empty()) {
        let effect = "clones will not have it, and `csk install --frozen` will fail there";
        context.ui.error(&format!("warning: git ignores {LOCKFILE}: {effect}\n"))?;
    }
    if !is_new && !is_ignored {
        context.ui.done(&format!("{} is already set up\n", safe_line(root.as_str())))?;
    }
    Ok(ExitCode::Done)
}

/// Appends the missing `entries` to a file of ignore rules. Returns true if any were missing.
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
