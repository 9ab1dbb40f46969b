//! Shows the progress of csk's library on the terminal.

use csk_core::{ProgressHandle, Work};

/// The progress display of a command.
#[derive(Debug, Default)]
pub(crate) struct Progress(term::Progress);

struct Line(term::Running);

impl Progress {
    /// Returns a display that shows nothing.
    pub(crate) fn quiet() -> Self {
        Self(term::Progress::quiet())
    }

    /// Shows a line for a task of the command itself until the result is dropped.
    pub(crate) fn task(&self, what: &str) -> term::Running {
        self.0.begin(what, "")
    }
}

impl csk_core::Progress for Progress {
    fn begin(&self, work: Work<'_>) -> Box<dyn ProgressHandle> {
        let line = match work {
            Work::Clone { source, url } => {
                let (what, detail) = (format!("cloning {source}"), format!("from {url}"));
                self.0.begin(&what, &detail)
            }
            Work::Fetch { source } => self.0.begin(&format!("fetching {source}"), ""),
            Work::ListRefs { source } => {
                self.0.begin(&format!("querying the remote of {source}"), "")
            }
            Work::Project { alias } => self.0.begin(&format!("installing into {alias}"), ""),
        };
        Box::new(Line(line))
    }
}

impl ProgressHandle for Line {
    fn note(&self, text: &str) {
        self.0.note(text);
    }
}
