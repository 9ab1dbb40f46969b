//! What is running, for people: live lines on a terminal, nothing elsewhere. Always on standard error.

#![expect(clippy::disallowed_methods, reason = "the edge to the terminal")]

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::safe_line;

/// Shows what is running.
#[derive(Debug)]
pub struct Progress {
    /// The live lines; none where standard error is not a terminal.
    lines: Option<MultiProgress>,
}

/// A thing that runs. Its line goes away with it.
#[derive(Debug)]
pub struct Running(Option<ProgressBar>);

impl Progress {
    /// Opens it. A terminal that cannot move its cursor gets nothing.
    pub fn new() -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let lines = (io::stderr().is_terminal() && !is_dumb)
            .then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        Self { lines }
    }

    /// Returns one that shows nothing.
    pub fn quiet() -> Self {
        Self { lines: None }
    }

    /// Shows that `what` runs, until the result is dropped. `detail` stands after it until there is a note.
    pub fn begin(&self, what: &str, detail: &str) -> Running {
        let Some(lines) = &self.lines else { return Running(None) };
        let (what, detail) = (safe_line(what), safe_line(detail));
        // No color at all, so that NO_COLOR needs no rule here.
        let style = ProgressStyle::with_template("{spinner} {prefix} {elapsed} {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::hidden().with_style(style).with_prefix(what.into_owned());
        let bar = lines.add(bar.with_message(detail.into_owned()));
        bar.enable_steady_tick(Duration::from_millis(100));
        Running(Some(bar))
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Running {
    /// Shows how far it is.
    pub fn note(&self, words: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(safe_line(words).into_owned());
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
