//! Files of a server's skills: fetched when they are first needed, held to what was listed, kept by their digest.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use skill::{Digest, SKILL_FILE, raw_frontmatter};
use skill_fs::{AbsPath, make_private_folder, read_own_file, write_file};

use super::{ServedFile, ServedSkill, SkillServer, SkillServers};
use crate::caches::CacheKind;
use crate::quote::shell_word;
use crate::{Places, RuntimeError};

/// Gets the bytes of a URI from a server. Only this talks to servers; the runtime itself does not.
#[derive(Clone)]
pub struct Fetcher(Arc<Get>);

type Get = dyn Fn(&SkillServer, &str) -> Result<Vec<u8>, String> + Send + Sync;

impl Fetcher {
    /// Returns one that gets by `get`; an error says why it could not.
    pub fn new(
        get: impl Fn(&SkillServer, &str) -> Result<Vec<u8>, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(get))
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fetcher")
    }
}

impl PartialEq for Fetcher {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Fetcher {}

/// What fetches files.
pub(crate) struct Fetch<'a> {
    pub(crate) places: &'a Places,
    pub(crate) fetcher: Option<&'a Fetcher>,
}

impl Fetch<'_> {
    /// Returns the bytes of a file of a skill: those that were listed, or none.
    pub(crate) fn bytes(
        &self,
        id: &str,
        skill: &ServedSkill,
        file: &ServedFile,
    ) -> Result<Vec<u8>, RuntimeError> {
        if let Some(bytes) = self.kept(file) {
            return Ok(bytes);
        }
        let bytes = self.get(skill, file)?;
        let differs = if bytes.len() as u64 != file.size {
            Some(format!("it has {} bytes in place of {}", bytes.len(), file.size))
        } else if Digest::of(&bytes) != file.digest {
            Some("its digest is another".to_owned())
        } else if file.path == SKILL_FILE {
            frontmatter_differs(&skill.frontmatter, &bytes)
        } else {
            None
        };
        if let Some(why) = differs {
            return Err(changed(id, skill, file, &why));
        }
        self.keep(file, &bytes);
        Ok(bytes)
    }

    fn get(&self, skill: &ServedSkill, file: &ServedFile) -> Result<Vec<u8>, RuntimeError> {
        let server = &skill.server;
        let failed = |why: &str, hint: Option<String>| RuntimeError::Server {
            server: server.clone(),
            message: format!("`{}` is not sent: {why}", file.uri),
            hint,
        };
        let Some(known) = SkillServers::load(self.places)?.get(server) else {
            return Err(failed("there is no such server any more", None));
        };
        let Some(Fetcher(get)) = self.fetcher else {
            return Err(failed("nothing here can ask servers", None));
        };
        get(&known, &file.uri).map_err(|why| {
            failed(&why, Some(format!("see whether it is there: openskills mcp sync {server}")))
        })
    }

    fn place(&self, file: &ServedFile) -> Option<AbsPath> {
        let folder = self.places.cache.as_ref()?.join(CacheKind::Served.as_str());
        let digest = file.digest.to_string();
        let hex = digest.strip_prefix("sha256:").unwrap_or(&digest);
        Some(folder.join(format!("{hex}{}", CacheKind::Served.ending())))
    }

    fn kept(&self, file: &ServedFile) -> Option<Vec<u8>> {
        let bytes = read_own_file(&self.place(file)?, file.size).ok()??;
        (Digest::of(&bytes) == file.digest).then_some(bytes)
    }

    /// Where it cannot be kept, it is fetched again.
    fn keep(&self, file: &ServedFile, bytes: &[u8]) {
        let Some(place) = self.place(file) else { return };
        if place.parent().is_some_and(|folder| make_private_folder(&folder).is_ok()) {
            let _ = write_file(&place, bytes);
        }
    }
}

fn changed(id: &str, skill: &ServedSkill, file: &ServedFile, why: &str) -> RuntimeError {
    let (server, id_word) = (&skill.server, shell_word(id));
    RuntimeError::NeedsApproval {
        message: format!(
            "`{id}` has changed and needs approval again: `{}` of the MCP server `{server}` is not what was approved: {why}",
            file.path
        ),
        hint: Some(format!(
            "look at it anew: openskills mcp sync {server} && openskills approve {id_word}"
        )),
    }
}

/// Returns where the frontmatter of a SKILL.md is not what the server said of it.
fn frontmatter_differs(said: &Map<String, Value>, bytes: &[u8]) -> Option<String> {
    let read = std::str::from_utf8(bytes).ok().and_then(raw_frontmatter).map(|raw| raw.to_json());
    let Some(Value::Object(read)) = read else {
        return Some("its frontmatter cannot be read".to_owned());
    };
    let keys = said.keys().chain(read.keys());
    let differs = |key: &&String| !is_same(said.get(*key), read.get(*key));
    let key = keys.into_iter().find(differs)?;
    Some(format!("its field `{key}` is not what the server's list says"))
}

fn is_same(one: Option<&Value>, other: Option<&Value>) -> bool {
    match (one, other) {
        (Some(Value::Number(one)), Some(Value::Number(other))) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            let mut both = one.iter().zip(other);
            one.len() == other.len() && both.all(|(one, other)| is_same(Some(one), Some(other)))
        }
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| is_same(Some(value), other.get(key)))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_of_the_frontmatter_counts() {
        let text = b"---\nname: pdf\ndescription: d\nmetadata:\n  n: 1\n---\nBody.\n";
        let differs = |said: Value| {
            let Value::Object(said) = said else { panic!("it is an object") };
            frontmatter_differs(&said, text)
        };
        assert_eq!(differs(json!({"name": "pdf", "description": "d", "metadata": {"n": 1}})), None);
        assert_eq!(
            differs(json!({"name": "pdf", "description": "d", "metadata": {"n": 1.0}})),
            None
        );
        for said in [
            json!({"name": "pdf", "description": "d"}),
            json!({"name": "pdf", "description": "e", "metadata": {"n": 1}}),
            json!({"name": "pdf", "description": "d", "metadata": {"n": "1"}}),
            json!({"name": "pdf", "description": "d", "metadata": {"n": 1}, "allowed-tools": "Bash"}),
        ] {
            assert!(differs(said.clone()).is_some(), "{said}");
        }
        assert!(frontmatter_differs(&Map::new(), b"no frontmatter").is_some());
    }
}
