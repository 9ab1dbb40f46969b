//! Plans runs, stores the user's approvals and applies the organization's policy.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use skill::capabilities::{CapabilityChange, Declared};
use skill::{
    Arguments, CortezaTrust, DeclaredCapabilities, Diagnostic, Digest, Frontmatter, MANIFEST_FILE,
    Manifest, ParsedManifest, RelPath, TreeEntry,
};
use skill_fs::{AbsPath, Digests, FsError, Root, WalkLimits, digests, walk};
use skill_state::{Approval, Approvals, Grant, OrgPolicy, PolicySubject, SkillSource};

use crate::decide::permit::{
    Authorization, AuthorizeContext, Plan, Refusal, Request, RequestedAccess, Subject, authorize,
    request,
};
use crate::disclose::activate::side_effects;
use crate::disclose::load::{Loaded, load, open};
use crate::disclose::schema_arguments::ArgumentSchema;
use crate::discover::index::SkillLocation;
use crate::discover::provenance::claimed_origin;
use crate::record::log::redact;
use crate::run::{Invocation, OutsidePaths};
use crate::runtime::OpenSkillRuntime;
use crate::served::{ChangedSkills, server_of};
use crate::state::decisions::{lock_state, no_state_folder};
use crate::{ApprovalChange, Event, PolicyDecision, RuntimeError, Scope, Skill, rfc3339};

/// Larger manifests are rejected.
const MAX_MANIFEST: u64 = 1 << 20;

impl OpenSkillRuntime {
    /// Plans to run a script of a skill, or any of its scripts. Reads the whole skill to compute its digest.
    pub fn plan_run(
        &self,
        name: &str,
        script: Option<&str>,
        requested: RequestedAccess,
    ) -> Result<Plan, RuntimeError> {
        let skill = self.skill(name)?;
        let loaded = load(skill, self.config.strictness())?;
        let subject = subject(skill, &loaded)?;
        let declared = declared(skill, &loaded)?;
        let outside = OutsidePaths::find(&declared, &requested.read, self.places()?)?;
        let inspection = self.inspect(skill, &subject)?;
        // The digest describes what was read only if nothing changed in the meantime.
        open(skill)?;
        let version = loaded.document.frontmatter.metadata_text("version");
        let side_effects = side_effects(&loaded.document.frontmatter);
        let script = script.map(str::to_owned);
        let arguments = match &loaded.document.frontmatter.arguments {
            Some(Arguments::Schema(schema)) => Some(ArgumentSchema::of(schema)),
            Some(_) | None => None,
        };
        Ok(Plan {
            subject,
            script,
            version,
            declared,
            requested,
            invocation: Invocation::default(),
            outside,
            inspection,
            side_effects,
            arguments,
            packages: BTreeSet::new(),
        })
    }

    /// Decides whether a plan may be carried out. The decision is logged before it is returned.
    pub fn authorize(
        &mut self,
        plan: Plan,
        once: Option<Grant>,
    ) -> Result<Authorization, RuntimeError> {
        if let Err(error) = self.check_unchanged(&plan.subject.skill_id, &plan.subject.origin) {
            self.record_not_started(&plan, &error)?;
            return Err(error);
        }
        let state = self.places()?.state.clone().ok_or_else(no_state_folder)?;
        let approvals = Approvals::load(&state)?;
        let context =
            AuthorizeContext { now: Timestamp::now(), session: self.session.id.clone(), once };
        let (skill_id, script) = (plan.subject.skill_id.clone(), plan.script.clone());
        let authorization = authorize(plan, &self.found.policy, &approvals, &context);
        let (decision, reason) = authorization.decision();
        self.record(&Event::PolicyDecided(PolicyDecision {
            skill_id: Some(skill_id),
            session_id: context.session,
            task_id: None,
            action: "run".to_owned(),
            input: script,
            decision,
            reason,
        }))?;
        Ok(authorization)
    }

    /// Returns the approval request for `plan`, even if the plan needs no approval.
    pub fn request(&self, plan: &Plan) -> Result<Result<Request, Refusal>, RuntimeError> {
        self.check_synced(&plan.subject.skill_id, &plan.subject.origin)?;
        let state = self.places()?.state.clone().ok_or_else(no_state_folder)?;
        let approvals = Approvals::load(&state)?;
        Ok(request(plan, &self.found.policy, &approvals))
    }

    /// Stores the user's approval of a request. It is logged before it takes effect.
    pub fn approve(
        &mut self,
        request: &Request,
        expires_at: Option<Timestamp>,
    ) -> Result<Approval, RuntimeError> {
        let state = self.places()?.state.clone();
        let _lock = lock_state(state.as_ref())?;
        let state = state.ok_or_else(no_state_folder)?;
        let mut approvals = Approvals::load(&state)?;
        let Request { subject, grant, capabilities, .. } = request;
        self.check_synced(&subject.skill_id, &subject.origin)?;
        if subject.asks_each_session && self.config.session_id.is_none() {
            return Err(RuntimeError::Setup {
                message: format!(
                    "`{}` declares `trust: local`, so an approval covers one session only",
                    subject.skill_id
                ),
                hint: Some("pass `--session ID`".to_owned()),
            });
        }
        let now = Timestamp::now();
        let longest = self.found.policy.max_approval_days;
        let longest =
            longest.map(|days| now + SignedDuration::from_hours(24 * i64::from(days.min(365_000))));
        let expires_at = [expires_at, longest].into_iter().flatten().min();
        if expires_at.is_some_and(|end| end <= now) {
            let message = "the organization does not allow stored approvals".to_owned();
            return Err(RuntimeError::PermissionDenied { message, hint: None });
        }
        let approval = Approval {
            origin: subject.origin.clone(),
            skill: subject.name.clone(),
            skill_id: subject.skill_id.clone(),
            bundle: subject.bundle,
            grant: grant.clone(),
            capabilities: capabilities.clone(),
            approved_at: now,
            expires_at,
            session: subject.asks_each_session.then(|| self.session.id.clone()),
        };
        let unsuspended = self.unsuspended(&state, &approval.origin, &mut approvals)?;
        self.record(&Event::ApprovalGranted(change(&approval)))?;
        approvals.add(approval.clone());
        approvals.save(&state)?;
        if let Some(changed) = unsuspended {
            changed.save(Some(&state))?;
        }
        Ok(approval)
    }

    /// Removes the skill from the suspended skills and returns the rest, or `None` if it is not suspended. Its earlier
    /// approvals are revoked, because the skill has changed since.
    fn unsuspended(
        &mut self,
        state: &AbsPath,
        origin: &str,
        approvals: &mut Approvals,
    ) -> Result<Option<ChangedSkills>, RuntimeError> {
        if server_of(origin).is_none() {
            return Ok(None);
        }
        let mut changed = ChangedSkills::load(Some(state))?;
        if !changed.approved(origin) {
            return Ok(None);
        }
        for gone in approvals.remove(|earlier| earlier.origin == origin) {
            self.record(&Event::ApprovalRevoked(change(&gone)))?;
        }
        Ok(Some(changed))
    }

    /// Returns all stored approvals.
    pub fn approvals(&self) -> Result<Approvals, RuntimeError> {
        let state = self.places()?.state.as_ref().ok_or_else(no_state_folder)?;
        Ok(Approvals::load(state)?)
    }

    /// Revokes the matching approvals and returns them. It is logged after it takes effect, so that a full disk cannot
    /// prevent a revocation.
    pub fn revoke(
        &mut self,
        is_meant: impl Fn(&Approval) -> bool,
    ) -> Result<Vec<Approval>, RuntimeError> {
        let state = self.places()?.state.clone();
        let _lock = lock_state(state.as_ref())?;
        let state = state.ok_or_else(no_state_folder)?;
        let mut approvals = Approvals::load(&state)?;
        let gone = approvals.remove(is_meant);
        if !gone.is_empty() {
            approvals.save(&state)?;
        }
        for approval in &gone {
            self.record(&Event::ApprovalRevoked(change(approval)))?;
        }
        Ok(gone)
    }

    /// Refuses a skill that the organization does not allow. This runs on the loaded skill, because only then its
    /// content and its declared trust are known.
    pub(crate) fn check_policy(
        &self,
        skill: &Skill,
        frontmatter: &Frontmatter,
    ) -> Result<(), RuntimeError> {
        let policy = &self.found.policy;
        if *policy == OrgPolicy::default() {
            return Ok(());
        }
        let (source, _) = trust_level(skill, frontmatter);
        let (names, origin, claimed) = (names(skill), origin(skill), claimed(skill));
        let used = PolicySubject { names: &names, origin: &origin, claimed: &claimed, source };
        let reason = policy.refuses_use(&used).or_else(|| self.refuses_content(skill));
        reason.map_or(Ok(()), |reason| Err(denied(skill, &reason)))
    }

    /// Refuses to read files of a skill whose content the organization denies.
    pub(crate) fn check_content(&self, skill: &Skill) -> Result<(), RuntimeError> {
        self.refuses_content(skill).map_or(Ok(()), |reason| Err(denied(skill, &reason)))
    }

    /// Returns why the organization denies one of the skill's digests, if it does.
    fn refuses_content(&self, skill: &Skill) -> Option<String> {
        if self.found.policy.denied_digests.is_empty() {
            return None;
        }
        let mut all: Vec<Digest> = match self.digests(skill) {
            Ok(digests) => vec![digests.content, digests.bundle],
            Err(error) => {
                return Some(format!(
                    "cannot compare its content with the denied digests: {error}"
                ));
            }
        };
        let snapshot = skill.provenance.as_deref().and_then(|from| from.bundle_sha256.as_deref());
        all.extend(snapshot.and_then(|digest| digest.parse::<Digest>().ok()));
        self.found.policy.refuses_digests(&all)
    }

    /// Returns the organization's policy.
    pub fn org_policy(&self) -> &OrgPolicy {
        &self.found.policy
    }
}

fn denied(skill: &Skill, reason: &str) -> RuntimeError {
    RuntimeError::PermissionDenied {
        message: format!("`{}` is not allowed: {reason}", skill.id),
        hint: Some("ask the administrator of this machine".to_owned()),
    }
}

fn change(approval: &Approval) -> ApprovalChange {
    ApprovalChange {
        approval_id: approval.id(),
        skill_id: approval.skill_id.clone(),
        origin: redact(&approval.origin).into_owned(),
        bundle_sha256: approval.bundle.to_string(),
        granted: approval.grant.lines(),
        expires_at: approval.expires_at.map(rfc3339),
    }
}

/// Returns the identity of a skill that decisions are based on.
pub(crate) fn subject(skill: &Skill, loaded: &Loaded) -> Result<Subject, RuntimeError> {
    let frontmatter = &loaded.document.frontmatter;
    let digests = digests_of(skill, loaded.root.as_ref())?;
    let from = skill.provenance.as_deref().filter(|from| from.has_receipt);
    let is_drifted = from.is_some_and(|from| from.is_drifted || !from.is_of(&digests));
    // An unmodified install is identified by the whole snapshot it was made from, including commands. If not even the
    // file modes are recorded, it is identified by its own folder.
    let installed = from.filter(|from| !is_drifted && from.context.is_some());
    let bundle = installed.and_then(|from| from.bundle_sha256.as_deref()?.parse().ok());
    let (source, asks_each_session) = trust_level(skill, frontmatter);
    Ok(Subject {
        skill_id: skill.id.clone(),
        name: skill.name.to_string(),
        names: names(skill),
        source,
        origin: origin(skill),
        claimed: claimed(skill),
        content: digests.content,
        bundle: bundle.unwrap_or(digests.bundle),
        folder: digests.bundle,
        is_drifted,
        is_served: skill.served_by().is_some(),
        asks_each_session,
        is_disabled: !frontmatter.model_may_invoke() && !frontmatter.user_may_invoke(),
    })
}

/// Returns every name that an organization rule may use for a skill.
pub(crate) fn names(skill: &Skill) -> Vec<String> {
    vec![skill.key.to_string(), skill.name.to_string(), skill.id.clone()]
}

/// Returns the origin of a skill. Anyone can write a marker, so one without a receipt does not count, and neither does
/// one next to modified files.
pub(crate) fn origin(skill: &Skill) -> String {
    let from = skill.provenance.as_deref().filter(|from| from.has_receipt && !from.is_drifted);
    match from {
        Some(from) => from.origin_url.clone().unwrap_or_else(|| format!("csk:{}", from.repository)),
        None => skill.path().to_owned(),
    }
}

/// Returns the origins that a skill claims, verified or not. A claim is enough to deny a skill, never to allow it.
pub(crate) fn claimed(skill: &Skill) -> Vec<String> {
    let known = skill.provenance.as_deref().and_then(|from| from.origin_url.clone());
    let found = match &skill.place {
        SkillLocation::Folder { folder, .. } => claimed_origin(folder),
        SkillLocation::Builtin(_) | SkillLocation::Served(_) => None,
    };
    known.into_iter().chain(found).collect()
}

/// Returns the corteza trust level of a skill: computed from its location, and lowered if the skill declares less.
pub(crate) fn corteza_trust(skill: &Skill, frontmatter: &Frontmatter) -> CortezaTrust {
    let computed = match skill.scope {
        Scope::System => CortezaTrust::Managed,
        Scope::Builtin | Scope::Package => CortezaTrust::Package,
        Scope::Personal => CortezaTrust::User,
        // The user decides how far a custom folder is trusted.
        Scope::Custom => match skill.source {
            SkillSource::Builtin | SkillSource::Org => CortezaTrust::Managed,
            SkillSource::User => CortezaTrust::User,
            SkillSource::ThirdParty => CortezaTrust::Project,
        },
        Scope::Project | Scope::Nested => CortezaTrust::Project,
        Scope::Mcp => CortezaTrust::Local,
    };
    frontmatter.corteza.trust.map_or(computed, |declared| computed.min(declared))
}

/// Returns the trust level of a skill, which its own declaration can only lower, and whether each session needs its own
/// approval.
pub(crate) fn trust_level(skill: &Skill, frontmatter: &Frontmatter) -> (SkillSource, bool) {
    let at_most = |lowest: SkillSource| skill.source.max(lowest);
    match frontmatter.corteza.trust {
        None | Some(CortezaTrust::Managed) => (skill.source, false),
        Some(CortezaTrust::Package | CortezaTrust::User) => (at_most(SkillSource::User), false),
        Some(CortezaTrust::Project) => {
            let is_of_project = matches!(skill.scope, Scope::Project | Scope::Nested);
            let lowest = if is_of_project { SkillSource::User } else { SkillSource::ThirdParty };
            (at_most(lowest), false)
        }
        Some(CortezaTrust::Local) => (at_most(SkillSource::User), true),
    }
}

/// Returns the digests that approvals are bound to. Fails if a link leads out of the folder.
fn digests_of(skill: &Skill, root: Option<&Root>) -> Result<Digests, RuntimeError> {
    match (&skill.place, root) {
        (SkillLocation::Folder { .. }, Some(root)) => {
            Ok(digests(root, &walk(root, &WalkLimits::SKILL)?)?)
        }
        (SkillLocation::Builtin(builtin), _) => {
            let digest: Digest = builtin.hash();
            Ok(Digests { content: digest, bundle: digest })
        }
        (SkillLocation::Served(served), _) => {
            let digest = served.digest();
            Ok(Digests { content: digest, bundle: digest })
        }
        (SkillLocation::Folder { folder, .. }, None) => {
            Err(FsError::NotFound { path: folder.to_string() }.into())
        }
    }
}

/// Returns everything that a skill declares, in its own files and in the manifest data that csk recorded.
pub(crate) fn declared(skill: &Skill, loaded: &Loaded) -> Result<Declared, RuntimeError> {
    let manifest = loaded.root.as_ref().map(manifest).transpose()?.flatten();
    let kept = skill.provenance.as_deref().and_then(|from| from.capabilities.as_ref());
    let frontmatter = &loaded.document.frontmatter;
    let own = Declared::of(frontmatter, manifest.as_ref());
    Ok(match kept {
        Some(kept) => own.meet(&Declared::of_manifest(kept)),
        None => own,
    })
}

/// Reads the capabilities declared in the manifest of a skill's folder. A malformed manifest is an error, because it
/// might contain a restriction.
pub(crate) fn manifest(root: &Root) -> Result<Option<DeclaredCapabilities>, RuntimeError> {
    let show = |name: &'static str| root.path().join(name).to_string();
    let Some((manifest, diagnostics)) = read_manifest(root, show)? else { return Ok(None) };
    match manifest {
        Some(manifest) => Ok(manifest.capabilities),
        None => {
            let file = diagnostics.first().map(|problem| problem.file.clone());
            let file = file.unwrap_or_else(|| show(MANIFEST_FILE));
            Err(RuntimeError::InvalidManifest { file, diagnostics })
        }
    }
}

/// Returns every problem of the manifest in a skill's folder; `show` formats a file name for messages.
pub fn manifest_problems(
    root: &Root,
    show: impl Fn(&'static str) -> String,
) -> Result<Vec<Diagnostic>, FsError> {
    Ok(read_manifest(root, show)?.map_or_else(Vec::new, |(_, diagnostics)| diagnostics))
}

pub(crate) fn read_manifest(
    root: &Root,
    show: impl Fn(&'static str) -> String,
) -> Result<Option<ParsedManifest>, FsError> {
    let read = |name: &'static str| {
        let path = RelPath::new(name).expect("it is a plain name");
        match root.read(&path, MAX_MANIFEST) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(FsError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    };
    let tree = |path: &str| {
        let path = RelPath::new(path).ok()?;
        match root.file(&path) {
            Ok(_) => Some(TreeEntry::File),
            Err(FsError::NotRegular { .. }) => Some(TreeEntry::Folder),
            Err(_) => None,
        }
    };
    Manifest::read(read, show, &tree)
}

/// Formats capability changes, one line each.
pub fn change_lines(changes: &[CapabilityChange]) -> Vec<String> {
    let line = |sign: &str, kind: &str, item: &String| format!("{sign} {kind}: {item}");
    changes
        .iter()
        .flat_map(|change| {
            let kind = change.kind.as_str();
            let gained = change.gained.iter().map(move |item| line("+", kind, item));
            gained.chain(change.lost.iter().map(move |item| line("-", kind, item)))
        })
        .collect()
}
