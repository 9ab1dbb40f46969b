//! Resolves paths outside the skill and the workspace, and decides which of them the user has to grant explicitly.

#![expect(clippy::disallowed_methods, reason = "the edge: what a path leads to")]

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Component, Path, PathBuf};

use skill::capabilities::{Anchor, AnchoredFolder, Cover, Declared, Reach};
use skill_fs::AbsPath;

use crate::{Places, RuntimeError};

/// Folders outside the home folder whose visible content can be granted at the prompt. Everything else needs an
/// explicit `--read`.
const OPEN: [&str; 6] = ["/usr", "/opt", "/srv", "/mnt", "/media", "/data"];
/// System folders that are never granted.
const SYSTEM: [&str; 7] = ["/run", "/var/run", "/proc", "/sys", "/dev", "/etc", "/boot"];
/// Visible folders in which systems keep keychains, browser profiles and tokens.
const STORES: [&str; 3] = ["Library", "AppData", "snap"];
/// Declared folders with more entries need an explicit `--read`.
const MAX_ENTRIES: usize = 20_000;
/// Words in the names of credential files of any program.
const CREDENTIALS: [&str; 43] = [
    "1password",
    "accesskey",
    "accesskeys",
    "apikey",
    "apikeys",
    "auth",
    "bitwarden",
    "cookies",
    "credential",
    "credentials",
    "dsa",
    "ecdsa",
    "ed25519",
    "env",
    "htpasswd",
    "key",
    "keychain",
    "keyring",
    "keys",
    "keystore",
    "krb5cc",
    "kubeconfig",
    "lastpass",
    "logins",
    "netrc",
    "npmrc",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "pgpass",
    "pypirc",
    "rootkey",
    "rsa",
    "secret",
    "secrets",
    "serviceaccount",
    "tfstate",
    "token",
    "tokens",
    "vault",
    "wallet",
    "wallets",
];
/// Files that identify a folder as a browser profile, wherever it was moved.
const PROFILES: [&str; 6] =
    ["login data", "local state", "key4.db", "cert9.db", "web data", "formhistory.sqlite"];
/// Extensions of key files.
const KEYS: [&str; 14] = [
    "pem", "key", "p12", "pfx", "jks", "kdbx", "keystore", "keychain", "ppk", "keytab", "gpg",
    "asc", "ovpn", "agekey",
];

/// The paths outside the skill and the workspace that a plan involves, all resolved to real paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutsidePaths {
    /// Paths that the user requested explicitly.
    pub named: BTreeSet<AnchoredFolder>,
    /// Declared paths that answering the prompt grants.
    pub declared: BTreeSet<AnchoredFolder>,
    /// Declared paths that only an explicit `--read` grants: keys, credentials, agent settings, browser profiles.
    pub protected: BTreeSet<AnchoredFolder>,
    /// All paths that the skill lists, if it lists any; nothing else can be granted then.
    pub listed: Option<BTreeSet<AnchoredFolder>>,
}

/// How a path can be granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GrantMethod {
    /// By answering a prompt that shows it.
    Prompt,
    /// Only by requesting it explicitly.
    ExplicitOnly,
    /// Never, with the reason.
    Never(&'static str),
}

impl OutsidePaths {
    /// Resolves the declared and requested paths. A declared path that does not exist is skipped; a requested one is an
    /// error.
    pub(crate) fn find(
        declared: &Declared,
        requested: &[PathBuf],
        places: &Places,
    ) -> Result<Self, RuntimeError> {
        let home = real_home(places.home.as_ref());
        let home = home.as_deref();
        let own = own_folders(places);
        let mut found = Self::default();
        if let Some(Reach::Only(all)) = &declared.read {
            let mut listed = BTreeSet::new();
            for path in all.iter().filter_map(|place| path_of(place, home)) {
                let Ok(real) = std::fs::canonicalize(&path) else { continue };
                let Some(place) = place_of(&real, home) else { continue };
                listed.insert(place.clone());
                match grant_method(&real, home, &own) {
                    GrantMethod::Prompt if is_ordinary_inside(&real) => {
                        found.declared.insert(place)
                    }
                    GrantMethod::Prompt | GrantMethod::ExplicitOnly | GrantMethod::Never(_) => {
                        found.protected.insert(place)
                    }
                };
            }
            found.listed = Some(listed);
        }
        for path in requested {
            found.named.insert(named(path, places, home, &own)?);
        }
        Ok(found)
    }

    /// Returns true if a path may be granted to the skill: it declares the path, or lists no paths at all.
    pub(crate) fn may_have(&self, place: &AnchoredFolder) -> bool {
        self.listed.as_ref().is_none_or(|listed| listed.iter().any(|own| own.covers(place)))
    }
}

/// Resolves a path that the user requested.
fn named(
    path: &Path,
    places: &Places,
    home: Option<&Path>,
    own: &[PathBuf],
) -> Result<AnchoredFolder, RuntimeError> {
    let refused = |message: String| RuntimeError::Setup {
        message: format!("cannot grant `{}`: {message}", path.display()),
        hint: Some("pass a file or folder: `--read PATH`".to_owned()),
    };
    let full = match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        (Ok(_), None) | (Err(_), _) => places.cwd.as_path().join(path),
    };
    let real = std::fs::canonicalize(full).map_err(|error| refused(error.to_string()))?;
    match grant_method(&real, home, own) {
        GrantMethod::Never(why) => Err(refused(why.to_owned())),
        GrantMethod::Prompt | GrantMethod::ExplicitOnly => place_of(&real, home)
            .ok_or_else(|| refused("its name contains unprintable characters".to_owned())),
    }
}

/// Returns how a real path can be granted. Anything not known to be ordinary needs an explicit request.
fn grant_method(real: &Path, home: Option<&Path>, own: &[PathBuf]) -> GrantMethod {
    if real.parent().is_none() || home.is_some_and(|home| home.starts_with(real)) {
        return GrantMethod::Never("it contains your entire home folder");
    }
    if SYSTEM.iter().any(|system| real.starts_with(system)) {
        return GrantMethod::Never("it is a system path");
    }
    if overlaps(real, own) {
        return GrantMethod::Never("it contains openskills or csk files");
    }
    let below = match home.and_then(|home| real.strip_prefix(home).ok()) {
        Some(below) => Some(below),
        None => OPEN.iter().find_map(|open| real.strip_prefix(open).ok()),
    };
    match below {
        Some(below) if below.components().all(is_ordinary) => GrantMethod::Prompt,
        Some(_) | None => GrantMethod::ExplicitOnly,
    }
}

/// Returns true for a visible name that does not suggest keys or credentials.
fn is_ordinary(part: Component<'_>) -> bool {
    let Component::Normal(name) = part else { return false };
    let Some(name) = name.to_str() else { return false };
    !name.starts_with('.')
        && !STORES.iter().any(|store| store.eq_ignore_ascii_case(name))
        && !is_key_name(name)
}

/// Returns true for a typical name of a file with keys or credentials.
pub(crate) fn is_key_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    let ending = lower.rsplit_once('.').map_or("", |(_, ending)| ending);
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let joined: String = lower.chars().filter(|c| c.is_alphanumeric()).collect();
    KEYS.contains(&ending)
        || lower.starts_with("id_")
        || PROFILES.contains(&lower.as_str())
        || words.any(|word| CREDENTIALS.contains(&word))
        || ["serviceaccount", "apikey", "clientsecret"].iter().any(|name| joined.contains(name))
}

/// Returns true if a folder contains nothing that needs an explicit request: no hidden name, no key, no other file
/// system, and no file with hard links. A folder that is too large to check needs an explicit request.
fn is_ordinary_inside(real: &Path) -> bool {
    let Ok(root) = std::fs::symlink_metadata(real) else { return false };
    if !root.is_dir() {
        return !has_other_names(&root);
    }
    let mut open = vec![real.to_owned()];
    let mut left = MAX_ENTRIES;
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { return false };
        for entry in entries {
            let Ok(entry) = entry else { return false };
            let (name, Ok(metadata)) = (entry.file_name(), entry.metadata()) else { return false };
            let Some(rest) = left.checked_sub(1) else { return false };
            left = rest;
            if !is_ordinary(Component::Normal(&name))
                || is_elsewhere(&metadata, &root)
                || has_other_names(&metadata)
            {
                return false;
            }
            if metadata.is_dir() {
                open.push(entry.path());
            }
        }
    }
    true
}

/// Returns true for a file with hard links: it may be a key under another name.
#[cfg(unix)]
fn has_other_names(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.is_file() && metadata.nlink() > 1
}

/// Returns true for an entry on a different file system than the folder.
#[cfg(unix)]
fn is_elsewhere(metadata: &Metadata, root: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.dev() != root.dev()
}

#[cfg(not(unix))]
fn has_other_names(_metadata: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn is_elsewhere(_metadata: &Metadata, _root: &Metadata) -> bool {
    false
}

/// Returns the path of a place; `None` if it is in the skill or the workspace.
pub(crate) fn path_of(place: &AnchoredFolder, home: Option<&Path>) -> Option<PathBuf> {
    let base = match place.anchor() {
        Anchor::Skill | Anchor::Workspace => return None,
        Anchor::HomeConfig => home?.join(".config"),
        Anchor::Home => home?.to_owned(),
        Anchor::Root => PathBuf::from("/"),
    };
    Some(place.parts().iter().fold(base, |path, part| path.join(part)))
}

/// Converts a real path to a place, relative to the home folder if it is in there.
fn place_of(real: &Path, home: Option<&Path>) -> Option<AnchoredFolder> {
    match home.and_then(|home| real.strip_prefix(home).ok()) {
        Some(below) => AnchoredFolder::parse(&format!("~/{}", below.to_str()?)),
        None => AnchoredFolder::parse(real.to_str()?),
    }
}

/// Returns the home folder with links resolved, so that paths in it can be compared.
pub(crate) fn real_home(home: Option<&AbsPath>) -> Option<PathBuf> {
    let home = home?.as_path();
    Some(std::fs::canonicalize(home).unwrap_or_else(|_| home.to_owned()))
}

/// Returns the folders of openskills and csk, which no script may touch.
pub(crate) fn own_folders(places: &Places) -> Vec<PathBuf> {
    let all = [
        &places.config,
        &places.state,
        &places.cache,
        &places.data,
        &places.csk_home,
        &places.claude,
    ];
    let all = all.into_iter().flatten().map(|place| place.as_path().to_owned());
    all.flat_map(|place| [std::fs::canonicalize(&place).unwrap_or_else(|_| place.clone()), place])
        .collect()
}

/// Returns true if a folder is one of `own`, is inside one, or contains one.
pub(crate) fn overlaps(folder: &Path, own: &[PathBuf]) -> bool {
    own.iter().any(|own| own.starts_with(folder) || folder.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_outside_the_allowlist_must_be_granted_by_name() {
        let home = Path::new("/home/me");
        let own = [PathBuf::from("/home/me/.local/state/openskills")];
        let of = |path: &str| match grant_method(Path::new(path), Some(home), &own) {
            GrantMethod::Prompt => "answer",
            GrantMethod::ExplicitOnly => "name",
            GrantMethod::Never(_) => "never",
        };
        for (path, expected) in [
            ("/home/me/data", "answer"),
            ("/home/me/data/2026/a.csv", "answer"),
            ("/usr/share/dict", "answer"),
            ("/opt/models", "answer"),
            ("/home/me/.ssh", "name"),
            ("/home/me/.ssh/id_ed25519", "name"),
            ("/home/me/.aws/credentials", "name"),
            ("/home/me/.config", "name"),
            ("/home/me/.config/gh/hosts.yml", "name"),
            ("/home/me/.claude/settings.json", "name"),
            ("/home/me/.mozilla/firefox", "name"),
            ("/home/me/work/.env", "name"),
            ("/home/me/Library/Keychains", "name"),
            ("/mnt/c/Users/me/AppData/Roaming", "name"),
            ("/mnt/c/Users/me/.ssh", "name"),
            ("/home/me/keys/server.PEM", "name"),
            ("/home/me/keys/id_rsa", "name"),
            ("/home/me/app/credentials.json", "name"),
            ("/home/me/app/token.json", "name"),
            ("/home/me/app/my-service-account.json", "name"),
            ("/home/me/old-profile/Login Data", "name"),
            ("/home/me/data/rootkey.csv", "name"),
            ("/home/me/data/prod.env", "name"),
            ("/home/me/data/backup-id_rsa", "name"),
            ("/home/me/data/x_accessKeys.csv", "name"),
            ("/home/me/data/terraform.tfstate", "name"),
            ("/home/me/data/tokenizer.json", "answer"),
            ("/home/me/data/keyboard.csv", "answer"),
            ("/home/other/data", "name"),
            ("/root", "name"),
            ("/var/lib/postgresql", "name"),
            ("/srv/site/.git", "name"),
            ("/", "never"),
            ("/home", "never"),
            ("/home/me", "never"),
            ("/etc/shadow", "never"),
            ("/proc/1/environ", "never"),
            ("/run/user/1000", "never"),
            ("/home/me/.local", "never"),
            ("/home/me/.local/state/openskills/log", "never"),
        ] {
            assert_eq!(of(path), expected, "{path}");
        }
    }

    #[test]
    fn a_folder_with_protected_files_must_be_granted_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let (data, other) = (folder.path().join("data"), folder.path().join("other"));
        std::fs::create_dir_all(data.join("2026")).unwrap();
        std::fs::write(data.join("2026/a.csv"), "a").unwrap();
        assert!(is_ordinary_inside(&data));
        assert!(is_ordinary_inside(&data.join("2026/a.csv")));
        for name in [".netrc", "credentials.json", "2026/Login Data", "server.key"] {
            std::fs::write(data.join(name), "x").unwrap();
            assert!(!is_ordinary_inside(&data), "{name}");
            std::fs::remove_file(data.join(name)).unwrap();
        }
        // A key under another name.
        std::fs::write(&other, "key").unwrap();
        std::fs::hard_link(&other, data.join("b.csv")).unwrap();
        assert!(!is_ordinary_inside(&data));
        assert!(!is_ordinary_inside(&data.join("b.csv")));
    }
}
