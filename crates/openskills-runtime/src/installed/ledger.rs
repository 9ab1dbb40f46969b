//! `installed.json`: the ledger of installed skills, by folder.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeMap;
use std::fs;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::capabilities::{CapabilityExtents, CapabilityKind, Extent};
use skill_audit::show::ExtentJson;
use skill_fs::{AbsPath, FsError, make_private_folder, read_text, write_file};

use super::files::digest_at;
use crate::RuntimeError;
use crate::state::decisions::no_state_folder;

/// The file name in the state folder.
const FILE: &str = "installed.json";
/// The folder next to the skills with a copy of each entry.
const BESIDE: &str = ".openskills";
const VERSION: u32 = 1;

/// An installed skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Installed {
    /// The skill's name.
    pub name: String,
    /// The folder or archive it was installed from.
    pub source: String,
    /// Origin URL given by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_url: Option<String>,
    /// The declared version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Digest of the skill as installed.
    pub digest: String,
    /// Archive digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive_sha256: Option<String>,
    /// Signature of the archive, if an allowed signer signed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<SignatureRecord>,
    /// Capabilities declared at the time of the install, by kind: a list, or `any`. Undeclared ones are absent.
    #[serde(default, alias = "powers", skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeMap<String, ExtentJson>>,
    /// When it was installed (RFC 3339).
    pub installed_at: String,
}

/// Converts capabilities to the form stored in the ledger.
pub(crate) fn written(capabilities: &CapabilityExtents) -> BTreeMap<String, ExtentJson> {
    let one = |(kind, extent): (CapabilityKind, &Extent)| {
        Some((kind.as_str().to_owned(), ExtentJson::new(extent)?))
    };
    capabilities.iter().filter_map(one).collect()
}

impl Installed {
    /// Returns the capabilities declared at the time of the install, if they were recorded.
    pub(crate) fn declared(&self) -> Option<CapabilityExtents> {
        let capabilities = self.capabilities.as_ref()?;
        Some(CapabilityExtents::new(|kind| ExtentJson::extent(capabilities.get(kind.as_str()))))
    }
}

/// The signer of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignatureRecord {
    /// The signer's name in `allowed_signers`.
    pub signer: String,
    /// The key fingerprint.
    pub key: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ledger {
    schema_version: u32,
    skills: BTreeMap<String, Installed>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    unfinished: BTreeMap<String, Installed>,
}

/// All installed skills, by folder.
///
/// The ledger and the skill's folder cannot change in one atomic step. So an install first records the new version next
/// to the old one (`begin`), and confirms it after the folder was replaced (`finish`). If the process is killed in
/// between, the digest of the folder tells which version is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstalledSkills {
    skills: BTreeMap<String, Installed>,
    /// Installs that have started but not finished.
    unfinished: BTreeMap<String, Installed>,
}

impl InstalledSkills {
    /// Reads the ledger from the state folder.
    pub fn load(state: Option<&AbsPath>) -> Result<Self, RuntimeError> {
        let Some(path) = state.map(|state| state.join(FILE)) else { return Ok(Self::default()) };
        let Some(text) = read_text(&path)? else { return Ok(Self::default()) };
        let broken = |why: String| RuntimeError::Setup {
            message: format!("`{path}` is malformed: {why}"),
            hint: Some(
                "fix the file, or remove it to make openskills forget these skills".to_owned(),
            ),
        };
        let ledger: Ledger =
            serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        if ledger.schema_version != VERSION {
            return Err(broken(format!("unsupported schema version {}", ledger.schema_version)));
        }
        let Ledger { mut skills, unfinished, .. } = ledger;
        for (folder, installed) in &unfinished {
            // An unreadable folder is not the new version.
            let there = AbsPath::new(folder).ok().and_then(|at| digest_at(&at).ok().flatten());
            if there.is_some_and(|there| there.to_string() == installed.digest) {
                skills.insert(folder.clone(), installed.clone());
            }
        }
        Ok(Self { skills, unfinished })
    }

    /// Writes the ledger.
    pub(crate) fn save(&self, state: Option<&AbsPath>) -> Result<(), RuntimeError> {
        let state = state.ok_or_else(no_state_folder)?;
        make_private_folder(state)?;
        let Self { skills, unfinished } = self.clone();
        let ledger = Ledger { schema_version: VERSION, skills, unfinished };
        let text = serde_json::to_string_pretty(&ledger)
            .map_err(|error| RuntimeError::Setup { message: error.to_string(), hint: None })?;
        write_file(&state.join(FILE), format!("{text}\n").as_bytes())?;
        Ok(())
    }

    /// Returns the entry for a folder.
    pub fn at(&self, folder: &AbsPath) -> Option<&Installed> {
        self.skills.get(folder.as_str())
    }

    /// Returns all entries with their folders, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Installed)> {
        self.skills.iter().map(|(folder, installed)| (folder.as_str(), installed))
    }

    /// Records the version that is about to be written to a folder.
    pub(crate) fn begin(&mut self, folder: &AbsPath, installed: Installed) {
        self.unfinished.insert(folder.to_string(), installed);
    }

    /// Records that the install into a folder is complete.
    pub(crate) fn finish(&mut self, folder: &AbsPath) {
        let begun = self.unfinished.remove_entry(folder.as_str());
        self.skills.extend(begun);
    }

    /// Returns true if an install into a folder was interrupted.
    pub(crate) fn is_unfinished(&self, folder: &AbsPath) -> bool {
        self.unfinished.contains_key(folder.as_str())
    }

    pub(crate) fn remove(&mut self, folder: &AbsPath) {
        self.unfinished.remove(folder.as_str());
        self.skills.remove(folder.as_str());
    }
}

impl Installed {
    /// Returns the path of the copy of an entry next to the skills. Fails if a symlink or a file that openskills did
    /// not write blocks it.
    pub(crate) fn beside(skills: &AbsPath, name: &str) -> Result<AbsPath, RuntimeError> {
        let folder = skills.join(BESIDE);
        let is_foreign =
            |path: &AbsPath| fs::symlink_metadata(path.as_path()).map(|found| !found.is_dir());
        if is_foreign(&folder).unwrap_or(false) {
            return Err(FsError::NotAFolder { path: folder.to_string() }.into());
        }
        let file = folder.join(format!("{name}.json"));
        let is_there = fs::symlink_metadata(file.as_path()).is_ok();
        let is_ours = || {
            let text = read_text(&file).ok().flatten()?;
            let found: Self = serde_json::from_str(&text).ok()?;
            (found.name == name).then_some(())
        };
        if is_there && is_ours().is_none() {
            return Err(RuntimeError::Setup {
                message: format!("`{file}` already exists and was not written by openskills"),
                hint: Some("move it elsewhere, then try again".to_owned()),
            });
        }
        Ok(file)
    }

    /// Writes a copy of the entry next to the skills, for information only.
    pub(crate) fn write_beside(&self, skills: &AbsPath) -> Result<(), RuntimeError> {
        let file = Self::beside(skills, &self.name)?;
        if let Some(folder) = file.parent() {
            make_private_folder(&folder)?;
        }
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| RuntimeError::Setup { message: error.to_string(), hint: None })?;
        write_file(&file, format!("{text}\n").as_bytes())?;
        Ok(())
    }

    /// Returns the time of the install.
    pub fn when(&self) -> Option<Timestamp> {
        self.installed_at.parse().ok()
    }
}
