//! Decides whether a skill may run: a pure function from the plan, the organization's policy and the user's approvals
//! to a permit, an approval request or a refusal.
//!
//! Nothing runs without a [`Permit`], and only [`authorize`] creates one.

mod requested;

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use sandbox::Guarantee;
use skill::Digest;
use skill::capabilities::{
    Anchor, AnchoredFolder, Capabilities, CapabilityChange, CapabilityExtents, CapabilityKind,
    Declared, Host, Permission, Reach,
};
use skill_audit::BundleReport;
use skill_state::audit::Clearance;
use skill_state::{
    ANY_HOST, Approval, ApprovalKey, Approvals, Grant, OrgPolicy, PackageRequest, PackageSet,
    PolicySubject, SkillSource,
};

use self::requested::{RequestedGrants, is_covered, narrowed, requested_grants, with_previous};
use crate::RuntimeError;
use crate::decide::policy::Decision;
use crate::disclose::schema_arguments::ArgumentSchema;
use crate::quote::shell_word;
use crate::run::{Invocation, OutsidePaths};

/// Packages that interpreters find on their own, so scripts can read them without a grant.
const PACKAGES: &str =
    "project packages (.venv, node_modules) and your own Python packages (pip install --user)";

/// The skill that a plan is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The skill's ID.
    pub skill_id: String,
    /// The skill's name.
    pub name: String,
    /// Every name and id that an organization rule may use for it.
    pub names: Vec<String>,
    /// Its trust level; the skill's own declaration can only lower it.
    pub source: SkillSource,
    /// Its origin: the URL of its repository if csk has a receipt for it, otherwise its folder.
    pub origin: String,
    /// The origins that it claims, verified or not.
    pub claimed: Vec<String>,
    /// The digest of its content, as csk computes it.
    pub content: Digest,
    /// The digest of everything that may run; approvals are bound to it.
    pub bundle: Digest,
    /// The digest of its folder in its current state.
    pub folder: Digest,
    /// Whether it differs from what csk installed.
    pub is_drifted: bool,
    /// Whether it is served over MCP, so that its files have not been fetched yet.
    pub is_served: bool,
    /// Whether each session needs its own approval, because the skill is declared as local.
    pub asks_each_session: bool,
    /// Whether it declares that neither the user nor the model may start it.
    pub is_disabled: bool,
}

/// The requested network access.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RequestedNetwork {
    /// The hosts that the skill declares, once the user has confirmed them. For an untrusted skill that is none: the
    /// user has to list each host.
    #[default]
    AsDeclared,
    /// Only these hosts.
    Named(Vec<Host>),
    /// Any host, as explicitly requested by the user.
    Any,
}

/// Access requested beyond running in the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestedAccess {
    /// Files and folders outside the skill and the workspace to read.
    pub read: Vec<PathBuf>,
    /// Network access.
    pub network: RequestedNetwork,
    /// Environment variables.
    pub env: Vec<String>,
    /// Whether to write to the workspace directly.
    pub direct_writes: bool,
    /// Whether to delete files in the workspace.
    pub deletions: bool,
    /// Guarantees that the sandbox may do without.
    pub allow_degraded: BTreeSet<Guarantee>,
    /// Packages to prepare.
    pub with: Vec<PackageRequest>,
}

/// A planned run of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The skill.
    pub subject: Subject,
    /// The script to run; absent for any script of the skill.
    pub script: Option<String>,
    /// The declared version; empty if none is declared.
    pub version: String,
    /// What the skill declares.
    pub declared: Declared,
    /// The access that the user requests explicitly.
    pub requested: RequestedAccess,
    /// The script's arguments, input and limits; the default if no specific script is to run.
    pub invocation: Invocation,
    /// The paths on this machine that both of them refer to.
    pub outside: OutsidePaths,
    /// The audit's findings, and whether they allow the run.
    pub inspection: Inspection,
    /// The side effects that it declares; `None` if it declares none.
    pub side_effects: Option<Vec<&'static str>>,
    /// The schema that its arguments are checked against.
    pub arguments: Option<ArgumentSchema>,
    /// The prepared packages that it requests.
    pub packages: BTreeSet<PackageSet>,
}

/// The audit of everything that would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// One report for each folder that the run could start something from; empty for a builtin skill and for one that
    /// has not been fetched yet.
    pub reports: Vec<BundleReport>,
    /// Whether the findings allow the run.
    pub clearance: Clearance,
}

/// The time, the session and any one-time approval.
#[derive(Debug, Clone)]
pub struct AuthorizeContext {
    /// The current time.
    pub now: Timestamp,
    /// The session's id.
    pub session: String,
    /// What the user approves for this run only.
    pub once: Option<Grant>,
}

/// The decision about a plan.
#[derive(Debug)]
pub enum Authorization {
    /// The plan may be carried out.
    Permit(Box<Permit>),
    /// The user has to approve it first.
    Ask(Box<Request>),
    /// It is refused, and no approval can change that.
    Refusal(Refusal),
}

/// Permission to carry out one plan, with these capabilities and no others. Only [`authorize`] creates one:
///
/// ```compile_fail
/// # fn forged(plan: openskills_runtime::permit::Plan, real: openskills_runtime::permit::Permit) {
/// let permit = openskills_runtime::permit::Permit { plan, ..real };
/// # }
/// ```
///
/// Starting anything consumes the permit together with the plan that was authorized: the script, its input, its
/// workspace and limits, and the guarantees that the sandbox may do without.
#[derive(Debug)]
pub struct Permit {
    plan: Plan,
    capabilities: Capabilities,
    grant: Grant,
    reason: String,
    not_granted: Vec<String>,
    review: Option<String>,
    /// Everything that was approved; `grant` is a part of it.
    approved: Grant,
}

impl Permit {
    /// Returns the command that approves the skill with everything it was granted so far, so that callers can append
    /// flags. `discovery_flags` are the flags with which the skill is found.
    pub(crate) fn approve_command(&self, discovery_flags: &str) -> String {
        approve_command(&self.plan.subject, &self.approved, discovery_flags)
    }

    /// Returns the same command for a skill that may also delete files.
    pub(crate) fn approve_deletions_command(&self, discovery_flags: &str) -> String {
        let grant = Grant { deletions: true, ..self.approved.clone() };
        approve_command(&self.plan.subject, &grant, discovery_flags)
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the effective capabilities: declared, granted, and allowed by the organization.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Returns whether the run may write to the workspace directly.
    pub fn may_write_directly(&self) -> bool {
        self.grant.direct_writes
    }

    /// Returns whether the run may delete files in the workspace.
    pub fn may_delete(&self) -> bool {
        self.grant.deletions
    }

    /// Returns the prepared packages that scripts may use.
    pub fn packages(&self) -> &BTreeSet<PackageSet> {
        &self.grant.packages
    }

    /// Returns the guarantees that the sandbox may do without.
    pub fn allow_degraded(&self) -> &BTreeSet<Guarantee> {
        &self.plan.requested.allow_degraded
    }

    /// Returns why the plan was permitted.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns what the skill declares but was not granted, one line each.
    pub fn not_granted(&self) -> &[String] {
        &self.not_granted
    }

    /// Returns the audit findings that need review, unless a stored approval already covers them.
    pub fn review(&self) -> Option<&str> {
        self.review.as_deref()
    }
}

/// A request for the user's approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The skill.
    pub subject: Subject,
    /// What is granted if the user approves the whole request.
    pub grant: Grant,
    /// The part that the user requested explicitly; a flag such as `--yes` confirms only this.
    pub named: Grant,
    /// The part that the skill declares.
    pub declared: Grant,
    /// Declared places that only an explicit `--read` grants; answering the prompt does not.
    pub protected: Vec<AnchoredFolder>,
    /// Declared hosts that only an explicit `--net` grants.
    pub unlisted_hosts: Reach<Host>,
    /// The audit of the skill.
    pub inspection: Inspection,
    /// What the skill declares.
    pub capabilities: CapabilityExtents,
    /// The side effects that it declares; `None` if it declares none.
    pub side_effects: Option<Vec<&'static str>>,
    /// Guarantees that the sandbox may do without; a stored approval does not include them.
    pub allow_degraded: BTreeSet<Guarantee>,
    /// Why approval is needed.
    pub reasons: Vec<String>,
    /// The most recent approval of this skill.
    pub previous: Option<Approval>,
    /// How the declared capabilities differ from that approval.
    pub changes: Vec<CapabilityChange>,
    /// The grant plus whatever was approved before and is still allowed; [`command`](Self::command) suggests this.
    suggested: Grant,
    /// Everything that the skill declares.
    ceiling: Declared,
}

/// Why a plan is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusal {
    /// Every reason.
    pub reasons: Vec<String>,
    /// How to get it allowed.
    pub hints: Vec<String>,
}

impl Refusal {
    /// Converts the refusal to an error.
    pub fn error(&self) -> RuntimeError {
        let hint = (!self.hints.is_empty()).then(|| self.hints.join("; "));
        RuntimeError::PermissionDenied { message: self.reasons.join("; "), hint }
    }
}

impl Authorization {
    /// Returns the decision and its reason, for the log.
    pub fn decision(&self) -> (Decision, String) {
        match self {
            Self::Permit(permit) => {
                let review = permit.review.iter().map(|review| format!("; {review}"));
                let degraded = degraded(permit.allow_degraded());
                let degraded = degraded.iter().map(|without| format!("; {without}"));
                let reason = [permit.reason.clone()].into_iter();
                (Decision::Allow, reason.chain(degraded).chain(review).collect())
            }
            Self::Ask(request) => (Decision::Ask, request.reasons.join("; ")),
            Self::Refusal(refusal) => (Decision::Deny, refusal.reasons.join("; ")),
        }
    }
}

impl Request {
    /// Returns the request as a flag such as `--yes` answers it: nobody has read the declaration, so only what was
    /// requested explicitly is granted.
    #[must_use]
    pub fn by_flags(self) -> Self {
        Self { grant: self.named.clone(), ..self }
    }

    /// Returns what scripts can access if the user agrees: one row for each kind of capability that the sandbox
    /// enforces.
    pub fn access_rows(&self) -> Vec<(&'static str, String)> {
        let capabilities = capabilities(&self.ceiling, &self.grant, self.grant.network.clone());
        let listed = |reach: &Reach<AnchoredFolder>| match reach {
            Reach::Everything => vec!["everything".to_owned()],
            Reach::Only(places) => {
                let name = |place: &AnchoredFolder| match place.anchor() {
                    Anchor::Skill if *place == AnchoredFolder::at(Anchor::Skill) => {
                        "the skill".to_owned()
                    }
                    Anchor::Workspace if *place == AnchoredFolder::at(Anchor::Workspace) => {
                        "the workspace".to_owned()
                    }
                    _ => place.to_string(),
                };
                places.iter().map(name).collect()
            }
        };
        let line = |items: Vec<String>| {
            if items.is_empty() { "none".to_owned() } else { items.join(", ") }
        };
        let may_write = capabilities.write.has(&AnchoredFolder::at(Anchor::Workspace));
        let writing = match (may_write, self.grant.direct_writes, self.grant.deletions) {
            (false, _, _) => "nothing",
            (true, false, false) => "the workspace, only if the script exits with 0; no deletions",
            (true, false, true) => {
                "the workspace, only if the script exits with 0; deletions allowed"
            }
            // Direct writes cannot be distinguished from deletions, so they are only granted together.
            (true, true, _) => {
                "the workspace, directly while the script runs, including deletions; `openskills undo` cannot revert it"
            }
        };
        let network = match &capabilities.network {
            Reach::Everything => vec![ANY_HOST.to_owned()],
            Reach::Only(hosts) => hosts.iter().map(ToString::to_string).collect(),
        };
        let env = match &capabilities.env {
            Reach::Everything => Vec::new(),
            Reach::Only(names) => names.iter().cloned().collect(),
        };
        let mut read = listed(&capabilities.read);
        read.push("system programs".to_owned());
        let [read, network, env] = [read, network, env].map(line);
        let row = |kind: CapabilityKind| {
            let what = match kind {
                CapabilityKind::Read => read.clone(),
                CapabilityKind::Write => writing.to_owned(),
                CapabilityKind::Network => network.clone(),
                CapabilityKind::Env => env.clone(),
                // The policy decides about programs and tools call by call, and no secrets are ever passed on.
                CapabilityKind::Exec | CapabilityKind::Secrets | CapabilityKind::Tools => {
                    return None;
                }
            };
            Some((kind.as_str(), what))
        };
        let mut rows: Vec<_> = CapabilityKind::ALL.into_iter().filter_map(row).collect();
        rows.insert(1, ("packages", PACKAGES.to_owned()));
        let prepared = self.grant.packages.iter().flat_map(PackageSet::lines);
        for (at, line) in prepared.enumerate() {
            rows.insert(2 + at, ("", line));
        }
        rows.extend(degraded(&self.allow_degraded).map(|without| ("sandbox", without)));
        rows
    }

    /// Returns what the skill declares but `granted` does not include, one line each.
    pub fn not_granted(&self, granted: &Grant) -> Vec<String> {
        let protected = self.protected.iter().filter(|place| !granted.read.contains(place));
        let protected = protected
            .map(|place| format!("{} (protected)", Permission::new(CapabilityKind::Read, place)));
        let hosts = Grant { network: self.unlisted_hosts.clone(), ..Grant::default() };
        let given = granted.lines();
        let all = self.declared.lines().into_iter().chain(hosts.lines());
        all.filter(|line| !given.contains(line)).chain(protected).collect()
    }

    /// Returns what scripts can do as long as the user has not approved the request.
    pub(crate) fn without_approval(&self) -> Capabilities {
        capabilities(&self.ceiling, &Grant::default(), Reach::nothing())
    }

    /// Returns the command that approves the request; `discovery_flags` are the flags with which the skill is found.
    pub fn command(&self, discovery_flags: &str) -> String {
        approve_command(&self.subject, &self.suggested, discovery_flags)
    }
}

/// Describes the guarantees that a run does without, if any.
fn degraded(without: &BTreeSet<Guarantee>) -> Option<String> {
    let names: Vec<&str> = without.iter().map(|guarantee| guarantee.as_str()).collect();
    (!names.is_empty()).then(|| format!("guarantees given up: {}", names.join(", ")))
}

/// Placeholder in commands until the session is known.
const SESSION: &str = " --session SESSION";

/// Fills the session into a command.
pub(crate) fn with_session(command: &str, session: Option<&str>) -> String {
    match session {
        Some(session) => command.replace(SESSION, &format!(" --session {}", shell_word(session))),
        None => command.to_owned(),
    }
}

/// Returns the command that approves a skill with a grant.
fn approve_command(subject: &Subject, grant: &Grant, discovery_flags: &str) -> String {
    let Grant { read, named: _, network, env, direct_writes, deletions, packages } = grant;
    let mut command =
        format!("openskills approve {}{discovery_flags}", shell_word(&subject.skill_id));
    for place in read {
        command += &format!(" --read {}", shell_word(&place.to_string()));
    }
    match network {
        Reach::Everything => command += " --net '*'",
        Reach::Only(hosts) => {
            for host in hosts {
                command += &format!(" --net {}", shell_word(&host.to_string()));
            }
        }
    }
    for name in env {
        command += &format!(" --env {}", shell_word(name));
    }
    for request in packages.iter().flat_map(|set| &set.requests) {
        command += &format!(" --with {}", shell_word(&request.to_string()));
    }
    if subject.asks_each_session {
        command += SESSION;
    }
    for (is_on, flag) in [(direct_writes, " --direct-writes"), (deletions, " --deletions")] {
        if *is_on {
            command += flag;
        }
    }
    command
}

/// Decides about a plan. Refusals by the audit or the organization take precedence over everything else.
pub fn authorize(
    plan: Plan,
    policy: &OrgPolicy,
    approvals: &Approvals,
    context: &AuthorizeContext,
) -> Authorization {
    let mut request = match request(&plan, policy, approvals) {
        Ok(request) => request,
        Err(refusal) => return Authorization::Refusal(refusal),
    };
    let approval = approval(&plan.subject, policy, approvals, context);
    if plan.subject.is_drifted && approval.is_none() {
        return Authorization::Refusal(drift(&plan.subject));
    }
    if let Some(approval) = approval.filter(|approval| is_covered(&request.named, &approval.grant))
    {
        let reason = format!("covered by approval {}", approval.id());
        let granted =
            GrantSource { grant: &approval.grant, reason, reviewed: Reviewed::WithApproval };
        return permit(plan, &request, &granted, policy);
    }
    let once = context.once.as_ref().filter(|_| policy.may_approve_once);
    if let Some(grant) = once.filter(|once| is_covered(&request.named, once)) {
        let reason = "approved for this run only".to_owned();
        return permit(
            plan,
            &request,
            &GrantSource { grant, reason, reviewed: Reviewed::Now },
            policy,
        );
    }
    if request.reasons.is_empty() {
        let reason = format!(
            "skills with trust level `{}` run in the sandbox without approval",
            plan.subject.source
        );
        let granted = GrantSource { grant: &request.grant, reason, reviewed: Reviewed::Now };
        return permit(plan, &request, &granted, policy);
    }
    if context.once.is_some() && !policy.may_approve_once {
        request.reasons.push("the organization does not allow one-time approvals".to_owned());
    }
    Authorization::Ask(Box::new(request))
}

/// Returns the approval request for a plan. Its `reasons` are empty if no approval is needed.
pub fn request(plan: &Plan, policy: &OrgPolicy, approvals: &Approvals) -> Result<Request, Refusal> {
    let subject = &plan.subject;
    let RequestedGrants { grant, named, declared } = requested_grants(plan, policy)?;
    if let Some(refusal) = refusal(plan, policy) {
        return Err(refusal);
    }
    let previous = approvals.last_of(&subject.origin, &subject.name).cloned();
    let capabilities = plan.declared.extents();
    let changes =
        previous.as_ref().map(|previous| capabilities.changes_since(&previous.capabilities));
    let suggested = match &previous {
        Some(previous) => with_previous(plan, &grant, &previous.grant),
        None => grant.clone(),
    };
    let is_third_party = subject.source == SkillSource::ThirdParty;
    Ok(Request {
        reasons: reasons(plan, &grant, previous.as_ref()),
        suggested,
        ceiling: plan.declared.clone(),
        subject: subject.clone(),
        side_effects: plan.side_effects.clone(),
        allow_degraded: plan.requested.allow_degraded.clone(),
        grant,
        named,
        declared,
        protected: plan.outside.protected.iter().cloned().collect(),
        unlisted_hosts: match &plan.declared.network {
            Some(hosts) if is_third_party => hosts.clone(),
            Some(_) | None => Reach::nothing(),
        },
        inspection: plan.inspection.clone(),
        capabilities,
        changes: changes.unwrap_or_else(Vec::new),
        previous,
    })
}

/// Finds the valid approval for exactly this content.
pub(crate) fn approval<'a>(
    subject: &Subject,
    policy: &OrgPolicy,
    approvals: &'a Approvals,
    context: &AuthorizeContext,
) -> Option<&'a Approval> {
    let key =
        ApprovalKey { origin: &subject.origin, skill: &subject.name, bundle: &subject.bundle };
    let found = approvals.find(key, context.now, &context.session)?;
    let is_young = policy.max_approval_days.is_none_or(|days| {
        let longest = SignedDuration::from_hours(24 * i64::from(days));
        context.now.duration_since(found.approved_at) < longest
    });
    let is_for_session = !subject.asks_each_session || found.session.is_some();
    (is_young && is_for_session).then_some(found)
}

/// Returns why the plan is refused regardless of what is requested or approved, if it is.
fn refusal(plan: &Plan, policy: &OrgPolicy) -> Option<Refusal> {
    let subject = &plan.subject;
    let mut refusal = Refusal::default();
    match &plan.inspection.clearance {
        Clearance::Clear | Clearance::Review(_) => {}
        Clearance::Refused { reason, hint } => {
            refusal.reasons.push(format!("`{}` is blocked: {reason}", subject.skill_id));
            refusal.hints.push(hint.clone());
        }
    }
    if subject.is_disabled {
        refusal.reasons.push(format!(
            "`{}` declares itself disabled: neither the user nor the model may invoke it",
            subject.skill_id
        ));
    }
    let Subject { names, origin, claimed, source, .. } = subject;
    refusal.reasons.extend(policy.refuses_use(&PolicySubject {
        names,
        origin,
        claimed,
        source: *source,
    }));
    refusal.reasons.extend(policy.refuses_digests(&[subject.content, subject.bundle]));
    refusal.reasons.extend(policy.refuses_run(subject.source));
    (!refusal.reasons.is_empty()).then_some(refusal)
}

fn drift(subject: &Subject) -> Refusal {
    let id = shell_word(&subject.skill_id);
    Refusal {
        reasons: vec![format!("`{}` differs from what csk installed", subject.skill_id)],
        hints: vec![
            "run `csk install` to restore it (your edits are backed up)".to_owned(),
            format!("or run `openskills approve {id}` to approve this version"),
        ],
    }
}

/// Returns why approval is needed.
fn reasons(plan: &Plan, wanted: &Grant, previous: Option<&Approval>) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(previous) = previous.filter(|previous| previous.bundle != plan.subject.bundle) {
        let day = previous.approved_at.strftime("%Y-%m-%d");
        reasons.push(format!("it has changed since you approved it on {day}"));
    }
    match plan.subject.source {
        SkillSource::Builtin | SkillSource::Org => {}
        SkillSource::User => {
            reasons.push("scripts of your own skills need approval before they run".to_owned());
        }
        SkillSource::ThirdParty => {
            reasons.push("scripts of untrusted skills need approval before they run".to_owned());
        }
    }
    if plan.subject.asks_each_session {
        reasons.push(
            "the skill declares `trust: local`, so each session needs its own approval".to_owned(),
        );
    }
    if !wanted.is_nothing() {
        reasons.push(format!("it requests {}", wanted.lines().join(", ")));
    }
    reasons
}

/// The grant that a permit is based on, and why it applies.
struct GrantSource<'a> {
    grant: &'a Grant,
    reason: String,
    reviewed: Reviewed,
}

/// When the user saw the audit findings that need review.
#[derive(PartialEq, Eq)]
enum Reviewed {
    /// When the stored approval was given.
    WithApproval,
    /// Now, if at all.
    Now,
}

fn permit(
    plan: Plan,
    request: &Request,
    granted: &GrantSource<'_>,
    policy: &OrgPolicy,
) -> Authorization {
    let grant = narrowed(&plan, &request.grant, granted.grant);
    // The policy also restricts approvals that are older than the policy.
    let network = match policy.hosts(&grant.network) {
        Ok(network) => network,
        Err(reason) => {
            let refusal = Refusal { reasons: vec![reason], hints: Vec::new() };
            return Authorization::Refusal(refusal);
        }
    };
    let review = match &plan.inspection.clearance {
        Clearance::Review(text) if granted.reviewed == Reviewed::Now => Some(text.clone()),
        Clearance::Review(_) | Clearance::Clear | Clearance::Refused { .. } => None,
    };
    let not_granted = request.not_granted(&grant);
    let capabilities = capabilities(&plan.declared, &grant, network);
    let reason = granted.reason.clone();
    // Commands suggested later keep earlier approvals, even if this run had a one-time approval.
    let approved = match &request.previous {
        Some(previous) => with_previous(&plan, granted.grant, &previous.grant),
        None => granted.grant.clone(),
    };
    Authorization::Permit(Box::new(Permit {
        plan,
        capabilities,
        grant,
        reason,
        not_granted,
        review,
        approved,
    }))
}

/// Returns the capabilities of a run: inside the skill's folder and the workspace whatever is declared, elsewhere only
/// what was granted. No secrets are ever passed on.
fn capabilities(declared: &Declared, grant: &Grant, network: Reach<Host>) -> Capabilities {
    let ceiling = declared.ceiling();
    let inside = |reach: Reach<AnchoredFolder>| {
        let own = [Anchor::Skill, Anchor::Workspace];
        match reach {
            Reach::Everything => own.map(AnchoredFolder::at).to_vec(),
            Reach::Only(places) => {
                places.into_iter().filter(|place| own.contains(&place.anchor())).collect()
            }
        }
    };
    Capabilities {
        read: Reach::only(inside(ceiling.read).into_iter().chain(grant.read.iter().cloned())),
        write: Reach::only(inside(ceiling.write)),
        network,
        env: Reach::only(grant.env.iter().cloned()),
        secrets: Reach::nothing(),
        ..ceiling
    }
}

#[cfg(test)]
pub(crate) mod tests;
