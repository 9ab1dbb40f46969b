//! Progress display: live lines on standard error if it is a terminal, nothing otherwise.

#![expect(clippy::disallowed_methods, reason = "the edge to the terminal")]

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::safe_line;

/// A progress display.
#[derive(Debug)]
pub struct Progress {
    /// The live lines; `None` if nothing is shown.
    lines: Option<MultiProgress>,
}

/// A running task. Its line disappears when it is dropped.
#[derive(Debug)]
pub struct Running(Option<ProgressBar>);

impl Progress {
    /// Returns a display that shows nothing unless standard error is a terminal that can move its cursor.
    pub fn new() -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let lines = (io::stderr().is_terminal() && !is_dumb)
            .then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        Self { lines }
    }

    /// Returns a display that shows nothing.
    pub fn quiet() -> Self {
        Self { lines: None }
    }

    /// Shows a line for `task` until the result is dropped. `detail` follows it until the first note.
    pub fn begin(&self, task: &str, detail: &str) -> Running {
        let Some(lines) = &self.lines else { return Running(None) };
        let (task, detail) = (safe_line(task), safe_line(detail));
        // The line has no color, so NO_COLOR does not need to be checked.
        let style = ProgressStyle::with_template("{spinner} {prefix} {elapsed} {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::hidden().with_style(style).with_prefix(task.into_owned());
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
    /// Shows the current state of the task.
    pub fn note(&self, text: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(safe_line(text).into_owned());
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
