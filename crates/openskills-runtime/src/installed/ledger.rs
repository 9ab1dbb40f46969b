//! `installed.json`: every skill that was installed, by its folder.

#![expect(clippy::disallowed_methods, reason = "the edge: what stands where")]

use std::collections::BTreeMap;
use std::fs;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::capabilities::{CapabilityExtents, CapabilityKind, Extent};
use skill_audit::show::ExtentJson;
use skill_fs::{AbsPath, FsError, make_private_folder, read_text, write_file};

use super::place::digest_at;
use crate::RuntimeError;
use crate::state::decided::nowhere;

/// The name of the file in the state folder.
const FILE: &str = "installed.json";
/// The folder beside the skills that holds what is known of each.
const BESIDE: &str = ".openskills";
const VERSION: u32 = 1;

/// What is known of an installed skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Installed {
    /// Its name.
    pub name: String,
    /// The folder or the archive that it came from.
    pub source: String,
    /// Where that is from, as the user said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_url: Option<String>,
    /// The version that it declares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The digest of everything it was when it was installed.
    pub digest: String,
    /// The digest of the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive_sha256: Option<String>,
    /// Who signed the archive, if somebody did who is allowed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<SignatureRecord>,
    /// What it declared then, by kind: a list, or `any`; what it did not declare is not here.
    #[serde(default, alias = "powers", skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeMap<String, ExtentJson>>,
    /// When it was installed, RFC 3339.
    pub installed_at: String,
}

/// Returns capabilities as they are written down.
pub(crate) fn written(capabilities: &CapabilityExtents) -> BTreeMap<String, ExtentJson> {
    let one = |(kind, extent): (CapabilityKind, &Extent)| {
        Some((kind.as_str().to_owned(), ExtentJson::new(extent)?))
    };
    capabilities.iter().filter_map(one).collect()
}

impl Installed {
    /// Returns what it declared when it was installed, as far as that is known.
    pub(crate) fn declared(&self) -> Option<CapabilityExtents> {
        let capabilities = self.capabilities.as_ref()?;
        Some(CapabilityExtents::new(|kind| ExtentJson::extent(capabilities.get(kind.as_str()))))
    }
}

/// Who signed an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignatureRecord {
    /// The name in the file of allowed signers.
    pub signer: String,
    /// The fingerprint of the key.
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

/// Every skill that was installed, by its folder.
///
/// What is written down and what is on the disk cannot change in one step. So an install first writes down what it is about to put there, beside
/// what is known already (`begin`), and only afterwards what was done (`finish`). After a kill in between, the folder itself says
/// which of the two it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstalledSkills {
    skills: BTreeMap<String, Installed>,
    /// Installs that were begun.
    unfinished: BTreeMap<String, Installed>,
}

impl InstalledSkills {
    /// Reads them from the state folder.
    pub fn load(state: Option<&AbsPath>) -> Result<Self, RuntimeError> {
        let Some(path) = state.map(|state| state.join(FILE)) else { return Ok(Self::default()) };
        let Some(text) = read_text(&path)? else { return Ok(Self::default()) };
        let broken = |why: String| RuntimeError::Setup {
            message: format!("{path} is malformed: {why}"),
            hint: Some(
                "what it knew is lost with it; skills that are there stay as they are".to_owned(),
            ),
        };
        let ledger: Ledger =
            serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        if ledger.schema_version != VERSION {
            return Err(broken(format!("its version is {}", ledger.schema_version)));
        }
        let Ledger { mut skills, unfinished, .. } = ledger;
        for (folder, installed) in &unfinished {
            // What cannot be read is not what was to be put there.
            let there = AbsPath::new(folder).ok().and_then(|at| digest_at(&at).ok().flatten());
            if there.is_some_and(|there| there.to_string() == installed.digest) {
                skills.insert(folder.clone(), installed.clone());
            }
        }
        Ok(Self { skills, unfinished })
    }

    /// Writes them.
    pub(crate) fn save(&self, state: Option<&AbsPath>) -> Result<(), RuntimeError> {
        let state = state.ok_or_else(nowhere)?;
        make_private_folder(state)?;
        let Self { skills, unfinished } = self.clone();
        let ledger = Ledger { schema_version: VERSION, skills, unfinished };
        let text = serde_json::to_string_pretty(&ledger)
            .map_err(|error| RuntimeError::Setup { message: error.to_string(), hint: None })?;
        write_file(&state.join(FILE), format!("{text}\n").as_bytes())?;
        Ok(())
    }

    /// Returns what is known of the skill in a folder.
    pub fn at(&self, folder: &AbsPath) -> Option<&Installed> {
        self.skills.get(folder.as_str())
    }

    /// Returns all of them with their folders, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Installed)> {
        self.skills.iter().map(|(folder, installed)| (folder.as_str(), installed))
    }

    /// Remembers what is about to be put into a folder.
    pub(crate) fn begin(&mut self, folder: &AbsPath, installed: Installed) {
        self.unfinished.insert(folder.to_string(), installed);
    }

    /// Remembers that what was begun is done.
    pub(crate) fn finish(&mut self, folder: &AbsPath) {
        let begun = self.unfinished.remove_entry(folder.as_str());
        self.skills.extend(begun);
    }

    /// Returns true if an install into a folder was begun, and nobody knows that it was done.
    pub(crate) fn is_unfinished(&self, folder: &AbsPath) -> bool {
        self.unfinished.contains_key(folder.as_str())
    }

    pub(crate) fn remove(&mut self, folder: &AbsPath) {
        self.unfinished.remove(folder.as_str());
        self.skills.remove(folder.as_str());
    }
}

impl Installed {
    /// Returns the file beside the skills that tells of one. A link on the way, or a file that is not ours, is somebody else's.
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
                message: format!("{file} is there, and openskills did not write it"),
                hint: Some("move it away, then try again".to_owned()),
            });
        }
        Ok(file)
    }

    /// Writes it beside the skills, for whoever shares the folder. Nothing is ever decided by it.
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

    /// Returns when it was installed.
    pub fn when(&self) -> Option<Timestamp> {
        self.installed_at.parse().ok()
    }
}
