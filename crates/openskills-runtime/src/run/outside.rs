//! Places beyond the skill and the workspace: what paths mean on this machine, and which of them no declaration opens by itself.

#![expect(clippy::disallowed_methods, reason = "the edge: what a path leads to")]

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Component, Path, PathBuf};

use skill::capabilities::{Anchor, Cover, Declared, Place, Reach};
use skill_fs::AbsPath;

use crate::{Places, RuntimeError};

/// Folders outside the home whose visible content a user may confirm by an answer. Everything else has to be named.
const OPEN: [&str; 6] = ["/usr", "/opt", "/srv", "/mnt", "/media", "/data"];
/// Folders of the system that the sandbox never grants.
const SYSTEM: [&str; 7] = ["/run", "/var/run", "/proc", "/sys", "/dev", "/etc", "/boot"];
/// Visible folders in which systems keep keychains, browsers' profiles and tokens.
const STORES: [&str; 3] = ["Library", "AppData", "snap"];
/// How many entries of a declared folder are looked at.
const MAX_LOOKED: usize = 20_000;
/// Words in the names of files that hold credentials, whichever program wrote them.
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
/// Files that make a folder the profile of a browser, wherever it was moved to.
const PROFILES: [&str; 6] =
    ["login data", "local state", "key4.db", "cert9.db", "web data", "formhistory.sqlite"];
/// Endings of files that hold keys.
const KEYS: [&str; 14] = [
    "pem", "key", "p12", "pfx", "jks", "kdbx", "keystore", "keychain", "ppk", "keytab", "gpg",
    "asc", "ovpn", "agekey",
];

/// The places beyond the skill and the workspace that a plan is about, each by its real path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutsidePlaces {
    /// Those that the user named.
    pub named: BTreeSet<Place>,
    /// Those that the skill declares and an answer of the user grants.
    pub declared: BTreeSet<Place>,
    /// Those that the skill declares and no answer grants: keys, credentials, settings of agents, browsers' profiles.
    pub protected: BTreeSet<Place>,
    /// Everything that the skill lists, if it does: nothing else can be granted then.
    pub listed: Option<BTreeSet<Place>>,
}

/// How a place can be granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// By an answer to a question that shows it.
    Answer,
    /// By its name alone.
    Name,
    /// Not at all.
    Never(&'static str),
}

impl OutsidePlaces {
    /// Finds out what is meant. What is declared and not there is left out; what is named and not there is an error.
    pub(crate) fn find(
        declared: &Declared,
        asked: &[PathBuf],
        places: &Places,
    ) -> Result<Self, RuntimeError> {
        let home = real_home(places.home.as_ref());
        let home = home.as_deref();
        let own = own_places(places);
        let mut found = Self::default();
        if let Some(Reach::Only(all)) = &declared.read {
            let mut listed = BTreeSet::new();
            for path in all.iter().filter_map(|place| path_of(place, home)) {
                let Ok(real) = std::fs::canonicalize(&path) else { continue };
                let Some(place) = place_of(&real, home) else { continue };
                listed.insert(place.clone());
                match access(&real, home, &own) {
                    Access::Answer if is_ordinary_inside(&real) => found.declared.insert(place),
                    Access::Answer | Access::Name | Access::Never(_) => {
                        found.protected.insert(place)
                    }
                };
            }
            found.listed = Some(listed);
        }
        for path in asked {
            found.named.insert(named(path, places, home, &own)?);
        }
        Ok(found)
    }

    /// Returns true if the skill may be given a place: it declares it, or lists nothing.
    pub(crate) fn may_have(&self, place: &Place) -> bool {
        self.listed.as_ref().is_none_or(|listed| listed.iter().any(|own| own.covers(place)))
    }
}

/// Returns the place that the user named.
fn named(
    path: &Path,
    places: &Places,
    home: Option<&Path>,
    own: &[PathBuf],
) -> Result<Place, RuntimeError> {
    let refused = |message: String| RuntimeError::Setup {
        message: format!("cannot grant `{}`: {message}", path.display()),
        hint: Some("name a file or folder: --read PATH".to_owned()),
    };
    let full = match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        (Ok(_), None) | (Err(_), _) => places.cwd.as_path().join(path),
    };
    let real = std::fs::canonicalize(full).map_err(|error| refused(error.to_string()))?;
    match access(&real, home, own) {
        Access::Never(why) => Err(refused(why.to_owned())),
        Access::Answer | Access::Name => place_of(&real, home)
            .ok_or_else(|| refused("its name has characters that cannot be shown".to_owned())),
    }
}

/// Returns how a real path can be granted. What is not known to be ordinary has to be named.
fn access(real: &Path, home: Option<&Path>, own: &[PathBuf]) -> Access {
    if real.parent().is_none() || home.is_some_and(|home| home.starts_with(real)) {
        return Access::Never("it holds your whole home");
    }
    if SYSTEM.iter().any(|system| real.starts_with(system)) {
        return Access::Never("it belongs to the system");
    }
    if touches(real, own) {
        return Access::Never("it holds files of openskills or csk");
    }
    let below = match home.and_then(|home| real.strip_prefix(home).ok()) {
        Some(below) => Some(below),
        None => OPEN.iter().find_map(|open| real.strip_prefix(open).ok()),
    };
    match below {
        Some(below) if below.components().all(is_ordinary) => Access::Answer,
        Some(_) | None => Access::Name,
    }
}

/// Returns true for a name that hides nothing and holds no keys by what it is called.
fn is_ordinary(part: Component<'_>) -> bool {
    let Component::Normal(name) = part else { return false };
    let Some(name) = name.to_str() else { return false };
    !name.starts_with('.')
        && !STORES.iter().any(|store| store.eq_ignore_ascii_case(name))
        && !is_key_name(name)
}

/// Returns true for a name that files with keys or credentials have.
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

/// Returns true if nothing in a folder has to be named: no hidden name and no key, nothing of another file system, and no file that has another
/// name elsewhere. A folder that is too large to look through has to be named.
fn is_ordinary_inside(real: &Path) -> bool {
    let Ok(root) = std::fs::symlink_metadata(real) else { return false };
    if !root.is_dir() {
        return !has_other_names(&root);
    }
    let mut open = vec![real.to_owned()];
    let mut left = MAX_LOOKED;
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

/// Returns true for what is on another file system than the folder.
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

/// Returns the path of a place outside the skill and the workspace.
pub(crate) fn path_of(place: &Place, home: Option<&Path>) -> Option<PathBuf> {
    let base = match place.anchor() {
        Anchor::Skill | Anchor::Workspace => return None,
        Anchor::HomeConfig => home?.join(".config"),
        Anchor::Home => home?.to_owned(),
        Anchor::Root => PathBuf::from("/"),
    };
    Some(place.parts().iter().fold(base, |path, part| path.join(part)))
}

/// Returns a real path as a place: below the home where it is, so that it reads the same for everybody.
fn place_of(real: &Path, home: Option<&Path>) -> Option<Place> {
    match home.and_then(|home| real.strip_prefix(home).ok()) {
        Some(below) => Place::parse(&format!("~/{}", below.to_str()?)),
        None => Place::parse(real.to_str()?),
    }
}

/// Returns the home without links, so that places in it compare.
pub(crate) fn real_home(home: Option<&AbsPath>) -> Option<PathBuf> {
    let home = home?.as_path();
    Some(std::fs::canonicalize(home).unwrap_or_else(|_| home.to_owned()))
}

/// Returns the folders in which openskills and csk keep what no script may touch.
pub(crate) fn own_places(places: &Places) -> Vec<PathBuf> {
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

/// Returns true if a folder is one of those, or in one, or holds one.
pub(crate) fn touches(folder: &Path, own: &[PathBuf]) -> bool {
    own.iter().any(|own| own.starts_with(folder) || folder.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_to_be_ordinary_has_to_be_named() {
        let home = Path::new("/home/me");
        let own = [PathBuf::from("/home/me/.local/state/openskills")];
        let of = |path: &str| match access(Path::new(path), Some(home), &own) {
            Access::Answer => "answer",
            Access::Name => "name",
            Access::Never(_) => "never",
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
    fn a_folder_with_something_that_has_to_be_named_has_to_be_named_itself() {
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
