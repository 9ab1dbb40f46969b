//! Gives up every special right of this process, and makes sure.

use std::io;

use super::sys::{check, prctl};

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Default, Clone, Copy)]
struct Set {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const VERSION: u32 = 0x2008_0522;
/// More than there are.
const MOST: libc::c_ulong = 64;

/// Drops all capabilities, also those that a program could bring back.
pub(super) fn drop_all() -> io::Result<()> {
    for capability in 0..MOST {
        match prctl(libc::PR_CAPBSET_DROP, capability) {
            Ok(_) => {}
            // There is no such capability.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => break,
            // Without the right to, there is nothing to give up: no_new_privs keeps it so.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => break,
            Err(error) => return Err(error),
        }
    }
    let header = Header { version: VERSION, pid: 0 };
    let none = [Set::default(); 2];
    // SAFETY: header and sets live across the call and are as the version says.
    let answer = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
    check(answer)?;
    let mut now = [Set { effective: 1, permitted: 1, inheritable: 1 }; 2];
    // SAFETY: as above.
    let answer = unsafe { libc::syscall(libc::SYS_capget, &raw const header, now.as_mut_ptr()) };
    check(answer)?;
    let is_none = |set: &Set| set.effective == 0 && set.permitted == 0 && set.inheritable == 0;
    if now.iter().all(is_none) { Ok(()) } else { Err(io::Error::other("capabilities are left")) }
}
