//! Exit codes as the help and the reference list them. Each program has one enum of its own, which gives the numbers.

/// The exit code of a wrong call, in every program: clap ends with it as well.
pub const USAGE: u8 = 2;
/// What a shell reports for a program whose reader went away.
pub const BROKEN_PIPE: u8 = 141;

/// An exit code, as it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCodeHelp {
    label: Label,
    meaning: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Number(u8),
    /// Several numbers, or those of another program.
    Text(&'static str),
}

impl ExitCodeHelp {
    /// Returns what one number means.
    pub const fn number(number: u8, meaning: &'static str) -> Self {
        Self { label: Label::Number(number), meaning }
    }

    /// Returns what several numbers mean.
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

/// A longer label has a line of its own.
const MAX_LABEL: usize = 5;
/// Pages are read on terminals: no line is longer.
const WIDTH: usize = 100;

/// Returns the section of a help that lists exit codes.
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
        // The first word of a meaning stands two blanks after the label, the others one after each other.
        let mut column = width + 2;
        for (at, word) in code.meaning.split(' ').enumerate() {
            let gap = if at == 0 { "  " } else { " " };
            if at > 0 && column + gap.len() + word.chars().count() > WIDTH {
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

/// Returns a table of exit codes in Markdown.
pub fn exit_code_table(codes: &[ExitCodeHelp]) -> String {
    let rows = codes.iter().map(|code| format!("| {} | {} |\n", code.label(), code.meaning));
    format!("| code | meaning |\n|---|---|\n{}", rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn meanings_stand_below_each_other_and_lines_are_short() {
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
