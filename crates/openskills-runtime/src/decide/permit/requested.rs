//! The access that a plan requests beyond the sandbox: what the user asked for explicitly, and what the skill declares.
//!
//! A declaration is only a request. It becomes part of a grant when the user saw and approved it, or asked for it
//! explicitly.

use std::collections::BTreeSet;

use sandbox::proxy::is_always_blocked;
use skill::capabilities::{AnchoredFolder, CapabilityKind, Host, Reach};
use skill_state::{Grant, OrgPolicy, PackageRequest, PackageSet, SkillSource};

use super::{Plan, Refusal, RequestedNetwork};
use crate::quote::shell_word;
use crate::run::forbidden_variable;

/// The grants that a plan requests.
pub(super) struct RequestedGrants {
    /// Everything combined.
    pub(super) grant: Grant,
    /// What the user asked for explicitly.
    pub(super) named: Grant,
    /// What the skill declares and answering yes to the prompt grants.
    pub(super) declared: Grant,
}

/// Returns what the user's approval would grant. Requests that no approval can grant are refused.
pub(super) fn requested_grants(
    plan: &Plan,
    policy: &OrgPolicy,
) -> Result<RequestedGrants, Refusal> {
    let Plan { subject, declared, requested, outside, .. } = plan;
    let mut refusal = Refusal::default();
    let said = match &requested.network {
        RequestedNetwork::AsDeclared => Reach::nothing(),
        RequestedNetwork::Named(hosts) => Reach::only(hosts.iter().cloned()),
        RequestedNetwork::Any => Reach::Everything,
    };
    refusal.reasons.extend(never_reached(&said));
    let is_third_party = subject.source == SkillSource::ThirdParty;
    if is_third_party && said == Reach::Everything {
        refusal
            .reasons
            .push("an untrusted skill can only reach hosts that you list explicitly".to_owned());
        refusal.hints.push("pass each host with `--net HOST`".to_owned());
    }
    if declared.network.as_ref().is_some_and(|declared| !declared.covers(&said)) {
        let extents = declared.extents();
        let extent = extents.of(CapabilityKind::Network);
        refusal.reasons.push(format!(
            "`{}` declares network access as `{extent}`; a grant cannot exceed the declaration",
            subject.skill_id
        ));
    }
    let of_skill = match (&requested.network, &declared.network) {
        (RequestedNetwork::AsDeclared, Some(hosts)) if !is_third_party => hosts.clone(),
        (RequestedNetwork::AsDeclared | RequestedNetwork::Named(_) | RequestedNetwork::Any, _) => {
            Reach::nothing()
        }
    };
    let network = if said.is_nothing() { &of_skill } else { &said };
    match policy.hosts(network) {
        Ok(allowed) if allowed != *network && !said.is_nothing() => {
            refusal.reasons.push("the organization does not allow these hosts".to_owned());
        }
        Ok(_) => {}
        Err(reason) => {
            refusal.reasons.push(reason);
            let command =
                format!("openskills approve {} --net HOST", shell_word(&subject.skill_id));
            refusal.hints.push(format!("list the hosts: `{command}`"));
        }
    }
    for name in &requested.env {
        refusal.reasons.extend(forbidden_variable(name));
        if declared.env.as_ref().is_some_and(|declared| !declared.has(name)) {
            let id = &subject.skill_id;
            refusal.reasons.push(format!("`{id}` does not declare the variable `{name}`"));
        }
    }
    for place in &outside.named {
        if !outside.may_have(place) {
            let id = &subject.skill_id;
            refusal.reasons.push(format!("`{id}` does not declare read access to `{place}`"));
        }
    }
    if requested.direct_writes && !requested.deletions {
        let why = "direct writes cannot be allowed without deletions: renaming a file over another deletes it";
        refusal.reasons.push(why.to_owned());
        refusal.hints.push("pass both: `--direct-writes --deletions`".to_owned());
    }
    let is_prepared =
        |request: &&PackageRequest| plan.packages.iter().any(|set| set.requests.contains(*request));
    if let Some(request) = requested.with.iter().find(|request| !is_prepared(request)) {
        refusal.reasons.push(format!("the package `{request}` was not prepared"));
    }
    if !refusal.reasons.is_empty() {
        return Err(refusal);
    }
    let (direct_writes, deletions) = (requested.direct_writes, requested.deletions);
    let named = Grant {
        read: outside.named.clone(),
        named: outside.named.clone(),
        network: said,
        env: requested.env.iter().cloned().collect(),
        direct_writes,
        deletions,
        packages: plan.packages.clone(),
    };
    let declared = Grant {
        read: outside.declared.clone(),
        network: policy.hosts(&of_skill).unwrap_or_else(|_| Reach::nothing()),
        env: match &declared.env {
            Some(Reach::Only(names)) => {
                names.iter().filter(|name| forbidden_variable(name).is_none()).cloned().collect()
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
        packages: named.packages.clone(),
    };
    Ok(RequestedGrants { grant, named, declared })
}

/// Returns a refusal for each host that can never be granted.
fn never_reached(said: &Reach<Host>) -> Vec<String> {
    let Reach::Only(hosts) = said else { return Vec::new() };
    let is_one = |host: &&Host| match host {
        Host::Exact(name) | Host::Below(name) => is_always_blocked(name),
    };
    let why = "it is a loopback, link-local, metadata service or reserved address";
    hosts.iter().filter(is_one).map(|host| format!("`{host}` is never allowed: {why}")).collect()
}

/// Returns true if the grant covers everything that was requested explicitly. What the skill merely declares may be
/// missing.
pub(super) fn is_covered(named: &Grant, granted: &Grant) -> bool {
    granted.network.covers(&named.network)
        && named.read.is_subset(&granted.read)
        && named.env.is_subset(&granted.env)
        && named.packages.is_subset(&granted.packages)
        && (granted.direct_writes || !named.direct_writes)
        && (granted.deletions || !named.deletions)
}

/// Extends a grant by what was approved before, as far as the skill is still allowed to have it.
pub(super) fn with_previous(plan: &Plan, grant: &Grant, previous: &Grant) -> Grant {
    let declared = &plan.declared;
    let mut network = previous.network.clone();
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
    let may_have = |place: &&AnchoredFolder| plan.outside.may_have(place);
    Grant {
        read: grant.read.iter().chain(previous.read.iter().filter(may_have)).cloned().collect(),
        named: grant.named.clone(),
        network,
        env: grant.env.iter().chain(previous.env.iter().filter(is_declared)).cloned().collect(),
        // Older versions approved direct writes without deletions. Those are no longer granted, because the user never
        // agreed to deletions.
        direct_writes: grant.direct_writes || (previous.direct_writes && previous.deletions),
        deletions: grant.deletions || previous.deletions,
        packages: with_previous_packages(&grant.packages, &previous.packages),
    }
}

/// Extends packages by those that were approved before for other requests.
fn with_previous_packages(
    packages: &BTreeSet<PackageSet>,
    previous: &BTreeSet<PackageSet>,
) -> BTreeSet<PackageSet> {
    let is_replaced =
        |old: &&PackageSet| packages.iter().any(|new| !new.requests.is_disjoint(&old.requests));
    let kept = previous.iter().filter(|old| !is_replaced(old));
    packages.iter().chain(kept).cloned().collect()
}

/// Returns the part of a grant that applies to a plan: at most what the skill declares, if it declares anything. For a
/// skill that declares nothing, an earlier explicit grant keeps applying without being requested again.
pub(super) fn narrowed(plan: &Plan, wanted: &Grant, granted: &Grant) -> Grant {
    let declared = &plan.declared;
    let mut network = granted.network.clone();
    if let Some(declared) = &declared.network {
        network = network.meet(declared);
    }
    if !matches!(plan.requested.network, RequestedNetwork::AsDeclared) {
        network = network.meet(&wanted.network);
    }
    let is_declared = |name: &&String| declared.env.as_ref().is_none_or(|env| env.has(name));
    // A folder that was granted at the prompt may contain a key by now.
    let outside = &plan.outside;
    let is_named =
        |place: &AnchoredFolder| granted.named.contains(place) || outside.named.contains(place);
    let may_have = |place: &&AnchoredFolder| {
        outside.may_have(place) && (is_named(place) || !outside.protected.contains(place))
    };
    let read: BTreeSet<AnchoredFolder> = granted.read.iter().filter(may_have).cloned().collect();
    Grant {
        named: read.iter().filter(|place| is_named(place)).cloned().collect(),
        read,
        network,
        env: granted.env.iter().filter(is_declared).cloned().collect(),
        direct_writes: wanted.direct_writes,
        deletions: wanted.deletions,
        // Without a request, the approved packages are used.
        packages: match wanted.packages.is_empty() {
            true => granted.packages.clone(),
            false => granted.packages.intersection(&wanted.packages).cloned().collect(),
        },
    }
}
