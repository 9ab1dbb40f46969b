//! Whether a skill may run: one pure function from what is planned, what the organisation forbids and what the user
//! approved, to a permit, a question or a refusal.
//!
//! Nothing runs without a [`Permit`], and only [`authorize`] makes one.

mod wanted;

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use sandbox::Guarantee;
use skill::Digest;
use skill::capabilities::{
    Anchor, Capabilities, CapabilityChange, CapabilityExtents, CapabilityKind, Declared, Host,
    Permission, Place, Reach,
};
use skill_audit::BundleReport;
use skill_state::audit::Clearance;
use skill_state::{
    ANY_HOST, Approval, ApprovalKey, Approvals, Grant, OrgPolicy, SkillSource, Used,
};

use self::wanted::{Wanted, is_covered, narrowed, wanted, with_earlier};
use crate::RuntimeError;
use crate::decide::policy::Decision;
use crate::disclose::schema_arguments::ArgumentSchema;
use crate::quote::shell_word;
use crate::run::{Invocation, OutsidePlaces};

/// What scripts read because their interpreter finds it, whatever else is granted.
const PACKAGES: &str =
    "those of the project (.venv, node_modules), and your own of Python (pip install --user)";

/// The skill that something is planned with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Its id.
    pub skill_id: String,
    /// Its name.
    pub name: String,
    /// Every name and id that a rule of the organisation may know it by.
    pub names: Vec<String>,
    /// Who vouches for it; what it declares itself can only lower that.
    pub source: SkillSource,
    /// Where it comes from: the address of its repository where csk has a receipt, else its folder.
    pub origin: String,
    /// Where it says that it comes from, proven or not.
    pub claimed: Vec<String>,
    /// The digest of its content.
    pub content: Digest,
    /// The digest of everything that may run.
    pub bundle: Digest,
    /// The digest of its folder as it is.
    pub folder: Digest,
    /// Whether it is not any more what csk installed.
    pub is_drifted: bool,
    /// Whether an MCP server serves it: then nothing of its files is here yet.
    pub is_served: bool,
    /// Whether every session asks anew: the skill calls itself local.
    pub asks_each_session: bool,
    /// Whether nobody may start it, by its own word.
    pub is_off: bool,
}

/// Which hosts are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AskedNetwork {
    /// Those that the skill declares, after the user confirmed them. Of a third-party skill that is none: there the user names each.
    #[default]
    AsDeclared,
    /// These and no others.
    Named(Vec<Host>),
    /// Any host, which the user said in so many words.
    Any,
}

/// What is asked for beyond running in the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Files and folders to read beyond the skill and the workspace.
    pub read: Vec<PathBuf>,
    /// Hosts.
    pub network: AskedNetwork,
    /// Variables of the environment.
    pub env: Vec<String>,
    /// To write files of the workspace directly.
    pub direct_writes: bool,
    /// To delete files of the workspace.
    pub deletions: bool,
    /// To start although the sandbox cannot provide these guarantees.
    pub allow_degraded: BTreeSet<Guarantee>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// With which skill.
    pub subject: Subject,
    /// What of it runs; absent for all of it.
    pub script: Option<String>,
    /// The version that the skill declares; empty if it declares none.
    pub version: String,
    /// What the skill declares.
    pub declared: Declared,
    /// What the user asks for by name.
    pub asked: Asked,
    /// What the script is given and how it is bounded; the default where nothing in particular is to run.
    pub invocation: Invocation,
    /// The places of this machine that both mean.
    pub outside: OutsidePlaces,
    /// What the audit found, and what follows.
    pub inspected: Inspected,
    /// What it says that it changes; nothing where it says nothing.
    pub side_effects: Option<Vec<&'static str>>,
    /// The schema that its arguments are held to.
    pub arguments: Option<ArgumentSchema>,
}

/// What the audit found about everything that would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    /// One report for each folder that something of would run; none of a skill that is part of the program or not here yet.
    pub reports: Vec<BundleReport>,
    /// What follows.
    pub clearance: Clearance,
}

/// The moment, and what the user says just now.
#[derive(Debug, Clone)]
pub struct AuthorizeContext {
    /// Now.
    pub now: Timestamp,
    /// The session.
    pub session: String,
    /// What the user approves for this once.
    pub once: Option<Grant>,
}

/// What becomes of a plan.
#[derive(Debug)]
pub enum Authorization {
    /// It may be done.
    Permit(Box<Permit>),
    /// The user must say so.
    Ask(Box<Request>),
    /// It may not be done, whatever the user says now.
    Refusal(Refusal),
}

/// Permission to carry out one plan, with these capabilities and no others. Nothing but [`authorize`] makes one:
///
/// ```compile_fail
/// # fn forged(plan: openskills_runtime::permit::Plan, real: openskills_runtime::permit::Permit) {
/// let permit = openskills_runtime::permit::Permit { plan, ..real };
/// # }
/// ```
///
/// Whoever starts something takes the permit itself, with the plan that was authorised: its script, what that is given, its workspace and
/// limits, and the guarantees that the sandbox may do without.
#[derive(Debug)]
pub struct Permit {
    plan: Plan,
    capabilities: Capabilities,
    grant: Grant,
    because: String,
    left_out: Vec<String>,
    review: Option<String>,
    /// All that was approved, of which this is a part.
    approved: Grant,
}

impl Permit {
    /// Returns the command that approves the skill with all it was granted, to be made longer; `look` says where the skill is looked for.
    pub(crate) fn approve_command(&self, look: &str) -> String {
        approve_command(&self.plan.subject, &self.approved, look)
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns how far it may go: declared, granted, and allowed by the organisation.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Returns whether files of the workspace may be written directly.
    pub fn may_write_directly(&self) -> bool {
        self.grant.direct_writes
    }

    /// Returns whether files of the workspace may be deleted.
    pub fn may_delete(&self) -> bool {
        self.grant.deletions
    }

    /// Returns the guarantees that the sandbox may do without.
    pub fn allow_degraded(&self) -> &BTreeSet<Guarantee> {
        &self.plan.asked.allow_degraded
    }

    /// Returns why it may be done.
    pub fn because(&self) -> &str {
        &self.because
    }

    /// Returns what the skill declares and was not granted, one line each.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Returns what the audit wants reviewed, if no stored approval was made in view of it.
    pub fn review(&self) -> Option<&str> {
        self.review.as_deref()
    }
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The skill.
    pub subject: Subject,
    /// What is granted if the user agrees to everything that is shown.
    pub grant: Grant,
    /// The part of it that the user named: all that a flag such as `--yes` confirms.
    pub named: Grant,
    /// The part of it that the skill declares.
    pub declared: Grant,
    /// Declared places that the user must name; no answer grants them.
    pub protected: Vec<Place>,
    /// Hosts that the skill declares and the user must name.
    pub unnamed_hosts: Reach<Host>,
    /// What the audit found.
    pub inspected: Inspected,
    /// What the skill declares.
    pub capabilities: CapabilityExtents,
    /// What it says that it changes; nothing where it says nothing.
    pub side_effects: Option<Vec<&'static str>>,
    /// Guarantees that the sandbox may do without, which an approval for later does not include.
    pub allow_degraded: BTreeSet<Guarantee>,
    /// Why the user is asked.
    pub reasons: Vec<String>,
    /// The version that was approved last.
    pub before: Option<Approval>,
    /// What is different from it in what the skill declares.
    pub changes: Vec<CapabilityChange>,
    /// The grant, with what was approved before and may still be: what the command of [`command`](Self::command) names.
    suggested: Grant,
    /// All that the skill declares.
    ceiling: Declared,
}

/// Why something may not be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusal {
    /// Every reason.
    pub reasons: Vec<String>,
    /// What would allow it.
    pub how_to_allow: Vec<String>,
}

impl Refusal {
    /// Returns it as an error.
    pub fn error(&self) -> RuntimeError {
        let hint = (!self.how_to_allow.is_empty()).then(|| self.how_to_allow.join("; "));
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
                let because = [permit.because.clone()].into_iter();
                (Decision::Allow, because.chain(degraded).chain(review).collect())
            }
            Self::Ask(request) => (Decision::Ask, request.reasons.join("; ")),
            Self::Refusal(refusal) => (Decision::Deny, refusal.reasons.join("; ")),
        }
    }
}

impl Request {
    /// Returns the request that a flag answers, where nobody reads what is declared: it grants what is named and no more.
    #[must_use]
    pub fn by_flags(self) -> Self {
        Self { grant: self.named.clone(), ..self }
    }

    /// Returns what its scripts get if the user agrees, one line for each kind of capability that the sandbox holds.
    pub fn gets(&self) -> Vec<(&'static str, String)> {
        let capabilities = capabilities(&self.ceiling, &self.grant, self.grant.network.clone());
        let listed = |reach: &Reach<Place>| match reach {
            Reach::Everything => vec!["everything".to_owned()],
            Reach::Only(places) => {
                let name = |place: &Place| match place.anchor() {
                    Anchor::Skill if *place == Place::at(Anchor::Skill) => "the skill".to_owned(),
                    Anchor::Workspace if *place == Place::at(Anchor::Workspace) => {
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
        let may_write = capabilities.write.has(&Place::at(Anchor::Workspace));
        let writing = match (may_write, self.grant.direct_writes, self.grant.deletions) {
            (false, _, _) => "nothing",
            (true, false, false) => "the workspace, after they end well; they delete nothing",
            (true, false, true) => "the workspace, after they end well, deletions included",
            // Nothing between a script and the files tells a deletion from a write, so one is never granted without the other.
            (true, true, _) => {
                "the workspace, while they run, deletions included; `openskills undo` cannot take it back"
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
        read.push("the programs of the system".to_owned());
        let [read, network, env] = [read, network, env].map(line);
        let row = |kind: CapabilityKind| {
            let what = match kind {
                CapabilityKind::Read => read.clone(),
                CapabilityKind::Write => writing.to_owned(),
                CapabilityKind::Network => network.clone(),
                CapabilityKind::Env => env.clone(),
                // Programs and tools are decided by policy, call by call, and there are no secrets to hand out.
                CapabilityKind::Exec | CapabilityKind::Secrets | CapabilityKind::Tools => {
                    return None;
                }
            };
            Some((kind.as_str(), what))
        };
        let mut rows: Vec<_> = CapabilityKind::ALL.into_iter().filter_map(row).collect();
        rows.insert(1, ("packages", PACKAGES.to_owned()));
        rows.extend(degraded(&self.allow_degraded).map(|without| ("sandbox", without)));
        rows
    }

    /// Returns what the skill declares and `granted` does not have, one line each.
    pub fn left_out(&self, granted: &Grant) -> Vec<String> {
        let protected = self.protected.iter().filter(|place| !granted.read.contains(place));
        let protected = protected
            .map(|place| format!("{} (protected)", Permission::new(CapabilityKind::Read, place)));
        let hosts = Grant { network: self.unnamed_hosts.clone(), ..Grant::default() };
        let given = granted.lines();
        let all = self.declared.lines().into_iter().chain(hosts.lines());
        all.filter(|line| !given.contains(line)).chain(protected).collect()
    }

    /// Returns the command that approves it; `look` says where the skill is looked for.
    pub fn command(&self, look: &str) -> String {
        approve_command(&self.subject, &self.suggested, look)
    }
}

/// Says which guarantees a run does without, if any.
fn degraded(without: &BTreeSet<Guarantee>) -> Option<String> {
    let names: Vec<&str> = without.iter().map(|guarantee| guarantee.as_str()).collect();
    (!names.is_empty()).then(|| format!("without the guarantees {}", names.join(", ")))
}

/// Where a command names the session, as long as none is known.
const SESSION: &str = " --session SESSION";

/// Returns a command with the session that is known.
pub(crate) fn with_session(command: &str, session: Option<&str>) -> String {
    match session {
        Some(session) => command.replace(SESSION, &format!(" --session {}", shell_word(session))),
        None => command.to_owned(),
    }
}

/// Returns the command that approves a skill with a grant.
fn approve_command(subject: &Subject, grant: &Grant, look: &str) -> String {
    let Grant { read, named: _, network, env, direct_writes, deletions } = grant;
    let mut command = format!("openskills approve {}{look}", shell_word(&subject.skill_id));
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

/// Decides about a plan. What the audit or the organisation refuses is refused before anything else counts.
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
        let because = format!("approved as {}", approval.id());
        let granted = Granted { by: &approval.grant, because, is_reviewed: Reviewed::Before };
        return permit(plan, &request, &granted, policy);
    }
    let once = context.once.as_ref().filter(|_| policy.may_approve_once);
    if let Some(by) = once.filter(|once| is_covered(&request.named, once)) {
        let because = "approved for this once".to_owned();
        return permit(
            plan,
            &request,
            &Granted { by, because, is_reviewed: Reviewed::Now },
            policy,
        );
    }
    if request.reasons.is_empty() {
        let because =
            format!("skills of the trust level `{}` run in the sandbox", plan.subject.source);
        let granted = Granted { by: &request.grant, because, is_reviewed: Reviewed::Now };
        return permit(plan, &request, &granted, policy);
    }
    if context.once.is_some() && !policy.may_approve_once {
        request.reasons.push("the organisation does not allow approvals for once".to_owned());
    }
    Authorization::Ask(Box::new(request))
}

/// Returns the question that a plan puts to the user, without a reason where none needs to be put.
pub fn request(plan: &Plan, policy: &OrgPolicy, approvals: &Approvals) -> Result<Request, Refusal> {
    let subject = &plan.subject;
    let Wanted { grant, named, declared } = wanted(plan, policy)?;
    if let Some(refusal) = refusal(plan, policy) {
        return Err(refusal);
    }
    let before = approvals.last_of(&subject.origin, &subject.name).cloned();
    let capabilities = plan.declared.extents();
    let changes = before.as_ref().map(|before| capabilities.changes_since(&before.capabilities));
    let suggested = match &before {
        Some(before) => with_earlier(plan, &grant, &before.grant),
        None => grant.clone(),
    };
    let is_third_party = subject.source == SkillSource::ThirdParty;
    Ok(Request {
        reasons: reasons(plan, &grant, before.as_ref()),
        suggested,
        ceiling: plan.declared.clone(),
        subject: subject.clone(),
        side_effects: plan.side_effects.clone(),
        allow_degraded: plan.asked.allow_degraded.clone(),
        grant,
        named,
        declared,
        protected: plan.outside.protected.iter().cloned().collect(),
        unnamed_hosts: match &plan.declared.network {
            Some(hosts) if is_third_party => hosts.clone(),
            Some(_) | None => Reach::nothing(),
        },
        inspected: plan.inspected.clone(),
        capabilities,
        changes: changes.unwrap_or_else(Vec::new),
        before,
    })
}

/// Finds the approval for exactly this content that holds.
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

/// Returns what stands against it, whatever is asked for and whoever approves it.
fn refusal(plan: &Plan, policy: &OrgPolicy) -> Option<Refusal> {
    let subject = &plan.subject;
    let mut refusal = Refusal::default();
    match &plan.inspected.clearance {
        Clearance::Clear | Clearance::Review(_) => {}
        Clearance::Refused { reason, hint } => {
            refusal.reasons.push(format!("`{}` is not used: {reason}", subject.skill_id));
            refusal.how_to_allow.push(hint.clone());
        }
    }
    if subject.is_off {
        refusal.reasons.push(format!("`{}` says that nobody may start it", subject.skill_id));
    }
    let Subject { names, origin, claimed, source, .. } = subject;
    refusal.reasons.extend(policy.refuses_use(&Used { names, origin, claimed, source: *source }));
    refusal.reasons.extend(policy.refuses_digests(&[subject.content, subject.bundle]));
    refusal.reasons.extend(policy.refuses_run(subject.source));
    (!refusal.reasons.is_empty()).then_some(refusal)
}

fn drift(subject: &Subject) -> Refusal {
    let id = shell_word(&subject.skill_id);
    Refusal {
        reasons: vec![format!("`{}` is not what csk installed", subject.skill_id)],
        how_to_allow: vec![
            "put it back, keeping your edits: csk install".to_owned(),
            format!("or approve it as it is: openskills approve {id}"),
        ],
    }
}

/// Returns why the user must be asked.
fn reasons(plan: &Plan, wanted: &Grant, before: Option<&Approval>) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(before) = before.filter(|before| before.bundle != plan.subject.bundle) {
        let day = before.approved_at.strftime("%Y-%m-%d");
        reasons.push(format!("it has changed since you approved it on {day}"));
    }
    match plan.subject.source {
        SkillSource::Builtin | SkillSource::Org => {}
        SkillSource::User => {
            reasons.push("scripts of your own skills run only with your word".to_owned());
        }
        SkillSource::ThirdParty => {
            reasons.push("scripts of a stranger's skill run only with your word".to_owned());
        }
    }
    if plan.subject.asks_each_session {
        reasons.push("the skill calls itself local, so every session asks".to_owned());
    }
    if !wanted.is_nothing() {
        reasons.push(format!("it wants {}", wanted.lines().join(", ")));
    }
    reasons
}

/// What a permit is made from: how far the user's approval goes, and why it is one.
struct Granted<'a> {
    by: &'a Grant,
    because: String,
    is_reviewed: Reviewed,
}

/// When the user saw what the audit wants reviewed.
#[derive(PartialEq, Eq)]
enum Reviewed {
    /// When the approval was stored.
    Before,
    /// Now, if at all.
    Now,
}

fn permit(
    plan: Plan,
    request: &Request,
    granted: &Granted<'_>,
    policy: &OrgPolicy,
) -> Authorization {
    let grant = narrowed(&plan, &request.grant, granted.by);
    // What was approved before the organisation wrote its policy is restricted by it all the same.
    let network = match policy.hosts(&grant.network) {
        Ok(network) => network,
        Err(reason) => {
            let refusal = Refusal { reasons: vec![reason], how_to_allow: Vec::new() };
            return Authorization::Refusal(refusal);
        }
    };
    let review = match &plan.inspected.clearance {
        Clearance::Review(text) if granted.is_reviewed == Reviewed::Now => Some(text.clone()),
        Clearance::Review(_) | Clearance::Clear | Clearance::Refused { .. } => None,
    };
    let left_out = request.left_out(&grant);
    let capabilities = capabilities(&plan.declared, &grant, network);
    let because = granted.because.clone();
    // A command that is shown afterwards keeps what was approved before, also where this run was approved for once.
    let approved = match &request.before {
        Some(before) => with_earlier(&plan, granted.by, &before.grant),
        None => granted.by.clone(),
    };
    Authorization::Permit(Box::new(Permit {
        plan,
        capabilities,
        grant,
        because,
        left_out,
        review,
        approved,
    }))
}

/// Returns how far a run may go: in the skill's folder and the workspace as far as is declared, beyond them as far as was granted.
/// Services hold no secrets that could be handed out, so none are.
fn capabilities(declared: &Declared, grant: &Grant, network: Reach<Host>) -> Capabilities {
    let ceiling = declared.ceiling();
    let inside = |reach: Reach<Place>| {
        let own = [Anchor::Skill, Anchor::Workspace];
        match reach {
            Reach::Everything => own.map(Place::at).to_vec(),
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
