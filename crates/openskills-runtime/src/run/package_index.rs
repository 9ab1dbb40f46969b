//! The index that the user's pip or npm is configured with. Its settings are read here, because the sandbox hides the
//! user's home folder.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Path, PathBuf};

use skill_state::PackageSource;

use crate::Places;

/// The index of `pip` without settings, and the host that its links lead to.
const PYPI: &str = "https://pypi.org/simple";
const PYPI_HOST: &str = "pypi.org";
const PYPI_FILES: &str = "files.pythonhosted.org";
/// The registry of `npm` without settings.
const NPM: &str = "https://registry.npmjs.org/";
/// Larger settings files are not read.
const MAX_SETTINGS: u64 = 1 << 20;

/// An index of packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackageIndex {
    pub(crate) source: PackageSource,
    /// Its URL, as pip and npm accept it.
    pub(crate) url: String,
    pub(crate) location: IndexLocation,
    /// A file with additional certificates.
    pub(crate) certificates: Option<PathBuf>,
    /// Whether pip is configured to trust the host without a certificate.
    pub(crate) is_trusted: bool,
}

/// Where an index is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexLocation {
    /// At these hosts and ports, its own first.
    Hosts(Vec<(String, u16)>),
    /// In a folder on this machine.
    Folder(PathBuf),
}

impl PackageIndex {
    /// Finds the configured index.
    pub(crate) fn find(source: PackageSource, places: &Places) -> Result<Self, String> {
        let settings = Settings { places };
        let url = match source {
            PackageSource::Pypi => settings.pip("PIP_INDEX_URL", "index-url"),
            PackageSource::Npm => settings.npm("registry"),
        };
        let url = url.unwrap_or_else(|| {
            match source {
                PackageSource::Pypi => PYPI,
                PackageSource::Npm => NPM,
            }
            .to_owned()
        });
        let location = location(&url)
            .ok_or_else(|| format!("cannot use the configured index `{}`", without_user(&url)))?;
        let certificates = match source {
            PackageSource::Pypi => settings
                .pip("PIP_CERT", "cert")
                .or_else(|| settings.variable("REQUESTS_CA_BUNDLE"))
                .or_else(|| settings.variable("SSL_CERT_FILE")),
            PackageSource::Npm => {
                settings.npm("cafile").or_else(|| settings.variable("NODE_EXTRA_CA_CERTS"))
            }
        };
        let is_trusted = source == PackageSource::Pypi
            && settings.pip("PIP_TRUSTED_HOST", "trusted-host").is_some_and(|hosts| {
                let own = location.label();
                hosts
                    .split_whitespace()
                    .any(|host| host == own || own.starts_with(&format!("{host}:")))
            });
        Ok(Self {
            source,
            url,
            location,
            certificates: certificates.map(PathBuf::from).filter(|path| path.is_absolute()),
            is_trusted,
        })
    }
}

impl IndexLocation {
    /// Returns its name in messages and approvals: without scheme, path and user.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Hosts(hosts) => hosts.first().map_or_else(String::new, |(host, port)| {
                let is_usual = matches!(port, 80 | 443);
                if is_usual { host.clone() } else { format!("{host}:{port}") }
            }),
            Self::Folder(path) => format!("file://{}", path.display()),
        }
    }
}

/// Returns where a URL leads.
fn location(url: &str) -> Option<IndexLocation> {
    if let Some(path) = url.strip_prefix("file://") {
        let path = PathBuf::from(path);
        return path.is_absolute().then_some(IndexLocation::Folder(path));
    }
    let (usual, rest) = match url.split_once("://")? {
        ("https", rest) => (443, rest),
        ("http", rest) => (80, rest),
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (host, usual),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    if host.is_empty() || !host.chars().all(is_plain) {
        return None;
    }
    let host = host.to_ascii_lowercase();
    let files = (host == PYPI_HOST).then(|| (PYPI_FILES.to_owned(), port));
    Some(IndexLocation::Hosts(std::iter::once((host, port)).chain(files).collect()))
}

fn without_user(url: &str) -> String {
    match url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1)))
    {
        Some((scheme, rest)) => format!("{scheme}://{rest}"),
        None => url.to_owned(),
    }
}

/// The settings of pip and npm.
struct Settings<'a> {
    places: &'a Places,
}

impl Settings<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        let value = self.places.variables.get(name)?.to_str()?;
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// Reads a setting of pip: from its variable, else from its settings files.
    fn pip(&self, variable: &str, key: &str) -> Option<String> {
        let home = self.places.home.as_ref().map(|home| home.as_path().to_owned());
        let files = [
            self.variable("PIP_CONFIG_FILE").map(PathBuf::from),
            self.variable("VIRTUAL_ENV").map(|folder| Path::new(&folder).join("pip.conf")),
            home.as_ref().map(|home| home.join(".pip/pip.conf")),
            self.variable("XDG_CONFIG_HOME").map(|folder| Path::new(&folder).join("pip/pip.conf")),
            home.map(|home| home.join(".config/pip/pip.conf")),
            Some(PathBuf::from("/etc/pip.conf")),
        ];
        let in_file = |path: PathBuf| setting(&read(&path)?, &["global", "download"], key);
        self.variable(variable).or_else(|| files.into_iter().flatten().find_map(in_file))
    }

    /// Reads a setting of npm: from its variable, else from the user's settings file.
    fn npm(&self, key: &str) -> Option<String> {
        let names = [format!("npm_config_{key}"), format!("NPM_CONFIG_{}", key.to_uppercase())];
        let file = || {
            let home = self.places.home.as_ref()?.as_path().to_owned();
            let path = self.variable("NPM_CONFIG_USERCONFIG").map(PathBuf::from);
            setting(&read(&path.unwrap_or_else(|| home.join(".npmrc")))?, &[], key)
        };
        names.iter().find_map(|name| self.variable(name)).or_else(file)
    }
}

fn read(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    (metadata.is_file() && metadata.len() <= MAX_SETTINGS).then(|| fs::read_to_string(path).ok())?
}

/// Returns the last value of a key in one of these sections, or outside of all sections if none are given.
fn setting(text: &str, sections: &[&str], key: &str) -> Option<String> {
    let mut is_here = sections.is_empty();
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_here = sections.contains(&section.trim());
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_here) {
            let value = value.trim().trim_matches('"');
            let is_key = name.trim() == key && !name.starts_with(['#', ';']);
            if is_key && !value.is_empty() {
                found = Some(value.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_has_a_host_or_a_folder() {
        for (url, label) in [
            ("https://pypi.org/simple", Some("pypi.org")),
            (
                "https://me:secret@Nexus.example.com:8443/pypi/simple",
                Some("nexus.example.com:8443"),
            ),
            ("http://10.0.0.1/simple", Some("10.0.0.1")),
            ("file:///srv/simple", Some("file:///srv/simple")),
            ("file://relative", None),
            ("ftp://example.com", None),
            ("https://", None),
            ("https://a b/", None),
            ("not a url", None),
        ] {
            let found = location(url).map(|location| location.label());
            assert_eq!(found.as_deref(), label, "{url}");
        }
        let pypi = location(PYPI).unwrap();
        let IndexLocation::Hosts(hosts) = pypi else { panic!("a host") };
        assert_eq!(hosts.len(), 2);
        assert_eq!(without_user("https://me:secret@x.test/a"), "https://x.test/a");
    }

    #[test]
    fn settings_are_read_from_their_section() {
        let text = "[install]\nindex-url = https://a.test\n[global]\n# index-url = https://b.test\nindex-url=https://c.test\n";
        assert_eq!(setting(text, &["global"], "index-url").as_deref(), Some("https://c.test"));
        assert_eq!(setting(text, &["download"], "index-url"), None);
        assert_eq!(
            setting("registry=https://n.test/\n", &[], "registry").as_deref(),
            Some("https://n.test/")
        );
    }
}
