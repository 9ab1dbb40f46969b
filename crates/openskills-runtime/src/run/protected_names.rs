//! Names that no run may bring to a workspace, even one that it writes directly.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sandbox::{Spec, Writes};

/// The protected names that a workspace has. One that is written directly may get more; they do not stay, whatever else goes wrong.
pub(crate) struct ProtectedNames {
    workspace: Option<(PathBuf, std::fs::Permissions)>,
    present: Result<BTreeSet<OsString>, String>,
}

impl ProtectedNames {
    pub(crate) fn new(spec: &Spec) -> Self {
        let direct = spec.workspace.as_ref().filter(|workspace| workspace.writes == Writes::Direct);
        let rights =
            |path: &PathBuf| Some((path.clone(), std::fs::metadata(path).ok()?.permissions()));
        Self {
            workspace: direct.and_then(|workspace| rights(&workspace.path)),
            present: direct.map_or(Ok(BTreeSet::new()), |workspace| listed(&workspace.path)),
        }
    }

    /// Moves what came to stand under such a name out of the way, to a name that nothing looks for and nobody has.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        let Some((workspace, rights)) = self.workspace.take() else { return Ok(()) };
        // A folder that cannot be looked into hides what is in it.
        std::fs::set_permissions(&workspace, rights)
            .map_err(|error| format!("{}: {error}", workspace.display()))?;
        let present = self.present.clone()?;
        let mut told = Vec::new();
        for name in listed(&workspace)?.difference(&present) {
            let path = workspace.join(name);
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let now =
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
            let aside =
                path.with_file_name(format!("not-allowed-{}-{now}", name.trim_start_matches('.')));
            let moved = std::fs::rename(&path, &aside);
            told.push(match moved {
                Ok(()) => format!(
                    "it made {}, which is protected; it is {} now",
                    path.display(),
                    aside.display()
                ),
                Err(error) => format!(
                    "it made {}, which is protected, and it cannot be moved: {error}",
                    path.display()
                ),
            });
        }
        if told.is_empty() { Ok(()) } else { Err(told.join("; ")) }
    }
}

impl Drop for ProtectedNames {
    fn drop(&mut self) {
        // Where a run ended early there is nobody to tell, and nothing stays all the same.
        let _ = self.check();
    }
}

/// Returns the protected names in a folder, with the `HEAD` of a folder that git takes for a repository.
fn listed(folder: &Path) -> Result<BTreeSet<OsString>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut names = BTreeSet::new();
    let mut parts = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let folded = name.to_string_lossy().to_lowercase();
        if sandbox::is_protected(&folded) {
            names.insert(name);
        } else if matches!(folded.as_str(), "head" | "objects" | "refs") {
            parts.insert((folded, name));
        }
    }
    if parts.len() >= 3 {
        names
            .extend(parts.into_iter().filter(|(folded, _)| folded == "head").map(|(_, name)| name));
    }
    Ok(names)
}
