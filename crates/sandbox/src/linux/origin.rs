//! Tells whether an entry of the workspace is still the one that the run saw when it first changed it.
//!
//! An overlay notes the file handle of the original (its inode and generation) in each copy that it makes. Times cannot
//! tell: a folder that is moved to another place keeps the times of what is in it, and a folder's own time changes with
//! every file that anything creates in it.

use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{OFlags, fgetxattr};

use super::layer::open_below;
use super::sys::check;

/// The attribute in which an overlay keeps the handle of the original.
const ATTRIBUTE: &str = "user.overlay.origin";
/// The layout of that attribute: version, magic number, length, flags, type, UUID of the file system, handle.
const MAGIC: u8 = 0xfb;
const LENGTH_AT: usize = 2;
const TYPE_AT: usize = 4;
const HANDLE_AT: usize = 21;
/// The maximum length of a handle.
const MAX_HANDLE: usize = 128;

/// The kernel's `struct file_handle`.
#[repr(C)]
struct FileHandle {
    length: u32,
    kind: i32,
    bytes: [u8; MAX_HANDLE],
}

/// Returns true if the folder at a path of the workspace is the original of the one in the layer. Without handles the
/// answer is false.
pub(super) fn is_original(upper: &OwnedFd, workspace: &OwnedFd, path: &Path) -> bool {
    let folder = |root| open_below(root, path, OFlags::DIRECTORY).ok();
    let (Some(ours), Some(theirs)) = (folder(upper), folder(workspace)) else { return false };
    let mut value = [0; HANDLE_AT + MAX_HANDLE];
    let Ok(length) = fgetxattr(ours.as_fd(), ATTRIBUTE, &mut value) else { return false };
    let value = &value[..length];
    let is_valid = length > HANDLE_AT
        && value[0] == 0
        && value[1] == MAGIC
        && usize::from(value[LENGTH_AT]) == length;
    let Some((kind, handle)) = handle(&theirs).filter(|_| is_valid) else { return false };
    i32::from(value[TYPE_AT]) == kind && value[HANDLE_AT..] == handle
}

/// Returns the type and the bytes of a folder's handle.
fn handle(folder: &OwnedFd) -> Option<(i32, Vec<u8>)> {
    let mut handle =
        FileHandle { length: u32::try_from(MAX_HANDLE).ok()?, kind: 0, bytes: [0; MAX_HANDLE] };
    let mut mount: libc::c_int = 0;
    const { assert!(size_of::<FileHandle>() == 8 + MAX_HANDLE) };
    // SAFETY: the path ends with a null byte, and the structure has room for as many bytes as it says; all outlive the
    // call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            folder.as_raw_fd(),
            c"".as_ptr(),
            &raw mut handle,
            &raw mut mount,
            libc::AT_EMPTY_PATH,
        )
    };
    check(answer).ok()?;
    let bytes = handle.bytes.get(..usize::try_from(handle.length).ok()?)?;
    Some((handle.kind, bytes.to_vec()))
}
