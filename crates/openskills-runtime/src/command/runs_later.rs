//! Finds changed files that programs outside of the sandbox may run later, when the user builds or tests the project.
//!
//! Nothing restricts their later use, so they are listed. Files that run just because a user enters the folder are
//! protected names and are never written.

use std::path::Path;

/// Names of files that build tools, test runners and package managers execute or take commands from.
const NAMES: [&str; 46] = [
    "makefile",
    "gnumakefile",
    "justfile",
    "taskfile.yml",
    "taskfile.yaml",
    "package.json",
    "package-lock.json",
    "gruntfile.js",
    "gulpfile.js",
    "conftest.py",
    "setup.py",
    "setup.cfg",
    "pyproject.toml",
    "tox.ini",
    "noxfile.py",
    "pytest.ini",
    "manage.py",
    "sitecustomize.py",
    "usercustomize.py",
    "build.rs",
    "cargo.toml",
    "cmakelists.txt",
    "meson.build",
    "configure",
    "configure.ac",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "gradlew",
    "pom.xml",
    "mvnw",
    "build.sbt",
    "rakefile",
    "gemfile",
    "composer.json",
    "dockerfile",
    "containerfile",
    "docker-compose.yml",
    "compose.yml",
    "compose.yaml",
    "vagrantfile",
    "jenkinsfile",
    "workspace",
    "build.bazel",
    "go.mod",
    "dune",
];
/// Extensions of such files.
const EXTENSIONS: [&str; 10] =
    ["mk", "cmake", "pth", "csproj", "targets", "props", "nix", "service", "gemspec", "bzl"];
/// The ends of names such as `vite.config.ts`, which tools execute.
const CONFIGS: [&str; 6] =
    [".config.js", ".config.cjs", ".config.mjs", ".config.ts", ".config.mts", ".config.py"];
/// Folders whose files are packages of other authors; they are too many to list.
const PACKAGES: [&str; 4] = ["node_modules", ".venv", "venv", "target"];

/// Returns true for a file that a program outside of the sandbox may run later.
pub(super) fn runs_later(path: &Path) -> bool {
    let is_package =
        path.components().any(|part| PACKAGES.iter().any(|folder| part.as_os_str() == *folder));
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return !is_package };
    let name = name.to_lowercase();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_known = NAMES.contains(&name.as_str())
        || extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
        || CONFIGS.iter().any(|end| name.ends_with(end));
    is_known && !is_package
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_builds_and_tests_execute_are_listed() {
        for path in [
            "Makefile",
            "sub/package.json",
            "tests/conftest.py",
            "vite.config.ts",
            "build.rs",
            "app.csproj",
            "Dockerfile",
        ] {
            assert!(runs_later(Path::new(path)), "{path}");
        }
        for path in [
            "src/main.rs",
            "README.md",
            "node_modules/x/package.json",
            ".venv/lib/x/conftest.py",
            "target/debug/build/x/build.rs",
        ] {
            assert!(!runs_later(Path::new(path)), "{path}");
        }
    }
}
