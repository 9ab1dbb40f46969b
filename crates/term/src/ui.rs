//! The two streams: standard output for data, standard error for people.

#![expect(clippy::disallowed_methods, reason = "the edge to the terminal")]

use std::io::{self, BufWriter, IsTerminal, Write};

use serde::Serialize;
use skill::{Diagnostic, Source};

use crate::json::{write_json, write_json_line};
use crate::{Palette, render, safe_text};

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
    /// How many columns standard output has; `None` where it is no terminal.
    pub width: Option<usize>,
    /// Whether only data, warnings and errors are written.
    pub is_quiet: bool,
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
            width: width(),
            is_quiet: false,
            out: BufWriter::new(io::stdout()),
        }
    }

    /// Writes data.
    pub fn out(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Writes a stranger's text: as it is for programs, made safe to show on a terminal.
    pub fn out_text(&mut self, text: &str) -> io::Result<()> {
        match self.width {
            Some(_) => self.out(&safe_text(text)),
            None => self.out(text),
        }
    }

    /// Writes what a stranger's program wrote to its output: as it is for programs, made safe to show on a terminal.
    pub fn out_of_program(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.width {
            Some(_) => self.out(&safe_text(&String::from_utf8_lossy(bytes))),
            None => self.out.write_all(bytes),
        }
    }

    /// Writes what a stranger's program wrote to its standard error, in the same way.
    pub fn error_of_program(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.flush()?;
        if io::stderr().is_terminal() {
            self.error(&safe_text(&String::from_utf8_lossy(bytes)))
        } else {
            io::stderr().lock().write_all(bytes)
        }
    }

    /// Writes bytes as they are.
    pub fn out_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// Writes data as indented JSON with a line break at its end.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        write_json(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }

    /// Writes data as one line of JSON, at once.
    pub fn json_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        write_json_line(&mut self.out, value)?;
        self.out.flush()
    }

    /// Writes data as one line of JSON, when there is enough of it.
    pub fn json_row(&mut self, value: &impl Serialize) -> io::Result<()> {
        write_json_line(&mut self.out, value)
    }

    /// Writes a problem of which no line can be shown.
    pub fn problem(&mut self, diagnostic: &Diagnostic) -> io::Result<()> {
        let text = render(diagnostic, None, self.error_palette);
        self.error(&(text + "\n"))
    }

    /// Writes the problems of a file, each with its line.
    pub fn problems(&mut self, text: &str, diagnostics: &[Diagnostic]) -> io::Result<()> {
        let source = Source::new(text);
        let palette = self.error_palette;
        let one = |problem: &Diagnostic| render(problem, Some(&source), palette) + "\n";
        self.error(&diagnostics.iter().map(one).collect::<String>())
    }

    /// Writes to people. Data written before comes first.
    pub fn error(&mut self, text: &str) -> io::Result<()> {
        self.out.flush()?;
        io::stderr().lock().write_all(text.as_bytes())
    }

    /// Writes to people what they can do without.
    pub fn note(&mut self, text: &str) -> io::Result<()> {
        if self.is_quiet { Ok(()) } else { self.error(text) }
    }

    /// Writes what was done, which is no data that was asked for.
    pub fn done(&mut self, text: &str) -> io::Result<()> {
        if self.is_quiet { Ok(()) } else { self.out(text) }
    }

    /// Writes out what is left.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The width of a terminal that does not tell its own.
const USUAL_WIDTH: usize = 80;

fn width() -> Option<usize> {
    let stdout = io::stdout();
    let is_terminal = stdout.is_terminal();
    let told = || terminal_size::terminal_size_of(&stdout).map(|(width, _)| usize::from(width.0));
    is_terminal.then(|| told().filter(|width| *width > 0).unwrap_or(USUAL_WIDTH))
}

/// Returns true unless `NO_COLOR` or a terminal without colors says otherwise.
fn wants_color() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
