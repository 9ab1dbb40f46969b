//! Compares what a skill declares with what its scripts are seen to use.

use skill::capabilities::{Anchor, CapabilityKind, Cover, Declared, Host, Place, Reach};

use crate::finding::Severity;
use crate::inspect::Inspected;
use crate::observed::{Observed, ObservedKind, WORKSPACE};
use crate::rules::{Hit, RuleId, Skill};

/// Finds what is used and not declared. That something is not declared is never enough to refuse it.
pub(crate) fn undeclared(skill: &Skill<'_>, declared: &Declared, observed: &Observed) -> Vec<Hit> {
    if skill.files.is_empty() {
        return Vec::new();
    }
    let at = || skill.at(0, 0..0, &[]);
    let has_code = skill.files.iter().any(Inspected::is_script);
    let declares = declared.network.is_some()
        || declared.exec.is_some()
        || declared.read.is_some()
        || declared.write.is_some();
    if has_code && !declares && !observed.code.is_empty() {
        let message = "it has scripts and declares no capabilities: it may do anything";
        return vec![Hit::of(RuleId::NOTHING_DECLARED, at(), message)];
    }
    let compare = |kind: CapabilityKind| {
        let used = observed.code.get(&ObservedKind::Capability(kind)).into_iter().flatten();
        let missing: Vec<&str> =
            used.map(String::as_str).filter(|item| !is_declared(declared, kind, item)).collect();
        let message = format!("not declared: {kind} {}", missing.join(", "));
        let hit = || Hit::of(RuleId::UNDECLARED, at(), message).severity(severity(kind));
        (!missing.is_empty()).then(hit)
    };
    CapabilityKind::ALL.into_iter().filter_map(compare).collect()
}

/// What leaves the machine is worse than what stays on it.
fn severity(kind: CapabilityKind) -> Severity {
    match kind {
        CapabilityKind::Network => Severity::Medium,
        CapabilityKind::Read
        | CapabilityKind::Write
        | CapabilityKind::Exec
        | CapabilityKind::Env
        | CapabilityKind::Secrets
        | CapabilityKind::Tools => Severity::Low,
    }
}

/// Returns true if what is used does not contradict what is declared. A kind of which nothing is declared is unknown, which is no
/// contradiction.
fn is_declared(declared: &Declared, kind: CapabilityKind, item: &str) -> bool {
    let is_named = |reach: &Option<Reach<String>>| {
        reach.as_ref().is_none_or(|reach| reach.has(&item.to_owned()))
    };
    match kind {
        // Every skill reads its own folder and the workspace; a path alone does not say which of them it is in.
        CapabilityKind::Read => item == WORKSPACE || is_in(declared.read.as_ref(), item),
        CapabilityKind::Write => is_in(declared.write.as_ref(), item),
        CapabilityKind::Network => declared
            .network
            .as_ref()
            .is_none_or(|hosts| Host::parse(item).is_some_and(|host| hosts.has(&host))),
        CapabilityKind::Exec => is_named(&declared.exec),
        CapabilityKind::Env => is_named(&declared.env),
        // A skill declares services and is seen to read files of credentials: which belongs to which is not known, only that there are some.
        CapabilityKind::Secrets => {
            declared.secrets.as_ref().is_none_or(|services| !services.is_nothing())
        }
        // Scripts call no tools.
        CapabilityKind::Tools => true,
    }
}

/// Returns true if a file may be in one of the declared places.
fn is_in(places: Option<&Reach<Place>>, item: &str) -> bool {
    let places = match places {
        None | Some(Reach::Everything) => return true,
        Some(Reach::Only(places)) => places,
    };
    if item == WORKSPACE {
        // Which folder of it is not observed.
        return places.iter().any(|place| place.anchor() == Anchor::Workspace);
    }
    let is_config = item.starts_with("~/.config/");
    let is_covered = |place: Place| places.iter().any(|declared| declared.covers(&place));
    Place::parse(item).is_some_and(is_covered)
        || is_config && places.contains(&Place::at(Anchor::HomeConfig))
}
