//! The two streams: standard output for data, standard error for people.

#![expect(clippy::disallowed_methods, reason = "the edge to the terminal")]

use std::io::{self, BufWriter, IsTerminal, Write};

use serde::Serialize;
use skill::Diagnostic;

use crate::json::write_json;
use crate::{Palette, render};

/// When to use color. It is an argument of both programs, so its words carry no help of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
#[expect(missing_docs, reason = "clap would show them as help")]
pub enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

/// Where a command writes.
#[derive(Debug)]
pub struct Ui {
    /// The colors of standard error.
    pub error_palette: Palette,
    out: BufWriter<io::Stdout>,
}

impl Ui {
    /// Opens both streams.
    pub fn new(choice: ColorChoice) -> Self {
        let palette = |is_terminal: bool| match choice {
            ColorChoice::Always => Palette::Color,
            ColorChoice::Auto if is_terminal && wants_color() => Palette::Color,
            ColorChoice::Auto | ColorChoice::Never => Palette::Plain,
        };
        Self {
            error_palette: palette(io::stderr().is_terminal()),
            out: BufWriter::new(io::stdout()),
        }
    }

    /// Writes data.
    pub fn out(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Writes data as indented JSON with a line break at its end.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        write_json(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }

    /// Writes a problem of which no line can be shown.
    pub fn problem(&mut self, diagnostic: &Diagnostic) -> io::Result<()> {
        let text = render(diagnostic, None, self.error_palette);
        self.error(&(text + "\n"))
    }

    /// Writes to people. Data written before comes first.
    pub fn error(&mut self, text: &str) -> io::Result<()> {
        self.out.flush()?;
        io::stderr().lock().write_all(text.as_bytes())
    }

    /// Writes out what is left.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns true unless `NO_COLOR` or a terminal without colors says otherwise.
fn wants_color() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
