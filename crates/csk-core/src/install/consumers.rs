//! `consumers.json`: every folder that skills were installed into, registered or not, so that garbage collection never
//! removes what one of them uses.

use std::collections::BTreeSet;

use serde_json::json;
use skill::json as reader;
use skill_fs::{AbsPath, FsError, read_text, write_file};

const FILE: &str = "consumers.json";

/// The folders that use csk's store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Consumers(pub BTreeSet<AbsPath>);

impl Consumers {
    /// Reads the list below csk's home folder. A malformed list is an error: without it, nothing may be considered unused.
    pub fn read(home: &AbsPath) -> Result<Self, FsError> {
        let path = home.join(FILE);
        let Some(text) = read_text(&path)? else { return Ok(Self::default()) };
        let (list, problems) = reader::read(path.as_str(), &text, |object| {
            object.schema_version(&[1])?;
            Some(object.texts("consumers"))
        });
        let why = problems.into_iter().next().map_or_else(String::new, |problem| problem.message);
        let list = list.ok_or_else(|| FsError::Io {
            path: path.to_string(),
            source: std::io::Error::other(format!(
                "{why}; fix the file, or delete it and run `csk install` in each of your projects"
            )),
        })?;
        Ok(Self(list.into_iter().filter_map(|text| AbsPath::new(text.value).ok()).collect()))
    }

    /// Writes the list if it has changed.
    pub fn write(&self, home: &AbsPath) -> Result<(), FsError> {
        let consumers: Vec<&str> = self.0.iter().map(AbsPath::as_str).collect();
        let text = format!("{:#}\n", json!({ "consumers": consumers, "schema_version": 1 }));
        write_file(&home.join(FILE), text.as_bytes()).map(|_| ())
    }
}
