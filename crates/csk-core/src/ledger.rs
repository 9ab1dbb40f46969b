//! `.csk-managed.json`: the entries of a folder that csk made. What is not in it is the user's.

use std::collections::BTreeSet;

use serde_json::json;
use skill::json::read;
use skill::{Diagnostic, Identifier};

/// The entries of one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Their names.
    pub entries: BTreeSet<Identifier>,
}

impl Ledger {
    /// Reads the file.
    pub fn parse(file: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        read(file, text, |object| {
            object.schema_version(&[1])?;
            let texts = object.texts("entries");
            // A name that could not have been ours names nothing of ours.
            let entries = texts.into_iter().filter_map(|text| Identifier::new(text.value).ok());
            Some(Self { entries: entries.collect() })
        })
    }

    /// Returns the file.
    pub fn to_json(&self) -> String {
        let entries: Vec<&str> = self.entries.iter().map(Identifier::as_str).collect();
        format!("{:#}\n", json!({ "entries": entries, "schema_version": 1 }))
    }
}
