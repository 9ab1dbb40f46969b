//! Opens a skill and checks that it is still the one that was discovered.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use skill::{
    CODEX_FILE, Code, CodexFile, Diagnostic, Document, Input, MAX_SKILL_FILE_BYTES, RelPath,
    Strictness, parse, read_codex_file,
};
use skill_fs::{AbsPath, FsError, Root};

use crate::discover::index::SkillLocation;
use crate::problem::file_problem;
use crate::{RuntimeError, Skill};

/// Opens the folder of a skill; fails if it was replaced. Builtin skills have none.
pub(crate) fn open(skill: &Skill) -> Result<Option<Root>, RuntimeError> {
    let SkillLocation::Folder { folder, file, stamp, .. } = &skill.place else { return Ok(None) };
    let Some(file) = file.path() else { return Err(changed(skill, "its SKILL.md is gone")) };
    let root = Root::open_real(folder).map_err(|error| match error {
        FsError::NotFound { .. } => changed(skill, "its folder is gone"),
        FsError::NotAFolder { .. } => changed(skill, "its path is no longer a folder"),
        FsError::Escapes { .. } => changed(skill, "its folder was replaced by a symlink"),
        other => other.into(),
    })?;
    let root = root.as_skill();
    if stamp.is_some() && root.stamp(file.as_str()) != *stamp {
        return Err(changed_file(skill, &root, &file));
    }
    Ok(Some(root))
}

fn changed(skill: &Skill, what: impl Into<String>) -> RuntimeError {
    RuntimeError::SkillChanged { skill: skill.id.clone(), what: what.into() }
}

/// Describes what happened to a SKILL.md without revealing anything about a symlink's target.
fn changed_file(skill: &Skill, root: &Root, file: &RelPath) -> RuntimeError {
    let what = match root.file(file) {
        Ok(_) => "was modified or replaced",
        Err(FsError::NotFound { .. }) => "is gone",
        Err(FsError::Escapes { .. }) => "is a symlink that points outside the skill",
        Err(_) => "can no longer be read",
    };
    changed(skill, format!("its {file} {what}"))
}

/// A fully loaded skill.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) document: Document,
    pub(crate) codex: Option<CodexFile>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The folder; absent for a builtin skill.
    pub(crate) root: Option<Root>,
}

/// Reads and parses a skill's entire SKILL.md.
pub(crate) fn load(skill: &Skill, strictness: Strictness) -> Result<Loaded, RuntimeError> {
    let (root, file, stamp) = match (open(skill)?, &skill.place) {
        (Some(root), SkillLocation::Folder { file, stamp, .. }) => (root, file.path(), stamp),
        (_, SkillLocation::Builtin(builtin)) => {
            let document = builtin.document();
            return Ok(Loaded { document, codex: None, diagnostics: Vec::new(), root: None });
        }
        // Its frontmatter is known; the body is fetched on activation.
        (_, SkillLocation::Served(served)) => {
            let document = served.document().map_err(|diagnostics| {
                RuntimeError::InvalidManifest { file: served.origin.clone(), diagnostics }
            })?;
            return Ok(Loaded { document, codex: None, diagnostics: Vec::new(), root: None });
        }
        (None, SkillLocation::Folder { .. }) => return Err(changed(skill, "its folder is gone")),
    };
    let Some(file) = file else { return Err(changed(skill, "its SKILL.md is gone")) };
    let (bytes, read) = root
        .read_stamped(&file, MAX_SKILL_FILE_BYTES)
        .map_err(|_| changed_file(skill, &root, &file))?;
    // The file that was read must be the one that was discovered.
    if stamp.is_some() && read != *stamp {
        return Err(changed_file(skill, &root, &file));
    }
    let shown = root.path().join(file.as_str());
    let input = Input { file: shown.as_str(), directory: root.path().file_name(), bytes: &bytes };
    let parsed = parse(&input, strictness);
    let mut diagnostics = parsed.diagnostics;
    let Some(document) = parsed.document else {
        return Err(RuntimeError::InvalidManifest { file: shown.to_string(), diagnostics });
    };
    let shown = root.path().join(CODEX_FILE);
    let (codex, problems) = codex(&root, strictness, shown.as_str());
    diagnostics.extend(problems);
    Ok(Loaded { document, codex, diagnostics, root: Some(root) })
}

/// Reads the skill's Codex file, if it has one.
pub fn codex(
    root: &Root,
    strictness: Strictness,
    shown: &str,
) -> (Option<CodexFile>, Vec<Diagnostic>) {
    let path = RelPath::new(CODEX_FILE).expect("it is a relative path");
    match root.read(&path, MAX_SKILL_FILE_BYTES) {
        Ok(bytes) => {
            let input = Input { file: shown, directory: None, bytes: &bytes };
            let (codex, problems) = read_codex_file(&input);
            (Some(codex), problems)
        }
        Err(FsError::NotFound { .. } | FsError::NotAFolder { .. }) => (None, Vec::new()),
        // The skill works without the file, but an unreadable one might hide it from the model.
        Err(error) => {
            let message = file_problem(&error, shown).message;
            let problem = Diagnostic::of_file(Code::AgentsFile, strictness, shown, message);
            let hidden =
                CodexFile { allow_implicit_invocation: Some(false), ..CodexFile::default() };
            (Some(hidden), problem.into_iter().collect())
        }
    }
}

/// Returns true if the skill's files allow the model to invoke it.
pub(crate) fn model_may_invoke(skill: &Skill) -> bool {
    let SkillLocation::Folder { folder, .. } = &skill.place else { return skill.model_may_invoke };
    skill.model_may_invoke && !is_hidden_by_codex(folder)
}

/// Returns true if the skill's Codex file hides it from the model. Few skills have one, so the folder is opened only if
/// the file's parent exists.
fn is_hidden_by_codex(folder: &AbsPath) -> bool {
    let holder = CODEX_FILE.split('/').next().unwrap_or(CODEX_FILE);
    match std::fs::symlink_metadata(folder.join(holder).as_path()) {
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            false
        }
        _ => match Root::open_real(folder) {
            Ok(root) => {
                let (codex, _) = codex(&root.as_skill(), Strictness::Lenient, CODEX_FILE);
                codex.and_then(|codex| codex.allow_implicit_invocation) == Some(false)
            }
            Err(_) => true,
        },
    }
}
