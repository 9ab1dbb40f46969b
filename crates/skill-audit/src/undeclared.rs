//! Compares what a skill declares with what its scripts use.

use skill::capabilities::{Anchor, AnchoredFolder, CapabilityKind, Cover, Declared, Host, Reach};

use crate::evidence::{Familiarity, familiarity};
use crate::finding::Severity;
use crate::inspect::InspectedFile;
use crate::observed::{Observed, ObservedKind, WORKSPACE};
use crate::rules::{Hit, RuleId, Skill};

/// Finds what scripts use without declaring it. A missing declaration alone never blocks a skill.
pub(crate) fn undeclared(skill: &Skill<'_>, declared: &Declared, observed: &Observed) -> Vec<Hit> {
    if skill.files.is_empty() {
        return Vec::new();
    }
    let at = || skill.location(0, 0..0, &[]);
    let has_code = skill.files.iter().any(InspectedFile::is_script);
    let declares = declared.network.is_some()
        || declared.exec.is_some()
        || declared.read.is_some()
        || declared.write.is_some();
    if has_code && !declares && !observed.scripts.is_empty() {
        let message = "the skill has scripts but declares no capabilities";
        return vec![Hit::of(RuleId::NOTHING_DECLARED, at(), message)];
    }
    let compare = |kind: CapabilityKind| {
        let used = observed.scripts.get(&ObservedKind::Capability(kind)).into_iter().flatten();
        // Every script uses `cat` and `grep`, so skills do not declare them.
        let is_common = |item: &str| {
            kind == CapabilityKind::Exec && familiarity(item) == Some(Familiarity::Common)
        };
        let missing: Vec<&str> = used
            .map(String::as_str)
            .filter(|item| !is_common(item) && !is_declared(declared, kind, item))
            .collect();
        let message =
            format!("scripts use `{kind}` beyond what is declared: {}", missing.join(", "));
        let hit = || Hit::of(RuleId::UNDECLARED, at(), message).severity(severity(kind));
        (!missing.is_empty()).then(hit)
    };
    CapabilityKind::ALL.into_iter().filter_map(compare).collect()
}

/// Data that can leave the machine is worse than data that stays on it.
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

/// Returns true if the use is consistent with the declaration. If nothing of a kind is declared, any use is.
fn is_declared(declared: &Declared, kind: CapabilityKind, item: &str) -> bool {
    let is_named = |reach: &Option<Reach<String>>| {
        reach.as_ref().is_none_or(|reach| reach.has(&item.to_owned()))
    };
    match kind {
        // Every skill reads its own folder and the workspace; a path alone does not tell which one it is in.
        CapabilityKind::Read => item == WORKSPACE || is_in(declared.read.as_ref(), item),
        CapabilityKind::Write => is_in(declared.write.as_ref(), item),
        CapabilityKind::Network => declared
            .network
            .as_ref()
            .is_none_or(|hosts| Host::parse(item).is_some_and(|host| hosts.has(&host))),
        CapabilityKind::Exec => is_named(&declared.exec),
        CapabilityKind::Env => is_named(&declared.env),
        // A skill declares services but reads credential files. Which file belongs to which service is unknown, so any
        // declared service covers them.
        CapabilityKind::Secrets => {
            declared.secrets.as_ref().is_none_or(|services| !services.is_nothing())
        }
        // Scripts do not call agent tools.
        CapabilityKind::Tools => true,
    }
}

/// Returns true if a path can be inside one of the declared locations.
fn is_in(places: Option<&Reach<AnchoredFolder>>, item: &str) -> bool {
    let places = match places {
        None | Some(Reach::Everything) => return true,
        Some(Reach::Only(places)) => places,
    };
    if item == WORKSPACE {
        // The folder inside the workspace is not observed.
        return places.iter().any(|place| place.anchor() == Anchor::Workspace);
    }
    let is_config = item.starts_with("~/.config/");
    let is_covered = |place: AnchoredFolder| places.iter().any(|declared| declared.covers(&place));
    AnchoredFolder::parse(item).is_some_and(is_covered)
        || is_config && places.contains(&AnchoredFolder::at(Anchor::HomeConfig))
}
