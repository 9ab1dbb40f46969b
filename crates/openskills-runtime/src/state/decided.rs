//! What the user decided: folders that are trusted, skills that are switched off.
//!
//! Each decision is a small JSON file in the state folder. A file that cannot be read is an error, never an empty
//! decision: writing over it would lose what the user decided, and trusting nothing in silence would be a riddle.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::json;
use skill::Code;
use skill::json::{self as reader, Unknown};
use skill_fs::{AbsPath, FsError, Lock, LockError, make_private_folder, read_text, write_file};

use crate::RuntimeError;
use crate::discover::naming::key;
use crate::state::settings::schema_version;

/// Folders whose skills count as the user's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedFolders {
    folders: BTreeSet<String>,
}

impl TrustedFolders {
    const FILE: &'static str = "trusted-folders.json";

    /// Reads them from the state folder.
    pub fn load(state: Option<&AbsPath>) -> Result<Self, RuntimeError> {
        let folders = load(state, Self::FILE, [FOLDERS])?;
        Ok(Self { folders: folders.into_iter().flatten().collect() })
    }

    /// Writes them.
    pub fn save(&self, state: Option<&AbsPath>) -> Result<(), RuntimeError> {
        save(state, Self::FILE, &json!({ "schema_version": 1, "folders": self.folders }))
    }

    /// Returns true if `folder`, or a folder that it is in, is trusted.
    pub fn covers(&self, folder: &AbsPath) -> bool {
        let trusts = |folder: &AbsPath| self.folders.contains(folder.as_str());
        std::iter::successors(Some(folder.clone()), AbsPath::parent).any(|folder| trusts(&folder))
    }

    /// Trusts a folder, named by its real path; returns false if it was trusted already.
    pub fn add(&mut self, folder: &AbsPath) -> bool {
        self.folders.insert(folder.to_string())
    }

    /// Trusts a folder no longer; returns false if it was not in the list.
    pub fn remove(&mut self, folder: &AbsPath) -> bool {
        self.folders.remove(folder.as_str())
    }

    /// Returns the list, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(String::as_str)
    }
}

/// Skills that are switched off: by name, wherever they are, or one folder alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisabledSkills {
    names: BTreeSet<String>,
    folders: BTreeSet<String>,
}

impl DisabledSkills {
    const FILE: &'static str = "disabled-skills.json";

    /// Reads them from the state folder.
    pub fn load(state: Option<&AbsPath>) -> Result<Self, RuntimeError> {
        let [names, folders] = load(state, Self::FILE, ["names", FOLDERS])?;
        // Whoever wrote it by hand wrote a name.
        Ok(Self { names: names.iter().map(|name| key(name).into_owned()).collect(), folders })
    }

    /// Writes them.
    pub fn save(&self, state: Option<&AbsPath>) -> Result<(), RuntimeError> {
        let Self { names, folders } = self;
        let value = json!({ "schema_version": 1, "names": names, "folders": folders });
        save(state, Self::FILE, &value)
    }

    /// Returns true if a skill whose name has that key, in that folder, is switched off.
    pub fn covers(&self, key: &str, folder: &str) -> bool {
        self.names.contains(key) || self.folders.contains(folder)
    }

    /// Switches off every skill of a name; returns false if that was so already.
    pub fn add_name(&mut self, name: &str) -> bool {
        self.names.insert(name.to_owned())
    }

    /// Switches off the skill in one folder; returns false if that was so already.
    pub fn add_folder(&mut self, folder: &str) -> bool {
        self.folders.insert(folder.to_owned())
    }

    /// Switches skills of a name on again.
    pub fn remove_name(&mut self, name: &str) -> bool {
        self.names.remove(name)
    }

    /// Switches the skill in one folder on again.
    pub fn remove_folder(&mut self, folder: &str) -> bool {
        self.folders.remove(folder)
    }

    /// Returns the names that are switched off, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

/// Takes the lock of the decisions, so that of two changes at once neither is lost.
pub(crate) fn lock_state(state: Option<&AbsPath>) -> Result<Lock, RuntimeError> {
    let state = state.ok_or_else(nowhere)?;
    make_private_folder(state)?;
    Lock::acquire(&state.join(".lock"), Lock::TIMEOUT).map_err(|error| match error {
        LockError::Held { path, .. } => RuntimeError::Setup {
            message: format!("another process holds {path}"),
            hint: Some("try again; if no other openskills runs, remove the file".to_owned()),
        },
        LockError::File(error) => error.into(),
    })
}

pub(crate) fn nowhere() -> RuntimeError {
    let message = "there is no folder to remember this in: HOME is not set".to_owned();
    RuntimeError::Setup { message, hint: Some("set HOME or XDG_STATE_HOME".to_owned()) }
}

/// Reads lists of texts by key. A file that cannot be understood is an error, not an empty one.
pub(crate) fn load<const N: usize>(
    state: Option<&AbsPath>,
    file: &str,
    keys: [&'static str; N],
) -> Result<[BTreeSet<String>; N], RuntimeError> {
    let none = || std::array::from_fn(|_| BTreeSet::new());
    let Some(path) = state.map(|state| state.join(file)) else { return Ok(none()) };
    // A link to nothing would look like no decision at all.
    if path.as_path().is_symlink() {
        return Err(FsError::NotRegular { path: path.to_string(), kind: "a link" }.into());
    }
    let Some(text) = read_text(&path)? else { return Ok(none()) };
    let (lists, diagnostics) = reader::read(path.as_str(), &text, |object| {
        // A key that is not understood could be a decision.
        object.unknown_keys(Unknown::Refused);
        schema_version(object)?;
        Some(keys.map(|key| {
            let texts = object.texts(key);
            for text in texts.iter().filter(|text| key == FOLDERS && !is_folder(&text.value)) {
                let message = format!("`{}` is not the real path of a folder", text.value);
                object.problem(Code::BadPath, text.range.clone(), message);
            }
            texts.into_iter().map(|text| text.value).collect()
        }))
    });
    lists.ok_or_else(|| RuntimeError::InvalidConfig { file: path.to_string(), diagnostics })
}

/// The key of lists of folders.
const FOLDERS: &str = "folders";

/// Returns true for the path of a folder as this program writes it, and for a builtin skill.
fn is_folder(path: &str) -> bool {
    let is_clean = |path: &AbsPath| {
        path.as_path().components().collect::<PathBuf>().as_os_str() == path.as_str()
    };
    path.starts_with("builtin:")
        || AbsPath::new(path).is_ok_and(|path| path.parent().is_some() && is_clean(&path))
}

/// Writes a file of the state folder.
pub(crate) fn save(
    state: Option<&AbsPath>,
    file: &str,
    value: &serde_json::Value,
) -> Result<(), RuntimeError> {
    let state = state.ok_or_else(nowhere)?;
    make_private_folder(state)?;
    write_file(&state.join(file), format!("{value:#}\n").as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trusted_folder_covers_what_is_below_it_and_nothing_that_only_looks_so() {
        let path = |text: &str| AbsPath::new(text).unwrap();
        let mut trusted = TrustedFolders::default();
        assert!(trusted.add(&path("/project")));
        assert!(trusted.covers(&path("/project")) && trusted.covers(&path("/project/a/b")));
        assert!(!trusted.covers(&path("/projectile")) && !trusted.covers(&path("/")));
        assert!(trusted.remove(&path("/project")) && !trusted.covers(&path("/project")));
    }
}
