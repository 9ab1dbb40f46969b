//! What may be on PATH: for each project, a folder of csk's own with a link for every command that csk installed there,
//! and nothing else.
//!
//! `.agents/bin` is part of the checkout, so a pull or an archive can put any program into it; neither the shell hooks
//! nor `csk exec` ever put it on PATH. `commands/<key>` below csk's home folder is written by csk alone. `hook/projects` has
//! one line for each project, with its key and path, which a shell can read without starting a process.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;

use skill::Identifier;
use skill_fs::{AbsPath, FsError, write_file};
use skill_state::key_of;

use super::shim::{read_shim, stage_shim};
use super::{BIN, Consumers};
use crate::Platform;
use crate::which::find_program;

const LIST: &str = "hook";
const COMMANDS: &str = "commands";

/// Returns true if a path can be a PATH entry and fits on one line.
pub fn can_be_on_path(root: &AbsPath) -> bool {
    let separators = if cfg!(windows) { [';', '\n', '"'] } else { [':', '\n', ';'] };
    !root.as_str().contains(separators)
}

/// Returns the folder that puts a project's commands on PATH. It exists if csk has installed any.
pub fn commands_folder(home: &AbsPath, root: &AbsPath) -> AbsPath {
    home.join(COMMANDS).join(key_of(root))
}

/// Returns the folder of the globally installed commands.
pub fn global_commands(home: &AbsPath) -> AbsPath {
    home.join("global").join(BIN)
}

/// Returns the user's own PATH entries, without csk's entries and empty ones.
pub fn user_path_entries(home: &AbsPath, path: &OsStr) -> Vec<PathBuf> {
    let ours = [home.join(COMMANDS), global_commands(home)];
    let is_ours = |folder: &PathBuf| ours.iter().any(|own| folder.starts_with(own.as_path()));
    // An empty entry would mean the current folder.
    std::env::split_paths(path)
        .filter(|folder| !folder.as_os_str().is_empty() && !is_ours(folder))
        .collect()
}

/// Returns the program on the user's own PATH that shadows a command. `bin` is the project's command folder, which may
/// be on PATH as well.
pub fn shadowing(home: &AbsPath, bin: &AbsPath, path: &OsStr, command: &str) -> Option<PathBuf> {
    let own =
        std::env::join_paths(user_path_entries(home, path)).unwrap_or_else(|_| OsString::new());
    find_program(command, Some(&own), std::slice::from_ref(bin))
}

/// Writes the list of projects if it has changed, and removes the commands of projects that are gone.
pub(crate) fn sync(home: &AbsPath, consumers: &Consumers) -> Result<(), FsError> {
    let folder = home.join(LIST);
    fs::create_dir_all(folder.as_path()).map_err(failed(&folder))?;
    let global = home.join("global");
    let lines = consumers.0.iter().filter(|root| can_be_on_path(root) && **root != global);
    let text: String = lines.map(|root| format!("{} {root}\n", key_of(root))).collect();
    write_file(&folder.join("projects"), text.as_bytes())?;
    // Older versions stored timestamps here.
    for entry in fs::read_dir(folder.as_path()).into_iter().flatten().flatten() {
        if entry.file_name() != "projects" {
            let _ = fs::remove_file(entry.path());
        }
    }
    let keys: BTreeSet<String> = consumers.0.iter().map(key_of).collect();
    let commands = home.join(COMMANDS);
    for entry in fs::read_dir(commands.as_path()).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| !keys.contains(name)) {
            // It contains only links; one that cannot be removed is not on any PATH.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Makes a project's command folder contain exactly the links in `wanted`. Commands in `kept` stay unchanged, since
/// their skill could not be updated.
pub(super) fn write_commands(
    home: &AbsPath,
    root: &AbsPath,
    wanted: &BTreeMap<Identifier, String>,
    kept: &BTreeSet<Identifier>,
) -> Result<(), FsError> {
    let folder = commands_folder(home, root);
    let names = |commands: &mut dyn Iterator<Item = &Identifier>| -> BTreeSet<String> {
        commands.map(|command| Platform::CURRENT.shim_name(command)).collect()
    };
    let known = names(&mut wanted.keys().chain(kept));
    for entry in fs::read_dir(folder.as_path()).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_none_or(|name| !known.contains(name)) {
            let path = entry.path();
            let removed = match entry.file_type() {
                Ok(kind) if kind.is_dir() => fs::remove_dir_all(&path),
                Ok(_) | Err(_) => fs::remove_file(&path),
            };
            removed.map_err(failed(&folder))?;
        }
    }
    if known.is_empty() {
        // The folder may never have existed.
        let _ = fs::remove_dir(folder.as_path());
        return Ok(());
    }
    fs::create_dir_all(folder.as_path()).map_err(failed(&folder))?;
    for (command, to) in wanted.iter().filter(|(command, _)| !kept.contains(*command)) {
        let place = folder.join(Platform::CURRENT.shim_name(command));
        if read_shim(&place).map_err(failed(&place))?.as_ref() == Some(to) {
            continue;
        }
        // Created under another name, then renamed: the command is always complete, old or new.
        let staged = home.join(COMMANDS).join(format!(".new-{}", key_of(root)));
        stage_shim(to, &staged)
            .and_then(|()| skill_fs::rename(&staged, &place))
            .map_err(failed(&place))?;
    }
    Ok(())
}

fn failed(path: &AbsPath) -> impl Fn(std::io::Error) -> FsError + '_ {
    |source| FsError::Io { path: path.to_string(), source }
}
