//! What may run, what the user approved, and what the organisation forbids.

use jiff::{SignedDuration, Timestamp};
use skill::capabilities::{CapabilityChange, Declared};
use skill::{
    Arguments, CortezaTrust, DeclaredCapabilities, Diagnostic, Digest, Frontmatter, MANIFEST_FILE,
    Manifest, ParsedManifest, RelPath, TreeEntry,
};
use skill_fs::{AbsPath, Digests, FsError, Root, WalkLimits, digests, walk};
use skill_state::{Approval, Approvals, Grant, OrgPolicy, SkillSource, Used};

use crate::decide::permit::{
    Asked, Authorization, AuthorizeContext, Plan, Refusal, Request, Subject, authorize, request,
};
use crate::disclose::activate::side_effects;
use crate::disclose::load::{Loaded, load, open};
use crate::disclose::schema_arguments::ArgumentSchema;
use crate::discover::index::Place;
use crate::discover::provenance::claimed_origin;
use crate::record::log::redact;
use crate::run::{Invocation, OutsidePlaces};
use crate::runtime::OpenSkillRuntime;
use crate::served::{ChangedSkills, server_of};
use crate::state::decided::{lock_state, nowhere};
use crate::{ApprovalChange, Event, PolicyDecision, RuntimeError, Scope, Skill, rfc3339};

/// The largest manifest that is read.
const MAX_MANIFEST: u64 = 1 << 20;

impl OpenSkillRuntime {
    /// Plans to run a script of a skill, or any of them. Reads everything that the skill is, for its digest.
    pub fn plan_run(
        &self,
        name: &str,
        script: Option<&str>,
        asked: Asked,
    ) -> Result<Plan, RuntimeError> {
        let skill = self.skill(name)?;
        let loaded = load(skill, self.config.strictness())?;
        let subject = subject(skill, &loaded)?;
        let declared = declared(skill, &loaded)?;
        let outside = OutsidePlaces::find(&declared, &asked.read, self.places()?)?;
        let inspected = self.inspect(skill, &subject)?;
        // What was read is the skill that the digest is of only if nothing changed meanwhile.
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
            asked,
            invocation: Invocation::default(),
            outside,
            inspected,
            side_effects,
            arguments,
        })
    }

    /// Decides whether a plan may be carried out. The decision is in the log before it is returned.
    pub fn authorize(
        &mut self,
        plan: Plan,
        once: Option<Grant>,
    ) -> Result<Authorization, RuntimeError> {
        if let Err(error) = self.check_unchanged(&plan.subject.skill_id, &plan.subject.origin) {
            self.record_not_started(&plan, &error)?;
            return Err(error);
        }
        let state = self.places()?.state.clone().ok_or_else(nowhere)?;
        let approvals = Approvals::load(&state)?;
        let context =
            AuthorizeContext { now: Timestamp::now(), session: self.session.id.clone(), once };
        let (skill_id, script) = (plan.subject.skill_id.clone(), plan.script.clone());
        let authorization = authorize(plan, &self.found.policy, &approvals, &context);
        let (decision, because) = authorization.decision();
        self.record(&Event::PolicyDecided(PolicyDecision {
            skill_id: Some(skill_id),
            session_id: context.session,
            task_id: None,
            action: "run".to_owned(),
            input: script,
            decision,
            because,
        }))?;
        Ok(authorization)
    }

    /// Returns the question that approving `plan` answers, also where none needs to be asked.
    pub fn request(&self, plan: &Plan) -> Result<Result<Request, Refusal>, RuntimeError> {
        self.check_synced(&plan.subject.skill_id, &plan.subject.origin)?;
        let state = self.places()?.state.clone().ok_or_else(nowhere)?;
        let approvals = Approvals::load(&state)?;
        Ok(request(plan, &self.found.policy, &approvals))
    }

    /// Remembers that the user agreed to a request. It is in the log before it holds.
    pub fn approve(
        &mut self,
        request: &Request,
        expires_at: Option<Timestamp>,
    ) -> Result<Approval, RuntimeError> {
        let state = self.places()?.state.clone();
        let _lock = lock_state(state.as_ref())?;
        let state = state.ok_or_else(nowhere)?;
        let mut approvals = Approvals::load(&state)?;
        let Request { subject, grant, capabilities, .. } = request;
        self.check_synced(&subject.skill_id, &subject.origin)?;
        if subject.asks_each_session && self.config.session_id.is_none() {
            return Err(RuntimeError::Setup {
                message: format!(
                    "`{}` calls itself local: it is approved for one session alone",
                    subject.skill_id
                ),
                hint: Some("name the session: --session ID".to_owned()),
            });
        }
        let now = Timestamp::now();
        let longest = self.found.policy.max_approval_days;
        let longest =
            longest.map(|days| now + SignedDuration::from_hours(24 * i64::from(days.min(365_000))));
        let expires_at = [expires_at, longest].into_iter().flatten().min();
        if expires_at.is_some_and(|end| end <= now) {
            let message = "the organisation lets no approval last".to_owned();
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

    /// Returns what is left of the suspended skills once this one is approved, if it is one of them. Its change revoked every earlier approval of it.
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

    /// Returns everything that the user approved.
    pub fn approvals(&self) -> Result<Approvals, RuntimeError> {
        let state = self.places()?.state.as_ref().ok_or_else(nowhere)?;
        Ok(Approvals::load(state)?)
    }

    /// Takes approvals back; returns them. It is in the log after it holds, so that a full disk keeps nobody from it.
    pub fn revoke(
        &mut self,
        is_meant: impl Fn(&Approval) -> bool,
    ) -> Result<Vec<Approval>, RuntimeError> {
        let state = self.places()?.state.clone();
        let _lock = lock_state(state.as_ref())?;
        let state = state.ok_or_else(nowhere)?;
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

    /// Refuses what the organisation does not let be activated: only the loaded skill tells its content and its own word.
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
        let used = Used { names: &names, origin: &origin, claimed: &claimed, source };
        let reason = policy.refuses_use(&used).or_else(|| self.refuses_content(skill));
        reason.map_or(Ok(()), |reason| Err(denied(skill, &reason)))
    }

    /// Refuses to show anything of a content that the organisation denies.
    pub(crate) fn check_content(&self, skill: &Skill) -> Result<(), RuntimeError> {
        self.refuses_content(skill).map_or(Ok(()), |reason| Err(denied(skill, &reason)))
    }

    /// Looks at every digest of a skill, where the organisation denies any.
    fn refuses_content(&self, skill: &Skill) -> Option<String> {
        if self.found.policy.denied_digests.is_empty() {
            return None;
        }
        let mut all: Vec<Digest> = match self.digests(skill) {
            Ok(digests) => vec![digests.content, digests.bundle],
            Err(error) => {
                return Some(format!(
                    "its content cannot be compared with what is denied: {error}"
                ));
            }
        };
        let snapshot = skill.provenance.as_deref().and_then(|from| from.bundle_sha256.as_deref());
        all.extend(snapshot.and_then(|digest| digest.parse::<Digest>().ok()));
        self.found.policy.refuses_digests(&all)
    }

    /// Returns what the organisation forbids.
    pub fn org_policy(&self) -> &OrgPolicy {
        &self.found.policy
    }
}

fn denied(skill: &Skill, reason: &str) -> RuntimeError {
    RuntimeError::PermissionDenied {
        message: format!("`{}` may not be used: {reason}", skill.id),
        hint: Some("ask whoever administers this machine".to_owned()),
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

/// Returns who a skill is, to those who decide about it.
pub(crate) fn subject(skill: &Skill, loaded: &Loaded) -> Result<Subject, RuntimeError> {
    let frontmatter = &loaded.document.frontmatter;
    let digests = digests_of(skill, loaded.root.as_ref())?;
    let from = skill.provenance.as_deref().filter(|from| from.has_receipt);
    let is_drifted = from.is_some_and(|from| from.is_drifted || !from.is_of(&digests));
    // An untouched install stands for the whole snapshot that it was made from, commands included. One of which not even the modes
    // are known stands for itself alone.
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
        is_off: !frontmatter.model_may_invoke() && !frontmatter.user_may_invoke(),
    })
}

/// Returns what a rule of the organisation may know a skill by.
pub(crate) fn names(skill: &Skill) -> Vec<String> {
    vec![skill.key.to_string(), skill.name.to_string(), skill.id.clone()]
}

/// Returns where a skill comes from. A marker without a receipt may be anybody's, and one beside changed files is not theirs.
pub(crate) fn origin(skill: &Skill) -> String {
    let from = skill.provenance.as_deref().filter(|from| from.has_receipt && !from.is_drifted);
    match from {
        Some(from) => from.origin_url.clone().unwrap_or_else(|| format!("csk:{}", from.repository)),
        None => skill.path().to_owned(),
    }
}

/// Returns where a skill says that it comes from, whoever wrote that: enough to deny it, and nothing more.
pub(crate) fn claimed(skill: &Skill) -> Vec<String> {
    let known = skill.provenance.as_deref().and_then(|from| from.origin_url.clone());
    let found = match &skill.place {
        Place::Folder { folder, .. } => claimed_origin(folder),
        Place::Builtin(_) | Place::Served(_) => None,
    };
    known.into_iter().chain(found).collect()
}

/// Returns how far a skill is trusted, in the words of corteza: by where it is, and lower where it says so itself.
pub(crate) fn corteza_trust(skill: &Skill, frontmatter: &Frontmatter) -> CortezaTrust {
    let computed = match skill.scope {
        Scope::System => CortezaTrust::Managed,
        Scope::Builtin | Scope::Package => CortezaTrust::Package,
        Scope::Personal => CortezaTrust::User,
        // A folder that was named is whose the user says it is.
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

/// Returns the trust level of a skill, which its own word can only lower, and whether every session asks anew.
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

/// Returns the digests that trust binds to: nothing in the folder may lead out of it.
fn digests_of(skill: &Skill, root: Option<&Root>) -> Result<Digests, RuntimeError> {
    match (&skill.place, root) {
        (Place::Folder { .. }, Some(root)) => Ok(digests(root, &walk(root, &WalkLimits::SKILL)?)?),
        (Place::Builtin(builtin), _) => {
            let digest: Digest = builtin.hash();
            Ok(Digests { content: digest, bundle: digest })
        }
        (Place::Served(served), _) => {
            let digest = served.digest();
            Ok(Digests { content: digest, bundle: digest })
        }
        (Place::Folder { folder, .. }, None) => {
            Err(FsError::NotFound { path: folder.to_string() }.into())
        }
    }
}

/// Returns everything that a skill declares, in all its files and in what csk wrote down of its manifest.
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

/// Reads what the manifest in a skill's folder declares. One that cannot be understood may be a limit.
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

/// Returns every problem of the manifest in a skill's folder; `show` names a file of it.
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

/// Returns a change of capabilities in words.
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
