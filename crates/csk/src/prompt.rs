//! Asks the user questions on the terminal.

use std::io::{self, BufRead, IsTerminal};

use term::Ui;

/// Returns true if csk can ask a question and read the answer.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Prints a question and returns the answer; `None` if the input has ended.
pub(crate) fn ask(ui: &mut Ui, question: &str) -> anyhow::Result<Option<String>> {
    ui.error(question)?;
    let mut answer = String::new();
    let length = io::stdin().lock().read_line(&mut answer)?;
    Ok((length > 0).then(|| answer.trim().to_owned()))
}

/// Asks a question that only `y` and `yes` confirm.
pub(crate) fn confirm(ui: &mut Ui, question: &str) -> anyhow::Result<bool> {
    let answer = ask(ui, &format!("{question} [y/N] "))?.unwrap_or_default();
    Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}
