//! Opens a skill of the index, and makes sure that it is still the one that was discovered.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use skill::{
    CODEX_FILE, Code, CodexFile, Diagnostic, Document, Input, MAX_SKILL_FILE_BYTES, RelPath,
    Strictness, parse, read_codex_file,
};
use skill_fs::{AbsPath, FsError, Root};

use crate::discover::index::Place;
use crate::problem::file_problem;
use crate::{RuntimeError, Skill};

/// Opens the folder of a skill, unless something else stands there now. A builtin skill has none.
pub(crate) fn open(skill: &Skill) -> Result<Option<Root>, RuntimeError> {
    let Place::Folder { folder, file, stamp, .. } = &skill.place else { return Ok(None) };
    let Some(file) = file.path() else { return Err(changed(skill, "its SKILL.md is gone")) };
    let root = Root::open_real(folder).map_err(|error| match error {
        FsError::NotFound { .. } => changed(skill, "its folder is gone"),
        FsError::NotAFolder { .. } => changed(skill, "its folder is not a folder any more"),
        FsError::Escapes { .. } => changed(skill, "a link stands where its folder was"),
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

/// Says what became of a SKILL.md, and nothing of what a link leads to.
fn changed_file(skill: &Skill, root: &Root, file: &RelPath) -> RuntimeError {
    let what = match root.file(file) {
        Ok(_) => "was written or replaced",
        Err(FsError::NotFound { .. }) => "is gone",
        Err(FsError::Escapes { .. }) => "is a link out of the skill",
        Err(_) => "is not a file that can be read any more",
    };
    changed(skill, format!("its {file} {what}"))
}

/// What a SKILL.md says in full, and what was noticed on the way.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) document: Document,
    pub(crate) codex: Option<CodexFile>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The folder; absent for a builtin skill.
    pub(crate) root: Option<Root>,
}

/// Reads the whole SKILL.md of a skill.
pub(crate) fn load(skill: &Skill, strictness: Strictness) -> Result<Loaded, RuntimeError> {
    let (root, file, stamp) = match (open(skill)?, &skill.place) {
        (Some(root), Place::Folder { file, stamp, .. }) => (root, file.path(), stamp),
        (_, Place::Builtin(builtin)) => {
            let document = builtin.document();
            return Ok(Loaded { document, codex: None, diagnostics: Vec::new(), root: None });
        }
        // Its frontmatter is known; its body is fetched for whoever activates it.
        (_, Place::Served(served)) => {
            let document = served.document().map_err(|diagnostics| {
                RuntimeError::InvalidManifest { file: served.origin.clone(), diagnostics }
            })?;
            return Ok(Loaded { document, codex: None, diagnostics: Vec::new(), root: None });
        }
        (None, Place::Folder { .. }) => return Err(changed(skill, "its folder is gone")),
    };
    let Some(file) = file else { return Err(changed(skill, "its SKILL.md is gone")) };
    let (bytes, read) = root
        .read_stamped(&file, MAX_SKILL_FILE_BYTES)
        .map_err(|_| changed_file(skill, &root, &file))?;
    // The very file that was read is the one that was discovered.
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

/// Reads what a skill says to Codex, if it does.
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
        // The skill does not depend on the file, but what it hides stays hidden.
        Err(error) => {
            let message = file_problem(&error, shown).message;
            let problem = Diagnostic::of_file(Code::AgentsFile, strictness, shown, message);
            let hidden =
                CodexFile { allow_implicit_invocation: Some(false), ..CodexFile::default() };
            (Some(hidden), problem.into_iter().collect())
        }
    }
}

/// Returns true if the model may start a skill by itself, by all that its files say.
pub(crate) fn model_may_invoke(skill: &Skill) -> bool {
    let Place::Folder { folder, .. } = &skill.place else { return skill.model_may_invoke };
    skill.model_may_invoke && !is_hidden_by_codex(folder)
}

/// Nearly no skill has the file, so the folder is opened only where there is something that could hold it.
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
