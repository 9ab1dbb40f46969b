//! Refuses to write through links: a checkout may bring links that lead anywhere.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;

use super::{SKILLS, Target};
use crate::{AbsPath, Agents};

/// Folders of a project, below `.agents`, that csk works in.
const OWN: [&str; 3] = [SKILLS, ".agents/backups", ".agents/.csk-stage"];

/// Returns the first link on the way to a folder that csk would write in, if there is one.
pub(super) fn link_on_the_way(target: &Target, agents: &Agents) -> io::Result<Option<AbsPath>> {
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
