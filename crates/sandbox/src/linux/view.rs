//! Builds the file system of a run: its own root in its own mount namespace, with the grants and nothing else.

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
use super::grants::{Grants, OpenedPath, PathKind};
use super::sys::{
    MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC, MOUNT_ATTR_NOSUID, MOUNT_ATTR_RDONLY, MountAttr,
    MountScope, mount_setattr, pivot_root_here, unmount_here,
};
use super::target;
use crate::{Limits, Spec, User, Writes, is_protected};

/// The folder on which the new root is assembled. It exists on every system, and its content is hidden afterwards.
const NEW_ROOT: &str = "/tmp";
/// The folder with the layer that writes go to. Programs cannot access it.
const LAYER: &str = ".layer";
/// The user and group id in the sandbox.
pub(super) const SANDBOX_ID: u32 = 1000;

/// Names of steps that can fail in several places.
const RESTRICT: &str = "cannot set mount attributes";
const MOUNT_WORKSPACE: &str = "cannot mount the workspace";

type Step<T> = Result<T, (String, io::Error)>;

fn step<T>(what: &str, result: io::Result<T>) -> Step<T> {
    result.map_err(|error| (what.to_owned(), error))
}

/// Builds the file system and makes it the root. Returns the folder with the writes to the workspace, and also the
/// original if the workspace is a copy; nothing if writes do not go to a layer.
pub(super) fn build(grants: &Grants, writes: Writes, spec: &Spec) -> Step<Vec<OwnedFd>> {
    let limits = &spec.limits;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    step("cannot make mounts private", mount_change("/", private).map_err(Into::into))?;
    // Clone all mounts through their descriptors before the new root covers /tmp.
    let mut trees = Vec::new();
    for opened in &grants.read {
        if !matches!(opened.kind, PathKind::Link(_)) {
            trees.push((opened, clone_tree(opened)?));
        }
    }
    let clone = |opened| -> Step<_> { Ok((opened, clone_tree(opened)?)) };
    let devices: Vec<_> = grants.devices.iter().map(clone).collect::<Step<_>>()?;
    let work = grants.workspace.as_ref().map(clone).transpose()?;
    let layer = grants.layer.as_ref().map(clone_tree).transpose()?;
    let private = grants.private.iter();
    let mut private: Vec<_> =
        private.map(|(opened, target)| Ok((target, clone_tree(opened)?))).collect::<Step<_>>()?;
    // A folder comes before what is inside it, and hides nothing.
    private.sort_by_key(|(target, _)| *target);

    let root = new_tmpfs(64 << 20, "0755")?;
    step("cannot mount the root", attach(&root, Path::new(NEW_ROOT)))?;
    let in_root = |path: &Path| Path::new(NEW_ROOT).join(path.strip_prefix("/").unwrap_or(path));
    let new_root = open_folder(Path::new(NEW_ROOT))?;
    // Mount these first, so that grants below them stay visible.
    for (target, tree) in &private {
        step(RESTRICT, set_attributes(tree, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV))?;
        mount_at(tree, &new_root, target, &PathKind::Folder)?;
    }
    for name in ["/tmp", "/dev/shm"] {
        if private.iter().any(|(target, _)| *target == Path::new(name)) {
            continue;
        }
        let target = in_root(Path::new(name));
        step("cannot create a folder", fs::create_dir_all(&target))?;
        let files = new_tmpfs(limits.temporary, "1777")?;
        step(RESTRICT, set_attributes(&files, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV))?;
        step("cannot mount temporary files", attach(&files, &target))?;
    }
    for opened in &grants.read {
        if let PathKind::Link(link_target) = &opened.kind {
            let path = in_root(&opened.path);
            step("cannot create a folder", create_parents(&path))?;
            step("cannot create a link", symlink(link_target, &path))?;
        }
    }
    for (opened, tree) in &trees {
        let read_only = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
        step(RESTRICT, set_attributes(tree, read_only))?;
        mount_at(tree, &new_root, &opened.path, &opened.kind)?;
    }
    create_system_files(&in_root, spec.user.as_ref())?;
    for (opened, tree) in &devices {
        let attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY;
        step(RESTRICT, set_attributes(tree, attributes))?;
        mount_at(tree, &new_root, &opened.path, &opened.kind)?;
    }
    mount_proc(&in_root(Path::new("/proc")))?;
    let layer = match &work {
        Some((opened, tree)) => {
            step("cannot create a folder", target::create(&new_root, &opened.path, &opened.kind))?;
            let mount = WorkspaceMount { opened, tree, folder: layer.as_ref() };
            mount_workspace(&mount, writes, limits, &in_root)?
        }
        None => Vec::new(),
    };
    if private.is_empty() {
        step("cannot create a folder", fs::create_dir_all(in_root(Path::new("/tmp/home"))))?;
    }
    let read_only = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    let read_only = MountAttr { set: read_only, ..MountAttr::default() };
    step(
        "cannot make the root read-only",
        mount_setattr(root.as_fd(), &read_only, MountScope::One),
    )?;
    step("cannot enter the new root", std::env::set_current_dir(NEW_ROOT))?;
    step("cannot change the root", pivot_root_here())?;
    step("cannot unmount the old root", unmount_here())?;
    step("cannot enter the root", std::env::set_current_dir("/"))?;
    Ok(layer)
}

/// Clones the mount tree at a path.
fn clone_tree(opened: &OpenedPath) -> Step<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(&opened.fd, "", flags).map_err(io::Error::from);
    step(&format!("cannot clone the mount of `{}`", opened.path.display()), tree)
}

/// Creates a file system in memory.
fn new_tmpfs(size: u64, mode: &str) -> Step<OwnedFd> {
    let created = (|| {
        let fs = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        // Without a limit, the kernel's own applies: half of the memory.
        if size != u64::MAX {
            fsconfig_set_string(&fs, "size", size.to_string())?;
        }
        fsconfig_set_string(&fs, "nr_inodes", "100000")?;
        fsconfig_set_string(&fs, "mode", mode)?;
        fsconfig_create(&fs)?;
        fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
    })();
    step("cannot create a tmpfs", created.map_err(io::Error::from))
}

fn set_attributes(tree: &OwnedFd, attributes: u64) -> io::Result<()> {
    let attributes = MountAttr { set: attributes, ..MountAttr::default() };
    mount_setattr(tree.as_fd(), &attributes, MountScope::Tree)
}

fn attach(tree: &OwnedFd, target: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(move_mount(tree, "", rustix::fs::CWD, target, flags)?)
}

/// Mounts a tree at an absolute path below the new root, which is created for it.
fn mount_at(tree: &OwnedFd, new_root: &OwnedFd, path: &Path, kind: &PathKind) -> Step<()> {
    let what = format!("cannot mount `{}`", path.display());
    let target = step(&what, target::create(new_root, path, kind))?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    step(&what, move_mount(tree, "", &target, "", flags).map_err(io::Error::from))
}

fn create_parents(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Creates system files that programs need, without information about the machine.
fn create_system_files(in_root: &impl Fn(&Path) -> PathBuf, user: Option<&User>) -> Step<()> {
    let write = |name: &str, text: String| {
        let path = in_root(Path::new(name));
        step("cannot write a file", create_parents(&path).and_then(|()| fs::write(path, text)))
    };
    let id = SANDBOX_ID;
    let name = user.map_or("skill", |user| user.name.as_str());
    let home = user.map_or(Path::new("/tmp/home"), |user| user.home.as_path()).display();
    let shell = if user.is_some() { "/bin/bash" } else { "/bin/sh" };
    write(
        "/etc/passwd",
        format!("{name}:x:{id}:{id}::{home}:{shell}\nnobody:x:65534:65534::/:/bin/false\n"),
    )?;
    write("/etc/group", format!("{name}:x:{id}:\nnogroup:x:65534:\n"))?;
    write("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".to_owned())?;
    write("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n".to_owned())?;
    step("cannot create a folder", fs::create_dir_all(in_root(Path::new("/dev"))))?;
    for (name, target) in [
        ("/dev/fd", "/proc/self/fd"),
        ("/dev/stdin", "/proc/self/fd/0"),
        ("/dev/stdout", "/proc/self/fd/1"),
        ("/dev/stderr", "/proc/self/fd/2"),
    ] {
        step("cannot create a link", symlink(target, in_root(Path::new(name))))?;
    }
    Ok(())
}

/// Mounts a `/proc` that contains only the processes of the run, and no other kernel interfaces.
fn mount_proc(target: &Path) -> Step<()> {
    step("cannot create a folder", fs::create_dir_all(target))?;
    let created = (|| {
        let fs = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&fs, "subset", "pid")?;
        fsconfig_create(&fs)?;
        let flags = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, flags)
    })();
    let proc = step("cannot create /proc", created.map_err(io::Error::from))?;
    step("cannot mount /proc", attach(&proc, target))
}

/// What a workspace is mounted from.
struct WorkspaceMount<'a> {
    opened: &'a OpenedPath,
    tree: &'a OwnedFd,
    /// The folder for its layer, unless the layer is kept in memory.
    folder: Option<&'a OwnedFd>,
}

/// Mounts the workspace: read-only, as a copy or with an overlay for its writes, or directly with protected names
/// read-only.
fn mount_workspace(
    work: &WorkspaceMount<'_>,
    writes: Writes,
    limits: &Limits,
    in_root: &impl Fn(&Path) -> PathBuf,
) -> Step<Vec<OwnedFd>> {
    let WorkspaceMount { opened, tree, folder } = work;
    let target = in_root(&opened.path);
    let attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    if writes == Writes::Direct {
        step(RESTRICT, set_attributes(tree, attributes))?;
        step(MOUNT_WORKSPACE, attach(tree, &target))?;
        protect_names(&target)?;
        return Ok(Vec::new());
    }
    step(RESTRICT, set_attributes(tree, attributes | MOUNT_ATTR_RDONLY))?;
    let base = in_root(Path::new("/")).join(LAYER);
    let [lower, above] = ["lower", "above"].map(|name| base.join(name));
    for folder in [&lower, &above] {
        step("cannot create a folder", fs::create_dir_all(folder))?;
    }
    step(MOUNT_WORKSPACE, attach(tree, &lower))?;
    let memory = if folder.is_none() { Some(new_tmpfs(limits.temporary, "0755")?) } else { None };
    if let Some(storage) = folder.or(memory.as_ref()) {
        step("cannot mount the layer", attach(storage, &above))?;
    }
    let is_copied = writes == Writes::Layer && folder.is_none();
    let copied = if is_copied { mount_copy(&lower, &above, &target)? } else { None };
    let layer = match copied {
        Some(copied) => copied,
        None => mount_overlay(&lower, &above, &target, writes)?,
    };
    // The program must not access the layer except through the workspace.
    let hidden = new_tmpfs(4096, "0000")?;
    step(RESTRICT, set_attributes(&hidden, MOUNT_ATTR_RDONLY))?;
    step("cannot hide the layer", attach(&hidden, &base))?;
    Ok(layer)
}

fn open_folder(path: &Path) -> Step<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY | OFlags::NOFOLLOW;
    step("cannot open the layer", open(path, flags, Mode::empty()).map_err(io::Error::from))
}

/// Mounts a copy of a small workspace; `None` if it is not small.
fn mount_copy(lower: &Path, above: &Path, target: &Path) -> Step<Option<Vec<OwnedFd>>> {
    let from = open_folder(lower)?;
    let Some(plan) = copy::plan(&from) else { return Ok(None) };
    let [copy, before] = ["copy", "before"].map(|name| above.join(name));
    for folder in [&copy, &before] {
        step("cannot create a folder", fs::create_dir(folder))?;
    }
    let to = [open_folder(&copy)?, open_folder(&before)?];
    if copy::copy(&plan, &from, &to).is_err() {
        // It may contain files that this user cannot read. An overlay shows what is accessible.
        for folder in [&copy, &before] {
            step("cannot remove a copy", fs::remove_dir_all(folder))?;
        }
        return Ok(None);
    }
    let fd = open_folder(&copy)?;
    let tree = clone_tree(&OpenedPath { path: copy, fd, kind: PathKind::Folder })?;
    step(RESTRICT, set_attributes(&tree, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV))?;
    step(MOUNT_WORKSPACE, attach(&tree, target))?;
    Ok(Some(to.into()))
}

/// Mounts the workspace with an overlay. A read-only workspace gets one too, because a socket in the workspace cannot
/// be reached through an overlay.
fn mount_overlay(lower: &Path, above: &Path, target: &Path, writes: Writes) -> Step<Vec<OwnedFd>> {
    let [upper, work] = ["upper", "work"].map(|name| above.join(name));
    for folder in [&upper, &work] {
        step("cannot create a folder", fs::create_dir(folder))?;
    }
    let created = (|| {
        let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&fs, "lowerdir", lower)?;
        fsconfig_set_string(&fs, "upperdir", &upper)?;
        fsconfig_set_string(&fs, "workdir", &work)?;
        fsconfig_set_flag(&fs, "userxattr")?;
        fsconfig_create(&fs)?;
        let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, flags)
    })();
    let overlay = step("cannot create an overlay", created.map_err(io::Error::from))?;
    if writes == Writes::Never {
        step(RESTRICT, set_attributes(&overlay, MOUNT_ATTR_RDONLY))?;
        step(MOUNT_WORKSPACE, attach(&overlay, target))?;
        return Ok(Vec::new());
    }
    step(MOUNT_WORKSPACE, attach(&overlay, target))?;
    Ok(vec![open_folder(&upper)?])
}

/// Makes the protected names of a directly written workspace read-only. Each becomes a mount of its own, so that
/// neither it nor a folder that contains it can be moved.
fn protect_names(workspace: &Path) -> Step<()> {
    let listed = fs::read_dir(workspace).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    for entry in step("cannot list the workspace", listed)? {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !is_protected(&name) {
            continue;
        }
        let path = entry.path();
        let metadata = step("cannot inspect a protected name", fs::symlink_metadata(&path))?;
        if metadata.is_symlink() {
            let what = format!("cannot protect `{name}` in the workspace because it is a symlink");
            return Err((what, io::Error::from_raw_os_error(libc::ELOOP)));
        }
        let opened = open(&path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty());
        let fd = step("cannot protect a name", opened.map_err(io::Error::from))?;
        let kind = if metadata.is_dir() { PathKind::Folder } else { PathKind::File };
        let tree = clone_tree(&OpenedPath { path: path.clone(), fd, kind })?;
        let read_only = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
        step(RESTRICT, set_attributes(&tree, read_only))?;
        step("cannot protect a name", attach(&tree, &path))?;
    }
    Ok(())
}
