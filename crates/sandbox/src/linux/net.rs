//! The loopback interface of a run's network namespace, on which the proxy listens.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, getsockname, listen as listen_on, socket_with,
};

use super::sys::check;

/// Brings up the loopback interface. Returns the socket that was used for it.
pub(super) fn bring_up() -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: all zeros is a valid value of this struct.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request outlives the call and has the type that the call expects.
    let answer =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    check(answer.into())?;
    Ok(socket)
}

/// Brings up the loopback interface and listens on it. Returns the socket and its port.
pub(super) fn listen() -> io::Result<(OwnedFd, u16)> {
    let socket = bring_up()?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    listen_on(&socket, 64)?;
    let address = getsockname(&socket)?;
    let address: SocketAddrV4 = SocketAddrV4::try_from(address)
        .map_err(|_| io::Error::other("the socket has no IPv4 address"))?;
    Ok((socket, address.port()))
}
