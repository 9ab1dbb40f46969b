//! Checks whether the files and URLs of a call may be accessed without approval.

use std::path::{Component, Path};

use shell::Certainty;
use skill::programs::Role;

use super::remote::{is_repository, is_url};
use super::walk::{Argument, MatchedCall, is_number};
use super::{Mismatch, sed};
use crate::decide::policy::call::{cloned, copy_in, packed};
use crate::decide::policy::path::plain as plain_path;
use crate::decide::policy::{CallContext, PathLookup, glob};

/// What is known about the paths of a line.
#[derive(Debug, Clone, Copy)]
pub(in crate::decide::policy) struct Locations<'a> {
    /// What paths are relative to.
    pub(in crate::decide::policy) context: &'a CallContext,
    /// What the file system knows about the words of the line.
    pub(in crate::decide::policy) lookup: &'a PathLookup,
    /// Whether the line changes the working folder, so that relative paths resolve differently.
    pub(in crate::decide::policy) is_moved: bool,
    /// Whether programs may write their output to files.
    pub(in crate::decide::policy) output_writes: OutputWrites,
}

/// Whether programs may write their output to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decide::policy) enum OutputWrites {
    /// Only programs whose purpose is to write files may do so.
    Denied,
    /// Other programs may write their output to files as well.
    Allowed,
}

/// How a path is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decide::policy) enum WriteMode {
    /// Only the path itself is written.
    Itself,
    /// Files are created in it; it may be the workspace itself.
    Into,
    /// An archive is unpacked into it.
    Unpacked,
}

/// Checks every argument of a call.
pub(super) fn check(
    fit: &MatchedCall<'_>,
    program: &str,
    at: &Locations<'_>,
) -> Result<(), Mismatch> {
    for argument in &fit.arguments {
        one(argument, at)?;
        let text = argument.text;
        let odd = |why: &str| Err(Mismatch::Undescribed(format!("`{text}` {why}")));
        match program {
            // tar fetches an archive with a colon in its name from another machine through rsh.
            "tar" | "gtar" if argument.role != Role::Text && text.contains(':') => {
                return odd("refers to another machine");
            }
            // git has its own pathspec syntax.
            "git"
                if matches!(argument.role, Role::Removed | Role::Moved)
                    && (text.starts_with(':') || text.contains(['*', '?', '[', '\\'])) =>
            {
                return odd("is treated as a pattern by git");
            }
            // docker compose fetches a project from any form of URL.
            "docker" | "docker-compose"
                if argument.role == Role::Local && !at.lookup.found.contains_key(text) =>
            {
                return odd("is not an existing file");
            }
            // curl expands globs in URLs and `#` in output names.
            "curl" => {
                let is_globbed =
                    !fit.options.contains(&"-g") && text.contains(['{', '}', '[', ']']);
                let is_made = match argument.role {
                    Role::Url | Role::Sent => is_globbed,
                    Role::Output => text.contains('#'),
                    _ => false,
                };
                if is_made {
                    return odd("is treated as a pattern by curl");
                }
            }
            // The names of the files they create derive from their arguments.
            "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "zstd" | "unzstd" | "zip"
                if argument.role == Role::Write =>
            {
                for made in packed(text) {
                    at.write(&made, argument.certainty, WriteMode::Itself)?;
                }
            }
            _ => {}
        }
    }
    let with = |role: Role| fit.arguments.iter().filter(move |argument| argument.role == role);
    let is_recursive = program == "cp" && fit.options.contains(&"-r");
    for (file, folder) in
        with(Role::Copied).flat_map(|file| with(Role::Destination).map(move |to| (file, to)))
    {
        let made = copy_in(folder.text, file.text);
        let is_exact = file.certainty == Certainty::Exact;
        // An existing folder may contain links, and the copy would write through them.
        if is_recursive && (!is_exact || at.lookup.existing.contains(&made)) {
            let what = format!("`{made}` already exists and may contain symlinks");
            return Err(Mismatch::SensitiveAccess(what));
        }
        // The names that a pattern matches are unknown.
        if is_exact {
            at.write(&made, folder.certainty, WriteMode::Itself)?;
        }
    }
    for file in
        with(Role::Copied).chain(with(Role::Moved)).filter(|_| matches!(program, "cp" | "mv"))
    {
        at.import_from(file.text)?;
    }
    if with(Role::Repository).count() > 0 && with(Role::Write).count() == 0 && fit.is_cloned() {
        for address in with(Role::Repository) {
            let folder = cloned(address.text).unwrap_or_else(|| address.text.to_owned());
            at.write(&folder, address.certainty, WriteMode::Itself)?;
        }
    }
    Ok(())
}

fn one(argument: &Argument<'_>, at: &Locations<'_>) -> Result<(), Mismatch> {
    let Argument { role, text, certainty, .. } = *argument;
    let is_exact = certainty == Certainty::Exact;
    let fits = match role {
        Role::Text | Role::Read => true,
        Role::Local => is_exact && !is_address(text),
        Role::Number => is_number(text),
        Role::Write => return at.write(text, certainty, WriteMode::Itself),
        Role::Output => return at.output(text, certainty),
        Role::Destination => return at.write(text, certainty, WriteMode::Into),
        Role::Folder => return at.write(text, certainty, WriteMode::Unpacked),
        Role::Copied => return at.copied(text, certainty),
        Role::Removed => return at.remove(text, certainty),
        Role::Moved => {
            at.copied(text, certainty)?;
            return at.remove(text, certainty);
        }
        // After a prefix with a colon, git opens an editor.
        Role::Commit => is_exact && !text.contains(':'),
        Role::Pretty => is_exact && !verifies(text),
        // Only a repository on the host that gh is logged in to.
        Role::Hub => is_exact && !text.contains([':', '\\']) && text.matches('/').count() == 1,
        // A leading slash marks a command from the user.
        Role::Skill => is_exact && is_skill(text),
        Role::Format => text.starts_with('+'),
        Role::Sent => return at.sent(text, certainty),
        Role::Url => is_url(text),
        Role::Data => match text.strip_prefix('@') {
            Some(file) => return at.sent(file, certainty),
            None => true,
        },
        Role::Form => return form(text, certainty, at),
        Role::Cookie => text.contains('='),
        Role::WriteOut => !text.starts_with('@') && !text.contains("%output"),
        // Only suffixes that cannot turn the backup into another file's name.
        Role::Ending => {
            matches!(text, "" | "~" | ".bak" | ".backup" | ".orig" | ".old" | ".tmp")
        }
        Role::Sed => is_exact && sed::are_plain(text),
        // git treats a name that is not a remote as a folder, now or later in the line.
        Role::Remote => is_exact && (at.context.git.remotes.contains(text) || is_repository(text)),
        Role::Repository => is_exact && is_repository(text),
        Role::Key => is_exact && text.contains('.'),
        Role::Package => is_exact && is_package(text),
    };
    if fits {
        return Ok(());
    }
    let what = match role {
        Role::Url => "is not an http or https URL",
        Role::Remote => "is neither a remote of this repository nor the URL of a remote repository",
        Role::Repository => "is not the URL of a remote repository",
        Role::Sed => "may run commands, or read or write files",
        _ => "is not a known argument",
    };
    Err(Mismatch::Undescribed(format!("`{text}` {what}")))
}

/// Returns true for a URL with a scheme, with any number of slashes after it.
fn is_address(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.contains("://") || lower.starts_with("http:") || lower.starts_with("https:")
}

/// Checks a curl form field: `name=text`, `name=@file` or `name=<file`. Without `=` it names no file.
fn form(text: &str, certainty: Certainty, at: &Locations<'_>) -> Result<(), Mismatch> {
    let odd = || Mismatch::Undescribed(format!("`{text}` may upload a file"));
    let Some((_, value)) = text.split_once('=') else {
        return if text.contains('@') { Err(odd()) } else { Ok(()) };
    };
    // The expansion may start with `@`.
    let is_open = certainty != Certainty::Exact && value.starts_with(['$', '*', '?', '[']);
    if is_open || value.to_ascii_lowercase().contains("headers") {
        return Err(odd());
    }
    match value.strip_prefix(['@', '<']) {
        None => Ok(()),
        // curl parses quoted names, several names and spaces differently.
        Some(file) if file.contains([',', '"', '\\']) || file.contains(char::is_whitespace) => {
            Err(odd())
        }
        Some(file) => at.sent(file.split(';').next().unwrap_or(file), certainty),
    }
}

/// Returns true for a git format that verifies signatures, which runs gpg.
fn verifies(format: &str) -> bool {
    let mut parts = format.split('%').skip(1);
    let is_signature = parts.any(|part| part.trim_start_matches(['+', '-', ' ']).starts_with('G'));
    is_signature || format.contains("signature")
}

fn is_skill(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@'))
}

/// Returns true for a registry package name, optionally with a version; not for a folder, a URL or `user/repository`.
fn is_package(text: &str) -> bool {
    let (scoped, rest) = match text.strip_prefix('@') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let slashes = rest.matches('/').count();
    rest.starts_with(|c: char| c.is_ascii_alphanumeric())
        && slashes == usize::from(scoped)
        && !rest.contains([':', '#', '\\'])
}

impl Locations<'_> {
    /// Returns why writing a file needs approval: it is outside the workspace and `/tmp`, or it configures other
    /// programs.
    pub(in crate::decide::policy) fn write(
        &self,
        text: &str,
        certainty: Certainty,
        how: WriteMode,
    ) -> Result<(), Mismatch> {
        if matches!(text, "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr") {
            return Ok(());
        }
        let outside =
            |why: &str| Mismatch::SensitiveAccess(format!("the command changes `{text}`: {why}"));
        // A pattern may match a link, or a file that configures other programs.
        match certainty {
            Certainty::Exact => self.place(text, how, &outside),
            Certainty::Prefix | Certainty::Unknown => {
                Err(outside("the path is not known in advance"))
            }
        }
    }

    /// Returns why removing a file needs approval. Removing by pattern deletes links without following them.
    fn remove(&self, text: &str, certainty: Certainty) -> Result<(), Mismatch> {
        let outside =
            |why: &str| Mismatch::SensitiveAccess(format!("the command removes `{text}`: {why}"));
        match certainty {
            Certainty::Exact => self.write(text, certainty, WriteMode::Itself),
            Certainty::Prefix => {
                let folder = before_pattern(text)
                    .ok_or_else(|| outside("the path is not known in advance"))?;
                self.place(folder, WriteMode::Into, &outside)
            }
            Certainty::Unknown => Err(outside("the path is not known in advance")),
        }
    }

    fn place(
        &self,
        sure: &str,
        how: WriteMode,
        outside: &dyn Fn(&str) -> Mismatch,
    ) -> Result<(), Mismatch> {
        let is_absolute = Path::new(sure).is_absolute();
        if self.is_moved && !is_absolute {
            return Err(outside("the command line changes to another folder"));
        }
        let named =
            self.context.plain_paths(sure).ok_or_else(|| outside("the path is not valid"))?;
        let real = match self.lookup.real.get(sure) {
            Some(real) => Some(real.clone()),
            // The real path of the working folder itself is known.
            None if sure.is_empty() => self.context.cwd.last().cloned(),
            None => None,
        };
        let real = real.ok_or_else(|| outside("the path cannot be resolved"))?;
        let all = named.iter().map(|path| plain_path(path)).chain([real]);
        for path in all.collect::<Vec<_>>() {
            self.one_place(&path, how).map_err(outside)?;
        }
        if how == WriteMode::Unpacked && self.lookup.existing.contains(sure) {
            return Err(outside(
                "the folder already exists and may contain symlinks or files that configure other programs",
            ));
        }
        Ok(())
    }

    /// Returns why writing a program's output to a file needs approval.
    fn output(&self, text: &str, certainty: Certainty) -> Result<(), Mismatch> {
        let is_nowhere = matches!(text, "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr");
        if !is_nowhere && self.output_writes == OutputWrites::Denied {
            return Err(Mismatch::SensitiveAccess(format!(
                "the command writes `{text}`, and no rule allows `Write`"
            )));
        }
        self.write(text, certainty, WriteMode::Itself)
    }

    fn one_place(&self, path: &Path, how: WriteMode) -> Result<(), &'static str> {
        let work = below_workspace(path, self.context);
        let is_work = work.is_some();
        let Some(below) = work.or_else(|| below_temporary(path, self.context)) else {
            return Err("the path is outside the workspace");
        };
        if path.ancestors().any(|way| self.lookup.repositories.contains(way)) {
            return Err("git treats the folder as a repository");
        }
        if below.as_os_str().is_empty() && how != WriteMode::Into {
            return Err("the path is the workspace itself");
        }
        if how == WriteMode::Unpacked && is_work {
            return Err("an archive may contain a repository, and git would use its configuration");
        }
        let is_home = is_work && self.context.is_home();
        let is_hidden = |name: &str| is_home && name.starts_with('.');
        for part in below.components() {
            let Component::Normal(name) = part else { return Err("the path contains `..`") };
            let Some(name) = name.to_str() else { return Err("the name is not valid UTF-8") };
            if is_protected(name) || is_hidden(name) {
                return Err("the file configures other programs");
            }
        }
        Ok(())
    }

    /// Returns why copying a file under its own name needs approval.
    fn copied(&self, text: &str, certainty: Certainty) -> Result<(), Mismatch> {
        let last = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let is_plain = match certainty {
            Certainty::Exact => !matches!(last, "" | "." | "..") && !is_protected(last),
            // A pattern that matches every name would also match the files that make a folder a repository.
            Certainty::Prefix => {
                !last.starts_with('.') && last.contains('.') && !may_match_protected(last)
            }
            Certainty::Unknown => false,
        };
        let real = self.lookup.real.get(text).and_then(|real| real.file_name()?.to_str());
        if is_plain && !real.is_some_and(is_protected) {
            return Ok(());
        }
        Err(Mismatch::SensitiveAccess(format!(
            "the command copies `{text}`, which configures other programs"
        )))
    }

    /// Returns why copying or moving something into the workspace needs approval: a folder from elsewhere may contain a
    /// repository, whose settings git obeys.
    fn import_from(&self, text: &str) -> Result<(), Mismatch> {
        let outside = || {
            Mismatch::SensitiveAccess(format!(
                "`{text}` is outside the workspace and may contain a repository"
            ))
        };
        let named = self.context.plain_paths(text).ok_or_else(outside)?;
        let real = self.lookup.real.get(text).cloned();
        let mut paths = named.iter().map(|path| plain_path(path)).chain(real);
        let is_inside = paths.all(|path| below_workspace(&path, self.context).is_some());
        let is_file = self.lookup.found.contains_key(text) && !self.lookup.folders.contains(text);
        if is_file || is_inside { Ok(()) } else { Err(outside()) }
    }

    /// Returns why sending a file to another machine needs approval.
    fn sent(&self, text: &str, certainty: Certainty) -> Result<(), Mismatch> {
        if text == "-" {
            return Ok(());
        }
        // curl treats these as standard input.
        if text.trim_matches(['.', '/']).is_empty() {
            return Err(Mismatch::SensitiveAccess(format!(
                "the command sends `{text}`, which may be standard input"
            )));
        }
        match self.write(text, certainty, WriteMode::Into) {
            Ok(()) => Ok(()),
            Err(_) => {
                Err(Mismatch::SensitiveAccess(format!("the command uploads the file `{text}`")))
            }
        }
    }
}

/// Returns the folder of a pattern that has wildcards only in its last component and matches no hidden names.
fn before_pattern(text: &str) -> Option<&str> {
    let start = text.find(['*', '?', '[', '$', '~'])?;
    let folder_end = text[..start].rfind('/').map_or(0, |slash| slash + 1);
    let (folder, last) = text.split_at(folder_end);
    let is_name = !last.contains(['/', '$', '~']) && !last.starts_with('.');
    (is_name && !may_match_protected(last)).then_some(folder)
}

fn below_workspace<'a>(path: &'a Path, context: &CallContext) -> Option<&'a Path> {
    context.workspace.iter().find_map(|root| path.strip_prefix(root).ok())
}

/// Returns the path relative to the temporary folder, unless it is in the user's home folder.
fn below_temporary<'a>(path: &'a Path, context: &CallContext) -> Option<&'a Path> {
    if context.home.iter().any(|home| path.starts_with(home)) {
        return None;
    }
    let below = ["/tmp", "/private/tmp"].iter().find_map(|root| path.strip_prefix(root).ok());
    below.filter(|below| !below.as_os_str().is_empty())
}

/// Returns true for a path that is neither in the workspace nor in the temporary folder.
pub(in crate::decide::policy) fn is_outside(path: &Path, context: &CallContext) -> bool {
    let path = plain_path(path);
    below_workspace(&path, context).is_none() && below_temporary(&path, context).is_none()
}

/// Returns true for a path with a component that configures other programs.
pub(in crate::decide::policy) fn steers(path: &Path, context: &CallContext) -> bool {
    let is_hidden = |name: &str| context.is_home() && name.starts_with('.');
    below_workspace(path, context).unwrap_or(path).components().any(|part| match part {
        Component::Normal(name) => {
            name.to_str().is_none_or(|name| is_protected(name) || is_hidden(name))
        }
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            false
        }
    })
}

/// Returns true if a pattern may match a name that configures other programs.
fn may_match_protected(pattern: &str) -> bool {
    let lower = pattern.to_lowercase();
    let mut names = ["HEAD"].into_iter().chain(sandbox::protected());
    lower.contains(['?', '[']) || names.any(|name| glob(&lower, &name.to_lowercase()))
}

/// Returns true for a name that configures other programs, in any case folding and with a compression suffix or
/// without. `HEAD` is included because a folder without it is not a repository.
fn is_protected(name: &str) -> bool {
    let is_known = |name: &str| skill::is_name_of(name, "HEAD") || sandbox::is_protected(name);
    is_known(name) || name.rsplit_once('.').is_some_and(|(unpacked, _)| is_known(unpacked))
}
