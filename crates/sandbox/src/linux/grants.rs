//! Opens everything that a run may see of the machine, before the rest is hidden.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2, readlinkat};

use crate::error::Failure;
use crate::{LayerStorage, Spec, Writes};

/// System folders that every program may read and execute.
const SYSTEM_FOLDERS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Files in `/etc` that programs need and that contain nothing private.
const ETC_FILES: [&str; 8] = [
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/fonts",
];
/// Devices that every program may use.
pub(super) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Folders that must never be granted.
const NEVER_GRANTED: [&str; 6] = ["/run", "/var/run", "/proc", "/sys", "/dev", "/etc"];

/// A path and its descriptor.
#[derive(Debug)]
pub(super) struct OpenedPath {
    pub(super) path: PathBuf,
    pub(super) fd: OwnedFd,
    pub(super) kind: PathKind,
}

/// What exists at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathKind {
    Folder,
    File,
    /// A symbolic link to this target.
    Link(PathBuf),
}

/// Everything that a run may see of the machine.
#[derive(Debug)]
pub(super) struct Grants {
    /// Paths that may be read and executed.
    pub(super) read: Vec<OpenedPath>,
    /// The workspace, writable or read-only.
    pub(super) workspace: Option<OpenedPath>,
    pub(super) devices: Vec<OpenedPath>,
    /// Writable folders, and where they appear.
    pub(super) private: Vec<(OpenedPath, PathBuf)>,
    /// The folder for the layer, if it is not kept in memory.
    pub(super) layer: Option<OpenedPath>,
}

/// Opens everything that a specification grants.
pub(super) fn open(spec: &Spec) -> Result<Grants, Failure> {
    let setup = |path: &Path| {
        let step = format!("cannot open `{}`", path.display());
        move |error: io::Error| Failure::Setup { step, errno: error.raw_os_error().unwrap_or(0) }
    };
    let mut read = Vec::new();
    for path in SYSTEM_FOLDERS.iter().chain(&ETC_FILES).map(Path::new) {
        match open_one(path) {
            Ok(opened) => read.push(opened),
            // Not every system has all of them.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(setup(path)(error)),
        }
    }
    for path in &spec.read {
        check(path)?;
        let real = fs::canonicalize(path).map_err(setup(path))?;
        check(&real)?;
        let contains_target =
            |known: &OpenedPath| known.kind == PathKind::Folder && real.starts_with(&known.path);
        if !read.iter().any(contains_target) {
            read.push(open_one(&real).map_err(setup(&real))?);
        }
        // A program may be started through a symlink, so the link itself must exist in the sandbox too.
        let is_visible = |known: &OpenedPath| {
            let is_inside = known.kind == PathKind::Folder && path.starts_with(&known.path);
            *path == known.path || is_inside
        };
        let link = open_one(path).map_err(setup(path))?;
        if matches!(link.kind, PathKind::Link(_)) && !read.iter().any(is_visible) {
            read.push(link);
        }
    }
    let workspace = match &spec.workspace {
        None => None,
        Some(workspace) => {
            check(&workspace.path)?;
            let real = fs::canonicalize(&workspace.path).map_err(setup(&workspace.path))?;
            check(&real)?;
            let opened = open_one(&real).map_err(setup(&real))?;
            if opened.kind != PathKind::Folder {
                return Err(Failure::BadSpec(format!("`{}` is not a folder", real.display())));
            }
            let is_inside = |known: &OpenedPath| {
                known.path.starts_with(&real) && workspace.writes == Writes::Direct
            };
            if let Some(known) = read.iter().find(|known| is_inside(known)) {
                let (work, known) = (real.display(), known.path.display());
                return Err(Failure::BadSpec(format!(
                    "the workspace `{work}` contains `{known}`, which must not be writable"
                )));
            }
            Some(opened)
        }
    };
    let devices = DEVICES.iter().map(Path::new);
    let devices =
        devices.map(|path| open_one(path).map_err(setup(path))).collect::<Result<_, _>>()?;
    let folder = |path: &Path| {
        check(path)?;
        let opened = open_one(path).map_err(setup(path))?;
        if opened.kind == PathKind::Folder {
            return Ok(opened);
        }
        Err(Failure::BadSpec(format!("`{}` is not a folder", path.display())))
    };
    let private = spec.private.iter().map(|private| {
        check_plain(&private.target)?;
        Ok((folder(&private.source)?, private.target.clone()))
    });
    let private = private.collect::<Result<_, Failure>>()?;
    let layer = match &spec.layer {
        LayerStorage::Memory => None,
        LayerStorage::Folder(path) => Some(folder(path)?),
    };
    Ok(Grants { read, workspace, devices, private, layer })
}

fn bad(path: &Path, reason: &str) -> Result<(), Failure> {
    Err(Failure::BadSpec(format!("cannot grant access to `{}`: {reason}", path.display())))
}

/// Refuses paths that are not absolute and normalized, and the root.
fn check_plain(path: &Path) -> Result<(), Failure> {
    let is_plain = path.is_absolute()
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !is_plain {
        return bad(path, "it is not a normalized absolute path");
    }
    if path.parent().is_none() {
        return bad(path, "it is the root folder");
    }
    Ok(())
}

/// Refuses paths that would grant more than intended.
fn check(path: &Path) -> Result<(), Failure> {
    check_plain(path)?;
    if NEVER_GRANTED.iter().any(|never| path == Path::new(never) || path.starts_with(never))
        && !path.starts_with("/etc/alternatives")
    {
        return bad(path, "it is a system path");
    }
    Ok(())
}

/// Opens a path without following a symlink at its end, and without following magic links.
fn open_one(path: &Path) -> io::Result<OpenedPath> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let fd = openat2(rustix::fs::CWD, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)?;
    let kind = match FileType::from_raw_mode(fstat(&fd)?.st_mode) {
        FileType::Directory => PathKind::Folder,
        FileType::Symlink => {
            let target = readlinkat(&fd, "", Vec::new())?;
            let target = std::ffi::OsStr::to_owned(std::os::unix::ffi::OsStrExt::from_bytes(
                target.to_bytes(),
            ));
            PathKind::Link(PathBuf::from(target))
        }
        _ => PathKind::File,
    };
    Ok(OpenedPath { path: path.to_owned(), fd, kind })
}
