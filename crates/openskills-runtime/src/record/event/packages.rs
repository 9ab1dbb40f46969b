//! The event about packages that were fetched for scripts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packages that were fetched for a skill's scripts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackagesPrepared {
    /// Skill ID.
    pub skill_id: String,
    /// Session ID.
    pub session_id: String,
    /// Where they come from: `pypi` or `npm`.
    pub source: String,
    /// What the user requested.
    pub requests: Vec<String>,
    /// The host of the index, or the URL of a folder.
    pub index: String,
    /// The hash of every package.
    pub packages: BTreeMap<String, String>,
    /// The digest of all of them, which an approval refers to.
    pub digest: String,
}
