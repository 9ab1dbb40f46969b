//! What must hold before anything is written in a project: no link on the way, since a checkout may bring
//! links that lead anywhere, and git ignores what csk makes.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;

use super::{Ignore, Mode, Options, ProjectError, SKILLS, Target};
use crate::{AbsPath, Agents, not_ignored};

/// Folders of a project, below `.agents`, that csk works in.
const OWN: [&str; 3] = [SKILLS, ".agents/backups", ".agents/.csk-stage"];

/// Returns the first link on the way to a folder that csk would write in, if there is one.
fn link_on_the_way(target: &Target, agents: &Agents) -> io::Result<Option<AbsPath>> {
    let adapters = agents.adapter_folders().into_iter().chain(target.adapters());
    for folder in OWN.map(str::to_owned).into_iter().chain(adapters) {
        let mut path = target.root.clone();
        for part in folder.split('/') {
            path = path.join(part);
            match fs::symlink_metadata(path.as_path()) {
                Ok(metadata) if metadata.is_symlink() => return Ok(Some(path)),
                Ok(_) => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) =>
                {
                    break;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(None)
}

/// Refuses a project in which csk would write through a link.
pub(super) fn check_links(target: &Target, agents: &Agents) -> Result<(), ProjectError> {
    match link_on_the_way(target, agents) {
        Ok(None) => Ok(()),
        Ok(Some(path)) => Err(ProjectError::Link(path.to_string())),
        Err(error) => Err(ProjectError::Files(format!("cannot look at {}: {error}", target.root))),
    }
}

/// Checks that git ignores what csk writes, or adds what is missing to `.gitignore`.
pub(super) fn ignore_gate(target: &Target, options: Options) -> Result<(), ProjectError> {
    let entries = target.ignore_entries();
    let missing = missing_entries(target, &entries)?;
    if missing.is_empty() {
        return Ok(());
    }
    if options.ignore == Ignore::Require || options.mode == Mode::DryRun {
        return Err(ProjectError::NotIgnored(missing));
    }
    let path = target.root.join(".gitignore");
    let old = match fs::read_to_string(path.as_path()) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(ProjectError::Files(format!("cannot read {path}: {error}"))),
    };
    let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
    let text = format!("{old}{gap}# CocoaSkill\n{}\n", missing.join("\n"));
    skill_fs::write_file(&path, text.as_bytes())
        .map_err(|error| ProjectError::Files(error.to_string()))?;
    match missing_entries(target, &entries)? {
        still if still.is_empty() => Ok(()),
        still => Err(ProjectError::NotIgnored(still)),
    }
}

fn missing_entries(target: &Target, entries: &[String]) -> Result<Vec<String>, ProjectError> {
    // A name below the folder is asked for, since a folder that is not there cannot be told from a file.
    let probes: Vec<String> = entries.iter().map(|entry| format!("{entry}.csk-probe")).collect();
    let open = not_ignored(&target.root, &probes)
        .map_err(|error| ProjectError::Files(error.to_string()))?;
    let missing = entries.iter().zip(&probes).filter(|(_, probe)| open.contains(probe));
    Ok(missing.map(|(entry, _)| entry.clone()).collect())
}
