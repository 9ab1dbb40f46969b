//! The environment variables of this process at the time the runtime was created.

use std::ffi::{OsStr, OsString};
use std::fmt;

/// Environment variables. The debug output omits them, because some are secrets.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Variables(Vec<(OsString, OsString)>);

impl Variables {
    /// Returns the value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    /// Returns all variables.
    pub fn all(&self) -> &[(OsString, OsString)] {
        &self.0
    }
}

impl FromIterator<(OsString, OsString)> for Variables {
    fn from_iter<T: IntoIterator<Item = (OsString, OsString)>>(variables: T) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} variables", self.0.len())
    }
}
