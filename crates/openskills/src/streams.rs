//! Keeps terminals away from programs in the sandbox: a program with a terminal could control it and type on it. Each
//! standard stream that is a terminal becomes a pipe, and threads copy between the two.

#[cfg(unix)]
pub(crate) use unix::PipedTerminals;

#[cfg(not(unix))]
#[derive(Debug)]
pub(crate) struct PipedTerminals;

#[cfg(not(unix))]
impl PipedTerminals {
    pub(crate) fn start() -> std::io::Result<Self> {
        Ok(Self)
    }

    pub(crate) fn finish(self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
mod unix {
    #![expect(
        clippy::disallowed_methods,
        reason = "the edge: the terminal, and waiting for output"
    )]

    use std::io::{self, IsTerminal, PipeReader, Read, Write};
    use std::os::fd::{AsFd, OwnedFd};
    use std::thread::JoinHandle;
    use std::time::{Duration, Instant};

    use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
    use term::safe_text;

    /// How long to wait for output after the command has ended. Its background processes may keep a pipe open.
    const FLUSH_TIMEOUT: Duration = Duration::from_millis(200);

    /// The standard streams that were terminals.
    #[derive(Debug, Default)]
    pub(crate) struct PipedTerminals {
        stdin: Option<OwnedFd>,
        stdout: Option<PipedOutput>,
        stderr: Option<PipedOutput>,
    }

    #[derive(Debug)]
    struct PipedOutput {
        terminal: OwnedFd,
        copies: JoinHandle<()>,
    }

    impl PipedTerminals {
        /// Replaces every standard stream of this process that is a terminal.
        pub(crate) fn start() -> io::Result<Self> {
            let mut all = Self::default();
            if io::stdin().is_terminal() {
                let terminal = io::stdin().as_fd().try_clone_to_owned()?;
                let (reader, mut writer) = io::pipe()?;
                let mut input = std::fs::File::from(terminal.try_clone()?);
                dup2_stdin(&reader)?;
                // It waits for input until the process ends.
                std::thread::spawn(move || io::copy(&mut input, &mut writer));
                all.stdin = Some(terminal);
            }
            if io::stdout().is_terminal() {
                let terminal = io::stdout().as_fd().try_clone_to_owned()?;
                let (reader, writer) = io::pipe()?;
                dup2_stdout(&writer)?;
                all.stdout = Some(PipedOutput::new(terminal, reader)?);
            }
            if io::stderr().is_terminal() {
                let terminal = io::stderr().as_fd().try_clone_to_owned()?;
                let (reader, writer) = io::pipe()?;
                dup2_stderr(&writer)?;
                all.stderr = Some(PipedOutput::new(terminal, reader)?);
            }
            Ok(all)
        }

        /// Restores the terminals, after everything that the command printed is shown.
        pub(crate) fn finish(self) -> io::Result<()> {
            if let Some(terminal) = self.stdin {
                dup2_stdin(&terminal)?;
            }
            if let Some(output) = &self.stdout {
                dup2_stdout(&output.terminal)?;
            }
            if let Some(output) = &self.stderr {
                dup2_stderr(&output.terminal)?;
            }
            let deadline = Instant::now() + FLUSH_TIMEOUT;
            for output in self.stdout.into_iter().chain(self.stderr) {
                while !output.copies.is_finished() && Instant::now() < deadline {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            Ok(())
        }
    }

    impl PipedOutput {
        fn new(terminal: OwnedFd, reader: PipeReader) -> io::Result<Self> {
            let to = std::fs::File::from(terminal.try_clone()?);
            Ok(Self { terminal, copies: std::thread::spawn(move || show(reader, to)) })
        }
    }

    /// Shows output on a terminal, with control characters in visible form.
    fn show(mut from: PipeReader, mut to: impl Write) {
        let (mut buffer, mut pending) = (vec![0; 64 << 10], Vec::new());
        while let Ok(count) = from.read(&mut buffer) {
            pending.extend_from_slice(&buffer[..count]);
            // A character may continue in the next part.
            let whole = if count == 0 { pending.len() } else { whole_characters(&pending) };
            let text = String::from_utf8_lossy(&pending[..whole]).into_owned();
            if to.write_all(safe_text(&text).as_bytes()).is_err() || count == 0 {
                return;
            }
            pending.drain(..whole);
        }
    }

    /// Returns the length of the bytes without an incomplete character at their end.
    fn whole_characters(bytes: &[u8]) -> usize {
        match std::str::from_utf8(bytes) {
            Ok(_) => bytes.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => bytes.len(),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn output_is_shown_whole_and_cannot_control_the_terminal() {
            let (reader, mut writer) = io::pipe().expect("a pipe");
            let copies = std::thread::spawn(move || {
                let mut shown = Vec::new();
                show(reader, &mut shown);
                shown
            });
            for part in [b"gr\xc3".as_slice(), b"\xbc\xc3\x9fe\n\x1b[2J\t", b"\xff!\xe2\x82"] {
                writer.write_all(part).expect("a reader");
                std::thread::sleep(Duration::from_millis(20));
            }
            drop(writer);
            let shown = String::from_utf8(copies.join().expect("no panic")).expect("text");
            assert_eq!(shown, "grüße\n\u{241b}[2J\t\u{fffd}!\u{fffd}");
        }
    }
}
