//! The index that the user's pip or npm is configured with. Both are asked themselves, because only they know all their
//! settings files, and they are asked in the root folder, where no project can have any.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: runs the user's pip and npm, to ask for their settings"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use skill_state::PackageSource;

use crate::state::variables::Variables;

/// The index of `pip` without settings, and the host that its links lead to.
const PYPI: &str = "https://pypi.org/simple";
const PYPI_HOST: &str = "pypi.org";
const PYPI_FILES: &str = "files.pythonhosted.org";

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
    /// Folders of this machine in which pip also looks for packages.
    pub(crate) folders: Vec<PathBuf>,
    /// The registries of npm's scopes, by setting.
    pub(crate) scopes: BTreeMap<String, String>,
}

/// Where an index is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexLocation {
    /// At these hosts and ports, its own first.
    Hosts {
        hosts: Vec<(String, u16)>,
        /// Whether connections are encrypted.
        is_https: bool,
    },
    /// In a folder on this machine.
    Folder(PathBuf),
}

/// The program to ask for its settings, with its first arguments.
pub(crate) struct SettingsProgram<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: Vec<OsString>,
    /// The user's environment.
    pub(crate) variables: &'a Variables,
}

impl PackageIndex {
    /// Finds the index that pip is configured with.
    pub(crate) fn of_pip(pip: &SettingsProgram<'_>) -> Result<Self, String> {
        let text = pip.ask(&["config", "list"])?;
        let settings = PipSettings::parse(&text);
        for key in ["extra-index-url", "no-index", "client-cert"] {
            if settings.get(key).is_some_and(|value| !matches!(value.as_str(), "" | "false" | "0"))
            {
                return Err(format!(
                    "pip is configured with `{key}`, which is not supported; to use a single index, set PIP_INDEX_URL"
                ));
            }
        }
        let url = settings.get("index-url").unwrap_or_else(|| PYPI.to_owned());
        let location = location(&url)?;
        let words = |key: &str| {
            let value = settings.get(key).unwrap_or_default();
            value.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let folders: Vec<PathBuf> = words("find-links").into_iter().map(PathBuf::from).collect();
        if let Some(other) = folders.iter().find(|folder| !folder.is_absolute()) {
            return Err(format!(
                "pip is configured with `find-links = {}`; only absolute paths are supported",
                other.display()
            ));
        }
        let variable = |name: &str| Some(pip.variables.get(name)?.to_str()?.to_owned());
        let certificates = settings
            .get("cert")
            .or_else(|| variable("REQUESTS_CA_BUNDLE"))
            .or_else(|| variable("SSL_CERT_FILE"));
        let is_trusted = words("trusted-host").iter().any(|host| location.is_at(host));
        Ok(Self {
            source: PackageSource::Pypi,
            url,
            location,
            certificates: certificates.map(PathBuf::from).filter(|path| path.is_absolute()),
            is_trusted,
            folders: folders.into_iter().filter(|folder| folder.is_dir()).collect(),
            scopes: BTreeMap::new(),
        })
    }

    /// Finds the registry that npm is configured with.
    pub(crate) fn of_npm(npm: &SettingsProgram<'_>) -> Result<Self, String> {
        let text = npm.ask(&["config", "ls", "-l", "--json"])?;
        let settings: Value =
            serde_json::from_str(&text).map_err(|error| format!("npm's settings: {error}"))?;
        let get = |key: &str| settings[key].as_str().map(str::to_owned);
        let url = get("registry").ok_or("npm has no registry")?;
        let is_scope = |key: &&String| key.starts_with('@') && key.ends_with(":registry");
        let keys = settings.as_object().into_iter().flat_map(|all| all.keys());
        let scopes = keys.filter(is_scope).filter_map(|key| Some((key.clone(), get(key)?)));
        let variable = |name: &str| Some(npm.variables.get(name)?.to_str()?.to_owned());
        let certificates = get("cafile").or_else(|| variable("NODE_EXTRA_CA_CERTS"));
        Ok(Self {
            source: PackageSource::Npm,
            location: location(&url)?,
            certificates: certificates.map(PathBuf::from).filter(|path| path.is_absolute()),
            is_trusted: false,
            folders: Vec::new(),
            scopes: scopes.collect(),
            url,
        })
    }

    /// Returns its name in messages and approvals: without user, but with every other place that packages come from and
    /// everything that makes it less secure.
    pub(crate) fn label(&self) -> String {
        let unverified = if self.is_trusted { " (certificate not checked)" } else { "" };
        let index = match &self.location {
            IndexLocation::Hosts { hosts, is_https } => {
                let host = hosts.first().map_or_else(String::new, |(host, port)| {
                    let is_usual = *port == if *is_https { 443 } else { 80 };
                    if is_usual { host.clone() } else { format!("{host}:{port}") }
                });
                let path = self.url.split_once("://").map_or("", |(_, rest)| rest);
                let path = path.split_once('/').map_or("", |(_, path)| path).trim_matches('/');
                let path = match path {
                    "" | "simple" => String::new(),
                    path => format!("/{path}"),
                };
                match is_https {
                    true => format!("{host}{path}{unverified}"),
                    false => format!("http://{host}{path}"),
                }
            }
            IndexLocation::Folder(path) => format!("file://{}", path.display()),
        };
        let folders = self.folders.iter().map(|folder| format!(" and {}", folder.display()));
        std::iter::once(index).chain(folders).collect()
    }
}

impl IndexLocation {
    /// Returns true if its own host is `name`, which may have a port.
    fn is_at(&self, name: &str) -> bool {
        let Self::Hosts { hosts, .. } = self else { return false };
        hosts.first().is_some_and(|(host, port)| {
            name.eq_ignore_ascii_case(host) || name.eq_ignore_ascii_case(&format!("{host}:{port}"))
        })
    }
}

/// Variables that say where settings are.
const PLACES: [&str; 5] = ["HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "APPDATA", "USERPROFILE"];

impl SettingsProgram<'_> {
    /// Returns the variables that the user sets for pip and npm. `npm run` sets those of a project as well.
    fn settings(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        let is_in_npm = self.variables.get("npm_lifecycle_event").is_some();
        let is_setting = move |name: &OsString| {
            let name = name.to_string_lossy();
            let upper = name.to_uppercase();
            PLACES.contains(&&*name)
                || upper.starts_with("PIP_")
                || (upper.starts_with("NPM_CONFIG_") && !is_in_npm)
        };
        let all = self.variables.all().iter().map(|(name, value)| (name, value));
        all.filter(move |(name, _)| is_setting(name))
    }

    fn ask(&self, args: &[&str]) -> Result<String, String> {
        let done = Command::new(self.program)
            .args(&self.args)
            .args(args)
            .env_clear()
            .envs(self.settings())
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/")
            .stdin(Stdio::null())
            .output();
        let program = self.program.display();
        let done = done.map_err(|error| format!("cannot run `{program}`: {error}"))?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        let message = String::from_utf8_lossy(&done.stderr).into_owned();
        let line = message.lines().rev().find(|line| !line.trim().is_empty());
        Err(format!("`{program}` cannot show its settings: {}", line.unwrap_or("unknown error")))
    }
}

/// The lines of `pip config list`: `section.key='value'`, with `:env:` as the section of variables.
struct PipSettings(BTreeMap<String, String>);

impl PipSettings {
    fn parse(text: &str) -> Self {
        let line = |line: &str| {
            let (key, value) = line.split_once('=')?;
            let value = value.trim();
            let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
            let value = value.strip_prefix(quote)?.strip_suffix(quote)?;
            // A list is printed on one line.
            Some((key.trim().to_owned(), value.replace("\\n", " ").trim().to_owned()))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// Returns the setting that `pip download` would use.
    fn get(&self, key: &str) -> Option<String> {
        let sections = [":env:", "download", "global"];
        sections.iter().find_map(|section| self.0.get(&format!("{section}.{key}")).cloned())
    }
}

/// Returns where a URL leads.
fn location(url: &str) -> Result<IndexLocation, String> {
    let parsed = parsed_location(url);
    parsed.ok_or_else(|| format!("cannot use the configured index `{}`", without_user(url)))
}

fn parsed_location(url: &str) -> Option<IndexLocation> {
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
    let hosts = std::iter::once((host, port)).chain(files).collect();
    Some(IndexLocation::Hosts { hosts, is_https: usual == 443 })
}

fn without_user(url: &str) -> String {
    match url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1)))
    {
        Some((scheme, rest)) => format!("{scheme}://{rest}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_has_a_host_or_a_folder() {
        for (url, label) in [
            (PYPI, Some("pypi.org")),
            (
                "https://me:secret@Nexus.example.com:8443/pypi/simple",
                Some("nexus.example.com:8443/pypi/simple"),
            ),
            ("http://10.0.0.1/simple", Some("http://10.0.0.1")),
            ("http://10.0.0.1:443/simple", Some("http://10.0.0.1:443")),
            ("file:///srv/simple", Some("file:///srv/simple")),
            ("file://relative", None),
            ("ftp://example.com", None),
            ("https://", None),
            ("https://a b/", None),
            ("not a url", None),
        ] {
            let found = location(url).map(|location| PackageIndex {
                source: PackageSource::Pypi,
                url: url.to_owned(),
                location,
                certificates: None,
                is_trusted: false,
                folders: Vec::new(),
                scopes: BTreeMap::new(),
            });
            assert_eq!(found.ok().map(|index| index.label()).as_deref(), label, "{url}");
        }
        let Ok(IndexLocation::Hosts { hosts, .. }) = location(PYPI) else { panic!("a host") };
        assert_eq!(hosts.len(), 2);
        let error = location("https://me:secret@a b/").unwrap_err();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn the_settings_of_pip_have_its_own_order() {
        let text = "global.index-url='https://a.test/simple'\ndownload.index-url='https://b.test/simple'\n\
                    install.index-url='https://c.test'\n:env:.trusted-host='d.test'\nglobal.trusted-host='e.test'\n\
                    global.find-links='/one\\n/two'\n";
        let settings = PipSettings::parse(text);
        assert_eq!(settings.get("index-url").as_deref(), Some("https://b.test/simple"));
        assert_eq!(settings.get("trusted-host").as_deref(), Some("d.test"));
        assert_eq!(settings.get("find-links").as_deref(), Some("/one /two"));
        assert_eq!(settings.get("cert"), None);
    }
}
