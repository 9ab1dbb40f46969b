//! Finds programs on PATH without running them.

#![expect(clippy::disallowed_methods, reason = "reads file metadata")]

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use skill_fs::AbsPath;

use crate::sys::is_program;

/// Returns the path of `program` on `path`. Folders in `except` are skipped: csk's own commands are not system
/// programs.
pub fn find_program(program: &str, path: Option<&OsStr>, except: &[AbsPath]) -> Option<PathBuf> {
    let is_excepted = |folder: &PathBuf| {
        let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        except.iter().any(|except| {
            let other = fs::canonicalize(except.as_path());
            *folder == except.as_path() || other.is_ok_and(|other| other == real)
        })
    };
    // A relative PATH entry depends on the current folder, so it does not count as the system's either.
    std::env::split_paths(path?)
        .filter(|folder| folder.is_absolute() && !is_excepted(folder))
        .flat_map(|folder| names(program).into_iter().map(move |name| folder.join(name)))
        .find(|file| is_program(file))
}

/// Extensions of programs on Windows, in the order in which shells try them.
const EXTENSIONS: [&str; 4] = [".com", ".exe", ".bat", ".cmd"];

/// Returns the possible file names of a program.
fn names(program: &str) -> Vec<String> {
    let lower = program.to_ascii_lowercase();
    let is_whole = EXTENSIONS.iter().any(|extension| lower.ends_with(extension));
    if !cfg!(windows) || is_whole {
        return vec![program.to_owned()];
    }
    EXTENSIONS.iter().map(|extension| format!("{program}{extension}")).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_executable_system_files_are_found() {
        let scratch = tempfile::tempdir().unwrap();
        let make = |path: &str, mode: u32| {
            let path = scratch.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        };
        make("a/plain", 0o644);
        make("a/tool", 0o755);
        make("own/shim", 0o755);
        fs::create_dir_all(scratch.path().join("a/folder")).unwrap();
        let folder = |name: &str| scratch.path().join(name);
        let path = std::env::join_paths([folder("none"), folder("own"), folder("a"), "rel".into()])
            .unwrap();
        let own = AbsPath::new(folder("own")).unwrap();
        let find = |name: &str| find_program(name, Some(&path), std::slice::from_ref(&own));
        assert_eq!(find("tool"), Some(folder("a/tool")));
        for missing in ["plain", "folder", "shim", "nothing"] {
            assert_eq!(find(missing), None, "{missing}");
        }
        assert_eq!(find_program("tool", None, &[]), None);
    }
}
