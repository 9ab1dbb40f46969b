//! Shows what csk's library is at.

use csk_core::{Running, Work};

/// The lines of what is running.
#[derive(Debug, Default)]
pub(crate) struct Progress(term::Progress);

struct Line(term::Running);

impl Progress {
    /// Returns one that shows nothing.
    pub(crate) fn quiet() -> Self {
        Self(term::Progress::quiet())
    }
}

impl csk_core::Progress for Progress {
    fn begin(&self, work: Work<'_>) -> Box<dyn Running> {
        let line = match work {
            Work::Clone { source, url } => {
                let (what, detail) = (format!("cloning {source}"), format!("from {url}"));
                self.0.begin(&what, &detail)
            }
            Work::Fetch { source } => self.0.begin(&format!("fetching {source}"), ""),
            Work::Ask { source } => self.0.begin(&format!("asking the origin of {source}"), ""),
            Work::Project { alias } => self.0.begin(&format!("installing into {alias}"), ""),
        };
        Box::new(Line(line))
    }
}

impl Running for Line {
    fn note(&self, words: &str) {
        self.0.note(words);
    }
}
