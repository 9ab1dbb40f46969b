//! Programs that are dangerous by themselves or that set up persistence.

use super::{has, has_letter};
use crate::op::{Action, OpCollector};
use crate::paths::PathClass;
use crate::shell_code::Invocation;
use crate::value::{Taint, Value};

pub(super) fn keychain(call: &Invocation<'_>, collector: &mut OpCollector) -> Value {
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
    collector.add(call.range, Action::Read("login.keychain".to_owned()));
    Value::unknown().with(Taint::File(PathClass::Vault, "login.keychain".to_owned()))
}

/// Collects the writes of programs that make something run later.
pub(super) fn persistence(call: &Invocation<'_>, collector: &mut OpCollector) -> Value {
    let first = call.args.first().map(|arg| arg.text.to_lowercase()).unwrap_or_default();
    let all = call.args.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ");
    let is_persistent = match call.program.as_str() {
        "crontab" => !matches!(first.as_str(), "-l" | "-e" | ""),
        "launchctl" => matches!(first.as_str(), "load" | "bootstrap" | "submit"),
        "systemctl" => all.contains("enable"),
        "schtasks" => all.to_lowercase().contains("/create"),
        "reg" => first == "add" && all.to_lowercase().contains("currentversion\\run"),
        _ => false,
    };
    if is_persistent {
        let path = match call.program.as_str() {
            "systemctl" => "~/.config/systemd",
            "launchctl" => "~/Library/LaunchAgents",
            _ => "/var/spool/cron",
        };
        collector.add(
            call.range,
            Action::Write { path: path.to_owned(), text: call.stdin.text.clone() },
        );
    }
    Value::unknown()
}

/// Collects destructive commands, disabled protections and miners.
pub(super) fn dangers(call: &Invocation<'_>, collector: &mut OpCollector) {
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
            .map(|path| format!("everything in `{}`", if path.is_empty() { "/" } else { path })),
        "dd" if lower.contains("of=/dev/sd")
            || lower.contains("of=/dev/nvme")
            || lower.contains("of=/dev/disk") =>
        {
            Some("all data on a disk".to_owned())
        }
        name if name.starts_with("mkfs") => Some("all data on a disk".to_owned()),
        "shred" if lower.contains("/dev/") || lower.contains('~') => Some(format!("`{all}`")),
        "diskutil" if lower.contains("erasedisk") => Some("all data on a disk".to_owned()),
        "vssadmin" if lower.contains("delete shadows") => {
            Some("the shadow copies needed to restore files".to_owned())
        }
        _ => None,
    };
    if let Some(what) = destroyed {
        collector.add(call.range, Action::Destroy { what });
    }
    let weakened = match program {
        "xattr" => (lower.contains("quarantine")
            || lower.starts_with("-c")
            || lower.starts_with("-rc")
            || lower.starts_with("-cr"))
        .then_some("the macOS quarantine for downloaded files"),
        "installer" => {
            lower.contains("-allowuntrusted").then_some("the macOS installer signature check")
        }
        "spctl" => lower.contains("disable").then_some("macOS Gatekeeper"),
        "csrutil" => lower.contains("disable").then_some("macOS System Integrity Protection"),
        "setenforce" => (all.trim() == "0").then_some("SELinux"),
        "ufw" => lower.contains("disable").then_some("the firewall"),
        "iptables" => (all.trim() == "-F").then_some("the firewall"),
        "set-mppreference" | "add-mppreference" => Some("Windows malware protection"),
        "history" => (all.trim() == "-c").then_some("the shell history"),
        "unset" => lower.contains("histfile").then_some("the shell history"),
        _ => None,
    };
    if let Some(what) = weakened {
        collector.add(call.range, Action::Weaken { what: what.to_owned() });
    }
    if matches!(program, "xmrig" | "minerd" | "cpuminer" | "ethminer" | "nbminer" | "t-rex")
        || lower.contains("stratum+tcp")
        || lower.contains("stratum+ssl")
    {
        collector.add(call.range, Action::Mine { what: program.to_owned() });
    }
}
