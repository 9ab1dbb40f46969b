//! Signals that end this program. Running scripts are ended first, and the log records how they ended.

use openskills_runtime::Cancel;

/// What happens after every run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterRuns {
    /// The command continues with the result and exits by itself.
    Continue,
    /// The process exits: with 0 after TERM, which clients use to stop a server they started.
    Exit,
}

/// Makes INT, TERM and HUP cancel the runs of `cancel`. If nothing runs, and on a second signal, the process exits at
/// once with 128 plus the signal's number. XFSZ is ignored, so that the write fails instead. A signal that was ignored
/// when the process started stays ignored (`nohup`, `&`).
#[cfg(unix)]
pub(crate) fn watch(cancel: &Cancel, after: AfterRuns) -> std::io::Result<()> {
    unix::watch(cancel.clone(), after)
}

#[cfg(not(unix))]
pub(crate) fn watch(_: &Cancel, _: AfterRuns) -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
mod unix {
    #![expect(clippy::disallowed_methods, reason = "the edge: signals and process exit")]

    use std::future::poll_fn;
    use std::io;
    use std::task::Poll;
    use std::time::Duration;

    use openskills_runtime::Cancel;
    use rustix::process::Signal as Number;
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::AfterRuns;
    use crate::exit_code::ExitCode;

    /// How long to wait for runs to end. Their processes are killed at once; the wait is for the log.
    const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

    pub(super) fn watch(cancel: Cancel, after: AfterRuns) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ignored = ignored();
        let numbers = [Number::HUP, Number::INT, Number::TERM].map(Number::as_raw);
        let mut signals = Vec::new();
        {
            let _inside = runtime.enter();
            for number in numbers.into_iter().filter(|number| ignored & (1 << (number - 1)) == 0) {
                signals.push((number, signal(SignalKind::from_raw(number))?));
            }
            // A write beyond the file size limit then fails instead of killing this process while it writes the log.
            // Child processes get the default action again.
            drop(signal(SignalKind::from_raw(Number::XFSZ.as_raw()))?);
        }
        std::thread::spawn(move || {
            let first = runtime.block_on(next(&mut signals));
            cancel.interrupt(first);
            if after == AfterRuns::Exit {
                cancel.wait_until_idle(SHUTDOWN_TIMEOUT);
                let is_term = first == Number::TERM.as_raw();
                exit(if is_term { ExitCode::Done } else { ExitCode::of_signal(first) });
            }
            if !cancel.is_busy() {
                exit(ExitCode::of_signal(first));
            }
            exit(ExitCode::of_signal(runtime.block_on(next(&mut signals))));
        });
        Ok(())
    }

    fn exit(code: ExitCode) -> ! {
        crate::checkpoints::flush_quietly();
        std::process::exit(i32::from(code.number()))
    }

    /// Waits for the next signal and returns its number.
    async fn next(signals: &mut [(i32, Signal)]) -> i32 {
        poll_fn(|context| {
            for (number, signal) in &mut *signals {
                if signal.poll_recv(context).is_ready() {
                    return Poll::Ready(*number);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Returns the signals that were ignored when the process started, one bit each. Without /proc, none.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
    }
}
