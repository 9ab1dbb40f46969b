//! What of the machine a run sees, opened before anything is closed off.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2, readlinkat};

use crate::error::Failure;
use crate::{Spec, Writes};

/// Folders of the system that every program may read and run.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// What programs look up, and nothing of the user's.
const ETC: [&str; 8] = [
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/fonts",
];
/// Devices that are nobody's.
pub(super) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Folders that hold more than anybody may grant.
const NEVER: [&str; 6] = ["/run", "/var/run", "/proc", "/sys", "/dev", "/etc"];

/// Something that is opened.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) fd: OwnedFd,
    pub(super) kind: Kind,
}

/// What stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    File,
    /// A link to this.
    Link(PathBuf),
}

/// Everything that a run sees of the machine.
#[derive(Debug)]
pub(super) struct Grants {
    /// To be read and run.
    pub(super) read: Vec<Opened>,
    /// To be changed, or looked at alone.
    pub(super) workspace: Option<Opened>,
    pub(super) devices: Vec<Opened>,
}

/// Opens everything that a specification names.
pub(super) fn open(spec: &Spec) -> Result<Grants, Failure> {
    let setup = |path: &Path| {
        let step = format!("cannot open {}", path.display());
        move |error: io::Error| Failure::Setup { step, errno: error.raw_os_error().unwrap_or(0) }
    };
    let mut read = Vec::new();
    for path in SYSTEM.iter().chain(&ETC).map(Path::new) {
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
        let is_known = |known: &Opened| known.kind == Kind::Folder && real.starts_with(&known.path);
        if !read.iter().any(is_known) {
            read.push(open_one(&real).map_err(setup(&real))?);
        }
        // A program may be started by a link: that is there as well, and leads to what is granted.
        let is_seen = |known: &Opened| {
            *path == known.path || (known.kind == Kind::Folder && path.starts_with(&known.path))
        };
        let link = open_one(path).map_err(setup(path))?;
        if matches!(link.kind, Kind::Link(_)) && !read.iter().any(is_seen) {
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
            if opened.kind != Kind::Folder {
                return Err(Failure::BadSpec(format!("{} is not a folder", real.display())));
            }
            let is_above = |known: &Opened| {
                known.path.starts_with(&real) && workspace.writes == Writes::Direct
            };
            if let Some(known) = read.iter().find(|known| is_above(known)) {
                let (work, known) = (real.display(), known.path.display());
                return Err(Failure::BadSpec(format!(
                    "the workspace {work} holds {known}, which must not change"
                )));
            }
            Some(opened)
        }
    };
    let devices = DEVICES.iter().map(Path::new);
    let devices =
        devices.map(|path| open_one(path).map_err(setup(path))).collect::<Result<_, _>>()?;
    Ok(Grants { read, workspace, devices })
}

/// Refuses what would grant more than anybody means.
fn check(path: &Path) -> Result<(), Failure> {
    let bad =
        |why: &str| Err(Failure::BadSpec(format!("{} cannot be granted: {why}", path.display())));
    let is_plain = path.is_absolute()
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !is_plain {
        return bad("it is not a plain absolute path");
    }
    if path.parent().is_none() {
        return bad("it is everything");
    }
    if NEVER.iter().any(|never| path == Path::new(never) || path.starts_with(never))
        && !path.starts_with("/etc/alternatives")
    {
        return bad("it is the system's own");
    }
    Ok(())
}

/// Opens what stands at a path, without following a link at its end or on its way to nowhere.
fn open_one(path: &Path) -> io::Result<Opened> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let fd = openat2(rustix::fs::CWD, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)?;
    let kind = match FileType::from_raw_mode(fstat(&fd)?.st_mode) {
        FileType::Directory => Kind::Folder,
        FileType::Symlink => {
            let target = readlinkat(&fd, "", Vec::new())?;
            let target = std::ffi::OsStr::to_owned(std::os::unix::ffi::OsStrExt::from_bytes(
                target.to_bytes(),
            ));
            Kind::Link(PathBuf::from(target))
        }
        _ => Kind::File,
    };
    Ok(Opened { path: path.to_owned(), fd, kind })
}
