//! Whether a skill may run: one pure function from what is planned, what the organisation forbids and what the user
//! approved, to a permit, a question or a refusal.
//!
//! Nothing runs without a [`Permit`], and only [`authorize`] makes one.

use jiff::{SignedDuration, Timestamp};
use skill::Digest;
use skill::capabilities::{Capabilities, Declared, Host, PowerChange, Powers, Reach};
use skill_state::{Approval, Approvals, Grant, OrgPolicy, Used};

use crate::policy::Decision;
use crate::quote::shell_word;
use crate::{RuntimeError, SkillSource};

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
    /// Those that the skill declares. Of a stranger's skill that is none: there the user names each.
    #[default]
    AsDeclared,
    /// These and no others.
    Named(Vec<Host>),
}

/// What is asked for beyond running in the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Hosts.
    pub network: AskedNetwork,
    /// Variables of the environment.
    pub env: Vec<String>,
    /// To write files of the workspace directly.
    pub direct_writes: bool,
    /// To delete files of the workspace.
    pub deletions: bool,
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
    /// What is asked for.
    pub asked: Asked,
    /// What it says that it changes; nothing where it says nothing.
    pub side_effects: Option<Vec<&'static str>>,
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

/// Leave to carry out one plan, with these powers and no others. Nothing but [`authorize`] makes one.
#[derive(Debug)]
pub struct Permit {
    plan: Plan,
    powers: Capabilities,
    grant: Grant,
    because: String,
}

impl Permit {
    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns how far it may go: declared, granted, and allowed by the organisation.
    pub fn powers(&self) -> &Capabilities {
        &self.powers
    }

    /// Returns whether files of the workspace may be written directly.
    pub fn may_write_directly(&self) -> bool {
        self.grant.direct_writes
    }

    /// Returns whether files of the workspace may be deleted.
    pub fn may_delete(&self) -> bool {
        self.grant.deletions
    }

    /// Returns why it may be done.
    pub fn because(&self) -> &str {
        &self.because
    }
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The skill.
    pub subject: Subject,
    /// What is granted if the user agrees.
    pub grant: Grant,
    /// What the skill declares.
    pub powers: Powers,
    /// What it says that it changes; nothing where it says nothing.
    pub side_effects: Option<Vec<&'static str>>,
    /// Why the user is asked.
    pub reasons: Vec<String>,
    /// The version that was approved last.
    pub before: Option<Approval>,
    /// What is different from it in what the skill declares.
    pub changes: Vec<PowerChange>,
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
            Self::Permit(permit) => (Decision::Allow, permit.because.clone()),
            Self::Ask(request) => (Decision::Ask, request.reasons.join("; ")),
            Self::Refusal(refusal) => (Decision::Deny, refusal.reasons.join("; ")),
        }
    }
}

impl Request {
    /// Returns the command that approves it; `look` says where the skill is looked for.
    pub fn command(&self, look: &str) -> String {
        let Grant { network, env, direct_writes, deletions } = &self.grant;
        let mut command =
            format!("openskills approve {}{look}", shell_word(&self.subject.skill_id));
        if let Reach::Only(hosts) = network {
            for host in hosts {
                command += &format!(" --net {}", shell_word(&host.to_string()));
            }
        }
        for name in env {
            command += &format!(" --env {}", shell_word(name));
        }
        if self.subject.asks_each_session {
            command += " --session SESSION";
        }
        for (is_on, flag) in [(direct_writes, " --direct-writes"), (deletions, " --deletions")] {
            if *is_on {
                command += flag;
            }
        }
        command
    }
}

/// Decides about a plan.
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
    let wanted = &request.grant;
    let approval = approval(&plan.subject, policy, approvals, context);
    if plan.subject.is_drifted && approval.is_none() {
        return Authorization::Refusal(drift(&plan.subject));
    }
    if let Some(approval) = approval.filter(|approval| is_covered(&plan, wanted, &approval.grant)) {
        let grant = narrowed(&plan, wanted, &approval.grant);
        let because = format!("approved as {}", approval.id());
        return permit(plan, grant, policy, because);
    }
    let once = context.once.as_ref().filter(|_| policy.may_approve_once);
    if let Some(once) = once.filter(|once| is_covered(&plan, wanted, once)) {
        let grant = narrowed(&plan, wanted, once);
        return permit(plan, grant, policy, "approved for this once".to_owned());
    }
    if request.reasons.is_empty() {
        let because = format!("skills of the tier `{}` run in the sandbox", plan.subject.source);
        return permit(plan, request.grant, policy, because);
    }
    if context.once.is_some() && !policy.may_approve_once {
        request.reasons.push("the organisation does not allow approvals for once".to_owned());
    }
    Authorization::Ask(Box::new(request))
}

/// Returns the question that a plan puts to the user, without a reason where none needs to be put.
pub fn request(plan: &Plan, policy: &OrgPolicy, approvals: &Approvals) -> Result<Request, Refusal> {
    let subject = &plan.subject;
    let grant = wanted(plan, policy)?;
    if let Some(refusal) = refusal(subject, policy) {
        return Err(refusal);
    }
    let before = approvals.last_of(&subject.origin, &subject.name).cloned();
    let powers = plan.declared.powers();
    let changes = before.as_ref().map(|before| powers.changes_since(&before.powers));
    Ok(Request {
        reasons: reasons(plan, &grant),
        subject: subject.clone(),
        side_effects: plan.side_effects.clone(),
        grant,
        powers,
        changes: changes.unwrap_or_else(Vec::new),
        before,
    })
}

/// Finds the approval for exactly this content that holds.
fn approval<'a>(
    subject: &Subject,
    policy: &OrgPolicy,
    approvals: &'a Approvals,
    context: &AuthorizeContext,
) -> Option<&'a Approval> {
    let key = (subject.origin.as_str(), subject.name.as_str(), &subject.bundle);
    let found = approvals.find(key, context.now, &context.session)?;
    let is_young = policy.max_approval_days.is_none_or(|days| {
        let longest = SignedDuration::from_hours(24 * i64::from(days));
        context.now.duration_since(found.approved_at) < longest
    });
    let is_for_session = !subject.asks_each_session || found.session.is_some();
    (is_young && is_for_session).then_some(found)
}

/// Returns what a yes of the user would grant. What no yes can grant is refused.
fn wanted(plan: &Plan, policy: &OrgPolicy) -> Result<Grant, Refusal> {
    let Plan { subject, declared, asked, .. } = plan;
    let mut refusal = Refusal::default();
    let network = match &asked.network {
        AskedNetwork::AsDeclared if subject.source == SkillSource::ThirdParty => Reach::nothing(),
        AskedNetwork::AsDeclared => declared.network.clone().unwrap_or_else(Reach::nothing),
        AskedNetwork::Named(hosts) => {
            let named = Reach::only(hosts.iter().cloned());
            if declared.network.as_ref().is_some_and(|declared| !declared.covers(&named)) {
                let said = plan.declared.powers();
                let said = said.iter().find(|(kind, _)| kind.as_str() == "network");
                let said = said.map_or_else(String::new, |(_, extent)| extent.to_string());
                refusal.reasons.push(format!(
                    "`{}` declares its network as `{said}`; nobody can grant it more",
                    subject.skill_id
                ));
            }
            named
        }
    };
    let is_named = matches!(asked.network, AskedNetwork::Named(_));
    let allowed = policy.hosts(&network);
    match &allowed {
        Ok(allowed) if is_named && *allowed != network => {
            refusal.reasons.push("the organisation does not let these hosts be reached".to_owned());
        }
        Ok(_) => {}
        Err(reason) => {
            refusal.reasons.push(reason.clone());
            let command =
                format!("openskills approve {} --net HOST", shell_word(&subject.skill_id));
            refusal.how_to_allow.push(format!("name the hosts: {command}"));
        }
    }
    for name in &asked.env {
        if declared.env.as_ref().is_some_and(|declared| !declared.has(name)) {
            let id = &subject.skill_id;
            refusal.reasons.push(format!("`{id}` does not declare the variable `{name}`"));
        }
    }
    match (allowed, refusal.reasons.is_empty()) {
        (Ok(network), true) => Ok(Grant {
            network,
            env: asked.env.iter().cloned().collect(),
            direct_writes: asked.direct_writes,
            deletions: asked.deletions,
        }),
        _ => Err(refusal),
    }
}

/// Returns what stands against it, whatever is asked for.
fn refusal(subject: &Subject, policy: &OrgPolicy) -> Option<Refusal> {
    let mut refusal = Refusal::default();
    if subject.is_off {
        refusal.reasons.push(format!("`{}` says that nobody may start it", subject.skill_id));
    }
    let Subject { names, origin, claimed, source, .. } = subject;
    refusal.reasons.extend(policy.refuses_use(&Used { names, origin, claimed, tier: *source }));
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

/// Returns true if what was granted is enough. Hosts that the skill only declares may have been left out by the user;
/// those that are asked for by name may not.
fn is_covered(plan: &Plan, wanted: &Grant, granted: &Grant) -> bool {
    let is_named = matches!(plan.asked.network, AskedNetwork::Named(_));
    (!is_named || granted.network.covers(&wanted.network))
        && wanted.env.is_subset(&granted.env)
        && (granted.direct_writes || !wanted.direct_writes)
        && (granted.deletions || !wanted.deletions)
}

/// Returns what is asked for and granted. What the user named for a skill that declares nothing holds without being asked
/// for again.
fn narrowed(plan: &Plan, wanted: &Grant, granted: &Grant) -> Grant {
    let network = match &plan.asked.network {
        AskedNetwork::Named(_) => wanted.network.meet(&granted.network),
        AskedNetwork::AsDeclared => match &plan.declared.network {
            Some(declared) => declared.meet(&granted.network),
            None => granted.network.clone(),
        },
    };
    Grant { network, env: granted.env.clone(), ..wanted.clone() }
}

/// Returns why the user must be asked.
fn reasons(plan: &Plan, wanted: &Grant) -> Vec<String> {
    let mut reasons = Vec::new();
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

fn permit(plan: Plan, grant: Grant, policy: &OrgPolicy, because: String) -> Authorization {
    let network = match &plan.declared.network {
        Some(declared) => declared.meet(&grant.network),
        None => grant.network.clone(),
    };
    // What was approved before the organisation wrote its policy is held to it all the same.
    let network = match policy.hosts(&network) {
        Ok(network) => network,
        Err(reason) => {
            let refusal = Refusal { reasons: vec![reason], how_to_allow: Vec::new() };
            return Authorization::Refusal(refusal);
        }
    };
    let mut powers = Capabilities { network, ..plan.declared.ceiling() };
    if plan.declared.env.is_none() {
        powers.env = Reach::only(grant.env.iter().cloned());
    }
    Authorization::Permit(Box::new(Permit { plan, powers, grant, because }))
}

#[cfg(test)]
mod tests;
