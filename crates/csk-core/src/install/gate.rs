//! What must hold before anything is written in a project: no link on the way, since a checkout may bring
//! links that lead anywhere, and git ignores what csk makes.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use skill_fs::AbsPath;

use super::{BIN, Ignore, Mode, Options, ProjectError, SKILLS, Target};
use crate::git::checkout::tracked;
use crate::{Scope, not_ignored, with_block};

/// Folders of a project, below `.agents`, that csk works in.
const OWN: [&str; 4] = [SKILLS, BIN, ".agents/backups", ".agents/.csk-stage"];

/// Returns the first link on the way to a folder of the project, if there is one.
pub(super) fn link_on_the_way(target: &Target, folder: &str) -> io::Result<Option<AbsPath>> {
    // The home folder is the user's, and whatever it holds is theirs to link.
    let (mut path, parts) = match folder.strip_prefix("~/") {
        Some(_) => return Ok(None),
        None => (target.root.clone(), folder.split('/')),
    };
    for part in parts {
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
    Ok(None)
}

/// Refuses a project in which csk would write through a link.
pub(crate) fn check_links(target: &Target) -> Result<(), ProjectError> {
    for folder in OWN.map(str::to_owned).into_iter().chain(target.adapters()) {
        match link_on_the_way(target, &folder) {
            Ok(None) => {}
            Ok(Some(path)) => return Err(ProjectError::Link(path.to_string())),
            Err(error) => {
                let message = format!("cannot look at {}: {error}", target.root);
                return Err(ProjectError::Files(message));
            }
        }
    }
    Ok(())
}

/// Checks that git ignores what csk writes, or adds what is missing to `.gitignore` and returns that.
pub(super) fn ignore_gate(target: &Target, options: Options) -> Result<Vec<String>, ProjectError> {
    if target.scope == Scope::Global {
        return Ok(Vec::new());
    }
    let (missing, rule) = open_entries(target)?;
    if missing.is_empty() {
        return Ok(missing);
    }
    if let Some(rule) = rule {
        return Err(ProjectError::Unignored { entries: missing, rule });
    }
    match (options.ignore, options.mode) {
        (Ignore::Require, _) => return Err(ProjectError::NotIgnored(missing)),
        (Ignore::Fix, Mode::DryRun) => return Ok(missing),
        (Ignore::Fix, Mode::Apply) => {}
    }
    let path = target.root.join(".gitignore");
    let old = match fs::read_to_string(path.as_path()) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(ProjectError::Files(format!("cannot read {path}: {error}"))),
    };
    let text = with_block(&old, &missing.join("\n"));
    skill_fs::write_file(&path, text.as_bytes())
        .map_err(|error| ProjectError::Files(error.to_string()))?;
    match unignored(target)? {
        still if still.is_empty() => Ok(missing),
        still => Err(ProjectError::NotIgnored(still)),
    }
}

/// Refuses a project whose repository brings files to the folder of commands: a pull would put a stranger's
/// programs on PATH.
pub(crate) fn tracked_gate(target: &Target) -> Result<(), ProjectError> {
    if target.scope == Scope::Global {
        return Ok(());
    }
    let found =
        tracked(&target.root, BIN).map_err(|error| ProjectError::Files(error.to_string()))?;
    found.map_or(Ok(()), |path| Err(ProjectError::Tracked(path)))
}

/// Returns the ignore entries of a project that git does not know of yet.
pub fn unignored(target: &Target) -> Result<Vec<String>, ProjectError> {
    open_entries(target).map(|(entries, _)| entries)
}

/// The same, with a rule that no entry in the project's `.gitignore` can overrule.
fn open_entries(target: &Target) -> Result<(Vec<String>, Option<String>), ProjectError> {
    let entries = target.ignore_entries();
    // What is written is asked for, since rules may tell apart what is in a folder.
    let probes: Vec<(&String, String)> =
        entries.iter().flat_map(|entry| probes(target, entry)).collect();
    let paths: Vec<String> = probes.iter().map(|(_, probe)| probe.clone()).collect();
    let open = not_ignored(&target.root, &paths)
        .map_err(|error| ProjectError::Files(error.to_string()))?;
    // Below a folder that is ignored git reads no rules, so only those above an entry's folder can overrule it.
    let overrules = |(entry, probe): &(&String, String)| {
        let rule = open.iter().find(|one| one.path == *probe)?.rule.as_ref()?;
        let folder = Path::new(entry.trim_end_matches('/'));
        let is_above = folder != rule.folder && folder.starts_with(&rule.folder);
        is_above.then(|| rule.shown.clone())
    };
    let rule = probes.iter().find_map(overrules);
    let open: BTreeSet<String> = open.into_iter().map(|one| one.path).collect();
    let mut missing: Vec<String> = probes
        .into_iter()
        .filter(|(_, probe)| open.contains(probe))
        .map(|(entry, _)| entry.clone())
        .collect();
    missing.dedup();
    Ok((missing, rule))
}

/// Returns paths that csk writes in the folder of an ignore entry.
fn probes<'a>(target: &Target, entry: &'a String) -> Vec<(&'a String, String)> {
    let below: Vec<String> = if entry == ".agents/" {
        let own = OWN.iter().map(|folder| format!("{folder}/"));
        // Git refuses to look behind a link that somebody put in the place of a skill.
        let is_link = |path: &str| target.root.join(path).as_path().is_symlink();
        let skills = target.skills.iter().map(|skill| {
            let folder = format!("{SKILLS}/{}", skill.name);
            if is_link(&folder) { folder } else { format!("{folder}/SKILL.md") }
        });
        own.map(|folder| format!("{folder}.csk-probe")).chain(skills).collect()
    } else {
        let ledger = std::iter::once(format!("{entry}{}", skill::LEDGER_FILE));
        let skills = target.skills.iter().map(|skill| format!("{entry}{}", skill.name));
        ledger.chain(skills).collect()
    };
    below.into_iter().map(|probe| (entry, probe)).collect()
}
