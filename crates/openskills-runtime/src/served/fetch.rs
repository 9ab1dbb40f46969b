//! Files of a server's skills: fetched when they are first needed, held to what was listed, kept by their digest.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use skill::{Digest, SKILL_FILE, raw_frontmatter};
use skill_fs::{AbsPath, make_private_folder, read_own_file, write_file};

use super::{ServedFile, ServedSkill, SkillServer, SkillServers};
use crate::state::caches::{CacheKind, SERVED_ENDING};
use crate::{Places, RuntimeError};

/// Gets the bytes of URIs from a server, in one go. Only this talks to servers; the runtime itself does not.
#[derive(Clone)]
pub struct Fetcher(Arc<Get>);

/// One answer for each URI; an error says why there is none.
type Get = dyn Fn(&SkillServer, &[Wanted]) -> Vec<Result<Vec<u8>, String>> + Send + Sync;

/// A file that is wanted of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its URI.
    pub uri: String,
    /// How many bytes it has, as the server said. More are not worth reading.
    pub size: u64,
}

impl Fetcher {
    /// Returns one that gets by `get`.
    pub fn new(
        get: impl Fn(&SkillServer, &[Wanted]) -> Vec<Result<Vec<u8>, String>> + Send + Sync + 'static,
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

/// Why there are no files.
pub(crate) enum FetchError {
    /// What the server sent, or what is kept of it, is not what was listed.
    Changed {
        /// The file, seen from the skill.
        path: String,
        /// What is different.
        why: String,
    },
    /// The server did not answer, or cannot be asked.
    Failed(RuntimeError),
}

impl From<RuntimeError> for FetchError {
    fn from(error: RuntimeError) -> Self {
        Self::Failed(error)
    }
}

/// What fetches files.
pub(crate) struct Fetch<'a> {
    pub(crate) places: &'a Places,
    pub(crate) fetcher: Option<&'a Fetcher>,
}

impl Fetch<'_> {
    /// Returns the bytes of files of a skill: those that were listed, or an error.
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
        // What is kept may have been fetched under another list.
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
            message: format!("`{what}` is not sent: {why}"),
            hint,
        };
        let Some(known) = SkillServers::load(self.places)?.get(server) else {
            return Err(failed(&skill.uri, "there is no such server any more", None));
        };
        let Some(Fetcher(get)) = self.fetcher else {
            return Err(failed(&skill.uri, "nothing here can ask servers", None));
        };
        let wanted = |file: &&ServedFile| Wanted { uri: file.uri.clone(), size: file.size };
        let answers = get(&known, &files.iter().map(wanted).collect::<Vec<_>>());
        if answers.len() != files.len() {
            return Err(failed(&skill.uri, "there is not one answer for each file", None));
        }
        let hint = || Some(format!("see whether it is there: openskills mcp sync {server}"));
        let answer = |(file, answer): (&&ServedFile, Result<Vec<u8>, String>)| {
            answer.map_err(|why| failed(&file.uri, &why, hint()))
        };
        files.iter().zip(answers).map(answer).collect()
    }

    /// Returns true if a file is here already.
    pub(crate) fn is_kept(&self, skill: &ServedSkill, file: &ServedFile) -> bool {
        self.kept(skill, file).is_some()
    }

    fn place(&self, skill: &ServedSkill, file: &ServedFile) -> Option<AbsPath> {
        let folder = self.places.cache.as_ref()?.join(CacheKind::Served.as_str());
        Some(folder.join(format!("{}{}", skill.blob(file), SERVED_ENDING)))
    }

    fn kept(&self, skill: &ServedSkill, file: &ServedFile) -> Option<Vec<u8>> {
        let bytes = read_own_file(&self.place(skill, file)?, file.size).ok()??;
        (Digest::of(&bytes) == file.digest).then_some(bytes)
    }

    /// Where it cannot be kept, it is fetched again.
    fn keep(&self, skill: &ServedSkill, file: &ServedFile, bytes: &[u8]) {
        let Some(place) = self.place(skill, file) else { return };
        if place.parent().is_some_and(|folder| make_private_folder(&folder).is_ok()) {
            let _ = write_file(&place, bytes);
        }
    }
}

/// Says how what came is not what was listed.
fn differs(file: &ServedFile, bytes: &[u8]) -> Option<String> {
    if bytes.len() as u64 != file.size {
        return Some(format!("it has {} bytes in place of {}", bytes.len(), file.size));
    }
    (Digest::of(bytes) != file.digest).then(|| "its digest is another".to_owned())
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

/// Returns whether what a server said is what is read.
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
        // What is a word for us may be a number or a flag for whoever serves it, never the other way round.
        (Some(said), Some(Value::String(read))) if !said.is_string() => {
            meant(said).is_some_and(|said| Some(said) == word_meant(read))
        }
        (one, other) => one == other,
    }
}

/// What a plain word of YAML may be read as.
#[derive(Debug, PartialEq)]
enum Plain {
    Nothing,
    Flag(bool),
    Number(f64),
}

/// Returns what a value is for whoever reads plain words as YAML's schemas do: readers differ in which words are numbers and flags, and the bytes
/// are the same.
fn meant(value: &Value) -> Option<Plain> {
    match value {
        Value::Null => Some(Plain::Nothing),
        Value::Bool(flag) => Some(Plain::Flag(*flag)),
        Value::Number(number) => number.as_f64().map(Plain::Number),
        Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn word_meant(text: &str) -> Option<Plain> {
    match text.to_ascii_lowercase().as_str() {
        "" | "~" | "null" => return Some(Plain::Nothing),
        "true" | "yes" | "on" | "y" => return Some(Plain::Flag(true)),
        "false" | "no" | "off" | "n" => return Some(Plain::Flag(false)),
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
    other.or(plain).map(|number| Plain::Number(sign * number))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_that_readers_of_yaml_take_differently_are_the_same() {
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
