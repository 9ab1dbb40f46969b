//! Adds what installed files depend on: files that Markdown refers to, and the targets of symlinks.

use std::collections::{BTreeMap, BTreeSet};

use super::mentions::{Place, is_likely_path, links, names, resolve};
use super::rules::{Refusal, Rules, is_excluded};
use super::warnings::LeftOut;
use crate::content::snapshot::{Content, File, FileKind, Links, Snapshot, files_below};

/// Returns the paths to install, and the references that are not installed.
pub(super) fn follow<'a>(
    snapshot: &'a Snapshot,
    rules: &Rules<'_>,
) -> (BTreeSet<&'a str>, LeftOut) {
    let mut follower = Follower {
        snapshot,
        rules,
        links: Links::new(snapshot.files()),
        wanted: BTreeSet::new(),
        open: Vec::new(),
        folders: BTreeMap::new(),
        left_out: LeftOut::default(),
    };
    for file in snapshot.files().iter().filter(|file| rules.includes(file)) {
        follower.take(file);
    }
    while let Some(file) = follower.open.pop() {
        match file.kind {
            FileKind::Link => {
                follower.bring_path(file.path.as_str());
            }
            FileKind::Plain | FileKind::Executable => follower.read(file),
        }
    }
    follower.finish()
}

struct Follower<'a, 'r> {
    snapshot: &'a Snapshot,
    rules: &'r Rules<'r>,
    links: Links<'a>,
    /// Paths to install.
    wanted: BTreeSet<&'a str>,
    /// Wanted files that have not been scanned yet.
    open: Vec<&'a File>,
    /// Included folders, each with the links to it and the files that contain them. Hostile text may link to one folder
    /// in a thousand ways.
    folders: BTreeMap<String, BTreeSet<(&'a str, String)>>,
    left_out: LeftOut,
}

/// What a path resolved to.
enum Found {
    File(Result<(), Refusal>),
    Folder(String),
}

impl<'a> Follower<'a, '_> {
    fn take(&mut self, file: &'a File) {
        if self.wanted.insert(file.path.as_str()) {
            self.open.push(file);
        }
    }

    /// Includes a file unless a rule forbids it.
    fn bring(&mut self, file: &'a File) -> Result<(), Refusal> {
        if !self.wanted.contains(file.path.as_str()) {
            if let Some(refusal) = self.rules.refusal(&file.path) {
                return Err(refusal);
            }
            self.take(file);
        }
        Ok(())
    }

    /// Includes what is at a path, following every symlink on the way; for a folder, everything but development files.
    fn bring_path(&mut self, path: &str) -> Option<Found> {
        let trail = match self.links.is_empty() {
            true => None,
            false => self.links.trail(path),
        };
        let end = trail.as_ref().map_or(path, |trail| trail.end.as_str());
        let found = match self.snapshot.file(end) {
            Some(file) => Found::File(self.bring(file)),
            None => self.bring_folder(end)?,
        };
        if let Found::File(Err(_)) = found {
            return Some(found);
        }
        for link in trail.iter().flat_map(|trail| &trail.links) {
            if let Some(link) = self.snapshot.file(link) {
                // If one of these symlinks is refused, the rest is dropped later, with a warning.
                let _refused = self.bring(link);
            }
        }
        Some(found)
    }

    fn bring_folder(&mut self, folder: &str) -> Option<Found> {
        let below = files_below(self.snapshot.files(), folder);
        if below.is_empty() {
            return None;
        }
        if !self.folders.contains_key(folder) {
            self.folders.insert(folder.to_owned(), BTreeSet::new());
            for file in below.iter().filter(|file| !file.path.parts().any(is_excluded)) {
                // A linked folder causes a warning only if none of its files is installed.
                let _refused = self.bring(file);
            }
        }
        Some(Found::Folder(folder.to_owned()))
    }

    /// Includes what a Markdown file refers to.
    fn read(&mut self, file: &'a File) {
        let path = file.path.as_str();
        if !(path.ends_with(".md") || path.ends_with(".markdown")) {
            return;
        }
        if matches!(file.content, Content::Large(_)) {
            self.left_out.unread(path);
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
        let place = resolve(folder_of(file), link);
        if place == Place::Skill {
            return;
        }
        // Agents work in the skill's folder, so paths are often relative to it.
        let places = [place.clone(), resolve("", link)];
        let found = places.iter().find_map(|place| match place {
            Place::Inside(path) => self.bring_path(path),
            Place::Skill | Place::Outside => None,
        });
        match found {
            Some(Found::File(Ok(()))) => {}
            Some(Found::File(Err(_))) => self.left_out.not_installed(file, link),
            Some(Found::Folder(path)) => {
                self.folders.entry(path).or_default().insert((file, link.to_owned()));
            }
            None if !is_likely_path(link) => {}
            None if place == Place::Outside => self.left_out.outside(file, link),
            None => self.left_out.missing(file, link),
        }
    }

    /// Includes the file that `name` is the path of, or the files in that folder if it ends with a slash. Paths are
    /// relative to the file that contains them or to the skill's folder.
    fn follow_name(&mut self, file: &str, name: &str) {
        let is_folder = name.ends_with(['/', '\\']);
        for place in [resolve(folder_of(file), name), resolve("", name)] {
            let Place::Inside(path) = place else { continue };
            if !is_folder && self.is_folder(&path) {
                continue;
            }
            match self.bring_path(&path) {
                Some(Found::File(Err(Refusal::Runtime | Refusal::Generated))) => {
                    self.left_out.not_installed(file, &path);
                }
                // Commands are called by name, and only csk reads the manifest.
                Some(Found::File(Err(Refusal::Command | Refusal::Declaration)))
                | Some(Found::File(Ok(())) | Found::Folder(_))
                | None => {}
            }
        }
    }

    /// Returns true if a path resolves to a folder.
    fn is_folder(&self, path: &str) -> bool {
        let trail = if self.links.is_empty() { None } else { self.links.trail(path) };
        self.snapshot.file(trail.as_ref().map_or(path, |trail| trail.end.as_str())).is_none()
    }

    fn finish(mut self) -> (BTreeSet<&'a str>, LeftOut) {
        for (folder, links) in &self.folders {
            let below = files_below(self.snapshot.files(), folder);
            let is_wanted = |file: &File| self.wanted.contains(file.path.as_str());
            if !links.is_empty() && !below.iter().any(is_wanted) {
                links.iter().for_each(|(file, link)| self.left_out.not_installed(file, link));
            }
        }
        (self.wanted, self.left_out)
    }
}

/// Returns the folder that contains a file.
fn folder_of(file: &str) -> &str {
    file.rfind('/').map_or("", |slash| &file[..slash])
}
