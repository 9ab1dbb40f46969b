//! The view that a run has of the machine: a root of its own, with what was granted and nothing else.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen,
    mount_change, move_mount, open_tree,
};

use super::copy;
use super::grants::{Grants, Kind, Opened};
use super::sys::{
    Depth, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC, MOUNT_ATTR_NOSUID, MOUNT_ATTR_RDONLY, MountAttr,
    mount_setattr, pivot_root_here, unmount_here,
};
use crate::{Limits, Writes, is_protected};

/// Where the new root is put together. It is there on every system, and nothing of it is seen afterwards.
const STAGE: &str = "/tmp";
/// Where the layer that writes go to is; no program may look in it.
const LAYER: &str = ".layer";
/// The id that a run has.
pub(super) const ID: u32 = 1000;

/// What became of the view.
pub(super) struct Viewed {
    /// The folder that writes to the workspace are in; where it is a copy, also one of what it was.
    pub(super) layer: Vec<OwnedFd>,
}

type Step<T> = Result<T, (String, io::Error)>;

fn step<T>(what: &str, done: io::Result<T>) -> Step<T> {
    done.map_err(|error| (what.to_owned(), error))
}

/// Builds the view and moves into it.
pub(super) fn build(grants: &Grants, writes: Writes, limits: &Limits) -> Step<Viewed> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    step("cannot make mounts private", mount_change("/", private).map_err(Into::into))?;
    // Everything is taken by its descriptor before the place is covered.
    let mut trees = Vec::new();
    for opened in &grants.read {
        if !matches!(opened.kind, Kind::Link(_)) {
            trees.push((opened, tree(opened)?));
        }
    }
    let devices: Vec<_> =
        grants.devices.iter().map(|opened| Ok((opened, tree(opened)?))).collect::<Step<_>>()?;
    let work = grants.workspace.as_ref().map(|opened| Ok((opened, tree(opened)?))).transpose()?;

    let root = memory(64 << 20, "0755")?;
    step("cannot mount the root", attach(&root, Path::new(STAGE)))?;
    let at = |path: &Path| Path::new(STAGE).join(path.strip_prefix("/").unwrap_or(path));
    // First, so that what is granted below them is seen.
    for name in ["/tmp", "/dev/shm"] {
        let place = at(Path::new(name));
        step("cannot make a folder", fs::create_dir_all(&place))?;
        let files = memory(limits.temporary, "1777")?;
        step("cannot close a mount", set(&files, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV))?;
        step("cannot mount temporary files", attach(&files, &place))?;
    }
    for opened in &grants.read {
        if let Kind::Link(target) = &opened.kind {
            let place = at(&opened.path);
            step("cannot make a folder", make_parents(&place))?;
            step("cannot make a link", symlink(target, &place))?;
        }
    }
    for (opened, tree) in &trees {
        let closed = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
        step("cannot close a mount", set(tree, closed))?;
        put(tree, opened, &at(&opened.path))?;
    }
    system_files(&at)?;
    for (opened, tree) in &devices {
        step(
            "cannot close a mount",
            set(tree, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY),
        )?;
        put(tree, opened, &at(&opened.path))?;
    }
    processes(&at(Path::new("/proc")))?;
    let layer = match &work {
        Some((opened, tree)) => workspace(opened, tree, writes, limits, &at)?,
        None => Vec::new(),
    };
    step("cannot make a folder", fs::create_dir_all(at(Path::new("/tmp/home"))))?;
    let closed = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    let closed = MountAttr { set: closed, ..MountAttr::default() };
    step("cannot close the root", mount_setattr(root.as_fd(), &closed, Depth::One))?;
    step("cannot enter the view", std::env::set_current_dir(STAGE))?;
    step("cannot change the root", pivot_root_here())?;
    step("cannot leave the old root", unmount_here())?;
    step("cannot enter the root", std::env::set_current_dir("/"))?;
    Ok(Viewed { layer })
}

/// Takes a copy of the tree of mounts at a place.
fn tree(opened: &Opened) -> Step<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let taken = open_tree(&opened.fd, "", flags).map_err(io::Error::from);
    step(&format!("cannot take {}", opened.path.display()), taken)
}

/// Makes a file system in memory.
fn memory(size: u64, mode: &str) -> Step<OwnedFd> {
    let made = (|| {
        let fs = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&fs, "size", size.to_string())?;
        fsconfig_set_string(&fs, "nr_inodes", "100000")?;
        fsconfig_set_string(&fs, "mode", mode)?;
        fsconfig_create(&fs)?;
        fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
    })();
    step("cannot make a file system in memory", made.map_err(io::Error::from))
}

fn set(tree: &OwnedFd, attributes: u64) -> io::Result<()> {
    mount_setattr(tree.as_fd(), &MountAttr { set: attributes, ..MountAttr::default() }, Depth::Tree)
}

fn attach(tree: &OwnedFd, place: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(move_mount(tree, "", rustix::fs::CWD, place, flags)?)
}

/// Puts a tree at its place, which is made for it.
fn put(tree: &OwnedFd, opened: &Opened, place: &Path) -> Step<()> {
    let made = make_parents(place).and_then(|()| match opened.kind {
        Kind::Folder => fs::create_dir_all(place),
        Kind::File | Kind::Link(_) if place.exists() => Ok(()),
        Kind::File | Kind::Link(_) => fs::write(place, b""),
    });
    let what = format!("cannot show {}", opened.path.display());
    step(&what, made)?;
    step(&what, attach(tree, place))
}

fn make_parents(place: &Path) -> io::Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Files that programs ask for, with nothing of the machine in them.
fn system_files(at: &impl Fn(&Path) -> PathBuf) -> Step<()> {
    let write = |name: &str, text: String| {
        let place = at(Path::new(name));
        step("cannot write a file", make_parents(&place).and_then(|()| fs::write(place, text)))
    };
    write(
        "/etc/passwd",
        format!("skill:x:{ID}:{ID}::/tmp/home:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"),
    )?;
    write("/etc/group", format!("skill:x:{ID}:\nnogroup:x:65534:\n"))?;
    write("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".to_owned())?;
    write("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n".to_owned())?;
    step("cannot make a folder", fs::create_dir_all(at(Path::new("/dev"))))?;
    for (name, target) in [
        ("/dev/fd", "/proc/self/fd"),
        ("/dev/stdin", "/proc/self/fd/0"),
        ("/dev/stdout", "/proc/self/fd/1"),
        ("/dev/stderr", "/proc/self/fd/2"),
    ] {
        step("cannot make a link", symlink(target, at(Path::new(name))))?;
    }
    Ok(())
}

/// The processes of the run, and nothing else of the kernel.
fn processes(place: &Path) -> Step<()> {
    step("cannot make a folder", fs::create_dir_all(place))?;
    let made = (|| {
        let fs = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&fs, "subset", "pid")?;
        fsconfig_create(&fs)?;
        let flags = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, flags)
    })();
    let proc = step("cannot make /proc", made.map_err(io::Error::from))?;
    step("cannot mount /proc", attach(&proc, place))
}

/// Shows the workspace: to be looked at alone; as a copy or under a layer for its writes; or itself, protected names closed.
fn workspace(
    opened: &Opened,
    tree: &OwnedFd,
    writes: Writes,
    limits: &Limits,
    at: &impl Fn(&Path) -> PathBuf,
) -> Step<Vec<OwnedFd>> {
    let place = at(&opened.path);
    step("cannot make a folder", fs::create_dir_all(&place))?;
    let usual = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    if writes == Writes::Direct {
        step("cannot close a mount", set(tree, usual))?;
        step("cannot show the workspace", attach(tree, &place))?;
        protect(&place)?;
        return Ok(Vec::new());
    }
    step("cannot close a mount", set(tree, usual | MOUNT_ATTR_RDONLY))?;
    let base = at(Path::new("/")).join(LAYER);
    let [lower, above] = ["lower", "above"].map(|name| base.join(name));
    for folder in [&lower, &above] {
        step("cannot make a folder", fs::create_dir_all(folder))?;
    }
    step("cannot show the workspace", attach(tree, &lower))?;
    let memory = memory(limits.temporary, "0755")?;
    step("cannot mount the layer", attach(&memory, &above))?;
    let copied = if writes == Writes::Layer { copied(&lower, &above, &place)? } else { None };
    let layer = match copied {
        Some(copied) => copied,
        None => layered(&lower, &above, &place, writes)?,
    };
    // Nobody in the run has any business there.
    let hidden = self::memory(4096, "0000")?;
    step("cannot close a mount", set(&hidden, MOUNT_ATTR_RDONLY))?;
    step("cannot hide the layer", attach(&hidden, &base))?;
    Ok(layer)
}

fn open_folder(path: &Path) -> Step<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY | OFlags::NOFOLLOW;
    step("cannot open the layer", open(path, flags, Mode::empty()).map_err(io::Error::from))
}

/// Shows a copy of a small workspace; `None` if it is not small.
fn copied(lower: &Path, above: &Path, place: &Path) -> Step<Option<Vec<OwnedFd>>> {
    let from = open_folder(lower)?;
    let Some(small) = copy::small(&from) else { return Ok(None) };
    let [copy, before] = ["copy", "before"].map(|name| above.join(name));
    for folder in [&copy, &before] {
        step("cannot make a folder", fs::create_dir(folder))?;
    }
    let to = [open_folder(&copy)?, open_folder(&before)?];
    if copy::copy(&small, &from, &to).is_err() {
        // It may hold what only somebody else may read: the layer shows as much as may be seen.
        for folder in [&copy, &before] {
            step("cannot clear a copy", fs::remove_dir_all(folder))?;
        }
        return Ok(None);
    }
    let opened = Opened { path: copy, fd: open_folder(&above.join("copy"))?, kind: Kind::Folder };
    let tree = tree(&opened)?;
    step("cannot close a mount", set(&tree, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV))?;
    step("cannot show the workspace", attach(&tree, place))?;
    Ok(Some(to.into()))
}

/// Shows the workspace under a layer. Also where nothing may be written: a socket in it cannot be reached through one.
fn layered(lower: &Path, above: &Path, place: &Path, writes: Writes) -> Step<Vec<OwnedFd>> {
    let [upper, work] = ["upper", "work"].map(|name| above.join(name));
    for folder in [&upper, &work] {
        step("cannot make a folder", fs::create_dir(folder))?;
    }
    let made = (|| {
        let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&fs, "lowerdir", lower)?;
        fsconfig_set_string(&fs, "upperdir", &upper)?;
        fsconfig_set_string(&fs, "workdir", &work)?;
        fsconfig_set_flag(&fs, "userxattr")?;
        fsconfig_create(&fs)?;
        let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, flags)
    })();
    let made = step("cannot put a layer over the workspace", made.map_err(io::Error::from))?;
    if writes == Writes::Never {
        step("cannot close a mount", set(&made, MOUNT_ATTR_RDONLY))?;
        step("cannot show the workspace", attach(&made, place))?;
        return Ok(Vec::new());
    }
    step("cannot show the workspace", attach(&made, place))?;
    Ok(vec![open_folder(&upper)?])
}

/// Closes the protected names of a workspace that is written directly. Each is a mount of its own, so that neither it nor a
/// folder around it can be moved away.
fn protect(place: &Path) -> Step<()> {
    let listed = fs::read_dir(place).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    for entry in step("cannot list the workspace", listed)? {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !is_protected(&name) {
            continue;
        }
        let path = entry.path();
        let metadata = step("cannot look at a protected name", fs::symlink_metadata(&path))?;
        if metadata.is_symlink() {
            let what = format!("{name} in the workspace is a link; it cannot be protected");
            return Err((what, io::Error::from_raw_os_error(libc::ELOOP)));
        }
        let opened = open(&path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty());
        let fd = step("cannot protect a name", opened.map_err(io::Error::from))?;
        let kind = if metadata.is_dir() { Kind::Folder } else { Kind::File };
        let opened = Opened { path: path.clone(), fd, kind };
        let closed = tree(&opened)?;
        step(
            "cannot close a mount",
            set(&closed, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV),
        )?;
        step("cannot protect a name", attach(&closed, &path))?;
    }
    Ok(())
}
