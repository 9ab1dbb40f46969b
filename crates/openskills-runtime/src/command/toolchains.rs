//! Finds the user's toolchains: programs on PATH that are installed in a home folder, and what they read.
//!
//! The list is positive. Of a home folder, a command line can read only these folders, none of which contain keys or
//! settings of the user; a folder on PATH that is neither listed here nor part of the system is left out of PATH.

use std::path::{Path, PathBuf};

/// A toolchain manager.
struct Toolchain {
    /// The end of its folder on PATH. `*` stands for one name.
    bin: &'static str,
    /// What its programs read, relative to the folder above `bin`. A `*` is the name that the one in `bin` stood for.
    reads: &'static [&'static str],
}

/// The known toolchain managers.
const TOOLCHAINS: [Toolchain; 24] = [
    Toolchain {
        bin: ".cargo/bin",
        reads: &[".cargo/bin", ".rustup/toolchains", ".rustup/settings.toml"],
    },
    Toolchain {
        bin: ".pyenv/shims",
        reads: &[
            ".pyenv/shims",
            ".pyenv/bin",
            ".pyenv/libexec",
            ".pyenv/versions",
            ".pyenv/version",
            ".pyenv/plugins",
        ],
    },
    Toolchain { bin: ".pyenv/bin", reads: &[".pyenv/bin", ".pyenv/libexec", ".pyenv/versions"] },
    Toolchain { bin: ".pyenv/versions/*/bin", reads: &[".pyenv/versions/*"] },
    Toolchain { bin: ".nvm/versions/node/*/bin", reads: &[".nvm/versions/node/*"] },
    Toolchain {
        bin: ".local/share/fnm/node-versions/*/installation/bin",
        reads: &[".local/share/fnm/node-versions/*"],
    },
    Toolchain { bin: ".volta/bin", reads: &[".volta/bin", ".volta/tools"] },
    Toolchain {
        bin: ".asdf/shims",
        reads: &[
            ".asdf/shims",
            ".asdf/bin",
            ".asdf/lib",
            ".asdf/libexec",
            ".asdf/installs",
            ".asdf/plugins",
        ],
    },
    Toolchain { bin: ".asdf/bin", reads: &[".asdf/bin", ".asdf/lib", ".asdf/libexec"] },
    Toolchain {
        bin: ".local/share/mise/shims",
        reads: &[".local/share/mise/shims", ".local/share/mise/installs"],
    },
    Toolchain { bin: ".local/share/mise/installs/*/*/bin", reads: &[".local/share/mise/installs"] },
    Toolchain {
        bin: ".rbenv/shims",
        reads: &[".rbenv/shims", ".rbenv/bin", ".rbenv/libexec", ".rbenv/versions"],
    },
    Toolchain { bin: ".rbenv/bin", reads: &[".rbenv/bin", ".rbenv/libexec"] },
    Toolchain { bin: ".sdkman/candidates/*/current/bin", reads: &[".sdkman/candidates"] },
    Toolchain { bin: ".bun/bin", reads: &[".bun/bin"] },
    Toolchain { bin: ".deno/bin", reads: &[".deno/bin"] },
    Toolchain { bin: ".ghcup/bin", reads: &[".ghcup/bin", ".ghcup/ghc"] },
    Toolchain { bin: "go/bin", reads: &["go/bin"] },
    Toolchain { bin: ".local/go/bin", reads: &[".local/go"] },
    Toolchain {
        bin: ".linuxbrew/bin",
        reads: &[
            ".linuxbrew/bin",
            ".linuxbrew/lib",
            ".linuxbrew/opt",
            ".linuxbrew/Cellar",
            ".linuxbrew/share",
        ],
    },
    Toolchain { bin: ".juliaup/bin", reads: &[".juliaup/bin", ".julia/juliaup"] },
    Toolchain { bin: ".local/share/uv/python/*/bin", reads: &[".local/share/uv/python/*"] },
    Toolchain { bin: ".local/share/pnpm", reads: &[".local/share/pnpm"] },
    Toolchain { bin: ".foundry/bin", reads: &[".foundry/bin"] },
];

/// Folders of the system, which every program in the sandbox can read.
const SYSTEM: [&str; 4] = ["/usr", "/bin", "/sbin", "/lib"];

/// What is kept of the caller's PATH, and what its programs need to read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SearchPath {
    /// The folders, in the caller's order.
    pub(super) folders: Vec<PathBuf>,
    /// Files and folders that the programs in them read.
    pub(super) reads: Vec<PathBuf>,
}

impl SearchPath {
    /// Keeps the folders of PATH that lie in the system, in the workspace or in a known toolchain. `is_allowed` says
    /// whether a path of a toolchain may be read at all.
    pub(super) fn find(
        path: &std::ffi::OsStr,
        workspace: &Path,
        is_allowed: impl Fn(&Path) -> bool,
    ) -> Self {
        let mut found = Self::default();
        for folder in std::env::split_paths(path).filter(|folder| is_plain(folder)) {
            if found.folders.contains(&folder) {
                continue;
            }
            let is_system = SYSTEM.iter().any(|system| folder.starts_with(system));
            if is_system || folder.starts_with(workspace) {
                found.folders.push(folder);
                continue;
            }
            let reads: Vec<PathBuf> = reads(&folder)
                .into_iter()
                .filter(|read| read.exists() && is_allowed(read))
                .collect();
            if reads.iter().any(|read| folder.starts_with(read)) {
                found.folders.push(folder);
                for read in reads {
                    if !found.reads.iter().any(|known| read.starts_with(known)) {
                        found.reads.push(read);
                    }
                }
            }
        }
        for system in ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from) {
            if !found.folders.contains(&system) {
                found.folders.push(system);
            }
        }
        found
    }
}

/// Returns true for an absolute path without `..`.
fn is_plain(path: &Path) -> bool {
    use std::path::Component::{Normal, RootDir};
    path.is_absolute() && path.components().all(|part| matches!(part, RootDir | Normal(_)))
}

/// Returns what the programs in a folder on PATH read, if a known toolchain manager owns the folder.
fn reads(folder: &Path) -> Vec<PathBuf> {
    TOOLCHAINS.iter().find_map(|toolchain| toolchain.reads_of(folder)).unwrap_or_default()
}

impl Toolchain {
    fn reads_of(&self, folder: &Path) -> Option<Vec<PathBuf>> {
        let mut above = folder;
        let mut name = None;
        for part in self.bin.rsplit('/') {
            let own = above.file_name()?.to_str()?;
            match part {
                "*" => name = Some(own),
                part if part == own => {}
                _ => return None,
            }
            above = above.parent()?;
        }
        let path = |read: &&str| above.join(read.replace('*', name.unwrap_or_default()));
        Some(self.reads.iter().map(path).collect())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests")]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn find(home: &Path, path: &[&str]) -> (Vec<String>, Vec<String>) {
        let path: Vec<PathBuf> = path
            .iter()
            .map(|one| if one.starts_with('/') { PathBuf::from(one) } else { home.join(one) })
            .collect();
        let path: OsString = std::env::join_paths(path).expect("no colons");
        let found = SearchPath::find(&path, Path::new("/work/app"), |path| !path.ends_with("keys"));
        let shown = |paths: &[PathBuf]| {
            let shown =
                |path: &PathBuf| path.strip_prefix(home).unwrap_or(path).display().to_string();
            paths.iter().map(shown).collect::<Vec<_>>()
        };
        (shown(&found.folders), shown(&found.reads))
    }

    #[test]
    fn only_the_system_the_workspace_and_known_toolchains_stay_on_path() {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path();
        for folder in [
            ".cargo/bin",
            ".rustup/toolchains",
            ".pyenv/versions/3.12/bin",
            ".ssh",
            "bin",
            ".local/bin",
            "go",
        ] {
            std::fs::create_dir_all(home.join(folder)).expect("a folder");
        }
        let (folders, reads) = find(
            home,
            &[
                "bin",
                ".ssh",
                ".local/bin",
                ".cargo/bin",
                ".pyenv/versions/3.12/bin",
                "go/bin",
                "/work/app/node_modules/.bin",
                "/work/application/bin",
                "/usr/bin",
                "/opt/secret/bin",
                "/usr/../home/other/bin",
                ".cargo/bin",
            ],
        );
        assert_eq!(
            folders,
            [
                ".cargo/bin",
                ".pyenv/versions/3.12/bin",
                "/work/app/node_modules/.bin",
                "/usr/bin",
                "/usr/local/bin",
                "/bin",
            ]
        );
        assert_eq!(reads, [".cargo/bin", ".rustup/toolchains", ".pyenv/versions/3.12"]);
    }

    #[test]
    fn nothing_of_a_toolchain_is_a_key_or_a_setting_of_the_user() {
        for toolchain in &TOOLCHAINS {
            assert!(!toolchain.reads.is_empty(), "{}", toolchain.bin);
            for read in toolchain.reads {
                assert!(read.contains('/'), "{read} is a whole folder of the user");
                assert!(!read.contains("credentials") && !read.contains("config"), "{read}");
            }
        }
    }
}
