//! Notices that nobody writes to standard input any more, even while there is more in it than anybody reads.

#[cfg(unix)]
pub(super) fn when_gone(then: impl FnOnce() + Send + 'static) {
    use rustix::event::{PollFd, PollFlags, poll};
    std::thread::spawn(move || {
        let stdin = std::io::stdin();
        loop {
            // Nothing is asked for: the end is told in any case.
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
pub(super) fn when_gone(_: impl FnOnce() + Send + 'static) {}
