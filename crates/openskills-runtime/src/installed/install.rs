//! Installs packages. A package is fully checked before anything is written; the plan shows what it contains and what
//! changes; the install itself is atomic.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge to the file system: an archive that was fetched"
)]

use std::path::Path;

use jiff::Timestamp;
use skill::capabilities::{CapabilityChange, CapabilityExtents, Declared};
use skill::{
    Diagnostic, Digest, Frontmatter, Input, SKILL_FILE, Severity, Strictness,
    check_argument_schema, parse,
};
use skill_fs::{AbsPath, FsError, Root, WalkLimits, digests, real_path, walk};
use skill_pack::{Package, Signed};

use crate::decide::approvals::read_manifest;
use crate::disclose::activate::side_effects;
use crate::discover::project::find_project;
use crate::discover::provenance::repository_urls;
use crate::installed::{
    Installed, InstalledSkills, OriginUrl, SignatureRecord, back_up_skill, clean_up, digest_at,
    put, remove_skill, written,
};
use crate::record::event::InstallRecord;
use crate::run::unpacked::Unpacked;
use crate::runtime::OpenSkillRuntime;
use crate::state::decisions::{lock_state, no_state_folder};
use crate::{AuditOutcome, Event, RuntimeError, argument_schema_problem, rfc3339};

/// Where a skill is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallScope {
    /// In the project, for everyone who works on it: `.keep-up/skills`.
    Project,
    /// For the user account: `skills` in the data folder.
    User,
}

/// Where a package comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallOrigin {
    /// The folder or archive.
    pub source: String,
    /// The origin URL that the user gave.
    pub origin_url: Option<OriginUrl>,
    /// Archive digest.
    pub archive: Option<Digest>,
    /// The signer, if it is signed.
    pub signed: Option<Signed>,
}

/// What installing a package would do. Creating a plan changes nothing.
#[derive(Debug)]
pub struct InstallPlan {
    /// The package.
    pub package: Package,
    /// The folder it will be installed in.
    pub target: AbsPath,
    /// The previously installed version, if any.
    pub before: Option<Installed>,
    /// Whether the installed version was edited.
    pub is_edited: bool,
    /// Whether identical content is already installed.
    pub is_same: bool,
    /// The declared version.
    pub version: String,
    /// The declared capabilities.
    pub capabilities: CapabilityExtents,
    /// How the declared capabilities differ from the installed version's; `None` if those are unknown.
    pub changes: Option<Vec<CapabilityChange>>,
    /// The declared side effects.
    pub side_effects: Option<Vec<&'static str>>,
    /// The audit result.
    pub audited: AuditOutcome,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
    digest: Digest,
    /// Digest of the target folder when the plan was made.
    there: Option<Digest>,
    /// Whether an earlier install was interrupted.
    is_unfinished: bool,
    origin: InstallOrigin,
}

/// The result of an install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallOutcome {
    /// The new ledger entry.
    pub installed: Installed,
    /// The folder it was installed in.
    pub folder: AbsPath,
    /// The backup of the edited version, if there was one.
    pub backup: Option<AbsPath>,
}

impl InstallPlan {
    /// Returns true if nothing is left to do: identical content is installed, and the ledger has the same origin and
    /// signer.
    pub fn is_known(&self) -> bool {
        let is_done = self.is_same && !self.is_unfinished;
        let Some(before) = self.before.as_ref().filter(|_| is_done) else { return false };
        let InstallOrigin { source, origin_url, signed, .. } = &self.origin;
        let is_signer = |signed: &Signed| {
            before.signature.as_ref().is_some_and(|known| known.key == signed.key)
        };
        let is_origin =
            |url: &OriginUrl| before.origin_url.as_deref().is_some_and(|was| was == url.as_str());
        before.source == *source
            && origin_url.as_ref().is_none_or(is_origin)
            && signed.as_ref().is_none_or(is_signer)
    }
}

impl OpenSkillRuntime {
    /// Returns the folder that skills are installed into.
    pub fn install_folder(&self, scope: InstallScope) -> Result<AbsPath, RuntimeError> {
        let places = self.places()?;
        match scope {
            InstallScope::User => {
                let data = places.data.as_ref().ok_or_else(no_state_folder)?;
                Ok(data.join("skills"))
            }
            InstallScope::Project => {
                let project = find_project(self.config.project_root.as_deref(), places)?;
                Ok(project.root.join(".keep-up/skills"))
            }
        }
    }

    /// Returns the folder of an installed skill. Fails if symlinks in the project lead out of it.
    fn target(&self, scope: InstallScope, name: &str) -> Result<AbsPath, RuntimeError> {
        let target = real_target(&self.install_folder(scope)?, name)?;
        if scope == InstallScope::Project {
            let project = find_project(self.config.project_root.as_deref(), self.places()?)?.root;
            let project = real_path(&project)?;
            if !target.as_path().starts_with(project.as_path()) {
                return Err(RuntimeError::Setup {
                    message: format!(
                        "`.keep-up/skills` is a symlink that points outside the project, to `{target}`"
                    ),
                    hint: Some(
                        "remove the symlink, or pass --user to install for your user account"
                            .to_owned(),
                    ),
                });
            }
        }
        Ok(target)
    }

    /// Checks a package against what is installed. Writes nothing to skill folders.
    pub fn plan_install(
        &self,
        package: Package,
        scope: InstallScope,
        origin: InstallOrigin,
    ) -> Result<InstallPlan, RuntimeError> {
        let unpacked = Unpacked::of(self.places()?, &package)?;
        let root = unpacked.root()?;
        let (declared, frontmatter, diagnostics) =
            check_files(&root, &package, &shown(&origin, &package))?;
        let version = frontmatter.metadata_text("version");
        let side_effects = side_effects(&frontmatter);
        let digest = digests(&root, &walk(&root, &WalkLimits::SKILL)?)?.bundle;
        let origin_url = origin.origin_url.as_ref().map(ToString::to_string);
        let sources = [Some(origin.source.clone()), origin_url];
        // The folder may be a git clone, which reveals its origin.
        let cloned = AbsPath::new(Path::new(&origin.source)).ok();
        let cloned = cloned.as_ref().map_or_else(Vec::new, repository_urls);
        let sources: Vec<String> = sources.into_iter().flatten().chain(cloned).collect();
        let audited = self.audit_files(&package.name, &root, &sources)?;
        let target = self.target(scope, &package.name)?;
        if let Some(skills) = target.parent() {
            Installed::beside(&skills, &package.name)?;
        }
        if origin.source == target.as_str() {
            return Err(RuntimeError::Setup {
                message: format!("cannot install `{target}` over itself"),
                hint: Some("to install your edited version, copy it elsewhere first".to_owned()),
            });
        }
        let known = InstalledSkills::load(self.places()?.state.as_ref())?;
        let (before, is_unfinished) = (known.at(&target).cloned(), known.is_unfinished(&target));
        let there = digest_at(&target)?;
        // Compare with the ledger, because anyone could have edited the folder.
        let was = before.as_ref().map(Installed::declared);
        let changes = match was {
            None => Some(Vec::new()),
            Some(was) => was.map(|was| declared.extents().changes_since(&was)),
        };
        let (is_edited, is_same) = match (&there, &before) {
            (None, _) => (false, false),
            (Some(_), None) => {
                let hint = "rename or remove it, then install again";
                return Err(RuntimeError::Setup {
                    message: format!(
                        "`{target}` already exists and was not installed by openskills"
                    ),
                    hint: Some(hint.to_owned()),
                });
            }
            (Some(now), Some(before)) => (now.to_string() != before.digest, *now == digest),
        };
        let capabilities = declared.extents();
        Ok(InstallPlan {
            package,
            target,
            before,
            is_edited,
            is_same,
            version,
            capabilities,
            changes,
            side_effects,
            audited,
            diagnostics,
            digest,
            there,
            is_unfinished,
            origin,
        })
    }

    /// Removes leftovers of killed processes from the install folder.
    pub fn clean_up_installs(&self, scope: InstallScope) -> Result<(), RuntimeError> {
        clean_up(&self.install_folder(scope)?, self.places()?);
        Ok(())
    }

    /// Checks a folder that is about to be packed, as an install would; `shown` is its name in messages.
    pub fn check_package(
        &self,
        folder: &AbsPath,
        package: &Package,
        shown: &str,
    ) -> Result<AuditOutcome, RuntimeError> {
        // Audit exactly what is packed, without the git repository and without csk's files.
        let unpacked = Unpacked::of(self.places()?, package)?;
        let root = unpacked.root()?;
        check_files(&root, package, shown)?;
        let sources: Vec<String> =
            [folder.to_string()].into_iter().chain(repository_urls(folder)).collect();
        self.audit_files(&package.name, &root, &sources)
    }

    /// Executes a plan. An edited version is backed up first.
    pub fn install(&mut self, plan: &InstallPlan) -> Result<InstallOutcome, RuntimeError> {
        let places = self.places()?.clone();
        let state = places.state.clone();
        let _lock = lock_state(state.as_ref())?;
        let skills = plan.target.parent().ok_or_else(no_state_folder)?;
        clean_up(&skills, &places);
        let mut known = InstalledSkills::load(state.as_ref())?;
        // Do not overwrite changes made while the user was being asked.
        if known.at(&plan.target) != plan.before.as_ref() || digest_at(&plan.target)? != plan.there
        {
            let message = format!("`{}` changed during the install", plan.target);
            return Err(RuntimeError::Setup { message, hint: Some("try again".to_owned()) });
        }
        let now = rfc3339(Timestamp::now());
        let backup = if plan.is_edited && !plan.is_same {
            Some(back_up_skill(&skills, &plan.package.name, &places)?)
        } else {
            None
        };
        let InstallOrigin { source, origin_url, archive, signed } = plan.origin.clone();
        let signature =
            signed.map(|signed| SignatureRecord { signer: signed.signer, key: signed.key });
        let installed = Installed {
            name: plan.package.name.clone(),
            source,
            origin_url: origin_url.as_ref().map(ToString::to_string),
            version: Some(plan.version.clone()).filter(|version| !version.is_empty()),
            digest: plan.digest.to_string(),
            archive_sha256: archive.map(|digest| digest.to_string()),
            signature,
            capabilities: Some(written(&plan.capabilities)),
            installed_at: now,
        };
        let (path, record) = (plan.target.to_string(), installed.clone());
        self.record(&Event::Installed(Box::new(InstallRecord { path, installed: record })))?;
        // Write the ledger first, so that the skill can be removed even if this process is killed.
        known.begin(&plan.target, installed.clone());
        known.save(state.as_ref())?;
        if !plan.is_same {
            put(&plan.package, &skills, &places)?;
        }
        installed.write_beside(&skills)?;
        known.finish(&plan.target);
        known.save(state.as_ref())?;
        Ok(InstallOutcome { installed, folder: plan.target.clone(), backup })
    }

    /// Removes an installed skill; returns its folder, and the backup if it was edited.
    pub fn uninstall(
        &mut self,
        name: &str,
        scope: InstallScope,
    ) -> Result<(AbsPath, Option<AbsPath>), RuntimeError> {
        let target = self.target(scope, name)?;
        let places = self.places()?.clone();
        let state = places.state.clone();
        let _lock = lock_state(state.as_ref())?;
        let mut known = InstalledSkills::load(state.as_ref())?;
        let Some(installed) = known.at(&target).cloned() else {
            let hint = self.elsewhere(&known, name, scope);
            return Err(RuntimeError::NotInstalled { name: name.to_owned(), hint });
        };
        let skills = target.parent().ok_or_else(no_state_folder)?;
        let beside = Installed::beside(&skills, name)?;
        clean_up(&skills, &places);
        let mut backup = None;
        // An unreadable folder counts as edited.
        let is_there = !matches!(Root::open_real(&target), Err(FsError::NotFound { .. }));
        if is_there {
            let now = digest_at(&target).ok().flatten();
            if now.is_none_or(|now| now.to_string() != installed.digest) {
                backup = Some(back_up_skill(&skills, name, &places)?);
            }
            let path = target.to_string();
            self.record(&Event::Uninstalled(Box::new(InstallRecord { path, installed })))?;
            remove_skill(&skills, name, &places)?;
        }
        // Update the ledger last, so that an interrupted removal can be repeated.
        remove_file(&beside)?;
        known.remove(&target);
        known.save(state.as_ref())?;
        Ok((target, backup))
    }

    /// Returns a hint: where the skill is installed instead, or the most similar name.
    fn elsewhere(
        &self,
        known: &InstalledSkills,
        name: &str,
        scope: InstallScope,
    ) -> Option<String> {
        let (other, hint) = match scope {
            InstallScope::Project => {
                (InstallScope::User, "it is installed for your user account; add --user")
            }
            InstallScope::User => {
                (InstallScope::Project, "it is installed in the project; omit --user")
            }
        };
        if self.target(other, name).is_ok_and(|target| known.at(&target).is_some()) {
            return Some(hint.to_owned());
        }
        if let Some((folder, _)) = known.iter().find(|(_, one)| one.name == name) {
            return Some(format!(
                "it is installed in `{folder}`; pass that project with --project-dir"
            ));
        }
        let names = known.iter().map(|(_, one)| one.name.as_str());
        skill::nearest(name, names).map(|nearest| format!("did you mean `{nearest}`?"))
    }

    /// Returns every installed skill with its folder and whether it is unchanged; `None` if it is gone.
    pub fn installed(&self) -> Result<Vec<(String, Installed, Option<bool>)>, RuntimeError> {
        let known = InstalledSkills::load(self.places()?.state.as_ref())?;
        let entry = |(folder, installed): (&str, &Installed)| {
            let there = AbsPath::new(folder).map(|folder| digest_at(&folder));
            let is_same = match there {
                Err(_) | Ok(Ok(None)) => None,
                Ok(Ok(Some(now))) => Some(now.to_string() == installed.digest),
                Ok(Err(_)) => Some(false),
            };
            (folder.to_owned(), installed.clone(), is_same)
        };
        Ok(known.iter().map(entry).collect())
    }
}

/// Returns the folder of an installed skill. The existing part of the path is resolved.
fn real_target(skills: &AbsPath, name: &str) -> Result<AbsPath, RuntimeError> {
    if skill::RelPath::new(name).is_err() || name.contains('/') {
        let message = format!("`{name}` is not a valid skill name");
        return Err(RuntimeError::Setup { message, hint: None });
    }
    let mut missing = Vec::new();
    let mut there = skills.clone();
    let real = loop {
        match real_path(&there) {
            Ok(real) => break real,
            Err(FsError::NotFound { .. }) => {
                missing.push(there.file_name().unwrap_or_default().to_owned());
                there = there.parent().ok_or_else(no_state_folder)?;
            }
            Err(error) => return Err(error.into()),
        }
    };
    let folder = missing.iter().rev().fold(real, |folder, part| folder.join(part));
    Ok(folder.join(name))
}

fn remove_file(path: &AbsPath) -> Result<(), RuntimeError> {
    match std::fs::remove_file(path.as_path()) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(FsError::Io { path: path.to_string(), source }.into())
        }
        _ => Ok(()),
    }
}

/// Returns the name of a package in messages: its folder, or its name in the archive.
fn shown(origin: &InstallOrigin, package: &Package) -> String {
    match &origin.archive {
        Some(_) => format!("{}: {}", origin.source, package.name),
        None => origin.source.clone(),
    }
}

/// Parses the SKILL.md and the manifest of a package in strict mode.
fn check_files(
    root: &Root,
    package: &Package,
    shown: &str,
) -> Result<(Declared, Frontmatter, Vec<Diagnostic>), RuntimeError> {
    let name = format!("{shown}/{SKILL_FILE}");
    let invalid = |diagnostics: Vec<Diagnostic>| {
        let file = diagnostics.first().map_or_else(|| name.clone(), |one| one.file.clone());
        RuntimeError::InvalidManifest { file, diagnostics }
    };
    let file = package.file(SKILL_FILE).map_or(&[][..], |file| &file.bytes);
    let input = Input { file: &name, directory: Some(&package.name), bytes: file };
    let parsed = parse(&input, Strictness::Strict);
    let Some(document) = parsed.document else { return Err(invalid(parsed.diagnostics)) };
    let show = |name: &'static str| format!("{shown}/{name}");
    let manifest = match read_manifest(root, show)? {
        None => None,
        Some((Some(manifest), _)) => manifest.capabilities,
        Some((None, problems)) => return Err(invalid(problems)),
    };
    let declared = Declared::of(&document.frontmatter, manifest.as_ref());
    let schema = check_argument_schema(&input, Strictness::Strict, argument_schema_problem);
    if schema.iter().any(|problem| problem.severity == Severity::Error) {
        return Err(invalid(schema));
    }
    let warnings = parsed.diagnostics;
    let warnings = warnings.into_iter().filter(|one| one.severity != Severity::Note).collect();
    Ok((declared, document.frontmatter, warnings))
}
