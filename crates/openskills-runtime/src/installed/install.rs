//! Installs packages: looks at all of one before anything is written, says what it brings and what is new about it, and puts it in place in one step.

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
    Installed, InstalledSkills, OriginUrl, SignatureRecord, aside, clean_up, digest_at, put,
    take_away, written,
};
use crate::record::event::InstallRecord;
use crate::run::unpacked::Unpacked;
use crate::runtime::OpenSkillRuntime;
use crate::state::decided::{lock_state, nowhere};
use crate::{Audited, Event, RuntimeError, argument_schema_problem, rfc3339};

/// Whom a skill is installed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallPlace {
    /// Everybody who works on the project: `.keep-up/skills` in it.
    Project,
    /// The user alone: `skills` in the data folder.
    User,
}

/// Where a package comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallOrigin {
    /// The folder or the archive.
    pub source: String,
    /// Where that is from, as the user says.
    pub origin_url: Option<OriginUrl>,
    /// The digest of the archive.
    pub archive: Option<Digest>,
    /// Who signed it.
    pub signed: Option<Signed>,
}

/// What installing a package would do. Nothing of it was done.
#[derive(Debug)]
pub struct InstallPlan {
    /// The package.
    pub package: Package,
    /// Its folder when it is installed.
    pub target: AbsPath,
    /// What it was before, if it was installed.
    pub before: Option<Installed>,
    /// Whether what is there is not what was installed.
    pub is_edited: bool,
    /// Whether the very same is there already.
    pub is_same: bool,
    /// The version that it declares.
    pub version: String,
    /// What it declares.
    pub capabilities: CapabilityExtents,
    /// What is different in what it declares from what was installed before; nothing where that is not known.
    pub changes: Option<Vec<CapabilityChange>>,
    /// What it says that it changes.
    pub side_effects: Option<Vec<&'static str>>,
    /// What an audit found.
    pub audited: Audited,
    /// Problems that do not stop it.
    pub diagnostics: Vec<Diagnostic>,
    digest: Digest,
    /// What was there when it was looked at.
    there: Option<Digest>,
    /// Whether an install of it was begun, and nobody knows that it was done.
    is_unfinished: bool,
    origin: InstallOrigin,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallDone {
    /// What is known of it now.
    pub installed: Installed,
    /// Where it is.
    pub folder: AbsPath,
    /// Where what somebody had edited is kept.
    pub backup: Option<AbsPath>,
}

impl InstallPlan {
    /// Returns true if nothing is left to do: the very same is there, and all that is known of where it is from is written down.
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
    /// Returns the folder that skills are installed in.
    pub fn install_folder(&self, place: InstallPlace) -> Result<AbsPath, RuntimeError> {
        let places = self.places()?;
        match place {
            InstallPlace::User => {
                let data = places.data.as_ref().ok_or_else(nowhere)?;
                Ok(data.join("skills"))
            }
            InstallPlace::Project => {
                let project = find_project(self.config.project_root.as_deref(), places)?;
                Ok(project.root.join(".keep-up/skills"))
            }
        }
    }

    /// Returns where a skill is when it is installed. Links that a project brings do not lead out of it.
    fn target(&self, place: InstallPlace, name: &str) -> Result<AbsPath, RuntimeError> {
        let target = real_target(&self.install_folder(place)?, name)?;
        if place == InstallPlace::Project {
            let project = find_project(self.config.project_root.as_deref(), self.places()?)?.root;
            let project = real_path(&project)?;
            if !target.as_path().starts_with(project.as_path()) {
                return Err(RuntimeError::Setup {
                    message: format!("`.keep-up/skills` leads out of the project, to {target}"),
                    hint: Some(
                        "remove the link; with --user it is installed for you alone".to_owned(),
                    ),
                });
            }
        }
        Ok(target)
    }

    /// Looks at a package and at what is there. Nothing is written where skills are.
    pub fn plan_install(
        &self,
        package: Package,
        place: InstallPlace,
        origin: InstallOrigin,
    ) -> Result<InstallPlan, RuntimeError> {
        let unpacked = Unpacked::of(self.places()?, &package)?;
        let root = unpacked.root()?;
        let (declared, frontmatter, diagnostics) =
            looked_at(&root, &package, &shown(&origin, &package))?;
        let version = frontmatter.metadata_text("version");
        let side_effects = side_effects(&frontmatter);
        let digest = digests(&root, &walk(&root, &WalkLimits::SKILL)?)?.bundle;
        let origin_url = origin.origin_url.as_ref().map(ToString::to_string);
        let sources = [Some(origin.source.clone()), origin_url];
        // A folder may be a clone, and that says where it comes from.
        let cloned = AbsPath::new(Path::new(&origin.source)).ok();
        let cloned = cloned.as_ref().map_or_else(Vec::new, repository_urls);
        let sources: Vec<String> = sources.into_iter().flatten().chain(cloned).collect();
        let audited = self.audit_files(&package.name, &root, &sources)?;
        let target = self.target(place, &package.name)?;
        if let Some(skills) = target.parent() {
            Installed::beside(&skills, &package.name)?;
        }
        if origin.source == target.as_str() {
            return Err(RuntimeError::Setup {
                message: format!("{target} is where it would be installed"),
                hint: Some("copy it elsewhere first, to install what you edited".to_owned()),
            });
        }
        let known = InstalledSkills::load(self.places()?.state.as_ref())?;
        let (before, is_unfinished) = (known.at(&target).cloned(), known.is_unfinished(&target));
        let there = digest_at(&target)?;
        // What the folder says now may be anybody's word; what was installed is written down.
        let was = before.as_ref().map(Installed::declared);
        let changes = match was {
            None => Some(Vec::new()),
            Some(was) => was.map(|was| declared.extents().changes_since(&was)),
        };
        let (is_edited, is_same) = match (&there, &before) {
            (None, _) => (false, false),
            (Some(_), None) => {
                let hint = "rename or remove it yourself, then install again";
                return Err(RuntimeError::Setup {
                    message: format!("{target} is there, and openskills did not put it there"),
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

    /// Removes what killed processes left where skills are installed.
    pub fn clean_up_installs(&self, place: InstallPlace) -> Result<(), RuntimeError> {
        clean_up(&self.install_folder(place)?, self.places()?);
        Ok(())
    }

    /// Looks at a folder that is to be packed as an install of it would; `shown` is what it is called.
    pub fn check_package(
        &self,
        folder: &AbsPath,
        package: &Package,
        shown: &str,
    ) -> Result<Audited, RuntimeError> {
        // What is audited is what is packed: not the repository around it, nor what csk wrote beside its files.
        let unpacked = Unpacked::of(self.places()?, package)?;
        let root = unpacked.root()?;
        looked_at(&root, package, shown)?;
        let sources: Vec<String> =
            [folder.to_string()].into_iter().chain(repository_urls(folder)).collect();
        self.audit_files(&package.name, &root, &sources)
    }

    /// Installs what was planned. What somebody had edited is kept in the backups.
    pub fn install(&mut self, plan: &InstallPlan) -> Result<InstallDone, RuntimeError> {
        let places = self.places()?.clone();
        let state = places.state.clone();
        let _lock = lock_state(state.as_ref())?;
        let skills = plan.target.parent().ok_or_else(nowhere)?;
        clean_up(&skills, &places);
        let mut known = InstalledSkills::load(state.as_ref())?;
        // Whoever changed it while somebody was asked keeps what they did.
        if known.at(&plan.target) != plan.before.as_ref() || digest_at(&plan.target)? != plan.there
        {
            let message = format!("{} was changed meanwhile", plan.target);
            return Err(RuntimeError::Setup { message, hint: Some("try again".to_owned()) });
        }
        let now = rfc3339(Timestamp::now());
        let backup = if plan.is_edited && !plan.is_same {
            Some(aside(&skills, &plan.package.name, &places)?)
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
        let (path, told) = (plan.target.to_string(), installed.clone());
        self.record(&Event::Installed(Box::new(InstallRecord { path, installed: told })))?;
        // What is about to be there is known before it is, so that it may be removed whenever this is killed.
        known.begin(&plan.target, installed.clone());
        known.save(state.as_ref())?;
        if !plan.is_same {
            put(&plan.package, &skills, &places)?;
        }
        installed.write_beside(&skills)?;
        known.finish(&plan.target);
        known.save(state.as_ref())?;
        Ok(InstallDone { installed, folder: plan.target.clone(), backup })
    }

    /// Removes a skill that was installed; returns where what somebody had edited is kept.
    pub fn uninstall(
        &mut self,
        name: &str,
        place: InstallPlace,
    ) -> Result<(AbsPath, Option<AbsPath>), RuntimeError> {
        let target = self.target(place, name)?;
        let places = self.places()?.clone();
        let state = places.state.clone();
        let _lock = lock_state(state.as_ref())?;
        let mut known = InstalledSkills::load(state.as_ref())?;
        let Some(installed) = known.at(&target).cloned() else {
            let hint = self.elsewhere(&known, name, place);
            return Err(RuntimeError::NotInstalled { name: name.to_owned(), hint });
        };
        let skills = target.parent().ok_or_else(nowhere)?;
        let beside = Installed::beside(&skills, name)?;
        clean_up(&skills, &places);
        let mut backup = None;
        // What cannot even be read is not what was installed.
        let is_there = !matches!(Root::open_real(&target), Err(FsError::NotFound { .. }));
        if is_there {
            let now = digest_at(&target).ok().flatten();
            if now.is_none_or(|now| now.to_string() != installed.digest) {
                backup = Some(aside(&skills, name, &places)?);
            }
            let path = target.to_string();
            self.record(&Event::Uninstalled(Box::new(InstallRecord { path, installed })))?;
            take_away(&skills, name, &places)?;
        }
        // As long as it is known, a removal that was killed can be done again.
        remove_file(&beside)?;
        known.remove(&target);
        known.save(state.as_ref())?;
        Ok((target, backup))
    }

    /// Says where a skill is that is not where it was looked for, or what was probably meant.
    fn elsewhere(
        &self,
        known: &InstalledSkills,
        name: &str,
        place: InstallPlace,
    ) -> Option<String> {
        let (other, told) = match place {
            InstallPlace::Project => {
                (InstallPlace::User, "it is installed for you alone: add --user")
            }
            InstallPlace::User => {
                (InstallPlace::Project, "it is installed in the project: leave --user out")
            }
        };
        if self.target(other, name).is_ok_and(|target| known.at(&target).is_some()) {
            return Some(told.to_owned());
        }
        if let Some((folder, _)) = known.iter().find(|(_, one)| one.name == name) {
            return Some(format!("it is in {folder}; name that project by --project-dir"));
        }
        let names = known.iter().map(|(_, one)| one.name.as_str());
        skill::nearest(name, names).map(|nearest| format!("did you mean `{nearest}`?"))
    }

    /// Returns every skill that was installed, with its folder, and whether it is still what was installed; `None` if it is gone.
    pub fn installed(&self) -> Result<Vec<(String, Installed, Option<bool>)>, RuntimeError> {
        let known = InstalledSkills::load(self.places()?.state.as_ref())?;
        let look = |(folder, installed): (&str, &Installed)| {
            let there = AbsPath::new(folder).map(|folder| digest_at(&folder));
            let is_same = match there {
                Err(_) | Ok(Ok(None)) => None,
                Ok(Ok(Some(now))) => Some(now.to_string() == installed.digest),
                Ok(Err(_)) => Some(false),
            };
            (folder.to_owned(), installed.clone(), is_same)
        };
        Ok(known.iter().map(look).collect())
    }
}

/// Returns where a skill is when it is installed, by the real path of the folder as far as it is there.
fn real_target(skills: &AbsPath, name: &str) -> Result<AbsPath, RuntimeError> {
    if skill::RelPath::new(name).is_err() || name.contains('/') {
        let message = format!("`{name}` is no name of a skill");
        return Err(RuntimeError::Setup { message, hint: None });
    }
    let mut missing = Vec::new();
    let mut there = skills.clone();
    let real = loop {
        match real_path(&there) {
            Ok(real) => break real,
            Err(FsError::NotFound { .. }) => {
                missing.push(there.file_name().unwrap_or_default().to_owned());
                there = there.parent().ok_or_else(nowhere)?;
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

/// Returns what a package is called in problems: the folder that it is, or its folder in the archive.
fn shown(origin: &InstallOrigin, package: &Package) -> String {
    match &origin.archive {
        Some(_) => format!("{}: {}", origin.source, package.name),
        None => origin.source.clone(),
    }
}

/// Reads the SKILL.md and the manifest of a package as strictly as they can be.
fn looked_at(
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
