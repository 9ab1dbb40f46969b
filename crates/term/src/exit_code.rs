//! Exit codes in help texts and in docs/reference.md. Each program defines its codes in an enum of its own.

/// The exit code for usage errors in every program; the same as clap's.
pub const USAGE: u8 = 2;
/// The exit code when the reader of the output closed the pipe: 128 + SIGPIPE, as shells report it.
pub const BROKEN_PIPE: u8 = 141;

/// An exit code with its meaning, as listed in a help text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCodeHelp {
    label: Label,
    meaning: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Number(u8),
    /// Several numbers, or the exit codes of another program.
    Text(&'static str),
}

impl ExitCodeHelp {
    /// Returns the entry of one number.
    pub const fn number(number: u8, meaning: &'static str) -> Self {
        Self { label: Label::Number(number), meaning }
    }

    /// Returns the entry of several numbers.
    pub const fn several(label: &'static str, meaning: &'static str) -> Self {
        Self { label: Label::Text(label), meaning }
    }

    fn label(&self) -> String {
        match self.label {
            Label::Number(number) => number.to_string(),
            Label::Text(text) => text.to_owned(),
        }
    }
}

/// A longer label gets a line of its own.
const MAX_LABEL: usize = 5;
/// The line width of help texts.
const WIDTH: usize = 100;

/// Returns the exit code section of a help text.
pub fn exit_code_section(codes: &[ExitCodeHelp]) -> String {
    let labels = codes.iter().map(|code| code.label().len()).filter(|length| *length <= MAX_LABEL);
    let width = labels.max().unwrap_or(1);
    let indent = " ".repeat(width + 4);
    let mut text = "Exit codes:".to_owned();
    for code in codes {
        let label = code.label();
        let mut line = if label.len() <= MAX_LABEL {
            format!("\n  {label:width$}")
        } else {
            format!("\n  {label}\n{}", " ".repeat(width + 2))
        };
        // Two spaces separate the label from the meaning, one space separates words.
        let mut column = width + 2;
        for (index, word) in code.meaning.split(' ').enumerate() {
            let gap = if index == 0 { "  " } else { " " };
            if index > 0 && column + gap.len() + word.chars().count() > WIDTH {
                line += &format!("\n{indent}");
                column = indent.len();
            } else {
                line += gap;
                column += gap.len();
            }
            line += word;
            column += word.chars().count();
        }
        text += &line;
    }
    text
}

/// Returns the exit codes as a Markdown table.
pub fn exit_code_table(codes: &[ExitCodeHelp]) -> String {
    let rows = codes.iter().map(|code| format!("| {} | {} |\n", code.label(), code.meaning));
    format!("| code | meaning |\n|---|---|\n{}", rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn meanings_are_aligned_and_wrapped() {
        let codes = [
            ExitCodeHelp::number(0, "done"),
            ExitCodeHelp::number(
                125,
                "the script was not started: not approved, not allowed, not there, or wrong; or its changes were not applied",
            ),
            ExitCodeHelp::several("129, 130", "a signal ended it"),
        ];
        expect![[r"
            Exit codes:
              0    done
              125  the script was not started: not approved, not allowed, not there, or wrong; or its changes
                   were not applied
              129, 130
                   a signal ended it"]]
        .assert_eq(&exit_code_section(&codes));
        expect![[r"
            | code | meaning |
            |---|---|
            | 0 | done |
        "]]
        .assert_eq(&exit_code_table(&codes[..1]));
    }
}
