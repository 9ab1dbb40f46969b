//! Reads the commands in `agents/runtime.json`.

use super::{Command, CommandKind, Manifest, Tree, TreeEntry, is_reserved};
use crate::json::{self, Object, Text};
use crate::{Code, Diagnostic, Identifier, RelPath, Severity};

pub(super) fn parse(file: &str, text: &str, tree: Tree<'_>) -> (Manifest, Vec<Diagnostic>) {
    let mut commands = Vec::new();
    let (_, mut problems) = json::read(file, text, |object| {
        for (name, path) in object.text_entries("commands") {
            commands.extend(command(object, &name, &path, tree));
        }
        Some(())
    });
    // Other tools use this file too: ignore their keys, and never let its problems stop an install.
    problems.retain(|problem| problem.code != Code::UnknownKey);
    for problem in problems.iter_mut().filter(|problem| problem.severity == Severity::Error) {
        problem.severity = Severity::Warning;
    }
    let manifest = Manifest {
        schema_version: 1,
        runtime_roots: Vec::new(),
        commands,
        capabilities: None,
        is_legacy: true,
    };
    (manifest, problems)
}

fn command(
    object: &mut Object<'_, '_, '_>,
    name: &Text,
    path: &Text,
    tree: Tree<'_>,
) -> Option<Command> {
    let mut refuse = |text: &Text, why: String| {
        let message = format!("skipped command `{}`: {why}", name.value);
        object.problem(Code::LegacyCommand, text.range.clone(), message);
    };
    let identifier = match Identifier::new(name.value.as_str()) {
        Ok(identifier) if is_reserved(&identifier) => {
            refuse(name, "the name is reserved".to_owned());
            return None;
        }
        Ok(identifier) => identifier,
        Err(error) => {
            refuse(name, error.to_string());
            return None;
        }
    };
    let file = match RelPath::new(path.value.as_str()) {
        Ok(file) => file,
        Err(error) => {
            refuse(path, error.to_string());
            return None;
        }
    };
    if tree(file.as_str()) != Some(TreeEntry::File) {
        refuse(path, format!("{file} is not a file in the skill"));
        return None;
    }
    let is_windows = file.as_str().to_ascii_lowercase().ends_with(".cmd");
    let (unix, windows) = if is_windows { (None, Some(file)) } else { (Some(file), None) };
    Some(Command { name: identifier, kind: CommandKind::Script { unix, windows } })
}
