//! Reads and checks the content of a skill before anything is written.

use std::ffi::OsStr;

use skill::{
    CommandKind, Diagnostic, Digest, Input, Manifest, Part, SKILL_FILE, Strictness, parse,
};
use skill_fs::{AbsPath, HAS_EXECUTABLE_BITS};

use skill_audit::BundleReport;

use super::store::CommandFileList;
use super::{Cache, SkillError};
use crate::content::context::v1_context;
use crate::operations::audit::Auditor;
use crate::which::find_program;
use crate::{
    CommandFiles, CommandFilesError, Commit, Content, Context, ContextError, Declaration, File,
    FileKind, LocaleError, Platform, Rendered, Repository, Shape, bundle_digest, command_files,
    content_digest, context, manifest, render,
};

/// The files of a skill, ready to be written.
#[derive(Debug)]
pub struct Prepared {
    /// The rendered context, sorted by path.
    pub files: Vec<File>,
    /// The content digest of the context.
    pub content: Digest,
    /// The digest of the context including modes and links.
    pub context: Digest,
    /// The content digest under version 1 of the rules, if requested.
    pub(super) first_content: Option<Digest>,
    /// The digest of the whole snapshot.
    pub bundle: Digest,
    /// Warnings that do not stop the install.
    pub warnings: Vec<String>,
    /// The warning about the skill's name, which `status` repeats.
    pub(super) name_warning: Option<String>,
    /// The manifest of the skill.
    pub manifest: Option<Manifest>,
    /// Its command files, if it has any.
    pub runtime: Option<CommandFiles>,
    /// The audit report, if it was audited.
    pub audit: Option<BundleReport>,
    /// Whether rendering changed the text of the commit.
    pub(super) is_rendered: bool,
    /// The list of command files, as written to the store.
    pub(crate) list: Option<CommandFileList>,
    /// The repository folder that holds the skill, if it is not the whole repository.
    pub part: Option<Part>,
    /// The name of its folder in the command store.
    pub(super) runtime_id: String,
    /// The origin of the repository.
    pub origin: Option<String>,
}

/// Why the content of a skill cannot be installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// It is not a skill, or a file name is not allowed.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// Its commands cannot be installed.
    #[error(transparent)]
    Commands(#[from] CommandFilesError),
    /// Programs that it needs are missing.
    #[error("{}", missing_message(.0))]
    MissingCommands(Vec<MissingCommand>),
    /// Its localization cannot be used.
    #[error(transparent)]
    Locale(#[from] LocaleError),
}

/// A program that a skill needs and the system does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingCommand {
    /// The program.
    pub program: String,
    /// The skill's hint on how to install it.
    pub hint: Option<String>,
}

fn missing_message(missing: &[MissingCommand]) -> String {
    let names: Vec<&str> = missing.iter().map(|missing| missing.program.as_str()).collect();
    let plural = if names.len() == 1 { "" } else { "s" };
    format!("Missing system command{plural}: {}", names.join(", "))
}

impl PrepareError {
    /// Returns how to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Commands(CommandFilesError::Manifest { hint, .. }) => hint.clone(),
            Self::MissingCommands(missing) => {
                let hints: Vec<String> = missing
                    .iter()
                    .filter_map(|missing| {
                        Some(format!("{}: {}", missing.program, missing.hint.as_ref()?))
                    })
                    .collect();
                Some(hints.join("; ")).filter(|hints| !hints.is_empty())
            }
            Self::Context(ContextError::NoSkillFile(folders)) => Some(match folders.first() {
                Some(folder) => {
                    format!("run `csk add` with `--path {folder}`, or set `path` in Skillfile.json")
                }
                None => "check the repository and `path` of the skill: its folder must contain a SKILL.md"
                    .to_owned(),
            }),
            Self::Commands(CommandFilesError::Link { .. }) => Some(
                "copy the target into a runtime root, or add its folder to `runtime_roots`"
                    .to_owned(),
            ),
            Self::Locale(LocaleError::NoneConsistent) => {
                Some("add the same locale to both".to_owned())
            }
            Self::Commands(_) | Self::Context(_) | Self::Locale(_) => None,
        }
    }
}

/// Where skills and the programs that they need are found.
#[derive(Debug)]
pub struct Sources<'a> {
    /// The folder with the skill repositories.
    pub skills_root: &'a AbsPath,
    /// The snapshot cache.
    pub cache: &'a Cache,
    /// The PATH to search for system programs; `None` skips the check.
    pub path: Option<&'a OsStr>,
    /// Folders on PATH that csk itself fills.
    pub except: &'a [AbsPath],
    /// Audits new skills.
    pub auditor: Option<&'a Auditor>,
    /// Whether there are installs by another csk, which may have used version 1 of the rules.
    pub is_adopting: bool,
}

/// Prepares `declaration` at `commit`, rendered in `locale`.
pub fn prepare(
    sources: &Sources<'_>,
    declaration: &Declaration,
    commit: &Commit,
    locale: Option<&str>,
) -> Result<Prepared, SkillError> {
    let repository = Repository::open(&sources.skills_root.join(declaration.source.as_str()))?;
    let tree = repository.objects().tree(commit, declaration.path.as_ref())?;
    let snapshot = sources.cache.snapshot(&declaration.source, repository.objects(), &tree)?;
    let (manifest, mut warnings) = manifest(&snapshot).map_err(PrepareError::from)?;
    let runtime = match &manifest {
        Some(manifest) => {
            if sources.path.is_some() {
                missing_commands(manifest, sources)?;
            }
            command_files(&snapshot, manifest, Platform::CURRENT).map_err(PrepareError::from)?
        }
        None => None,
    };
    let runtime = runtime.map(|mut runtime| {
        make_installable(&mut runtime.files);
        runtime
    });
    let shape = if declaration.path.is_some() { Shape::Folder } else { Shape::Repository };
    let Context { mut files, warnings: reference_warnings } =
        context(&snapshot, manifest.as_ref(), shape).map_err(PrepareError::from)?;
    warnings.extend(reference_warnings);
    let as_written = locale.is_some().then(|| files.clone());
    if let Rendered::Kept { available } =
        render(&mut files, &snapshot, locale).map_err(PrepareError::from)?
    {
        let (locale, available) = (locale.unwrap_or_default(), available.join(", "));
        warnings.push(format!(
            "locale `{locale}` is not available; using the source text (available: {available})"
        ));
    }
    // A locale may add what the source lacks.
    warnings.extend(format_warnings(&files, declaration));
    let first_content = match sources.is_adopting {
        true => {
            let mut files = v1_context(&snapshot, manifest.as_ref());
            render(&mut files, &snapshot, locale).map_err(PrepareError::from)?;
            Some(content_digest(&files)?)
        }
        false => None,
    };
    // The audit covers what is installed, and rendering may have changed the text.
    let is_rendered = as_written.is_some_and(|before| before != files);
    make_installable(&mut files);
    let (content, bundle) = (content_digest(&files)?, snapshot.bundle_digest()?);
    // Most skills are installed whole and unchanged.
    let is_whole = files == snapshot.files();
    let context = if is_whole { bundle } else { bundle_digest(&files)? };
    let audit = sources.auditor.filter(|auditor| auditor.is_active());
    let name = declaration.name.as_str();
    let audit = match audit {
        Some(auditor) if is_rendered => Some(auditor.audit_rendered(name, &snapshot, &files)?),
        Some(auditor) => Some(auditor.audit(name, &snapshot, bundle)?),
        None => None,
    };
    let skill_file = files.iter().find(|file| file.path.as_str() == SKILL_FILE);
    let name_warning = match skill_file.map(|file| &file.content) {
        Some(Content::Memory(bytes)) => name_warning(bytes, declaration.name.as_str()),
        _ => None,
    };
    let part = declaration.path.clone().map(|path| Part { path, tree: tree.clone() });
    let runtime_id = if part.is_some() { tree } else { commit.as_str().to_owned() };
    let list = runtime
        .as_ref()
        .map(|runtime| CommandFileList::new(&declaration.name, &runtime_id, runtime));
    let list = list.transpose()?;
    Ok(Prepared {
        files,
        content,
        first_content,
        context,
        bundle,
        warnings,
        name_warning,
        manifest,
        runtime,
        audit,
        is_rendered,
        list,
        part,
        runtime_id,
        origin: crate::origin(&sources.skills_root.join(declaration.source.as_str()))
            .ok()
            .flatten(),
    })
}

/// Drops what this system cannot store, so that digests describe the files as they will be read back.
fn make_installable(files: &mut [File]) {
    let executable = files.iter_mut().filter(|file| file.kind == FileKind::Executable);
    if !HAS_EXECUTABLE_BITS {
        executable.for_each(|file| file.kind = FileKind::Plain);
    }
}

/// Checks that every program the skill needs is on PATH; none is run.
fn missing_commands(manifest: &Manifest, sources: &Sources<'_>) -> Result<(), PrepareError> {
    let mut missing = Vec::new();
    for command in &manifest.commands {
        if let CommandKind::System { program, hint } = &command.kind
            && find_program(program, sources.path, sources.except).is_none()
        {
            missing.push(MissingCommand { program: program.clone(), hint: hint.clone() });
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(PrepareError::MissingCommands(missing)) }
}

/// Parses SKILL.md leniently: format problems are only warnings here.
fn format_warnings(files: &[File], declaration: &Declaration) -> Vec<String> {
    let file = files.iter().find(|file| file.path.as_str() == SKILL_FILE);
    let Some(Content::Memory(bytes)) = file.map(|file| &file.content) else { return Vec::new() };
    let problems = problems(bytes, declaration.name.as_str());
    problems.iter().map(|problem| format!("{SKILL_FILE}: {}", problem.message)).collect()
}

/// Returns the warning about a SKILL.md whose name differs from the skill's.
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
