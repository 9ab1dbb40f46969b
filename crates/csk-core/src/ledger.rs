//! `.csk-managed.json`: the entries of a folder that csk created. Everything else belongs to the user.

use std::collections::BTreeSet;

use serde_json::json;
use skill::json::read;
use skill::{Diagnostic, Identifier};

/// The entries that csk created in one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Their names.
    pub entries: BTreeSet<Identifier>,
}

impl Ledger {
    /// Parses the file.
    pub fn parse(file: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        read(file, text, |object| {
            object.schema_version(&[1])?;
            let texts = object.texts("entries");
            // An invalid name cannot be one of csk's entries.
            let entries = texts.into_iter().filter_map(|text| Identifier::new(text.value).ok());
            Some(Self { entries: entries.collect() })
        })
    }

    /// Serializes the ledger.
    pub fn to_json(&self) -> String {
        let entries: Vec<&str> = self.entries.iter().map(Identifier::as_str).collect();
        format!("{:#}\n", json!({ "entries": entries, "schema_version": 1 }))
    }
}
