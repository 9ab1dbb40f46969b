//! Rules about what code and commands do: exfiltration, remote shells, persistence, destruction.

use super::{Hit, Skill};
use crate::cues::{Cue, Cues};
use crate::finding::Severity;
use crate::generic::secret_paths;
use crate::hosts::{HostClass, Remote};
use crate::op::{Action, Channel, Location, Op, Protection, Role};
use crate::paths::PathClass;
use crate::topic::{is_secret_name, is_token_for};
use crate::value::Taint;

pub(super) fn find(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    let all = || skill.files.iter().flat_map(|file| &file.ops);
    for op in all() {
        let actor = actor(op);
        match &op.action {
            Action::Send { secrets, .. } if !secrets.is_empty() => check_sent(skill, op, hits),
            Action::Read(path) => check_read(skill, op, path, hits),
            Action::Write { path, text } => check_written(skill, op, path, text, hits),
            Action::RemoteShell { transport } => {
                let hit = Hit::new(
                    "RSH-01",
                    op.location.clone(),
                    format!("{actor} gives a remote host a shell over {transport}"),
                );
                hits.push(hit.blocking().unless_quoted(skill));
            }
            Action::Destroy { what } => {
                let hit =
                    Hit::new("DES-01", op.location.clone(), format!("{actor} destroys {what}"));
                hits.push(if op.location.role == Role::Script {
                    hit.blocking()
                } else {
                    hit.severity(Severity::Medium).unless_quoted(skill)
                });
            }
            Action::Weaken { what, protection } => {
                check_weakened(skill, op, what, *protection, hits);
            }
            Action::Mine { what } => {
                let hit = Hit::new(
                    "DES-03",
                    op.location.clone(),
                    format!("`{what}` mines cryptocurrency"),
                );
                hits.push(hit.blocking().unless_quoted(skill));
            }
            Action::Evaluate { by } if op.location.role == Role::Script => {
                let message = format!("`{by}` executes code that is built at run time");
                hits.push(Hit::new("OBF-01", op.location.clone(), message));
            }
            Action::Disguise { what } => {
                let hit = Hit::new(
                    "OBF-02",
                    op.location.clone(),
                    format!("{actor} calls `{what}` through a computed name"),
                );
                hits.push(if op.location.role == Role::Script {
                    hit.severity(Severity::High)
                } else {
                    hit.severity(Severity::Medium).unless_quoted(skill)
                });
            }
            _ => {}
        }
    }
    check_harvesting(skill, hits);
}

/// Returns the subject of a message about an operation.
fn actor(op: &Op) -> &'static str {
    if op.location.role == Role::Script { "a script" } else { "a command" }
}

/// Checks secrets that are sent to a host.
fn check_sent(skill: &Skill<'_>, op: &Op, hits: &mut Vec<Hit>) {
    let Action::Send { to, secrets, by } = &op.action else { return };
    let by = *by;
    let channel = match by {
        Channel::Body => "",
        Channel::Address => " in the URL",
        Channel::Lookup => " in a DNS lookup",
        Channel::Header => " in a header",
    };
    let foreign = secrets.iter().filter(|taint| is_foreign(skill, taint, to)).count();
    let actor = actor(op);
    let from = source(skill, op, secrets);
    for taint in secrets {
        let message = format!("{actor} sends {} to {}{channel}", taint.describe(), to.describe());
        let make = |id: &'static str| Hit {
            from: from.clone(),
            ..Hit::new(id, op.location.clone(), message.clone())
        };
        let is_local = to.class == HostClass::Local;
        match taint {
            Taint::File(class, _) => {
                let hit = make(if by == Channel::Lookup { "EXF-06" } else { "EXF-01" });
                hits.push(if is_local && op.location.role != Role::Script {
                    hit.severity(Severity::Medium).unless_quoted_for(skill, to)
                } else if *class == PathClass::ProjectSecret
                    && (to.class == HostClass::Vendor || to.host.is_empty())
                {
                    // Keys for a service are usually in `.env`.
                    hit.severity(Severity::Low)
                } else {
                    hit.blocking().unless_quoted_for(skill, to)
                });
            }
            Taint::Environment => {
                let hit = make("EXF-02");
                hits.push(if is_local {
                    hit.severity(Severity::Medium).unless_quoted_for(skill, to)
                } else if to.host.is_empty() {
                    hit.severity(Severity::High)
                } else {
                    hit.blocking().unless_quoted_for(skill, to)
                });
            }
            Taint::Workspace => check_workspace(skill, to, make("EXF-08"), hits),
            Taint::Variable(name) if by == Channel::Lookup && is_secret_name(name) && !is_local => {
                hits.push(make("EXF-06").blocking().unless_quoted_for(skill, to));
            }
            Taint::Variable(name) if is_wallet(name) && !is_local => {
                hits.push(
                    make("EXF-03")
                        .severity(Severity::Critical)
                        .blocking()
                        .unless_quoted_for(skill, to),
                );
            }
            Taint::Variable(name) => {
                if !is_secret_name(name)
                    || is_token_for(name, to)
                    || is_local
                    || skill.topic.covers(to) && !(is_well_known(name) && by != Channel::Header)
                {
                    continue;
                }
                let hit = make("EXF-03");
                let is_known = is_well_known(name);
                // Sending a token in a header is how every API authenticates.
                if by == Channel::Header && foreign < 2 && !to.class.is_throwaway() {
                    if is_known && is_untrusted_host(skill, to) && !to.host.is_empty() {
                        hits.push(hit.severity(Severity::Low));
                    }
                    continue;
                }
                hits.push(if to.class.is_throwaway() {
                    hit.blocking().unless_quoted_for(skill, to)
                } else if (is_known || foreign >= 2)
                    && !to.host.is_empty()
                    && matches!(to.class, HostClass::Unknown | HostClass::FreeHost)
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
            Taint::Fetched(_) | Taint::Decoded(_) | Taint::Machine => {}
        }
    }
}

/// Returns true for the secret of a service that is not the receiver.
fn is_foreign(skill: &Skill<'_>, taint: &Taint, to: &Remote) -> bool {
    match taint {
        Taint::Variable(name) => {
            is_secret_name(name)
                && !is_token_for(name, to)
                && (!skill.topic.covers(to) || is_well_known(name))
        }
        _ => false,
    }
}

/// Returns true for the secrets of services that many people use.
fn is_well_known(name: &str) -> bool {
    const OWNERS: [&str; 40] = [
        "GITHUB",
        "GH",
        "GITLAB",
        "AWS",
        "OPENAI",
        "ANTHROPIC",
        "CLAUDE",
        "NPM",
        "PYPI",
        "SSH",
        "GOOGLE",
        "GCP",
        "GEMINI",
        "AZURE",
        "SLACK",
        "STRIPE",
        "DOCKER",
        "DOCKERHUB",
        "HEROKU",
        "VERCEL",
        "NETLIFY",
        "CLOUDFLARE",
        "DIGITALOCEAN",
        "HF",
        "HUGGINGFACE",
        "TWILIO",
        "SENDGRID",
        "DATADOG",
        "SENTRY",
        "JIRA",
        "ATLASSIAN",
        "LINEAR",
        "NOTION",
        "SUPABASE",
        "KUBE",
        "VAULT",
        "OPENROUTER",
        "DATABASE",
        "POSTGRES",
        "MONGODB",
    ];
    name.to_uppercase().split('_').any(|part| OWNERS.contains(&part))
}

/// Checks an archive of everything that is sent to a host.
fn check_workspace(skill: &Skill<'_>, to: &Remote, hit: Hit, hits: &mut Vec<Hit>) {
    if to.class == HostClass::Local {
        return;
    }
    hits.push(if to.class.is_throwaway() {
        hit.severity(Severity::Critical).blocking().unless_quoted_for(skill, to)
    } else if is_untrusted_host(skill, to) && !to.host.is_empty() {
        let hit = hit.blocking().unless_quoted_for(skill, to);
        // A skill that says so may copy a project to a server of the user.
        if skill.topic.is_about_copies() {
            hit.severity(Severity::Medium).not_blocking()
        } else {
            hit
        }
    } else {
        hit.severity(Severity::Low)
    });
}

/// Returns true for the key of a wallet, which no service should receive.
fn is_wallet(name: &str) -> bool {
    let name = name.to_uppercase();
    ["PRIVATE_KEY", "PRIVKEY", "MNEMONIC", "SEED_PHRASE", "WALLET_SEED", "WALLET_SECRET"]
        .iter()
        .any(|word| name.contains(word))
}

/// Returns where a secret is read, for the data flow.
fn source(skill: &Skill<'_>, op: &Op, secrets: &[Taint]) -> Option<(Location, String)> {
    let reads = |other: &&Op| match (&other.action, secrets.first()) {
        (Action::Read(path), Some(Taint::File(_, known))) => path == known,
        (Action::Variable(name), Some(Taint::Variable(known))) => name.as_deref() == Some(known),
        (Action::Variable(None), Some(Taint::Environment)) => true,
        _ => false,
    };
    let all = skill.files.iter().flat_map(|file| &file.ops);
    let found = all.filter(|other| other.location != op.location).find(reads)?;
    let secret = secrets.first()?;
    Some((found.location.clone(), format!("reads {}", secret.describe())))
}

fn check_read(skill: &Skill<'_>, op: &Op, path: &str, hits: &mut Vec<Hit>) {
    let actor = actor(op);
    match PathClass::of(path) {
        PathClass::Secret => hits.push(
            Hit::new(
                "CRED-01",
                op.location.clone(),
                format!("{actor} reads credentials from `{path}`"),
            )
            .unless_quoted(skill),
        ),
        PathClass::Vault => hits.push(
            Hit::new(
                "CRED-02",
                op.location.clone(),
                format!("{actor} reads browser, wallet or keychain data from `{path}`"),
            )
            .unless_quoted(skill),
        ),
        _ => {}
    }
}

fn check_written(skill: &Skill<'_>, op: &Op, path: &str, text: &str, hits: &mut Vec<Hit>) {
    let actor = actor(op);
    let lower = text.to_lowercase();
    let is_usual = lower.contains("export path")
        || lower.contains("path=")
        || lower.contains("eval \"$(")
        || lower.contains("completion")
        || lower.contains("alias ")
        || lower.starts_with("export ");
    let fetches = ["curl ", "wget ", "/dev/tcp", "base64", "nc ", "python -c", "python3 -c"]
        .iter()
        .any(|word| lower.contains(word))
        || starts_hidden(&lower);
    let is_steering = steers(text) || fetches_strangely(skill, op);
    match PathClass::of(path) {
        PathClass::Startup => {
            let hit = Hit::new(
                "PER-01",
                op.location.clone(),
                format!("{actor} writes `{path}`, which takes effect at every login or startup"),
            );
            hits.push(match () {
                () if fetches
                    || op.location.role == Role::Script
                        && !is_usual
                        && reaches_unrelated_hosts(skill) =>
                {
                    hit.severity(Severity::High).blocking().unless_quoted(skill)
                }
                () if path.contains("authorized_keys")
                    && (op.location.role == Role::Script
                        || lower.contains("ssh-rsa aaaa")
                        || lower.contains("ssh-ed25519 aaaa")) =>
                {
                    hit.severity(Severity::High).blocking()
                }
                () if is_usual || op.location.role != Role::Script => hit.severity(Severity::Low),
                () => hit,
            });
        }
        PathClass::GitHook => {
            let hit = Hit::new(
                "PER-02",
                op.location.clone(),
                format!("{actor} writes `{path}`, which git runs as a hook"),
            );
            hits.push(if fetches {
                hit.severity(Severity::High).blocking().unless_quoted(skill)
            } else {
                hit.severity(Severity::Low)
            });
        }
        PathClass::AgentSettings => {
            let hit = Hit::new(
                "PER-03",
                op.location.clone(),
                format!(
                    "{actor} writes `{path}`, which configures the agent's permissions, hooks or MCP servers"
                ),
            );
            let grants = [
                "bypasspermissions",
                "bash(*)",
                "\"*\"",
                "skip-permissions",
                "\"ask\": \"off\"",
                "autoapprove",
            ];
            let grants = grants.iter().any(|word| lower.contains(word));
            hits.push(match op.location.role {
                _ if grants || is_steering || lower.contains("hooks") && fetches => {
                    hit.severity(Severity::High).blocking().unless_quoted(skill)
                }
                Role::Script => hit,
                _ => hit.severity(Severity::Low),
            });
        }
        PathClass::AgentMemory => {
            let hit = Hit::new(
                "MEM-01",
                op.location.clone(),
                format!("{actor} writes `{path}`, which the agent reads in every session"),
            );
            // Files of all other skills, or of one that is only known at run time.
            let lower_path = path.to_lowercase();
            let is_others =
                lower_path.contains("skills/") && path.contains('*') && lower_path.contains(".md");
            hits.push(match op.location.role {
                _ if is_steering || is_others => {
                    hit.severity(Severity::High).blocking().unless_quoted(skill)
                }
                Role::Script => hit,
                _ => hit.severity(Severity::Low),
            });
        }
        _ => {}
    }
}

/// Returns true for a command that starts a hidden program in the background.
fn starts_hidden(text: &str) -> bool {
    let is_quiet = ["/dev/null", "nohup ", "setsid ", "disown", " &)", "&\n"]
        .iter()
        .any(|word| text.contains(word))
        || text.trim_end().ends_with('&');
    let mut words = text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '('));
    let is_hidden = |word: &str| {
        let is_path = word.starts_with(['/', '~']) || word.starts_with("$home");
        is_path
            && (word.contains("/.")
                || word.starts_with("/tmp/")
                || word.starts_with("/var/tmp")
                || word.starts_with("/dev/shm"))
            && ![
                ".nvm",
                ".ssh-agent",
                ".cargo",
                ".rbenv",
                ".pyenv",
                ".config",
                ".sdkman",
                ".volta",
                ".bun",
                ".deno",
            ]
            .iter()
            .any(|known| word.contains(known))
    };
    is_quiet && words.any(is_hidden)
}

/// Returns true for text that makes an agent skip approvals, hide its actions or follow a page.
fn steers(text: &str) -> bool {
    let cues = Cues::of(text);
    let all = 0..text.len();
    let cues_of = [Cue::Conceal, Cue::Override, Cue::Approvals, Cue::NoConfirmation];
    let pushes = cues_of.iter().any(|cue| cues.find_in(*cue, &all).is_some());
    pushes || cues.all(&[Cue::Send, Cue::Secret], &all)
}

/// Returns true if the skill's scripts download from or send to an unknown host: what they start later may come from there.
fn reaches_unrelated_hosts(skill: &Skill<'_>) -> bool {
    let ops =
        skill.files.iter().flat_map(|file| &file.ops).filter(|op| op.location.role == Role::Script);
    ops.into_iter().any(|op| match &op.action {
        Action::Fetch(to)
        | Action::Save { from: to, .. }
        | Action::Send { to, .. }
        | Action::RunFetched { from: to, .. } => {
            !to.host.is_empty() && is_untrusted_host(skill, to)
        }
        _ => false,
    })
}

/// Returns true if what is written fetches from or sends to an unknown host.
fn fetches_strangely(skill: &Skill<'_>, op: &Op) -> bool {
    let Action::Write { text, .. } = &op.action else { return false };
    super::instructions::addresses(text).any(|remote| is_untrusted_host(skill, &remote))
}

fn check_weakened(
    skill: &Skill<'_>,
    op: &Op,
    what: &str,
    protection: Protection,
    hits: &mut Vec<Hit>,
) {
    let does = match protection {
        Protection::Downloads | Protection::System | Protection::Malware => "disables",
        Protection::Logs | Protection::History => "disables or erases",
    };
    let hit = Hit::new("DES-02", op.location.clone(), format!("{} {does} {what}", actor(op)));
    // Next to a download, this is how the download gets past the protection.
    let near = |other: &&Op| {
        other.location.file == op.location.file
            && other.location.span.start.abs_diff(op.location.span.start) < 2000
    };
    let fetched = skill.files.iter().flat_map(|file| &file.ops).filter(near).any(|other| {
        match &other.action {
            Action::Fetch(from) | Action::RunFetched { from, .. } => !matches!(
                from.class,
                HostClass::Vendor | HostClass::Registry | HostClass::Local | HostClass::Code
            ),
            _ => false,
        }
    });
    let file = &skill.files[op.location.file];
    let around = op.location.span.start.saturating_sub(1500)..op.location.span.end + 600;
    let is_far = |word: &str| Remote::parse(word).is_some_and(|to| is_untrusted_host(skill, &to));
    let mut words = file.slice(&around).split([' ', '(', ')', '<', '>', '"', '\n']);
    let is_led = words.any(|word| word.contains("://") && is_far(word));
    let fetched = fetched || is_led && what.contains("download");
    let others = skill.files.iter().flat_map(|file| &file.ops).any(|other| match &other.action {
        Action::Weaken { what: also, protection: kind } => {
            also != what && *kind >= Protection::Malware && protection >= Protection::Malware
        }
        Action::Send { to, secrets, .. } => {
            protection >= Protection::Malware && !secrets.is_empty() && is_untrusted_host(skill, to)
        }
        _ => false,
    });
    // A script has no other reason to stop what records and checks it.
    let is_script = op.location.role == Role::Script && protection >= Protection::Malware;
    hits.push(if fetched || others || is_script {
        hit.severity(Severity::High).blocking().unless_quoted(skill)
    } else {
        hit.unless_quoted(skill)
    });
}

/// Finds scripts that read or list secrets and also send data to an unknown host.
fn check_harvesting(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    let scripts = || {
        let all = skill.files.iter().flat_map(|file| &file.ops);
        all.filter(|op| op.location.role == Role::Script || !op.location.chain.is_empty())
    };
    let out = scripts().find_map(|op| match &op.action {
        Action::Send { to, .. } if !to.host.is_empty() && is_untrusted_host(skill, to) => {
            Some((op, to))
        }
        _ => None,
    });
    let Some((out, to)) = out else { return };
    let read = scripts().find_map(|op| {
        match &op.action {
            Action::Read(path) => Some((op.location.clone(), PathClass::of(path))),
            _ => None,
        }
        .filter(|(_, class)| matches!(class, PathClass::Secret | PathClass::Vault))
    });
    // A script that lists secret paths also reads them, whatever the loop looks like.
    let named = || {
        skill.files.iter().enumerate().filter(|(_, file)| file.is_script()).find_map(
            |(number, file)| {
                let paths = secret_paths(&file.text.text);
                let (range, class) = paths.first()?;
                (paths.len() >= 2 || *class == PathClass::Vault)
                    .then(|| (skill.location(number, range.clone(), &[]), *class))
            },
        )
    };
    let Some((from, class)) = read.or_else(named) else { return };
    let message = format!("a script reads {} and sends data to {}", class.as_str(), to.describe());
    let hit = Hit {
        from: Some((from, format!("reads {}", class.as_str()))),
        ..Hit::new("EXF-01", out.location.clone(), message)
    };
    hits.push(hit.blocking());
}

/// Returns true for a host that is neither well known nor related to the skill.
fn is_untrusted_host(skill: &Skill<'_>, to: &Remote) -> bool {
    !matches!(
        to.class,
        HostClass::Local | HostClass::Vendor | HostClass::Registry | HostClass::Code
    ) && !skill.topic.covers(to)
}
