//! Notices when the client closes its end of stdin, even while stdin still holds data that was not read.

#[cfg(unix)]
pub(super) fn on_hangup(then: impl FnOnce() + Send + 'static) {
    use rustix::event::{PollFd, PollFlags, poll};
    std::thread::spawn(move || {
        let stdin = std::io::stdin();
        loop {
            // Hangups and errors are reported even if no events are requested.
            let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
            match poll(&mut fds, None) {
                Ok(_) if fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) => break,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
        then();
    });
}

#[cfg(not(unix))]
pub(super) fn on_hangup(_: impl FnOnce() + Send + 'static) {}
