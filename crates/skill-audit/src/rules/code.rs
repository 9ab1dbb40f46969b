//! What code and commands do: secrets that leave, shells for strangers, things that stay, files that go.

use super::{Hit, Skill};
use crate::about::{belongs, is_secret_name};
use crate::finding::Severity;
use crate::generic::secret_paths;
use crate::hosts::{HostClass, Remote};
use crate::op::{Action, Channel, Location, Op, Role};
use crate::paths::PathClass;
use crate::value::Carry;

pub(super) fn find(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    let all = || skill.files.iter().flat_map(|file| &file.ops);
    for op in all() {
        match &op.does {
            Action::Send { secrets, .. } if !secrets.is_empty() => sent(skill, op, hits),
            Action::Read(path) => read(skill, op, path, hits),
            Action::Write { path, text } => written(skill, op, path, text, hits),
            Action::RemoteShell { form } => {
                let hit =
                    Hit::new("RSH-01", op.at.clone(), format!("somebody elsewhere gets {form}"));
                hits.push(hit.blocking().unless_quoted(skill));
            }
            Action::Destroy { what } => {
                let hit = Hit::new(
                    "DES-01",
                    op.at.clone(),
                    format!("everything in `{what}` is destroyed"),
                );
                hits.push(if op.at.role == Role::Script {
                    hit.blocking()
                } else {
                    hit.severity(Severity::Medium).unless_quoted(skill)
                });
            }
            Action::Weaken { what } => weakened(skill, op, what, hits),
            Action::Mine { what } => {
                let hit = Hit::new(
                    "DES-03",
                    op.at.clone(),
                    format!("`{what}` works for somebody else's coins"),
                );
                hits.push(hit.blocking().unless_quoted(skill));
            }
            Action::Evaluate { by } if op.at.role == Role::Script => {
                let message = format!("`{by}` runs text that is made while it runs");
                hits.push(Hit::new("OBF-01", op.at.clone(), message));
            }
            Action::Disguise { what } => {
                let hit = Hit::new(
                    "OBF-02",
                    op.at.clone(),
                    format!("`{what}` is reached under a name that is put together"),
                );
                hits.push(if op.at.role == Role::Script {
                    hit.severity(Severity::High)
                } else {
                    hit.severity(Severity::Medium).unless_quoted(skill)
                });
            }
            _ => {}
        }
    }
    harvest(skill, hits);
}

/// Secrets that are sent somewhere.
fn sent(skill: &Skill<'_>, op: &Op, hits: &mut Vec<Hit>) {
    let Action::Send { to, secrets, by } = &op.does else { return };
    let by = *by;
    let way = match by {
        Channel::Body => "",
        Channel::Address => " in the address",
        Channel::Lookup => " in a name that is looked up",
    };
    let place = if to.host.is_empty() {
        "a host that is not written out".to_owned()
    } else {
        format!("{} ({})", to.host, to.class)
    };
    let from = source(skill, op, secrets);
    for carry in secrets {
        let message = format!("{} goes to {place}{way}", carry.describe());
        let make = |id: &'static str| Hit {
            from: from.clone(),
            ..Hit::new(id, op.at.clone(), message.clone())
        };
        let is_local = to.class == HostClass::Local;
        match carry {
            Carry::File(class, _) => {
                let hit = make(if by == Channel::Lookup { "EXF-06" } else { "EXF-01" });
                hits.push(if is_local && op.at.role != Role::Script {
                    hit.severity(Severity::Medium).unless_quoted_for(skill, to)
                } else if *class == PathClass::ProjectSecret
                    && (to.class == HostClass::Vendor || to.host.is_empty())
                {
                    hit.severity(Severity::Medium)
                } else {
                    hit.blocking().unless_quoted_for(skill, to)
                });
            }
            Carry::Environment => {
                let hit = make("EXF-02");
                hits.push(if is_local {
                    hit.severity(Severity::Medium).unless_quoted_for(skill, to)
                } else if to.host.is_empty() {
                    hit.severity(Severity::High)
                } else {
                    hit.blocking().unless_quoted_for(skill, to)
                });
            }
            Carry::Variable(name) if is_wallet(name) && !is_local => {
                hits.push(
                    make("EXF-03")
                        .severity(Severity::Critical)
                        .blocking()
                        .unless_quoted_for(skill, to),
                );
            }
            Carry::Variable(name) => {
                if !is_secret_name(name) || belongs(name, to) || is_local || skill.about.fits(to) {
                    continue;
                }
                let hit = make("EXF-03");
                let is_well_known = [
                    "GITHUB",
                    "GH_",
                    "AWS_",
                    "OPENAI",
                    "ANTHROPIC",
                    "NPM_",
                    "SSH_",
                    "GOOGLE",
                    "AZURE",
                    "SLACK",
                    "STRIPE",
                ]
                .iter()
                .any(|owner| name.to_uppercase().contains(owner));
                hits.push(if to.class.is_throwaway() {
                    hit.blocking().unless_quoted_for(skill, to)
                } else if is_well_known
                    && !to.host.is_empty()
                    && to.class == HostClass::Unknown
                    && by != Channel::Lookup
                {
                    hit.severity(Severity::High).blocking().unless_quoted_for(skill, to)
                } else if to.host.is_empty()
                    || matches!(to.class, HostClass::Vendor | HostClass::Registry)
                {
                    hit.severity(Severity::Low)
                } else {
                    hit.severity(Severity::Medium)
                });
            }
            Carry::Fetched(_) | Carry::Decoded(_) | Carry::Machine => {}
        }
    }
}

/// Returns true for what opens a wallet: it is sent to nobody at all.
fn is_wallet(name: &str) -> bool {
    let name = name.to_uppercase();
    ["PRIVATE_KEY", "PRIVKEY", "MNEMONIC", "SEED_PHRASE", "WALLET_SEED", "WALLET_SECRET"]
        .iter()
        .any(|word| name.contains(word))
}

/// Returns where a secret is read, for the way it takes.
fn source(skill: &Skill<'_>, op: &Op, secrets: &[Carry]) -> Option<(Location, String)> {
    let reads = |other: &&Op| match (&other.does, secrets.first()) {
        (Action::Read(path), Some(Carry::File(_, known))) => path == known,
        (Action::Variable(name), Some(Carry::Variable(known))) => name.as_deref() == Some(known),
        (Action::Variable(None), Some(Carry::Environment)) => true,
        _ => false,
    };
    let all = skill.files.iter().flat_map(|file| &file.ops);
    let found = all.filter(|other| other.at != op.at).find(reads)?;
    Some((found.at.clone(), secrets.first().map(Carry::describe).unwrap_or_default()))
}

fn read(skill: &Skill<'_>, op: &Op, path: &str, hits: &mut Vec<Hit>) {
    match PathClass::of(path) {
        PathClass::Secret => hits.push(
            Hit::new("CRED-01", op.at.clone(), format!("`{path}` is read: credentials"))
                .unless_quoted(skill),
        ),
        PathClass::Vault => hits.push(
            Hit::new(
                "CRED-02",
                op.at.clone(),
                format!("`{path}` is read: data of a browser, wallet or keychain"),
            )
            .unless_quoted(skill),
        ),
        _ => {}
    }
}

fn written(skill: &Skill<'_>, op: &Op, path: &str, text: &str, hits: &mut Vec<Hit>) {
    let lower = text.to_lowercase();
    let is_usual = lower.contains("export path")
        || lower.contains("path=")
        || lower.contains("eval \"$(")
        || lower.contains("completion")
        || lower.contains("alias ")
        || lower.starts_with("export ");
    let fetches = ["curl ", "wget ", "/dev/tcp", "base64", "nc ", "python -c", "python3 -c"]
        .iter()
        .any(|word| lower.contains(word));
    match PathClass::of(path) {
        PathClass::Startup => {
            let hit = Hit::new(
                "PER-01",
                op.at.clone(),
                format!("`{path}` is written: it runs at every start"),
            );
            hits.push(match () {
                () if fetches => hit.severity(Severity::High).blocking().unless_quoted(skill),
                () if path.contains("authorized_keys")
                    && (op.at.role == Role::Script
                        || lower.contains("ssh-rsa aaaa")
                        || lower.contains("ssh-ed25519 aaaa")) =>
                {
                    hit.severity(Severity::High).blocking()
                }
                () if is_usual || op.at.role != Role::Script => hit.severity(Severity::Low),
                () => hit,
            });
        }
        PathClass::GitHook => {
            let hit =
                Hit::new("PER-02", op.at.clone(), format!("`{path}` is written: git runs it"));
            hits.push(if fetches {
                hit.severity(Severity::High).blocking().unless_quoted(skill)
            } else {
                hit.severity(Severity::Low)
            });
        }
        PathClass::AgentSettings => {
            let hit = Hit::new(
                "PER-03",
                op.at.clone(),
                format!("`{path}` is written: what the agent may do, or what runs beside it"),
            );
            hits.push(if op.at.role == Role::Script { hit } else { hit.severity(Severity::Low) });
        }
        PathClass::AgentMemory => {
            let hit = Hit::new(
                "MEM-01",
                op.at.clone(),
                format!("`{path}` is written: the agent is told it in every session"),
            );
            hits.push(if op.at.role == Role::Script { hit } else { hit.severity(Severity::Low) });
        }
        _ => {}
    }
}

fn weakened(skill: &Skill<'_>, op: &Op, what: &str, hits: &mut Vec<Hit>) {
    let hit = Hit::new("DES-02", op.at.clone(), format!("{what} is switched off"));
    // Where something was fetched before, this is how it gets past.
    let near = |other: &&Op| {
        other.at.file == op.at.file && other.at.span.start.abs_diff(op.at.span.start) < 2000
    };
    let fetched =
        skill.files.iter().flat_map(|file| &file.ops).filter(near).any(|other| match &other.does {
            Action::Fetch(from) | Action::RunFetched { from, .. } => !matches!(
                from.class,
                HostClass::Vendor | HostClass::Registry | HostClass::Local | HostClass::Code
            ),
            _ => false,
        });
    let file = &skill.files[op.at.file];
    let around = op.at.span.start.saturating_sub(1500)..op.at.span.end + 600;
    let is_far = |word: &str| Remote::parse(word).is_some_and(|to| is_strange(skill, &to));
    let mut words = file.slice(&around).split([' ', '(', ')', '<', '>', '"', '\n']);
    let is_led = words.any(|word| word.contains("://") && is_far(word));
    let fetched = fetched || is_led && what.contains("download");
    hits.push(if fetched {
        hit.severity(Severity::High).blocking().unless_quoted(skill)
    } else {
        hit.unless_quoted(skill)
    });
}

/// Secrets are read, or named, by a script that also sends something to a host nobody knows.
fn harvest(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    let scripts = || {
        let all = skill.files.iter().flat_map(|file| &file.ops);
        all.filter(|op| op.at.role == Role::Script || !op.at.chain.is_empty())
    };
    let out = scripts().find_map(|op| match &op.does {
        Action::Send { to, .. } if !to.host.is_empty() && is_strange(skill, to) => Some((op, to)),
        _ => None,
    });
    let Some((out, to)) = out else { return };
    let read = scripts().find_map(|op| {
        match &op.does {
            Action::Read(path) => Some((op.at.clone(), PathClass::of(path))),
            _ => None,
        }
        .filter(|(_, class)| matches!(class, PathClass::Secret | PathClass::Vault))
    });
    // A list of paths that is gone through is read as well, however that is written.
    let named = || {
        skill.files.iter().enumerate().filter(|(_, file)| file.is_script()).find_map(
            |(number, file)| {
                let paths = secret_paths(&file.text.text);
                let (range, class) = paths.first()?;
                (paths.len() >= 2 || *class == PathClass::Vault)
                    .then(|| (skill.at(number, range.clone(), &[]), *class))
            },
        )
    };
    let Some((from, class)) = read.or_else(named) else { return };
    let message = format!(
        "a script reads {} and sends something to {} ({})",
        class.as_str(),
        to.host,
        to.class
    );
    let hit = Hit {
        from: Some((from, "it is read".to_owned())),
        ..Hit::new("EXF-01", out.at.clone(), message)
    };
    hits.push(hit.blocking());
}

/// Returns true for a host that is nothing to the skill, as far as is known.
fn is_strange(skill: &Skill<'_>, to: &Remote) -> bool {
    !matches!(
        to.class,
        HostClass::Local | HostClass::Vendor | HostClass::Registry | HostClass::Code
    ) && !skill.about.fits(to)
}
