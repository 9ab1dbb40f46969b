//! Follows what is installed to what it needs: what Markdown refers to, and what symbolic links lead to.

use std::collections::{BTreeMap, BTreeSet};

use super::mentions::{Place, is_likely_path, links, names, resolve};
use super::rules::{Refusal, Rules, is_excluded};
use super::warnings::LeftOut;
use crate::content::snapshot::{Content, File, FileKind, Links, Snapshot, files_below};

/// Returns the paths of what is installed, and what is referred to and left out.
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
    /// What is installed.
    wanted: BTreeSet<&'a str>,
    /// What of it was not looked at yet.
    open: Vec<&'a File>,
    /// Folders that were brought, each with the files that link to it and their links. A hostile text may link to one in a thousand ways.
    folders: BTreeMap<String, BTreeSet<(&'a str, String)>>,
    left_out: LeftOut,
}

/// What is at a path.
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

    /// Brings a file, unless nothing may.
    fn bring(&mut self, file: &'a File) -> Result<(), Refusal> {
        if !self.wanted.contains(file.path.as_str()) {
            if let Some(refusal) = self.rules.refusal(&file.path) {
                return Err(refusal);
            }
            self.take(file);
        }
        Ok(())
    }

    /// Brings what is at a path, through every symbolic link on the way; of a folder, what is no file of development.
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
                // Without one of its links the rest is left out in the end, with a warning.
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
                // A linked folder is a warning only where nothing of it comes.
                let _refused = self.bring(file);
            }
        }
        Some(Found::Folder(folder.to_owned()))
    }

    /// Brings what a file of Markdown refers to.
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
        // Agents work in the skill's folder, so paths are often written from there.
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

    /// Brings the file that a word is the path of, or those in the folder that it is with a slash at its end. Paths are written from the file, or from the
    /// skill's folder.
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
                // A command is called by its name, and csk itself reads the manifest.
                Some(Found::File(Err(Refusal::Command | Refusal::Declaration)))
                | Some(Found::File(Ok(())) | Found::Folder(_))
                | None => {}
            }
        }
    }

    /// Returns true if a path ends at a folder.
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

/// Returns the folder that a file is in.
fn folder_of(file: &str) -> &str {
    file.rfind('/').map_or("", |slash| &file[..slash])
}
