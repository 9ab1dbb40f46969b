//! Packages that were prepared for the scripts of a skill: where they came from, and the hash of every one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};
use skill::json::{Object, UnknownKeys};
use skill::{Code, Digest};

/// A collection of packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PackageSource {
    /// Packages for Python.
    Pypi,
    /// Packages for Node.js.
    Npm,
}

impl PackageSource {
    /// All sources.
    pub const ALL: [Self; 2] = [Self::Pypi, Self::Npm];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pypi => "pypi",
            Self::Npm => "npm",
        }
    }
}

/// A package that a user asks for: `pypdf`, `pypdf>=5`, `npm:docx` or `npm:docx@9`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackageRequest {
    source: PackageSource,
    spec: String,
}

/// Why a text is not a package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a package; use a form like pypdf, 'pypdf>=5', npm:docx or npm:docx@9")]
pub struct PackageRequestError(String);

impl PackageRequest {
    /// Returns where it comes from.
    pub fn source(&self) -> PackageSource {
        self.source
    }

    /// Returns its name and version, as pip or npm accepts them.
    pub fn spec(&self) -> &str {
        &self.spec
    }
}

impl FromStr for PackageRequest {
    type Err = PackageRequestError;

    /// Accepts names and versions only: pip and npm also accept URLs, paths and options, which could run code.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (source, spec) = match text.split_once(':') {
            Some(("npm", spec)) => (PackageSource::Npm, spec),
            Some(("pypi", spec)) => (PackageSource::Pypi, spec),
            Some(_) => return Err(PackageRequestError(text.to_owned())),
            None => (PackageSource::Pypi, text),
        };
        let spec = without_spaces(spec);
        let is_valid = match source {
            PackageSource::Pypi => is_python_spec(&spec),
            PackageSource::Npm => is_npm_spec(&spec),
        };
        if is_valid { Ok(Self { source, spec }) } else { Err(PackageRequestError(text.to_owned())) }
    }
}

impl fmt::Display for PackageRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            PackageSource::Pypi => f.write_str(&self.spec),
            PackageSource::Npm => write!(f, "npm:{}", self.spec),
        }
    }
}

const MAX_SPEC: usize = 200;

/// Endings of files, which pip and npm would open instead of asking the index.
const FILES: [&str; 13] = [
    ".whl", ".tgz", ".tar", ".gz", ".zip", ".bz2", ".tbz", ".tbz2", ".txz", ".xz", ".tlz", ".lzma",
    ".egg",
];

/// Removes the spaces around operators and commas; others stay, and are then refused.
fn without_spaces(text: &str) -> String {
    let is_operator = |c: char| "=<>!~,".contains(c);
    let mut spec = String::new();
    for part in text.split_inclusive(is_operator) {
        let starts_after_operator = spec.ends_with(is_operator);
        let part = if starts_after_operator { part.trim_start() } else { part };
        match part.strip_suffix(is_operator) {
            Some(before) => {
                spec += before.trim_end();
                spec.extend(part.chars().next_back());
            }
            None => spec += part,
        }
    }
    spec.trim().to_owned()
}

fn is_file(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    FILES.iter().any(|ending| text.ends_with(ending)) || text.chars().all(|c| c == '.')
}

fn is_name(text: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(is_good)
        && !is_file(text)
}

/// `name`, `name[extra]`, `name>=1,<2`.
fn is_python_spec(text: &str) -> bool {
    let end = text.find(['=', '<', '>', '!', '~']).unwrap_or(text.len());
    let (name, version) = text.split_at(end);
    let (name, extras) = match name.split_once('[') {
        Some((name, extras)) => (name, extras.strip_suffix(']')),
        None => (name, Some("x")),
    };
    let is_version = |part: &str| {
        let number = ["===", "==", ">=", "<=", "~=", "!=", "<", ">"]
            .into_iter()
            .find_map(|operator| part.strip_prefix(operator));
        number.is_some_and(|number| {
            let is_good = |c: char| c.is_ascii_alphanumeric() || ".*+!_-".contains(c);
            !number.is_empty() && number.chars().all(is_good) && !is_file(number)
        })
    };
    text.len() <= MAX_SPEC
        && is_name(name)
        && extras.is_some_and(|extras| extras.split(',').all(is_name))
        && (version.is_empty() || version.split(',').all(is_version))
}

/// `name`, `@scope/name`, either with `@version`.
fn is_npm_spec(text: &str) -> bool {
    let (scope, rest) = match text.strip_prefix('@').and_then(|text| text.split_once('/')) {
        Some((scope, rest)) => (Some(scope), rest),
        None => (None, text),
    };
    let (name, version) = match rest.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (rest, None),
    };
    let is_version = |version: &str| {
        let is_good = |c: char| c.is_ascii_alphanumeric() || ".^~<>=|*+-".contains(c);
        !version.is_empty()
            && !version.starts_with('.')
            && version.chars().all(is_good)
            && !is_file(version)
    };
    text.len() <= MAX_SPEC
        && scope.is_none_or(is_name)
        && is_name(name)
        && version.is_none_or(is_version)
}

/// Packages that were fetched together: the requested ones and all that they depend on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackageSet {
    /// Where they come from.
    pub source: PackageSource,
    /// What was asked for.
    pub requests: BTreeSet<PackageRequest>,
    /// The host of the index, or the URL of an index on this machine.
    pub index: String,
    /// The hash of every package, by its file name or its name and version.
    pub packages: BTreeMap<String, String>,
    /// The digest of all unpacked files.
    pub files: Digest,
}

impl PackageSet {
    /// Returns the digest of the source, the index, all hashes and the unpacked files. The same digest means the same
    /// packages.
    pub fn digest(&self) -> Digest {
        let mut text = String::new();
        let mut add = |part: &str| text += &format!("{}:{part}", part.len());
        add(self.source.as_str());
        add(&self.index);
        for (name, hash) in &self.packages {
            add(name);
            add(hash);
        }
        add(&self.files.to_string());
        Digest::of(text.as_bytes())
    }

    /// Returns one line with the requested packages, their index and the digest of the set.
    pub fn summary(&self) -> String {
        let requests: Vec<String> = self.requests.iter().map(ToString::to_string).collect();
        format!("{} from {} ({})", requests.join(", "), self.index, self.digest())
    }

    /// Returns a line with the index, and one for each package with the start of its hash.
    pub fn lines(&self) -> Vec<String> {
        const MAX_LINES: usize = 20;
        let short = |hash: &String| hash.chars().take(19).collect::<String>();
        let packages = self.packages.iter().map(|(name, hash)| format!("  {name} {}", short(hash)));
        let more = self.packages.len().saturating_sub(MAX_LINES);
        let more = (more > 0).then(|| format!("  and {more} more"));
        let first = format!("prepared from {}: {}", self.index, self.digest());
        std::iter::once(first).chain(packages.take(MAX_LINES)).chain(more).collect()
    }

    /// Serializes it.
    pub fn to_json(&self) -> Value {
        let packages = self.packages.iter().map(|(name, hash)| json!({"name": name, "hash": hash}));
        json!({
            "source": self.source.as_str(),
            "requests": self.requests.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "index": self.index,
            "packages": packages.collect::<Vec<_>>(),
            "files_sha256": self.files.to_string(),
        })
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    pub fn read(object: &mut Object<'_, '_, '_>) -> Option<Self> {
        object.unknown_keys(UnknownKeys::Refused);
        let source = object.required("source");
        let source = source.and_then(|text| {
            let known = PackageSource::ALL.into_iter().find(|one| one.as_str() == text.value);
            if known.is_none() {
                let message = format!("`{}` is not pypi or npm", text.value);
                object.problem(Code::BadValue, text.range, message);
            }
            known
        });
        let requests: Option<BTreeSet<PackageRequest>> = object
            .texts("requests")
            .into_iter()
            .map(|text| {
                let parsed = text.value.parse::<PackageRequest>();
                parsed
                    .map_err(|error| {
                        object.problem(Code::BadValue, text.range, error.to_string());
                    })
                    .ok()
            })
            .collect();
        let index = object.required("index");
        let packages = object.required_objects("packages", |package| {
            package.unknown_keys(UnknownKeys::Refused);
            let name = package.required("name");
            let hash = package.required("hash");
            Some((name?.value, hash?.value))
        });
        let files = object.required("files_sha256");
        let files = files.and_then(|text| {
            let parsed = text.value.parse::<Digest>();
            parsed
                .map_err(|error| object.problem(Code::BadValue, text.range, error.to_string()))
                .ok()
        });
        Some(Self {
            files: files?,
            source: source?,
            requests: requests?,
            index: index?.value,
            packages: packages.into_iter().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_names_and_versions_and_nothing_else() {
        for (text, spec) in [
            ("pypdf", "pypdf"),
            ("pypi:pypdf", "pypdf"),
            ("pypdf >= 5, <6", "pypdf>=5,<6"),
            ("uvicorn[standard]==0.30.*", "uvicorn[standard]==0.30.*"),
            ("npm:docx", "npm:docx"),
            ("npm:docx@^9.1", "npm:docx@^9.1"),
            ("npm:@scope/name@latest", "npm:@scope/name@latest"),
        ] {
            let parsed: PackageRequest = text.parse().unwrap();
            assert_eq!(parsed.to_string(), spec, "{text}");
            assert_eq!(parsed.to_string().parse(), Ok(parsed), "{text}");
        }
        for text in [
            "",
            "-r file",
            "--index-url=x",
            "./wheel.whl",
            "/tmp/a",
            "a/b",
            "https://example.com/a.whl",
            "git+https://example.com/a",
            "pypdf @ https://example.com/a",
            "pypdf; os_name == 'x'",
            "a\nb",
            "pypdf pillow",
            "requests 2",
            "foo.whl",
            "foo.txz",
            "foo==1.tar.gz",
            "foo==1.0.whl",
            "foo=1",
            "foo>=",
            "npm:foo@.npmrc",
            "npm:foo.tgz",
            "npm:a@..",
            "npm:a@x.tgz",
            "a$(b)",
            "a[",
            "a[]",
            "npm:",
            "npm:a/b",
            "npm:a@file:../x",
            "npm:a@git+ssh://x",
            "npm:a@npm:b",
            "npm:../a",
            "npm:@a",
            "npm:a@",
            "cargo:ripgrep",
        ] {
            assert!(text.parse::<PackageRequest>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_digest_depends_on_every_hash_and_the_index() {
        let set = |index: &str, hash: &str| PackageSet {
            source: PackageSource::Pypi,
            requests: BTreeSet::from(["pypdf".parse().unwrap()]),
            index: index.to_owned(),
            packages: BTreeMap::from([("pypdf-5.0-py3-none-any.whl".to_owned(), hash.to_owned())]),
            files: Digest::of(b"files"),
        };
        let one = set("pypi.org", "sha256:1").digest();
        assert_eq!(one, set("pypi.org", "sha256:1").digest());
        assert_ne!(one, set("pypi.org", "sha256:2").digest());
        assert_ne!(one, set("other.test", "sha256:1").digest());
        let other = PackageSet { files: Digest::of(b"other"), ..set("pypi.org", "sha256:1") };
        assert_ne!(one, other.digest());
    }
}
