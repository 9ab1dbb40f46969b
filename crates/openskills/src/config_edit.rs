//! Changes a config file of another program: shows the change, asks, and writes it.

use openskills_runtime::RuntimeError;
use similar::TextDiff;
use skill_fs::{AbsPath, make_private_folder, read_text, write_file};
use term::safe_line;

use crate::ask::{Consent, ConsentFlags};
use crate::context::Context;

/// A change of a config file.
pub(crate) struct ConfigEdit {
    pub(crate) file: AbsPath,
    /// The text of the file; `None` if it does not exist.
    pub(crate) before: Option<String>,
    pub(crate) after: String,
}

/// How a change is confirmed and shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EditFlags {
    /// `--dry-run`
    pub(crate) dry_run: bool,
    /// `--yes`
    pub(crate) yes: bool,
    /// `--json`
    pub(crate) json: bool,
}

/// The result of an edit.
pub(crate) struct Edited {
    /// The change; empty if there is none.
    pub(crate) diff: String,
    pub(crate) written: bool,
    /// The user answered no.
    pub(crate) is_declined: bool,
}

impl ConfigEdit {
    /// Shows the change, asks for consent, and writes the file.
    pub(crate) fn carry_out(
        &self,
        context: &mut Context,
        flags: EditFlags,
    ) -> anyhow::Result<Edited> {
        let Self { file, before, after } = self;
        let text = before.clone().unwrap_or_default();
        let diff = TextDiff::from_lines(text.as_str(), after.as_str());
        let diff = diff.unified_diff().header(file.as_str(), file.as_str()).to_string();
        let mut edited = Edited { diff, written: false, is_declined: false };
        if !flags.json {
            for line in edited.diff.lines() {
                context.ui.out(&format!("{}\n", safe_line(line)))?;
            }
        }
        if !edited.diff.is_empty() && !flags.dry_run {
            let consent = Consent::of(ConsentFlags { yes: flags.yes, json: flags.json });
            if !consent.confirm(&mut context.ui, "Write this change?", "nothing was written")? {
                return Ok(Edited { is_declined: true, ..edited });
            }
            // Another program may have written the file while the user was reading the change.
            if read_text(file)? != *before {
                let message = format!(
                    "nothing was written: `{file}` was changed by another program in the meantime"
                );
                let hint = Some("run the command again".to_owned());
                return Err(RuntimeError::Setup { message, hint }.into());
            }
            if let Some(folder) = file.parent().filter(|folder| !folder.as_path().is_dir()) {
                make_private_folder(&folder)?;
            }
            write_file(file, after.as_bytes())?;
            edited.written = true;
        }
        if !flags.json {
            let action = match (edited.diff.is_empty(), edited.written) {
                (true, _) => "nothing to change in",
                (false, true) => "wrote",
                (false, false) => "would write",
            };
            context.ui.note(&format!("{action} {}\n", safe_line(file.as_str())))?;
        }
        Ok(edited)
    }
}
