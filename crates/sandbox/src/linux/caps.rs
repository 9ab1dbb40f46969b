//! Drops all capabilities of this process, and verifies that they are gone.

use std::io;

use super::sys::{check, prctl};

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Default, Clone, Copy)]
struct CapabilitySet {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const VERSION: u32 = 0x2008_0522;
/// More than any kernel defines.
const MAX_CAPABILITIES: libc::c_ulong = 64;

/// Drops all capabilities, including those in the bounding set.
pub(super) fn drop_all() -> io::Result<()> {
    for capability in 0..MAX_CAPABILITIES {
        match prctl(libc::PR_CAPBSET_DROP, capability) {
            Ok(_) => {}
            // The kernel has no such capability.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => break,
            // Without CAP_SETPCAP there is nothing to drop, and no_new_privs prevents gaining any.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => break,
            Err(error) => return Err(error),
        }
    }
    let header = Header { version: VERSION, pid: 0 };
    let none = [CapabilitySet::default(); 2];
    // SAFETY: the header and the sets outlive the call and have the layout of this version.
    let answer = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
    check(answer)?;
    let mut now = [CapabilitySet { effective: 1, permitted: 1, inheritable: 1 }; 2];
    // SAFETY: as above.
    let answer = unsafe { libc::syscall(libc::SYS_capget, &raw const header, now.as_mut_ptr()) };
    check(answer)?;
    let is_empty =
        |set: &CapabilitySet| set.effective == 0 && set.permitted == 0 && set.inheritable == 0;
    if now.iter().all(is_empty) {
        Ok(())
    } else {
        Err(io::Error::other("some capabilities could not be dropped"))
    }
}
