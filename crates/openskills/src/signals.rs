//! Signals that end this program: whatever runs ends first, and its end is recorded.

use openskills_runtime::Cancel;

/// What happens once every run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterRuns {
    /// The command goes on with the result, and ends by itself.
    GoOn,
    /// The process ends: well after TERM, by which a client ends the server that it started.
    Exit,
}

/// Has INT, TERM and HUP end what runs with `cancel`. Where nothing runs, and for a second signal, the process ends at once, with
/// 128 and the signal's number as its code. XFSZ ends nothing: what is written fails. A signal that was ignored when the process started stays so (`nohup`, `&`).
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
    #![expect(clippy::disallowed_methods, reason = "the edge: signals, and the end of the process")]

    use std::future::poll_fn;
    use std::io;
    use std::task::Poll;
    use std::time::Duration;

    use openskills_runtime::Cancel;
    use rustix::process::Signal as Number;
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::AfterRuns;
    use crate::exit_code::ExitCode;

    /// How long runs may take to end. Everything in them is killed at once; what is waited for is the log.
    const PATIENCE: Duration = Duration::from_secs(10);

    pub(super) fn watch(cancel: Cancel, after: AfterRuns) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ignored = ignored();
        let numbers = [Number::HUP, Number::INT, Number::TERM].map(Number::as_raw);
        let mut heard = Vec::new();
        {
            let _inside = runtime.enter();
            for number in numbers.into_iter().filter(|number| ignored & (1 << (number - 1)) == 0) {
                heard.push((number, signal(SignalKind::from_raw(number))?));
            }
            // Beyond the limit of file sizes a write fails then, and does not kill this process in the middle of the log.
            // What is started has the usual action again.
            drop(signal(SignalKind::from_raw(Number::XFSZ.as_raw()))?);
        }
        std::thread::spawn(move || {
            let first = runtime.block_on(next(&mut heard));
            cancel.interrupt(first);
            if after == AfterRuns::Exit {
                cancel.wait_until_idle(PATIENCE);
                let is_usual = first == Number::TERM.as_raw();
                leave(if is_usual { ExitCode::Done } else { ExitCode::of_signal(first) });
            }
            if !cancel.is_busy() {
                leave(ExitCode::of_signal(first));
            }
            leave(ExitCode::of_signal(runtime.block_on(next(&mut heard))));
        });
        Ok(())
    }

    fn leave(code: ExitCode) -> ! {
        crate::checkpoints::flush_quietly();
        std::process::exit(i32::from(code.number()))
    }

    /// Waits for the next signal.
    async fn next(heard: &mut [(i32, Signal)]) -> i32 {
        poll_fn(|context| {
            for (number, signal) in &mut *heard {
                if signal.poll_recv(context).is_ready() {
                    return Poll::Ready(*number);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Returns which signals this process was started to ignore, a bit each. Where the kernel does not say, none.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
    }
}
