//! Adds what installed files depend on: files that Markdown refers to, and the targets of symlinks.

use std::collections::{BTreeMap, BTreeSet};

use super::mentions::{LinkTarget, is_likely_path, links, names, resolve};
use super::rules::{Refusal, Rules, is_excluded};
use super::warnings::Omissions;
use crate::content::snapshot::{Content, File, FileKind, Links, Snapshot, files_below};

/// Returns the paths to install, and the references that are not installed.
pub(super) fn select_files<'a>(
    snapshot: &'a Snapshot,
    rules: &Rules<'_>,
) -> (BTreeSet<&'a str>, Omissions) {
    let mut selector = Selector {
        snapshot,
        rules,
        links: Links::new(snapshot.files()),
        wanted: BTreeSet::new(),
        pending: Vec::new(),
        folders: BTreeMap::new(),
        omissions: Omissions::default(),
    };
    for file in snapshot.files().iter().filter(|file| rules.includes(file)) {
        selector.take(file);
    }
    while let Some(file) = selector.pending.pop() {
        match file.kind {
            FileKind::Link => {
                selector.include_path(file.path.as_str());
            }
            FileKind::Plain | FileKind::Executable => selector.read(file),
        }
    }
    selector.finish()
}

struct Selector<'a, 'r> {
    snapshot: &'a Snapshot,
    rules: &'r Rules<'r>,
    links: Links<'a>,
    /// Paths to install.
    wanted: BTreeSet<&'a str>,
    /// Wanted files that have not been scanned yet.
    pending: Vec<&'a File>,
    /// Included folders, each with the links to it and the files that contain them. Hostile text may link to one folder
    /// in a thousand ways.
    folders: BTreeMap<String, BTreeSet<(&'a str, String)>>,
    omissions: Omissions,
}

/// What a path resolved to.
enum PathMatch {
    File(Result<(), Refusal>),
    Folder(String),
}

impl<'a> Selector<'a, '_> {
    fn take(&mut self, file: &'a File) {
        if self.wanted.insert(file.path.as_str()) {
            self.pending.push(file);
        }
    }

    /// Includes a file unless a rule forbids it.
    fn include(&mut self, file: &'a File) -> Result<(), Refusal> {
        if !self.wanted.contains(file.path.as_str()) {
            if let Some(refusal) = self.rules.refusal(&file.path) {
                return Err(refusal);
            }
            self.take(file);
        }
        Ok(())
    }

    /// Includes what is at a path, following every symlink on the way; for a folder, everything but development files.
    fn include_path(&mut self, path: &str) -> Option<PathMatch> {
        let trail = match self.links.is_empty() {
            true => None,
            false => self.links.trail(path),
        };
        let end = trail.as_ref().map_or(path, |trail| trail.end.as_str());
        let found = match self.snapshot.file(end) {
            Some(file) => PathMatch::File(self.include(file)),
            None => self.include_folder(end)?,
        };
        if let PathMatch::File(Err(_)) = found {
            return Some(found);
        }
        for link in trail.iter().flat_map(|trail| &trail.links) {
            if let Some(link) = self.snapshot.file(link) {
                // If one of these symlinks is refused, the rest is dropped later, with a warning.
                let _refused = self.include(link);
            }
        }
        Some(found)
    }

    fn include_folder(&mut self, folder: &str) -> Option<PathMatch> {
        let below = files_below(self.snapshot.files(), folder);
        if below.is_empty() {
            return None;
        }
        if !self.folders.contains_key(folder) {
            self.folders.insert(folder.to_owned(), BTreeSet::new());
            for file in below.iter().filter(|file| !file.path.parts().any(is_excluded)) {
                // A linked folder causes a warning only if none of its files is installed.
                let _refused = self.include(file);
            }
        }
        Some(PathMatch::Folder(folder.to_owned()))
    }

    /// Includes what a Markdown file refers to.
    fn read(&mut self, file: &'a File) {
        let path = file.path.as_str();
        if !(path.ends_with(".md") || path.ends_with(".markdown")) {
            return;
        }
        if matches!(file.content, Content::Large(_)) {
            self.omissions.unread(path);
        }
        let Some(text) = file.text() else { return };
        for link in links(&text) {
            self.follow_link(path, &link);
        }
        for name in names(&text) {
            self.follow_name(path, &name);
        }
    }

    fn follow_link(&mut self, file: &'a str, link: &str) {
        let target = resolve(folder_of(file), link);
        if target == LinkTarget::SkillFolder {
            return;
        }
        // Agents work in the skill's folder, so paths are often relative to it.
        let targets = [target.clone(), resolve("", link)];
        let found = targets.iter().find_map(|target| match target {
            LinkTarget::Inside(path) => self.include_path(path),
            LinkTarget::SkillFolder | LinkTarget::Outside => None,
        });
        match found {
            Some(PathMatch::File(Ok(()))) => {}
            Some(PathMatch::File(Err(_))) => self.omissions.not_installed(file, link),
            Some(PathMatch::Folder(path)) => {
                self.folders.entry(path).or_default().insert((file, link.to_owned()));
            }
            None if !is_likely_path(link) => {}
            None if target == LinkTarget::Outside => self.omissions.outside(file, link),
            None => self.omissions.missing(file, link),
        }
    }

    /// Includes the file that `name` is the path of, or the files in that folder if it ends with a slash. Paths are
    /// relative to the file that contains them or to the skill's folder.
    fn follow_name(&mut self, file: &str, name: &str) {
        let is_folder = name.ends_with(['/', '\\']);
        for target in [resolve(folder_of(file), name), resolve("", name)] {
            let LinkTarget::Inside(path) = target else { continue };
            if !is_folder && self.is_folder(&path) {
                continue;
            }
            match self.include_path(&path) {
                Some(PathMatch::File(Err(Refusal::Runtime | Refusal::Generated))) => {
                    self.omissions.not_installed(file, &path);
                }
                // Commands are called by name, and only csk reads the manifest.
                Some(PathMatch::File(Err(Refusal::Command | Refusal::Declaration)))
                | Some(PathMatch::File(Ok(())) | PathMatch::Folder(_))
                | None => {}
            }
        }
    }

    /// Returns true if a path resolves to a folder.
    fn is_folder(&self, path: &str) -> bool {
        let trail = if self.links.is_empty() { None } else { self.links.trail(path) };
        self.snapshot.file(trail.as_ref().map_or(path, |trail| trail.end.as_str())).is_none()
    }

    fn finish(mut self) -> (BTreeSet<&'a str>, Omissions) {
        for (folder, links) in &self.folders {
            let below = files_below(self.snapshot.files(), folder);
            let is_wanted = |file: &File| self.wanted.contains(file.path.as_str());
            if !links.is_empty() && !below.iter().any(is_wanted) {
                links.iter().for_each(|(file, link)| self.omissions.not_installed(file, link));
            }
        }
        (self.wanted, self.omissions)
    }
}

/// Returns the folder that contains a file.
fn folder_of(file: &str) -> &str {
    file.rfind('/').map_or("", |slash| &file[..slash])
}
