//! Programs that are dangerous by themselves, or that make something stay.

use super::{has, has_letter};
use crate::op::{Action, OpCollector};
use crate::paths::PathClass;
use crate::shell_code::Invocation;
use crate::value::{Carry, Value};

pub(super) fn keychain(call: &Invocation<'_>, scene: &mut OpCollector) -> Value {
    let reads = call.args.iter().any(|arg| {
        matches!(
            arg.text.as_str(),
            "find-generic-password"
                | "find-internet-password"
                | "dump-keychain"
                | "export"
                | "lookup"
                | "search"
                | "-r"
                | "read"
                | "print"
        )
    });
    if !reads {
        return Value::unknown();
    }
    scene.add(call.range, Action::Read("login.keychain".to_owned()));
    Value::unknown().with(Carry::File(PathClass::Vault, "login.keychain".to_owned()))
}

/// Programs that make something run later.
pub(super) fn lasting(call: &Invocation<'_>, scene: &mut OpCollector) -> Value {
    let first = call.args.first().map(|arg| arg.text.to_lowercase()).unwrap_or_default();
    let all = call.args.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ");
    let is_lasting = match call.program.as_str() {
        "crontab" => !matches!(first.as_str(), "-l" | "-e" | ""),
        "launchctl" => matches!(first.as_str(), "load" | "bootstrap" | "submit"),
        "systemctl" => all.contains("enable"),
        "schtasks" => all.to_lowercase().contains("/create"),
        "reg" => first == "add" && all.to_lowercase().contains("currentversion\\run"),
        _ => false,
    };
    if is_lasting {
        let path = match call.program.as_str() {
            "systemctl" => "~/.config/systemd",
            "launchctl" => "~/Library/LaunchAgents",
            _ => "/var/spool/cron",
        };
        scene.add(
            call.range,
            Action::Write { path: path.to_owned(), text: call.stdin.text.clone() },
        );
    }
    Value::unknown()
}

/// What is dangerous by itself.
pub(super) fn dangers(call: &Invocation<'_>, scene: &mut OpCollector) {
    let all = call.args.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ");
    let lower = all.to_lowercase();
    let program = call.program.as_str();
    let destroyed = match program {
        "rm" if has_letter(call, 'r') || has(call, &["--recursive"]) => call
            .args
            .iter()
            .map(|arg| arg.text.trim_end_matches("/*").trim_end_matches('/'))
            .find(|path| {
                matches!(
                    *path,
                    "" | "~" | "/*" | "/home" | "/etc" | "/usr" | "/var" | "/Users" | "C:\\"
                )
            })
            .filter(|_| call.args.iter().any(|arg| arg.text.starts_with(['/', '~'])))
            .map(|path| if path.is_empty() { "/".to_owned() } else { path.to_owned() }),
        "dd" if lower.contains("of=/dev/sd")
            || lower.contains("of=/dev/nvme")
            || lower.contains("of=/dev/disk") =>
        {
            Some("a disk".to_owned())
        }
        name if name.starts_with("mkfs") => Some("a disk".to_owned()),
        "shred" if lower.contains("/dev/") || lower.contains('~') => Some(all.clone()),
        "diskutil" if lower.contains("erasedisk") => Some("a disk".to_owned()),
        "vssadmin" if lower.contains("delete shadows") => {
            Some("copies that could bring files back".to_owned())
        }
        _ => None,
    };
    if let Some(what) = destroyed {
        scene.add(call.range, Action::Destroy { what });
    }
    let weakened = match program {
        "xattr" => (lower.contains("quarantine")
            || lower.starts_with("-c")
            || lower.starts_with("-rc")
            || lower.starts_with("-cr"))
        .then_some("the system's check of downloads"),
        "installer" => {
            lower.contains("-allowuntrusted").then_some("the system's check of programs")
        }
        "spctl" => lower.contains("disable").then_some("the system's check of programs"),
        "csrutil" => lower.contains("disable").then_some("the system's own protection"),
        "setenforce" => (all.trim() == "0").then_some("SELinux"),
        "ufw" => lower.contains("disable").then_some("the firewall"),
        "iptables" => (all.trim() == "-F").then_some("the firewall"),
        "set-mppreference" | "add-mppreference" => Some("the virus scanner"),
        "history" => (all.trim() == "-c").then_some("the record of commands"),
        "unset" => lower.contains("histfile").then_some("the record of commands"),
        _ => None,
    };
    if let Some(what) = weakened {
        scene.add(call.range, Action::Weaken { what: what.to_owned() });
    }
    if matches!(program, "xmrig" | "minerd" | "cpuminer" | "ethminer" | "nbminer" | "t-rex")
        || lower.contains("stratum+tcp")
        || lower.contains("stratum+ssl")
    {
        scene.add(call.range, Action::Mine { what: program.to_owned() });
    }
}
