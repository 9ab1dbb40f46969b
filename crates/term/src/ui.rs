//! Output of a command: standard output for data, standard error for messages.

#![expect(clippy::disallowed_methods, reason = "the edge to the terminal")]

use std::io::{self, BufWriter, IsTerminal, Write};

use serde::Serialize;
use skill::{Diagnostic, Source};

use crate::json::{write_json, write_json_line};
use crate::{Palette, render, safe_text};

/// When to use color. Doc comments on the variants would show up in the help.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
#[expect(missing_docs, reason = "clap would show them as help")]
pub enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

/// The output streams of a command.
#[derive(Debug)]
pub struct Ui {
    /// Whether standard output has color.
    pub palette: Palette,
    /// Whether standard error has color.
    pub error_palette: Palette,
    /// The width of standard output in columns; `None` if it is not a terminal.
    pub width: Option<usize>,
    /// Whether notes and summaries are suppressed (`--quiet`).
    pub is_quiet: bool,
    out: BufWriter<io::Stdout>,
}

impl Ui {
    /// Returns the standard streams of the process.
    pub fn new(choice: ColorChoice) -> Self {
        let palette = |is_terminal: bool| match choice {
            ColorChoice::Always => Palette::Color,
            ColorChoice::Auto if is_terminal && wants_color() => Palette::Color,
            ColorChoice::Auto | ColorChoice::Never => Palette::Plain,
        };
        Self {
            palette: palette(io::stdout().is_terminal()),
            error_palette: palette(io::stderr().is_terminal()),
            width: width(),
            is_quiet: false,
            out: BufWriter::new(io::stdout()),
        }
    }

    /// Writes data to standard output.
    pub fn out(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Writes untrusted text to standard output: made safe on a terminal, unchanged otherwise.
    pub fn out_text(&mut self, text: &str) -> io::Result<()> {
        match self.width {
            Some(_) => self.out(&safe_text(text)),
            None => self.out(text),
        }
    }

    /// Writes the output of an untrusted program: made safe on a terminal, unchanged otherwise.
    pub fn program_output(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.width {
            Some(_) => self.out(&safe_text(&String::from_utf8_lossy(bytes))),
            None => self.out.write_all(bytes),
        }
    }

    /// Same as [`Self::program_output`], for the standard error of a program.
    pub fn program_errors(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.flush()?;
        if io::stderr().is_terminal() {
            self.error(&safe_text(&String::from_utf8_lossy(bytes)))
        } else {
            io::stderr().lock().write_all(bytes)
        }
    }

    /// Writes bytes to standard output, unchanged.
    pub fn out_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// Writes data as indented JSON, followed by a line break.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        write_json(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }

    /// Writes data as one line of JSON and flushes it.
    pub fn json_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        write_json_line(&mut self.out, value)?;
        self.out.flush()
    }

    /// Writes data as one line of JSON, buffered.
    pub fn json_row(&mut self, value: &impl Serialize) -> io::Result<()> {
        write_json_line(&mut self.out, value)
    }

    /// Writes a diagnostic without its source line.
    pub fn problem(&mut self, diagnostic: &Diagnostic) -> io::Result<()> {
        let text = render(diagnostic, None, self.error_palette);
        self.error(&(text + "\n"))
    }

    /// Writes the diagnostics of a file, each with its source line.
    pub fn problems(&mut self, text: &str, diagnostics: &[Diagnostic]) -> io::Result<()> {
        let source = Source::new(text);
        let palette = self.error_palette;
        let one = |problem: &Diagnostic| render(problem, Some(&source), palette) + "\n";
        self.error(&diagnostics.iter().map(one).collect::<String>())
    }

    /// Writes a message to standard error, after flushing standard output to keep the order.
    pub fn error(&mut self, text: &str) -> io::Result<()> {
        self.out.flush()?;
        io::stderr().lock().write_all(text.as_bytes())
    }

    /// Writes a message to standard error, unless `--quiet` is set.
    pub fn note(&mut self, text: &str) -> io::Result<()> {
        if self.is_quiet { Ok(()) } else { self.error(text) }
    }

    /// Writes a status line to standard output, unless `--quiet` is set.
    pub fn done(&mut self, text: &str) -> io::Result<()> {
        if self.is_quiet { Ok(()) } else { self.out(text) }
    }

    /// Flushes standard output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The width of a terminal that does not report its size.
const DEFAULT_WIDTH: usize = 80;

fn width() -> Option<usize> {
    let stdout = io::stdout();
    let is_terminal = stdout.is_terminal();
    let reported =
        || terminal_size::terminal_size_of(&stdout).map(|(width, _)| usize::from(width.0));
    is_terminal.then(|| reported().filter(|width| *width > 0).unwrap_or(DEFAULT_WIDTH))
}

/// Returns true unless `NO_COLOR` is set or the terminal has no colors.
fn wants_color() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
