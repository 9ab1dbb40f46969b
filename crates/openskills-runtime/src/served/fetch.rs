//! Fetches files of servers' skills on first use, checks them against the list, and caches them by digest.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use skill::{Digest, SKILL_FILE, raw_frontmatter};
use skill_fs::{AbsPath, make_private_folder, read_own_file, write_file};

use super::{ServedFile, ServedSkill, SkillServer, SkillServers};
use crate::state::caches::{CacheKind, SERVED_SUFFIX};
use crate::{Places, RuntimeError};

/// Fetches the content of URIs from a server in one batch. The host provides it; the runtime itself does not connect to
/// servers.
#[derive(Clone)]
pub struct Fetcher(Arc<Get>);

/// Returns one result per URI; an error is the reason for the failure.
type Get = dyn Fn(&SkillServer, &[FetchRequest]) -> Vec<Result<Vec<u8>, String>> + Send + Sync;

/// A file to fetch from a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRequest {
    /// Its URI.
    pub uri: String,
    /// The expected size in bytes. Fetchers can stop reading after that.
    pub size: u64,
}

impl Fetcher {
    /// Returns a fetcher that calls `get`.
    pub fn new(
        get: impl Fn(&SkillServer, &[FetchRequest]) -> Vec<Result<Vec<u8>, String>>
        + Send
        + Sync
        + 'static,
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

/// Why files could not be fetched.
pub(crate) enum FetchError {
    /// The fetched or cached content does not match the list.
    Changed {
        /// Path of the file relative to the skill's folder.
        path: String,
        /// What is different.
        why: String,
    },
    /// The server failed or cannot be reached.
    Failed(RuntimeError),
}

impl From<RuntimeError> for FetchError {
    fn from(error: RuntimeError) -> Self {
        Self::Failed(error)
    }
}

/// The context for fetching files.
pub(crate) struct Fetch<'a> {
    pub(crate) places: &'a Places,
    pub(crate) fetcher: Option<&'a Fetcher>,
}

impl Fetch<'_> {
    /// Returns the content of files, checked against the list.
    pub(crate) fn all(
        &self,
        skill: &ServedSkill,
        files: &[&ServedFile],
    ) -> Result<Vec<Vec<u8>>, FetchError> {
        let mut found: Vec<Option<Vec<u8>>> =
            files.iter().map(|file| self.kept(skill, file)).collect();
        let missing: Vec<usize> = (0..files.len()).filter(|at| found[*at].is_none()).collect();
        if !missing.is_empty() {
            let wanted: Vec<&ServedFile> = missing.iter().map(|at| files[*at]).collect();
            for (at, bytes) in missing.into_iter().zip(self.get(skill, &wanted)?) {
                let file = files[at];
                if let Some(why) = differs(file, &bytes) {
                    return Err(FetchError::Changed { path: file.path.clone(), why });
                }
                self.keep(skill, file, &bytes);
                found[at] = Some(bytes);
            }
        }
        let all: Vec<Vec<u8>> = found.into_iter().flatten().collect();
        // Cached files may have been fetched with an earlier list.
        for (file, bytes) in files.iter().zip(&all).filter(|(file, _)| file.path == SKILL_FILE) {
            if let Some(why) = frontmatter_differs(&skill.frontmatter, bytes) {
                return Err(FetchError::Changed { path: file.path.clone(), why });
            }
        }
        Ok(all)
    }

    fn get(
        &self,
        skill: &ServedSkill,
        files: &[&ServedFile],
    ) -> Result<Vec<Vec<u8>>, RuntimeError> {
        let server = &skill.server;
        let failed = |what: &str, why: &str, hint: Option<String>| RuntimeError::Server {
            server: server.clone(),
            message: format!("cannot fetch `{what}`: {why}"),
            hint,
        };
        let Some(known) = SkillServers::load(self.places)?.get(server) else {
            return Err(failed(&skill.uri, "the server is no longer configured", None));
        };
        let Some(Fetcher(get)) = self.fetcher else {
            return Err(failed(&skill.uri, "no fetcher is configured", None));
        };
        let wanted = |file: &&ServedFile| FetchRequest { uri: file.uri.clone(), size: file.size };
        let answers = get(&known, &files.iter().map(wanted).collect::<Vec<_>>());
        if answers.len() != files.len() {
            return Err(failed(
                &skill.uri,
                "the number of responses does not match the number of files",
                None,
            ));
        }
        let hint = || Some(format!("check that the server responds: openskills mcp sync {server}"));
        let answer = |(file, answer): (&&ServedFile, Result<Vec<u8>, String>)| {
            answer.map_err(|why| failed(&file.uri, &why, hint()))
        };
        files.iter().zip(answers).map(answer).collect()
    }

    /// Returns true if a file is in the cache.
    pub(crate) fn is_kept(&self, skill: &ServedSkill, file: &ServedFile) -> bool {
        self.kept(skill, file).is_some()
    }

    fn place(&self, skill: &ServedSkill, file: &ServedFile) -> Option<AbsPath> {
        let folder = self.places.cache.as_ref()?.join(CacheKind::Served.as_str());
        Some(folder.join(format!("{}{}", skill.blob(file), SERVED_SUFFIX)))
    }

    fn kept(&self, skill: &ServedSkill, file: &ServedFile) -> Option<Vec<u8>> {
        let bytes = read_own_file(&self.place(skill, file)?, file.size).ok()??;
        (Digest::of(&bytes) == file.digest).then_some(bytes)
    }

    /// Caches a file. If that fails, it is fetched again next time.
    fn keep(&self, skill: &ServedSkill, file: &ServedFile, bytes: &[u8]) {
        let Some(place) = self.place(skill, file) else { return };
        if place.parent().is_some_and(|folder| make_private_folder(&folder).is_ok()) {
            let _ = write_file(&place, bytes);
        }
    }
}

/// Returns how the content of a file differs from the list, if it does.
fn differs(file: &ServedFile, bytes: &[u8]) -> Option<String> {
    if bytes.len() as u64 != file.size {
        return Some(format!("expected {} bytes, got {}", file.size, bytes.len()));
    }
    (Digest::of(bytes) != file.digest).then(|| "its digest does not match".to_owned())
}

/// Returns how the frontmatter of a SKILL.md differs from the server's list, if it does.
fn frontmatter_differs(said: &Map<String, Value>, bytes: &[u8]) -> Option<String> {
    let read = std::str::from_utf8(bytes).ok().and_then(raw_frontmatter).map(|raw| raw.to_json());
    let Some(Value::Object(read)) = read else {
        return Some("cannot read its frontmatter".to_owned());
    };
    let keys = said.keys().chain(read.keys());
    let differs = |key: &&String| !is_same(said.get(*key), read.get(*key));
    let key = keys.into_iter().find(differs)?;
    Some(format!("its frontmatter field `{key}` does not match the server's list"))
}

/// Returns true if a value in the server's list equals the one in the file.
fn is_same(said: Option<&Value>, read: Option<&Value>) -> bool {
    match (said, read) {
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
        // The server may have parsed a plain scalar as a number or boolean that is a string for us, but not the other way round.
        (Some(said), Some(Value::String(read))) if !said.is_string() => {
            scalar_of(said).is_some_and(|said| Some(said) == parse_scalar(read))
        }
        (one, other) => one == other,
    }
}

/// The typed value of a plain YAML scalar.
#[derive(Debug, PartialEq)]
enum YamlScalar {
    Nothing,
    Flag(bool),
    Number(f64),
}

/// Returns the scalar for a JSON value. YAML parsers differ in which plain scalars they read as numbers or booleans.
fn scalar_of(value: &Value) -> Option<YamlScalar> {
    match value {
        Value::Null => Some(YamlScalar::Nothing),
        Value::Bool(flag) => Some(YamlScalar::Flag(*flag)),
        Value::Number(number) => number.as_f64().map(YamlScalar::Number),
        Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn parse_scalar(text: &str) -> Option<YamlScalar> {
    match text.to_ascii_lowercase().as_str() {
        "" | "~" | "null" => return Some(YamlScalar::Nothing),
        "true" | "yes" | "on" | "y" => return Some(YamlScalar::Flag(true)),
        "false" | "no" | "off" | "n" => return Some(YamlScalar::Flag(false)),
        _ => {}
    }
    let (sign, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (if text.starts_with('-') { -1.0 } else { 1.0 }, digits),
        None => (1.0, text),
    };
    let whole = |radix: u32, digits: &str| u64::from_str_radix(digits, radix).ok();
    let other = digits
        .strip_prefix("0x")
        .and_then(|digits| whole(16, digits))
        .or_else(|| digits.strip_prefix("0o").and_then(|digits| whole(8, digits)));
    #[expect(clippy::cast_precision_loss, reason = "it is compared with what JSON made of it")]
    let other = other.map(|number| number as f64);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let plain = is_number.then(|| digits.replace('_', "").parse::<f64>().ok()).flatten();
    other.or(plain).map(|number| YamlScalar::Number(sign * number))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_that_yaml_parsers_read_differently_are_equal() {
        for (file, said) in [
            ("1.10", json!(1.1)),
            ("0xff", json!(255)),
            ("0o17", json!(15)),
            ("1e3", json!(1000.0)),
            (".5", json!(0.5)),
            ("+5", json!(5)),
            ("-7", json!(-7)),
            ("True", json!(true)),
            ("yes", json!(true)),
            ("12345678901234567890123", json!(1.234_567_890_123_456_8e22)),
        ] {
            let text =
                format!("---\nname: pdf\ndescription: d\nmetadata:\n  k: {file}\n---\nBody.\n");
            let differs = |value: &Value| {
                let said = json!({"name": "pdf", "description": "d", "metadata": {"k": value}});
                let Value::Object(said) = said else { panic!("it is an object") };
                frontmatter_differs(&said, text.as_bytes())
            };
            assert_eq!(differs(&said), None, "{file} {said}");
            for other in [json!(2), json!("other"), json!([1]), json!({})] {
                assert!(differs(&other).is_some(), "{file} {other}");
            }
        }
    }

    #[test]
    fn every_frontmatter_field_is_compared() {
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
