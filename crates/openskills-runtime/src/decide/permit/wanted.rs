//! What a plan wants beyond the sandbox: what the user named, and what the skill declares.
//!
//! A declaration is a request. It becomes part of a grant only when somebody saw it and agreed, or named it.

use std::collections::BTreeSet;

use sandbox::proxy::is_never_reached;
use skill::capabilities::{CapabilityKind, Host, Place, Reach};
use skill_state::{Grant, OrgPolicy, SkillSource};

use super::{AskedNetwork, Plan, Refusal};
use crate::quote::shell_word;
use crate::run::never_given;

/// What a plan wants.
pub(super) struct Wanted {
    /// All of it.
    pub(super) grant: Grant,
    /// What the user named.
    pub(super) named: Grant,
    /// What the skill declares and a yes to the question grants.
    pub(super) declared: Grant,
}

/// Returns what a yes of the user would grant. What no yes can grant is refused.
pub(super) fn wanted(plan: &Plan, policy: &OrgPolicy) -> Result<Wanted, Refusal> {
    let Plan { subject, declared, asked, outside, .. } = plan;
    let mut refusal = Refusal::default();
    let said = match &asked.network {
        AskedNetwork::AsDeclared => Reach::nothing(),
        AskedNetwork::Named(hosts) => Reach::only(hosts.iter().cloned()),
        AskedNetwork::Any => Reach::Everything,
    };
    refusal.reasons.extend(never_reached(&said));
    let is_third_party = subject.source == SkillSource::ThirdParty;
    if is_third_party && said == Reach::Everything {
        refusal.reasons.push("a third-party skill reaches only hosts that you name".to_owned());
        refusal.how_to_allow.push("name each host: --net HOST".to_owned());
    }
    if declared.network.as_ref().is_some_and(|declared| !declared.covers(&said)) {
        let extents = declared.extents();
        let extent = extents.of(CapabilityKind::Network);
        refusal.reasons.push(format!(
            "`{}` declares its network as `{extent}`; a grant cannot go beyond that",
            subject.skill_id
        ));
    }
    let of_skill = match (&asked.network, &declared.network) {
        (AskedNetwork::AsDeclared, Some(hosts)) if !is_third_party => hosts.clone(),
        (AskedNetwork::AsDeclared | AskedNetwork::Named(_) | AskedNetwork::Any, _) => {
            Reach::nothing()
        }
    };
    let network = if said.is_nothing() { &of_skill } else { &said };
    match policy.hosts(network) {
        Ok(allowed) if allowed != *network && !said.is_nothing() => {
            refusal.reasons.push("the organisation does not let these hosts be reached".to_owned());
        }
        Ok(_) => {}
        Err(reason) => {
            refusal.reasons.push(reason);
            let command =
                format!("openskills approve {} --net HOST", shell_word(&subject.skill_id));
            refusal.how_to_allow.push(format!("name the hosts: {command}"));
        }
    }
    for name in &asked.env {
        refusal.reasons.extend(never_given(name));
        if declared.env.as_ref().is_some_and(|declared| !declared.has(name)) {
            let id = &subject.skill_id;
            refusal.reasons.push(format!("`{id}` does not declare the variable `{name}`"));
        }
    }
    for place in &outside.named {
        if !outside.may_have(place) {
            let id = &subject.skill_id;
            refusal.reasons.push(format!("`{id}` does not declare that it reads `{place}`"));
        }
    }
    if asked.direct_writes && !asked.deletions {
        let why = "direct writes cannot be kept from deleting files: renaming one over another deletes it";
        refusal.reasons.push(why.to_owned());
        refusal.how_to_allow.push("approve both: --direct-writes --deletions".to_owned());
    }
    if !refusal.reasons.is_empty() {
        return Err(refusal);
    }
    let (direct_writes, deletions) = (asked.direct_writes, asked.deletions);
    let named = Grant {
        read: outside.named.clone(),
        named: outside.named.clone(),
        network: said,
        env: asked.env.iter().cloned().collect(),
        direct_writes,
        deletions,
    };
    let declared = Grant {
        read: outside.declared.clone(),
        network: policy.hosts(&of_skill).unwrap_or_else(|_| Reach::nothing()),
        env: match &declared.env {
            Some(Reach::Only(names)) => {
                names.iter().filter(|name| never_given(name).is_none()).cloned().collect()
            }
            Some(Reach::Everything) | None => BTreeSet::new(),
        },
        ..Grant::default()
    };
    let network = if named.network.is_nothing() { &declared.network } else { &named.network };
    let grant = Grant {
        read: named.read.union(&declared.read).cloned().collect(),
        named: named.named.clone(),
        network: network.clone(),
        env: named.env.union(&declared.env).cloned().collect(),
        direct_writes,
        deletions,
    };
    Ok(Wanted { grant, named, declared })
}

/// Says which hosts no grant reaches.
fn never_reached(said: &Reach<Host>) -> Vec<String> {
    let Reach::Only(hosts) = said else { return Vec::new() };
    let is_one = |host: &&Host| match host {
        Host::Exact(name) | Host::Below(name) => is_never_reached(name),
    };
    let why = "it is this machine, its link, a metadata service or a reserved address";
    hosts.iter().filter(is_one).map(|host| format!("`{host}` is never reached: {why}")).collect()
}

/// Returns true if what was granted is enough. What the skill only declares may have been left out; what is asked for by name may
/// not.
pub(super) fn is_covered(named: &Grant, granted: &Grant) -> bool {
    granted.network.covers(&named.network)
        && named.read.is_subset(&granted.read)
        && named.env.is_subset(&granted.env)
        && (granted.direct_writes || !named.direct_writes)
        && (granted.deletions || !named.deletions)
}

/// Returns a grant with what was approved before, as far as the skill may still have it.
pub(super) fn with_earlier(plan: &Plan, grant: &Grant, earlier: &Grant) -> Grant {
    let declared = &plan.declared;
    let mut network = earlier.network.clone();
    if let Some(declared) = &declared.network {
        network = network.meet(declared);
    }
    let network = match (network, &grant.network) {
        (Reach::Only(mut hosts), Reach::Only(more)) => {
            hosts.extend(more.iter().cloned());
            Reach::only(hosts)
        }
        (Reach::Everything, _) | (_, Reach::Everything) => Reach::Everything,
    };
    let is_declared = |name: &&String| declared.env.as_ref().is_none_or(|env| env.has(name));
    let may_have = |place: &&Place| plan.outside.may_have(place);
    Grant {
        read: grant.read.iter().chain(earlier.read.iter().filter(may_have)).cloned().collect(),
        named: grant.named.clone(),
        network,
        env: grant.env.iter().chain(earlier.env.iter().filter(is_declared)).cloned().collect(),
        // Direct writes that were approved without deletions are not granted any more, and deletions were not agreed to.
        direct_writes: grant.direct_writes || (earlier.direct_writes && earlier.deletions),
        deletions: grant.deletions || earlier.deletions,
    }
}

/// Returns what of a grant holds for a plan: never more than is declared, where anything is. What the user named for a skill that
/// declares nothing holds without being asked for again.
pub(super) fn narrowed(plan: &Plan, wanted: &Grant, granted: &Grant) -> Grant {
    let declared = &plan.declared;
    let mut network = granted.network.clone();
    if let Some(declared) = &declared.network {
        network = network.meet(declared);
    }
    if !matches!(plan.asked.network, AskedNetwork::AsDeclared) {
        network = network.meet(&wanted.network);
    }
    let is_declared = |name: &&String| declared.env.as_ref().is_none_or(|env| env.has(name));
    // A folder that was confirmed by an answer may hold a key by now.
    let outside = &plan.outside;
    let is_named = |place: &Place| granted.named.contains(place) || outside.named.contains(place);
    let may_have = |place: &&Place| {
        outside.may_have(place) && (is_named(place) || !outside.protected.contains(place))
    };
    let read: BTreeSet<Place> = granted.read.iter().filter(may_have).cloned().collect();
    Grant {
        named: read.iter().filter(|place| is_named(place)).cloned().collect(),
        read,
        network,
        env: granted.env.iter().filter(is_declared).cloned().collect(),
        direct_writes: wanted.direct_writes,
        deletions: wanted.deletions,
    }
}
