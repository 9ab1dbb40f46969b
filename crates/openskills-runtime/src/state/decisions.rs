//! The user's decisions: trusted folders and disabled skills.
//!
//! Each is a small JSON file in the state folder. An unreadable file is an error, never treated as empty: overwriting
//! it would lose the user's decisions, and silently trusting nothing would be confusing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::json;
use skill::Code;
use skill::json::{self as reader, UnknownKeys};
use skill_fs::{AbsPath, FsError, Lock, LockError, make_private_folder, read_text, write_file};

use crate::RuntimeError;
use crate::discover::naming::key;
use crate::state::settings::schema_version;

/// Folders whose skills are trusted as the user's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedFolders {
    folders: BTreeSet<String>,
}

impl TrustedFolders {
    const FILE: &'static str = "trusted-folders.json";

    /// Reads the file from the state folder.
    pub fn load(state: Option<&AbsPath>) -> Result<Self, RuntimeError> {
        let folders = load(state, Self::FILE, [FOLDERS])?;
        Ok(Self { folders: folders.into_iter().flatten().collect() })
    }

    /// Writes the file.
    pub fn save(&self, state: Option<&AbsPath>) -> Result<(), RuntimeError> {
        save(state, Self::FILE, &json!({ "schema_version": 1, "folders": self.folders }))
    }

    /// Returns true if `folder` or one of its parents is trusted.
    pub fn covers(&self, folder: &AbsPath) -> bool {
        let trusts = |folder: &AbsPath| self.folders.contains(folder.as_str());
        std::iter::successors(Some(folder.clone()), AbsPath::parent).any(|folder| trusts(&folder))
    }

    /// Trusts a folder, given by its real path; returns false if it was already in the list.
    pub fn add(&mut self, folder: &AbsPath) -> bool {
        self.folders.insert(folder.to_string())
    }

    /// Removes a folder from the list; returns false if it was not in it.
    pub fn remove(&mut self, folder: &AbsPath) -> bool {
        self.folders.remove(folder.as_str())
    }

    /// Returns the folders, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(String::as_str)
    }
}

/// Disabled skills: by name in any location, or by folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisabledSkills {
    names: BTreeSet<String>,
    folders: BTreeSet<String>,
}

impl DisabledSkills {
    const FILE: &'static str = "disabled-skills.json";

    /// Reads the file from the state folder.
    pub fn load(state: Option<&AbsPath>) -> Result<Self, RuntimeError> {
        let [names, folders] = load(state, Self::FILE, ["names", FOLDERS])?;
        // Hand-written entries are names, not keys.
        Ok(Self { names: names.iter().map(|name| key(name).into_owned()).collect(), folders })
    }

    /// Writes the file.
    pub fn save(&self, state: Option<&AbsPath>) -> Result<(), RuntimeError> {
        let Self { names, folders } = self;
        let value = json!({ "schema_version": 1, "names": names, "folders": folders });
        save(state, Self::FILE, &value)
    }

    /// Returns true if the skill with this key in this folder is disabled.
    pub fn covers(&self, key: &str, folder: &str) -> bool {
        self.names.contains(key) || self.folders.contains(folder)
    }

    /// Disables every skill with a name; returns false if it already was.
    pub fn add_name(&mut self, name: &str) -> bool {
        self.names.insert(name.to_owned())
    }

    /// Disables the skill in one folder; returns false if it already was.
    pub fn add_folder(&mut self, folder: &str) -> bool {
        self.folders.insert(folder.to_owned())
    }

    /// Enables skills with a name; returns false if they were not disabled.
    pub fn remove_name(&mut self, name: &str) -> bool {
        self.names.remove(name)
    }

    /// Enables the skill in one folder; returns false if it was not disabled.
    pub fn remove_folder(&mut self, folder: &str) -> bool {
        self.folders.remove(folder)
    }

    /// Returns the disabled names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

/// Acquires the lock of the state folder, so that concurrent changes are not lost.
pub(crate) fn lock_state(state: Option<&AbsPath>) -> Result<Lock, RuntimeError> {
    let state = state.ok_or_else(no_state_folder)?;
    make_private_folder(state)?;
    Lock::acquire(&state.join(".lock"), Lock::TIMEOUT).map_err(|error| match error {
        LockError::Held { path, .. } => RuntimeError::Setup {
            message: format!("another process holds the lock `{path}`"),
            hint: Some(
                "try again; if no other openskills process is running, remove the file".to_owned(),
            ),
        },
        LockError::File(error) => error.into(),
    })
}

pub(crate) fn no_state_folder() -> RuntimeError {
    let message = "cannot locate the state folder: HOME is not set".to_owned();
    RuntimeError::Setup { message, hint: Some("set HOME or XDG_STATE_HOME".to_owned()) }
}

/// Reads lists of strings by key. A malformed file is an error, not an empty one.
pub(crate) fn load<const N: usize>(
    state: Option<&AbsPath>,
    file: &str,
    keys: [&'static str; N],
) -> Result<[BTreeSet<String>; N], RuntimeError> {
    let none = || std::array::from_fn(|_| BTreeSet::new());
    let Some(path) = state.map(|state| state.join(file)) else { return Ok(none()) };
    // A broken symlink would look like a missing file.
    if path.as_path().is_symlink() {
        return Err(FsError::NotRegular { path: path.to_string(), kind: "a symlink" }.into());
    }
    let Some(text) = read_text(&path)? else { return Ok(none()) };
    let (lists, diagnostics) = reader::read(path.as_str(), &text, |object| {
        // An unknown key could be a decision.
        object.unknown_keys(UnknownKeys::Refused);
        schema_version(object)?;
        Some(keys.map(|key| {
            let texts = object.texts(key);
            for text in texts.iter().filter(|text| key == FOLDERS && !is_folder(&text.value)) {
                let message =
                    format!("`{}` is not an absolute, normalized folder path", text.value);
                object.problem(Code::BadPath, text.range.clone(), message);
            }
            texts.into_iter().map(|text| text.value).collect()
        }))
    });
    lists.ok_or_else(|| RuntimeError::InvalidConfig { file: path.to_string(), diagnostics })
}

/// The key of folder lists.
const FOLDERS: &str = "folders";

/// Returns true for a normalized folder path and for a builtin skill.
fn is_folder(path: &str) -> bool {
    let is_clean = |path: &AbsPath| {
        path.as_path().components().collect::<PathBuf>().as_os_str() == path.as_str()
    };
    path.starts_with("builtin:")
        || AbsPath::new(path).is_ok_and(|path| path.parent().is_some() && is_clean(&path))
}

/// Writes a file to the state folder.
pub(crate) fn save(
    state: Option<&AbsPath>,
    file: &str,
    value: &serde_json::Value,
) -> Result<(), RuntimeError> {
    let state = state.ok_or_else(no_state_folder)?;
    make_private_folder(state)?;
    write_file(&state.join(file), format!("{value:#}\n").as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trusted_folder_covers_its_subfolders_but_not_lookalikes() {
        let path = |text: &str| AbsPath::new(text).unwrap();
        let mut trusted = TrustedFolders::default();
        assert!(trusted.add(&path("/project")));
        assert!(trusted.covers(&path("/project")) && trusted.covers(&path("/project/a/b")));
        assert!(!trusted.covers(&path("/projectile")) && !trusted.covers(&path("/")));
        assert!(trusted.remove(&path("/project")) && !trusted.covers(&path("/project")));
    }
}
