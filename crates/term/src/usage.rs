//! Help and usage errors, as both programs print them.

use clap::error::Error;

use crate::{ColorChoice, Ui, safe_text};

/// Returns what is wrong with a call, on one line.
pub fn usage_message(error: &Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}

/// Prints help or a usage error and returns the exit code. An argument may be a stranger's file name, so
/// it is made safe to show.
pub fn tell_usage(error: &Error) -> u8 {
    let mut ui = Ui::new(ColorChoice::Auto);
    let text = error.render().to_string();
    // If the stream is gone there is nobody left to tell.
    let _ = if error.use_stderr() {
        ui.error(&safe_text(&text))
    } else {
        ui.out(&text).and_then(|()| ui.flush())
    };
    u8::try_from(error.exit_code()).unwrap_or(2)
}
