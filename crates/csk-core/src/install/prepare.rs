//! Reads and checks the content of a skill before anything is written.

use skill::{Diagnostic, Digest, Input, SKILL_FILE, Strictness, parse};
use skill_fs::AbsPath;

use super::{Cache, SkillError};
use crate::{
    Commit, Content, ContextError, Declaration, File, LocaleError, Rendered, Repository,
    RuntimeError, content_digest, context, manifest, render,
};

/// The files of a skill, ready to be written.
#[derive(Debug)]
pub struct Prepared {
    /// The context, rendered, sorted by path.
    pub files: Vec<File>,
    /// Its digest.
    pub content: Digest,
    /// The digest of the whole snapshot.
    pub bundle: Digest,
    /// What to tell, though it stops nothing.
    pub warnings: Vec<String>,
    /// Of those, what is told by every status as well.
    pub(super) name_warning: Option<String>,
}

/// Why the content of a skill cannot be installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// It is no skill, or links lead astray.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// Its commands cannot be installed.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// Its localisation cannot be used.
    #[error(transparent)]
    Locale(#[from] LocaleError),
}

/// Prepares `declaration` at `commit`, rendered in `locale`.
pub fn prepare(
    skills_root: &AbsPath,
    cache: &Cache,
    declaration: &Declaration,
    commit: &Commit,
    locale: Option<&str>,
) -> Result<Prepared, SkillError> {
    let repository = Repository::open(&skills_root.join(declaration.source.as_str()))?;
    let tree = repository.tree(commit)?;
    let snapshot = cache.snapshot(&declaration.source, &repository, &tree)?;
    let (manifest, mut warnings) = manifest(&snapshot).map_err(PrepareError::from)?;
    let mut files = context(&snapshot, manifest.as_ref()).map_err(PrepareError::from)?;
    warnings.extend(format_warnings(&files, declaration));
    if let Rendered::Kept { available } =
        render(&mut files, &snapshot, locale).map_err(PrepareError::from)?
    {
        let (locale, available) = (locale.unwrap_or_default(), available.join(", "));
        warnings.push(format!(
            "locale `{locale}` is not available, the source text is kept (available: {available})"
        ));
    }
    let content = content_digest(&files)?;
    let bundle = snapshot.bundle_digest()?;
    let skill_file = files.iter().find(|file| file.path.as_str() == SKILL_FILE);
    let name_warning = match skill_file.map(|file| &file.content) {
        Some(Content::Memory(bytes)) => name_warning(bytes, declaration.name.as_str()),
        _ => None,
    };
    Ok(Prepared { files, content, bundle, warnings, name_warning })
}

/// Reads the SKILL.md leniently: problems of its format are told, and stop nothing here.
fn format_warnings(files: &[File], declaration: &Declaration) -> Vec<String> {
    let file = files.iter().find(|file| file.path.as_str() == SKILL_FILE);
    let Some(Content::Memory(bytes)) = file.map(|file| &file.content) else { return Vec::new() };
    let problems = problems(bytes, declaration.name.as_str());
    problems.iter().map(|problem| format!("{SKILL_FILE}: {}", problem.message)).collect()
}

/// Returns what to tell of a SKILL.md whose name is not that of its skill.
pub(super) fn name_warning(bytes: &[u8], name: &str) -> Option<String> {
    let differs = |problem: &Diagnostic| problem.code == skill::Code::NameDirectory;
    problems(bytes, name)
        .into_iter()
        .find(differs)
        .map(|problem| format!("{SKILL_FILE}: {}", problem.message))
}

fn problems(bytes: &[u8], name: &str) -> Vec<Diagnostic> {
    let input = Input { file: SKILL_FILE, directory: Some(name), bytes };
    let mut problems = parse(&input, Strictness::Lenient).diagnostics;
    problems.retain(|problem| problem.severity != skill::Severity::Note);
    problems
}
