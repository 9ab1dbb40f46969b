//! Names that no run may bring to a workspace, even one that it writes directly.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sandbox::{PROTECTED, Spec, Writes};

/// Protected names that a workspace does not have. One that is written directly may get them; they do not stay, whatever else goes
/// wrong.
pub(super) struct Guarded {
    workspace: Option<(PathBuf, std::fs::Permissions)>,
    absent: Vec<PathBuf>,
}

impl Guarded {
    pub(super) fn new(spec: &Spec) -> Self {
        let direct = spec.workspace.as_ref().filter(|workspace| workspace.writes == Writes::Direct);
        let names = direct
            .into_iter()
            .flat_map(|workspace| PROTECTED.map(|name| workspace.path.join(name)));
        let absent = names.filter(|path| !may_be_there(path)).collect();
        let rights =
            |path: &PathBuf| Some((path.clone(), std::fs::metadata(path).ok()?.permissions()));
        Self { workspace: direct.and_then(|workspace| rights(&workspace.path)), absent }
    }

    /// Moves what came to stand under such a name out of the way, to a name that nothing looks for and nobody has.
    pub(super) fn check(&mut self) -> Result<(), String> {
        // A folder that cannot be looked into hides what is in it.
        if let Some((path, rights)) = &self.workspace {
            std::fs::set_permissions(path, rights.clone())
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let mut told = Vec::new();
        for path in self.absent.drain(..).filter(|path| may_be_there(path)) {
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

impl Drop for Guarded {
    fn drop(&mut self) {
        // Where a run ended early there is nobody to tell, and nothing stays all the same.
        let _ = self.check();
    }
}

/// Returns false only for what is surely not there.
fn may_be_there(path: &Path) -> bool {
    !matches!(path.symlink_metadata(), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
}
