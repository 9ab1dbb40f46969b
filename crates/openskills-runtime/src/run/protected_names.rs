//! Enforces that no run creates a protected name in a workspace, even with direct writes.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sandbox::{Spec, Writes};

/// The protected names in a workspace before a run. Names added by direct writes are moved away on drop, even if the
/// run fails.
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

    /// Renames every protected name that the run created to an unused, harmless name.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        let Some((workspace, rights)) = self.workspace.take() else { return Ok(()) };
        // An unreadable folder would hide its contents.
        std::fs::set_permissions(&workspace, rights).map_err(|error| {
            format!("cannot restore the permissions of `{}`: {error}", workspace.display())
        })?;
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
                    "it created the protected name `{}`, which was moved to `{}`",
                    path.display(),
                    aside.display()
                ),
                Err(error) => format!(
                    "it created the protected name `{}`, which cannot be moved: {error}",
                    path.display()
                ),
            });
        }
        if told.is_empty() { Ok(()) } else { Err(told.join("; ")) }
    }
}

impl Drop for ProtectedNames {
    fn drop(&mut self) {
        // If a run ended early, the names are still moved away, although nothing can be reported.
        let _ = self.check();
    }
}

/// Returns the protected names in a folder, including the `HEAD` of a folder that git treats as a repository.
fn listed(folder: &Path) -> Result<BTreeSet<OsString>, String> {
    let failed = |error: std::io::Error| format!("cannot read `{}`: {error}", folder.display());
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
