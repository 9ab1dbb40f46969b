//! Whether the files and addresses of a call that fits its description may be reached without a question.

use std::path::{Component, Path};

use shell::Certainty;
use skill::programs::Role;

use super::remote::{is_repository, is_url};
use super::walk::{Argument, Fit, is_number};
use super::{Doubt, sed};
use crate::decide::policy::call::{cloned, copy_in, packed};
use crate::decide::policy::path::plain as plain_path;
use crate::decide::policy::{Seen, Surroundings, glob};

/// Where the paths of a line lead.
#[derive(Debug, Clone, Copy)]
pub(in crate::decide::policy) struct Locations<'a> {
    /// What paths are relative to.
    pub(in crate::decide::policy) around: &'a Surroundings,
    /// What the disk says about the words of the line.
    pub(in crate::decide::policy) seen: &'a Seen,
    /// Whether the line goes to another folder, so that relative paths lead elsewhere.
    pub(in crate::decide::policy) is_moved: bool,
    /// Whether a rule allows that files are written.
    pub(in crate::decide::policy) files: Files,
}

/// Whether a rule allows that files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decide::policy) enum Files {
    /// Only by programs that are there to write.
    AreNotWritten,
    /// By the output of others as well.
    MayBeWritten,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decide::policy) enum Written {
    /// It alone.
    Itself,
    /// Things are put into it; it may be the workspace.
    Into,
    /// Whatever an archive holds is put into it.
    Unpacked,
}

/// Checks every argument of a call.
pub(super) fn check(fit: &Fit<'_>, program: &str, at: &Locations<'_>) -> Result<(), Doubt> {
    for argument in &fit.arguments {
        one(argument, at)?;
        let text = argument.text;
        let odd = |why: &str| Err(Doubt::Undescribed(format!("`{text}` {why}")));
        match program {
            // An archive with a colon in its name is on another machine, and rsh fetches it.
            "tar" | "gtar" if argument.role != Role::Text && text.contains(':') => {
                return odd("names another machine");
            }
            // git has patterns and words of its own for paths.
            "git"
                if matches!(argument.role, Role::Removed | Role::Moved)
                    && (text.starts_with(':') || text.contains(['*', '?', '[', '\\'])) =>
            {
                return odd("is a pattern to git");
            }
            // It fetches a project that it is given by an address, of whatever form.
            "docker" | "docker-compose"
                if argument.role == Role::Local && !at.seen.found.contains_key(text) =>
            {
                return odd("is not a file that is there");
            }
            // curl makes several addresses and names out of one.
            "curl" => {
                let is_globbed =
                    !fit.options.contains(&"-g") && text.contains(['{', '}', '[', ']']);
                let is_made = match argument.role {
                    Role::Url | Role::Sent => is_globbed,
                    Role::Output => text.contains('#'),
                    _ => false,
                };
                if is_made {
                    return odd("is a pattern to curl");
                }
            }
            // What they make is named after what they are given.
            "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "zstd" | "unzstd" | "zip"
                if argument.role == Role::Write =>
            {
                for made in packed(text) {
                    at.write(&made, argument.certainty, Written::Itself)?;
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
        // A folder that is there already may hold links, which are written through.
        if is_recursive && (!is_exact || at.seen.existing.contains(&made)) {
            let what = format!("`{made}` is there already: what is in it may be a link");
            return Err(Doubt::Reaches(what));
        }
        // Of a pattern the names are not known.
        if is_exact {
            at.write(&made, folder.certainty, Written::Itself)?;
        }
    }
    for file in
        with(Role::Copied).chain(with(Role::Moved)).filter(|_| matches!(program, "cp" | "mv"))
    {
        at.brought(file.text)?;
    }
    if with(Role::Repository).count() > 0 && with(Role::Write).count() == 0 && fit.is_cloned() {
        for address in with(Role::Repository) {
            let folder = cloned(address.text).unwrap_or_else(|| address.text.to_owned());
            at.write(&folder, address.certainty, Written::Itself)?;
        }
    }
    Ok(())
}

fn one(argument: &Argument<'_>, at: &Locations<'_>) -> Result<(), Doubt> {
    let Argument { role, text, certainty, .. } = *argument;
    let is_exact = certainty == Certainty::Exact;
    let fits = match role {
        Role::Text | Role::Read => true,
        Role::Local => is_exact && !is_address(text),
        Role::Number => is_number(text),
        Role::Write => return at.write(text, certainty, Written::Itself),
        Role::Output => return at.output(text, certainty),
        Role::Destination => return at.write(text, certainty, Written::Into),
        Role::Folder => return at.write(text, certainty, Written::Unpacked),
        Role::Copied => return at.copied(text, certainty),
        Role::Removed => return at.remove(text, certainty),
        Role::Moved => {
            at.copied(text, certainty)?;
            return at.remove(text, certainty);
        }
        // With a colon before it git opens an editor.
        Role::Commit => is_exact && !text.contains(':'),
        Role::Pretty => is_exact && !verifies(text),
        // A repository of the host that gh is logged in to, not of another one.
        Role::Hub => is_exact && !text.contains([':', '\\']) && text.matches('/').count() == 1,
        // With a slash before it, it is the user who speaks.
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
        // A backup gets the ending, so that it must not make another name of it.
        Role::Ending => {
            matches!(text, "" | "~" | ".bak" | ".backup" | ".orig" | ".old" | ".tmp")
        }
        Role::Sed => is_exact && sed::are_plain(text),
        // git takes a name that is no remote for a folder, here or later in the line.
        Role::Remote => is_exact && (at.around.git.remotes.contains(text) || is_repository(text)),
        Role::Repository => is_exact && is_repository(text),
        Role::Key => is_exact && text.contains('.'),
        Role::Package => is_exact && is_package(text),
    };
    if fits {
        return Ok(());
    }
    let what = match role {
        Role::Url => "is not an http or https address",
        Role::Remote => {
            "is neither a remote of this repository nor a repository on another machine"
        }
        Role::Repository => "is not a repository on another machine",
        Role::Sed => "may run, read or write something",
        _ => "is not described as an argument",
    };
    Err(Doubt::Undescribed(format!("`{text}` {what}")))
}

/// Returns true for an address with a scheme, however many slashes follow it.
fn is_address(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.contains("://") || lower.starts_with("http:") || lower.starts_with("https:")
}

/// `name=text`, `name=@file`, `name=<file`; without a `=` there is no file either.
fn form(text: &str, certainty: Certainty, at: &Locations<'_>) -> Result<(), Doubt> {
    let odd = || Doubt::Undescribed(format!("`{text}` may send a file"));
    let Some((_, value)) = text.split_once('=') else {
        return if text.contains('@') { Err(odd()) } else { Ok(()) };
    };
    // What expands may begin with an `@`.
    let is_open = certainty != Certainty::Exact && value.starts_with(['$', '*', '?', '[']);
    if is_open || value.to_ascii_lowercase().contains("headers") {
        return Err(odd());
    }
    match value.strip_prefix(['@', '<']) {
        None => Ok(()),
        // Names in quotes, several of them, and blanks are read otherwise by curl.
        Some(file) if file.contains([',', '"', '\\']) || file.contains(char::is_whitespace) => {
            Err(odd())
        }
        Some(file) => at.sent(file.split(';').next().unwrap_or(file), certainty),
    }
}

/// Returns true for a format of git that has a signature verified, which runs gpg.
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

/// A name in the registry, with a version perhaps: no folder, address or `user/repository`.
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
    /// Returns why a file should not be written without a question: it is not below the workspace or `/tmp`, or its name steers
    /// other programs.
    pub(in crate::decide::policy) fn write(
        &self,
        text: &str,
        certainty: Certainty,
        how: Written,
    ) -> Result<(), Doubt> {
        if matches!(text, "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr") {
            return Ok(());
        }
        let outside = |why: &str| Doubt::Reaches(format!("`{text}` is written, {why}"));
        // The last match of a pattern may be a link or a name that steers.
        match certainty {
            Certainty::Exact => self.place(text, how, &outside),
            Certainty::Begins | Certainty::Unknown => Err(outside("wherever it leads")),
        }
    }

    /// Returns why a file should not be removed without a question. A pattern of names removes links, and follows none.
    fn remove(&self, text: &str, certainty: Certainty) -> Result<(), Doubt> {
        let outside = |why: &str| Doubt::Reaches(format!("`{text}` is removed, {why}"));
        match certainty {
            Certainty::Exact => self.write(text, certainty, Written::Itself),
            Certainty::Begins => {
                let folder = before_pattern(text).ok_or_else(|| outside("wherever it leads"))?;
                self.place(folder, Written::Into, &outside)
            }
            Certainty::Unknown => Err(outside("wherever it leads")),
        }
    }

    fn place(
        &self,
        sure: &str,
        how: Written,
        outside: &dyn Fn(&str) -> Doubt,
    ) -> Result<(), Doubt> {
        let is_absolute = Path::new(sure).is_absolute();
        if self.is_moved && !is_absolute {
            return Err(outside("in another folder"));
        }
        let named = self.around.plain_paths(sure).ok_or_else(|| outside("whatever it is"))?;
        let real = match self.seen.real.get(sure) {
            Some(real) => Some(real.clone()),
            // The working folder itself is known by where it really is.
            None if sure.is_empty() => self.around.cwd.last().cloned(),
            None => None,
        };
        let real = real.ok_or_else(|| outside("and nobody looked where it leads"))?;
        let all = named.iter().map(|path| plain_path(path)).chain([real]);
        for path in all.collect::<Vec<_>>() {
            self.one_place(&path, how).map_err(outside)?;
        }
        if how == Written::Unpacked && self.seen.existing.contains(sure) {
            return Err(outside(
                "and it is there already: what is in it may be a link, or steer other programs",
            ));
        }
        Ok(())
    }

    /// Returns why the output of a program that is not there to write should not go into a file without a question.
    fn output(&self, text: &str, certainty: Certainty) -> Result<(), Doubt> {
        let is_nowhere = matches!(text, "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr");
        if !is_nowhere && self.files == Files::AreNotWritten {
            return Err(Doubt::Reaches(format!("`{text}` is written, and no rule allows `Write`")));
        }
        self.write(text, certainty, Written::Itself)
    }

    fn one_place(&self, path: &Path, how: Written) -> Result<(), &'static str> {
        let work = below_workspace(path, self.around);
        let is_work = work.is_some();
        let Some(below) = work.or_else(|| below_temporary(path, self.around)) else {
            return Err("outside of the workspace");
        };
        if path.ancestors().any(|way| self.seen.repositories.contains(way)) {
            return Err("and its folder is a repository to git");
        }
        if below.as_os_str().is_empty() && how != Written::Into {
            return Err("and it is the workspace itself");
        }
        if how == Written::Unpacked && is_work {
            return Err("and an archive may hold a repository, whose settings git obeys");
        }
        let is_home = is_work && self.around.is_home();
        let is_hidden = |name: &str| is_home && name.starts_with('.');
        for part in below.components() {
            let Component::Normal(name) = part else { return Err("by a path that leads up") };
            let Some(name) = name.to_str() else { return Err("by a name that is no text") };
            if is_protected(name) || is_hidden(name) {
                return Err("and its name steers other programs");
            }
        }
        Ok(())
    }

    /// Returns why a file should not be copied under its own name.
    fn copied(&self, text: &str, certainty: Certainty) -> Result<(), Doubt> {
        let last = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let is_plain = match certainty {
            Certainty::Exact => !matches!(last, "" | "." | "..") && !is_protected(last),
            // A pattern of all names may match those that make a folder a repository.
            Certainty::Begins => {
                !last.starts_with('.') && last.contains('.') && !may_match_protected(last)
            }
            Certainty::Unknown => false,
        };
        let real = self.seen.real.get(text).and_then(|real| real.file_name()?.to_str());
        if is_plain && !real.is_some_and(is_protected) {
            return Ok(());
        }
        Err(Doubt::Reaches(format!("`{text}` is copied, and its name steers other programs")))
    }

    /// Returns why something should not be brought into the workspace: a folder from elsewhere may hold a repository, whose settings git obeys.
    fn brought(&self, text: &str) -> Result<(), Doubt> {
        let outside = || {
            Doubt::Reaches(format!("`{text}` is not in the workspace, and may hold a repository"))
        };
        let named = self.around.plain_paths(text).ok_or_else(outside)?;
        let real = self.seen.real.get(text).cloned();
        let mut paths = named.iter().map(|path| plain_path(path)).chain(real);
        let is_inside = paths.all(|path| below_workspace(&path, self.around).is_some());
        let is_file = self.seen.found.contains_key(text) && !self.seen.folders.contains(text);
        if is_file || is_inside { Ok(()) } else { Err(outside()) }
    }

    /// Returns why a file should not be sent to another machine without a question.
    fn sent(&self, text: &str, certainty: Certainty) -> Result<(), Doubt> {
        if text == "-" {
            return Ok(());
        }
        // curl takes these for standard input.
        if text.trim_matches(['.', '/']).is_empty() {
            return Err(Doubt::Reaches(format!("`{text}` is sent, which may be standard input")));
        }
        match self.write(text, certainty, Written::Into) {
            Ok(()) => Ok(()),
            Err(_) => Err(Doubt::Reaches(format!("the file `{text}` is sent"))),
        }
    }
}

/// Returns the folder of a pattern whose last part alone matches names, and none that are hidden.
fn before_pattern(text: &str) -> Option<&str> {
    let start = text.find(['*', '?', '[', '$', '~'])?;
    let folder_end = text[..start].rfind('/').map_or(0, |slash| slash + 1);
    let (folder, last) = text.split_at(folder_end);
    let is_name = !last.contains(['/', '$', '~']) && !last.starts_with('.');
    (is_name && !may_match_protected(last)).then_some(folder)
}

fn below_workspace<'a>(path: &'a Path, around: &Surroundings) -> Option<&'a Path> {
    around.workspace.iter().find_map(|root| path.strip_prefix(root).ok())
}

/// Returns what is below the folder for temporary files, unless it is the user's home.
fn below_temporary<'a>(path: &'a Path, around: &Surroundings) -> Option<&'a Path> {
    if around.home.iter().any(|home| path.starts_with(home)) {
        return None;
    }
    let below = ["/tmp", "/private/tmp"].iter().find_map(|root| path.strip_prefix(root).ok());
    below.filter(|below| !below.as_os_str().is_empty())
}

/// Returns true for a path that is neither below the workspace nor below the folder for temporary files.
pub(in crate::decide::policy) fn is_outside(path: &Path, around: &Surroundings) -> bool {
    let path = plain_path(path);
    below_workspace(&path, around).is_none() && below_temporary(&path, around).is_none()
}

/// Returns true for a path with a name on its way that steers programs.
pub(in crate::decide::policy) fn steers(path: &Path, around: &Surroundings) -> bool {
    let is_hidden = |name: &str| around.is_home() && name.starts_with('.');
    below_workspace(path, around).unwrap_or(path).components().any(|part| match part {
        Component::Normal(name) => {
            name.to_str().is_none_or(|name| is_protected(name) || is_hidden(name))
        }
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            false
        }
    })
}

/// Returns true if a pattern of names may match one that steers programs.
fn may_match_protected(pattern: &str) -> bool {
    let lower = pattern.to_lowercase();
    let mut names = ["HEAD"].into_iter().chain(sandbox::protected());
    lower.contains(['?', '[']) || names.any(|name| glob(&lower, &name.to_lowercase()))
}

/// Returns true for a name that steers programs, however a file system folds it, packed or not. Without a `HEAD` no folder is a
/// repository.
fn is_protected(name: &str) -> bool {
    let is_known = |name: &str| skill::is_name_of(name, "HEAD") || sandbox::is_protected(name);
    is_known(name) || name.rsplit_once('.').is_some_and(|(unpacked, _)| is_known(unpacked))
}
