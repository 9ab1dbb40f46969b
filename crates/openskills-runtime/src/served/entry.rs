//! A skill in a server's list: its URI, its frontmatter, and every file with its digest.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use skill::{Digest, Document, Input, RelPath, SKILL_FILE, Strictness, parse};

use crate::disclose::uri::{segments, uri};
use skill::ByteSize;

/// The maximum number and total size of files in a skill. Every host must accept 512 files and 16 MiB; this one accepts
/// more.
const MAX_FILES: usize = 2_048;
const MAX_BYTES: u64 = 64 << 20;
/// The maximum length of a path component, and the maximum depth of a path.
const MAX_PART: usize = 255;
const MAX_DEPTH: usize = 32;
/// The maximum length of a URI.
const MAX_URI: usize = 2_048;

/// A skill from a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServedSkill {
    /// The user's label for the server.
    pub(crate) server: String,
    /// The URI of its SKILL.md.
    pub(crate) uri: String,
    /// `mcp:<server>:<uri>`, for approvals and the log.
    pub(crate) origin: String,
    /// Its frontmatter, according to the server.
    pub(crate) frontmatter: Map<String, Value>,
    /// Every file, sorted by path.
    pub(crate) files: Vec<ServedFile>,
}

/// A file of a skill from a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServedFile {
    /// Path relative to the skill's folder.
    pub(crate) path: String,
    pub(crate) uri: String,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
}

impl ServedSkill {
    /// Parses an entry of a server's list; the error is the reason why it is rejected.
    pub(crate) fn read(server: &str, entry: &Value) -> Result<Self, String> {
        let text = |value: &Value, key: &str| {
            let text = value.get(key).and_then(Value::as_str).map(str::to_owned);
            text.ok_or_else(|| format!("`{key}` is not a string"))
        };
        let address = text(entry, "uri")?;
        let folder = &skill_path(&address)?;
        let Some(Value::Object(frontmatter)) = entry.get("frontmatter") else {
            return Err("`frontmatter` is not an object".to_owned());
        };
        let name = frontmatter.get("name").and_then(Value::as_str);
        if name != folder.last().map(String::as_str) {
            let folder = folder.last().map_or("", String::as_str);
            return Err(format!("its name does not match `{folder}` in its URI"));
        }
        let files = match entry.get("resources") {
            Some(Value::Array(files)) => files,
            Some(Value::String(word)) if word == "dynamic" => {
                return Err("its files have no digests, so it cannot be approved".to_owned());
            }
            _ => return Err("`resources` is not a list".to_owned()),
        };
        let mut read = Vec::new();
        for file in files {
            let uri = text(file, "uri")?;
            let path = path_in(folder, &uri)?;
            let digest = text(file, "digest")?;
            let digest = digest.parse().map_err(|_| format!("`{digest}` is not a valid digest"))?;
            let size = file.get("size").and_then(Value::as_u64);
            let size = size.ok_or_else(|| format!("`{uri}` has no size"))?;
            read.push(ServedFile { path, uri, digest, size });
        }
        let origin = origin(server, &address);
        let (server, frontmatter) = (server.to_owned(), frontmatter.clone());
        let skill = Self { server, uri: address, origin, frontmatter, files: read };
        skill.checked()
    }

    fn checked(mut self) -> Result<Self, String> {
        self.files.sort_by(|one, other| one.path.cmp(&other.path));
        let paths: BTreeSet<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        if paths.len() != self.files.len() {
            return Err("the same file is listed twice".to_owned());
        }
        for path in &paths {
            let mut folders = path.match_indices('/').map(|(end, _)| &path[..end]);
            if let Some(folder) = folders.find(|folder| paths.contains(folder)) {
                return Err(format!("`{folder}` is both a file and a folder"));
            }
            if path.split('/').any(|part| part.len() > MAX_PART)
                || path.split('/').count() > MAX_DEPTH
            {
                return Err(format!("`{path}` is too long or too deeply nested"));
            }
        }
        if !paths.contains(SKILL_FILE) {
            return Err(format!("{SKILL_FILE} is missing from its files"));
        }
        if self.files.len() > MAX_FILES {
            return Err(format!("it has {} files (limit: {MAX_FILES})", self.files.len()));
        }
        let bytes = self.files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size));
        if bytes > MAX_BYTES {
            let (size, limit) = (ByteSize(bytes), ByteSize(MAX_BYTES));
            return Err(format!("its files are too large: {size} (limit: {limit})"));
        }
        Ok(self)
    }

    /// Parses its frontmatter; the body is empty.
    pub(crate) fn document(&self) -> Result<Document, Vec<skill::Diagnostic>> {
        // JSON is valid YAML.
        let text = format!("---\n{:#}\n---\n", Value::Object(self.frontmatter.clone()));
        self.parsed(text.as_bytes())
    }

    /// Parses the content of its SKILL.md.
    pub(crate) fn parsed(&self, bytes: &[u8]) -> Result<Document, Vec<skill::Diagnostic>> {
        let directory = self.frontmatter.get("name").and_then(Value::as_str);
        let input = Input { file: &self.origin, directory, bytes };
        // Untrusted skills must follow the standard strictly.
        let parsed = parse(&input, Strictness::Strict);
        parsed.document.ok_or(parsed.diagnostics)
    }

    /// Returns the name of a file in the cache, which identifies its server, URI and content.
    pub(crate) fn blob(&self, file: &ServedFile) -> String {
        let hex = |digest: Digest| {
            digest.to_string().split(':').next_back().unwrap_or_default().to_owned()
        };
        let uri_digest = hex(Digest::of(file.uri.as_bytes()));
        format!("{}-{}-{}", self.server, &uri_digest[..16], hex(file.digest))
    }

    /// Returns the file with this path.
    pub(crate) fn file(&self, path: &str) -> Option<&ServedFile> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(at)
    }

    /// Returns the digest of the whole skill: of every URI with its digest, and of the frontmatter, which a model sees
    /// before any file is read.
    pub(crate) fn digest(&self) -> Digest {
        let mut text = format!("{}\n", Value::Object(self.frontmatter.clone()));
        for file in &self.files {
            text += &format!("{} {}\n", file.uri, file.digest);
        }
        Digest::of(text.as_bytes())
    }

    /// Returns the URI of the innermost nested skill that a file belongs to, if any.
    pub(crate) fn nested(&self, path: &str) -> Option<String> {
        let mut folder = path;
        while let Some((around, _)) = folder.rsplit_once('/') {
            folder = around;
            let is_skill = |file: &&ServedFile| {
                let name = file.path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
                name.is_some_and(|name| name.eq_ignore_ascii_case(SKILL_FILE))
            };
            if let Some(file) = self.files.iter().find(is_skill) {
                return Some(file.uri.clone());
            }
        }
        None
    }
}

/// Returns the identifier of a skill in approvals and the log.
pub(super) fn origin(server: &str, uri: &str) -> String {
    format!("mcp:{server}:{uri}")
}

/// Returns the path segments of the skill for the URI of its SKILL.md.
pub(super) fn skill_path(address: &str) -> Result<Vec<String>, String> {
    let mut parts = address_parts(address)?;
    if parts.pop().as_deref() != Some(SKILL_FILE) || parts.is_empty() {
        return Err(format!("`{address}` is not the URI of a {SKILL_FILE}"));
    }
    Ok(parts)
}

fn address_parts(address: &str) -> Result<Vec<String>, String> {
    if address.len() > MAX_URI {
        return Err(format!("the URI is longer than {MAX_URI} characters"));
    }
    let parts = segments(address).ok_or_else(|| format!("`{address}` is not a skill URI"))?;
    // Accept only the canonical URI of each file.
    let (id, path) = (parts[..1].join("/"), parts[1..].join("/"));
    if uri(&id, &path) != address {
        return Err(format!("`{address}` is not a normalized URI"));
    }
    Ok(parts)
}

/// Returns the path of a file relative to the skill's folder. Fails if it is outside.
fn path_in(folder: &[String], address: &str) -> Result<String, String> {
    let parts = address_parts(address)?;
    match parts.strip_prefix(folder) {
        Some(inside) if !inside.is_empty() => {
            let path = inside.join("/");
            RelPath::new(&path).map_err(|error| format!("`{address}`: {error}"))?;
            Ok(path)
        }
        _ => Err(format!("`{address}` is outside the skill's folder")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn entry(files: &[&str]) -> Value {
        let file = |uri: &&str| json!({"uri": uri, "digest": DIGEST, "size": 1});
        json!({
            "uri": "skill://a/b/pdf/SKILL.md",
            "frontmatter": {"name": "pdf", "description": "d", "metadata": {"x": "\u{1f600} \"q\": #\n"}},
            "resources": files.iter().map(file).collect::<Vec<_>>(),
        })
    }

    #[test]
    fn valid_entries_are_parsed() {
        let files = [
            "skill://a/b/pdf/x/y%20z.md",
            "skill://a/b/pdf/SKILL.md",
            "skill://a/b/pdf/x/sub/SKILL.md",
            "skill://a/b/pdf/x/sub/f",
        ];
        let skill = ServedSkill::read("docs", &entry(&files)).unwrap();
        assert_eq!(skill.origin, "mcp:docs:skill://a/b/pdf/SKILL.md");
        assert_eq!(skill.file("x/y z.md").unwrap().uri, "skill://a/b/pdf/x/y%20z.md");
        let document = skill.document().unwrap();
        assert_eq!(document.frontmatter.name, "pdf");
        assert_eq!(document.frontmatter.metadata_text("x"), "\u{1f600} \"q\": #\n");
        assert_eq!(skill.nested("x/sub/f").as_deref(), Some("skill://a/b/pdf/x/sub/SKILL.md"));
        assert_eq!(skill.nested("x/y z.md"), None);
        assert_eq!(skill.nested("SKILL.md"), None);
    }

    #[test]
    fn invalid_entries_are_rejected() {
        let good = "skill://a/b/pdf/SKILL.md";
        for files in [
            vec!["skill://a/b/pdf/x"],
            vec![good, good],
            vec![good, "skill://a/b/other/x"],
            vec![good, "skill://a/b/pdf/../other/x"],
            vec![good, "skill://a/b/pdf/%2e%2e/x"],
            vec![good, "skill://a/b/pdf/a%2Fb"],
            vec![good, "skill://a/b/pdf/%61"],
            vec![good, "skill://a/b/pdf/"],
            vec![good, "file:///etc/passwd"],
            vec![good, "skill://a/b/pdf/x", "skill://a/b/pdf/x/y"],
        ] {
            assert!(ServedSkill::read("docs", &entry(&files)).is_err(), "{files:?}");
        }
        for (key, value) in [
            ("uri", json!("skill://a/b/other/SKILL.md")),
            ("uri", json!("skill://SKILL.md")),
            ("uri", json!("https://a/b/pdf/SKILL.md")),
            ("uri", json!("skill://a/b/pdf/SKILL.md?x")),
            ("frontmatter", json!("name: pdf")),
            ("frontmatter", json!({"name": "other", "description": "d"})),
            ("resources", json!("dynamic")),
            ("resources", json!([{"uri": good, "digest": "md5:1", "size": 1}])),
            ("resources", json!([{"uri": good, "digest": DIGEST, "size": -1}])),
            ("resources", json!([{"uri": good, "digest": DIGEST, "size": 1_u64 << 40}])),
        ] {
            let mut wrong = entry(&[good]);
            wrong[key] = value;
            assert!(ServedSkill::read("docs", &wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_digest_covers_every_file() {
        let good = "skill://a/b/pdf/SKILL.md";
        let one = ServedSkill::read("docs", &entry(&[good])).unwrap();
        let two = ServedSkill::read("docs", &entry(&[good, "skill://a/b/pdf/x"])).unwrap();
        assert_ne!(one.digest(), two.digest());
        let mut other = entry(&[good]);
        other["frontmatter"]["description"] = json!("other");
        assert_ne!(one.digest(), ServedSkill::read("docs", &other).unwrap().digest());
    }
}
