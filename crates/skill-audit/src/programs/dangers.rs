//! Programs that are dangerous by themselves or that set up persistence.

use super::{has, has_letter};
use crate::op::{Action, OpCollector, Protection};
use crate::paths::PathClass;
use crate::shell_code::{Invocation, Shell};
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
pub(super) fn persistence(
    shell: &Shell,
    call: &Invocation<'_>,
    collector: &mut OpCollector,
) -> Value {
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
        let mut text = call.stdin.text.clone();
        if call.program == "crontab"
            && let Some(written) = call.args.last().and_then(|arg| shell.written(arg.text.trim()))
        {
            text = written.text;
        }
        if call.program == "schtasks" {
            text = all;
        }
        crate::shell_code::trace_started(&text, call.range, collector);
        collector.add(call.range, Action::Write { path: path.to_owned(), text });
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
    if let Some((what, protection)) = weakened(program, call, &all, &lower) {
        collector.add(call.range, Action::Weaken { what: what.to_owned(), protection });
    }
    if matches!(program, "xmrig" | "minerd" | "cpuminer" | "ethminer" | "nbminer" | "t-rex")
        || lower.contains("stratum+tcp")
        || lower.contains("stratum+ssl")
    {
        collector.add(call.range, Action::Mine { what: program.to_owned() });
    }
}

/// What a command disables or erases, as a phrase.
type Weakened = (&'static str, Protection);

fn weakened(program: &str, call: &Invocation<'_>, all: &str, lower: &str) -> Option<Weakened> {
    use Protection::{Downloads, History, Logs, Malware, System};

    const HISTORY: Weakened = ("the shell history", History);
    const FIREWALL: Weakened = ("the firewall", System);
    const EVENT_LOG: Weakened = ("the Windows event log", Logs);
    let when = |condition: bool, weakened: Weakened| condition.then_some(weakened);
    let has_any = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    match program {
        "xattr" => when(
            lower.contains("quarantine")
                || ["-c", "-rc", "-cr"].iter().any(|flag| lower.starts_with(flag)),
            ("the macOS quarantine for downloaded files", Downloads),
        ),
        "installer" => when(
            lower.contains("-allowuntrusted"),
            ("the macOS installer signature check", Downloads),
        ),
        "spctl" => when(lower.contains("disable"), ("macOS Gatekeeper", Downloads)),
        "defaults" => when(
            lower.contains("lsquarantine"),
            ("the macOS quarantine for downloaded files", Downloads),
        ),
        "csrutil" => when(lower.contains("disable"), ("macOS System Integrity Protection", System)),
        "setenforce" => when(matches!(lower.trim(), "0" | "permissive"), ("SELinux", System)),
        "aa-teardown" | "aa-disable" | "aa-complain" => Some(("AppArmor", System)),
        "ufw" => when(lower.contains("disable"), FIREWALL),
        "iptables" | "nft" => when(all.trim() == "-F" || lower.starts_with("flush"), FIREWALL),
        "netsh" => when(lower.contains("advfirewall") && lower.contains(" off"), FIREWALL),
        "set-mppreference" | "add-mppreference" => Some(("Windows malware protection", Malware)),
        "history" => when(has_letter(call, 'c'), HISTORY),
        "clear-history" => Some(HISTORY),
        "unset" => when(lower.contains("histfile"), HISTORY),
        "set" => when(lower.contains("+o history"), HISTORY),
        "shopt" => when(lower.contains("-uo history") || lower.contains("-u -o history"), HISTORY),
        "set-psreadlineoption" => when(lower.contains("savenothing"), HISTORY),
        "auditctl" => when(
            lower.contains("-e 0") || all.trim() == "-D",
            ("the audit log of the system", Logs),
        ),
        "auditpol" => when(has_any(&["/clear", "/remove", ":disable"]), EVENT_LOG),
        "wevtutil" => when(has_any(&["cl ", "clear-log", "/e:false"]), EVENT_LOG),
        "clear-eventlog" | "remove-eventlog" => Some(EVENT_LOG),
        "dmesg" => when(matches!(all.trim(), "-C" | "-c" | "--clear"), ("the kernel log", Logs)),
        "journalctl" => when(
            has_any(&[
                "--vacuum-time=1s",
                "--vacuum-time=0",
                "--vacuum-time 1s",
                "--vacuum-size=1 ",
                "--vacuum-size=1k",
                "--vacuum-time=1ms",
            ]) || lower.ends_with("--vacuum-size=1")
                || lower.contains("--vacuum-size=0"),
            ("the system log", Logs),
        ),
        "reg" => when(
            has_any(&[
                "disableantispyware",
                "disablerealtimemonitoring",
                "disablebehaviormonitoring",
                "scriptblocklogging",
            ]),
            ("Windows malware protection", Malware),
        ),
        "rm" | "shred" | "truncate" | "ln" | "unlink" | "srm" | "cp" | "del" | "remove-item" => {
            call.args.iter().find_map(|arg| erased(&arg.text))
        }
        "systemctl" | "service" | "launchctl" | "rc-service" | "sc" | "net" | "stop-service"
        | "set-service" => {
            let stops =
                ["stop", "disable", "mask", "kill", "unload", "bootout", "remove", "delete"];
            let stops = program == "stop-service"
                || call.args.iter().any(|arg| {
                    stops.contains(&arg.text.to_lowercase().as_str())
                        || arg.text.eq_ignore_ascii_case("disabled")
                });
            watcher(lower).filter(|_| stops)
        }
        "pkill" | "killall" | "taskkill" | "stop-process" => watcher(lower),
        "apt" | "apt-get" | "yum" | "dnf" | "brew" | "pacman" | "choco" => {
            watcher(lower).filter(|_| has_any(&["remove ", "purge ", "uninstall ", "-r "]))
        }
        _ => None,
    }
}

/// Returns the service among the words of a command that watches the system.
fn watcher(lower: &str) -> Option<Weakened> {
    const LOGGERS: [&str; 16] = [
        "auditd",
        "rsyslog",
        "rsyslogd",
        "syslog",
        "syslogd",
        "syslog-ng",
        "systemd-journald",
        "journald",
        "osqueryd",
        "wazuh-agent",
        "filebeat",
        "auditbeat",
        "fluentd",
        "fluent-bit",
        "splunkd",
        "eventlog",
    ];
    const SCANNERS: [&str; 40] = [
        "falcon-sensor",
        "falcond",
        "crowdstrike",
        "sentinelone",
        "sentineld",
        "sentinelctl",
        "clamav",
        "clamd",
        "clamav-daemon",
        "clamav-freshclam",
        "freshclam",
        "defender",
        "mdatp",
        "windefend",
        "wdnissvc",
        "sense",
        "cbdaemon",
        "cbagentd",
        "carbonblack",
        "sophos",
        "symantec",
        "mcafee",
        "esets",
        "eset",
        "cylance",
        "malwarebytes",
        "mbam",
        "santa",
        "santad",
        "ossec",
        "wazuh",
        "jamf",
        "xprotect",
        "blockblock",
        "lulu",
        "falco",
        "tetragon",
        "suricata",
        "snort",
        "rkhunter",
    ];
    const FIREWALLS: [&str; 5] = ["firewalld", "mpssvc", "ufw", "apparmor", "fail2ban"];
    let mut words =
        lower.split(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | ',' | '\\'));
    words.find_map(|word| {
        let word =
            word.trim_end_matches(".service").trim_end_matches(".exe").trim_end_matches(".plist");
        let name = word.rsplit('.').next().unwrap_or(word);
        let is = |names: &[&str]| names.contains(&name) || names.contains(&word);
        if is(&LOGGERS) {
            Some(("the system's log service", Protection::Logs))
        } else if is(&SCANNERS) || word.starts_with("little snitch") || name == "littlesnitch" {
            Some(("malware protection", Protection::Malware))
        } else if is(&FIREWALLS) {
            Some(("a system protection service", Protection::System))
        } else {
            None
        }
    })
}

/// Returns which record of what happened a path contains.
pub(crate) fn erased(path: &str) -> Option<Weakened> {
    let path = path.to_lowercase().replace('\\', "/");
    const HISTORIES: [&str; 9] = [
        ".bash_history",
        ".zsh_history",
        ".python_history",
        ".node_repl_history",
        "fish_history",
        ".history",
        ".histfile",
        "consolehost_history",
        ".psql_history",
    ];
    const LOGS: [&str; 13] = [
        "/var/log/auth",
        "/var/log/secure",
        "/var/log/audit",
        "/var/log/wtmp",
        "/var/log/btmp",
        "/var/log/lastlog",
        "/var/log/syslog",
        "/var/log/messages",
        "/var/log/journal",
        "/var/log/*",
        "/var/log/faillog",
        "/var/log/system.log",
        "/var/audit",
    ];
    const AGENT_LOGS: [&str; 9] = [
        ".claude/projects",
        ".claude/logs",
        ".claude/history",
        ".codex/sessions",
        ".codex/history",
        ".codex/log",
        ".openclaw/logs",
        ".openclaw/sessions",
        ".openskills/log",
    ];
    let name = path.rsplit('/').next().unwrap_or(&path);
    if HISTORIES.iter().any(|known| name.starts_with(known)) {
        Some(("the shell history", Protection::History))
    } else if LOGS.iter().any(|known| path.starts_with(known))
        || matches!(path.as_str(), "/var/log" | "/var/log/")
    {
        Some(("the system log", Protection::Logs))
    } else if AGENT_LOGS.iter().any(|known| path.contains(known)) {
        Some(("the agent's records of its sessions", Protection::Logs))
    } else {
        None
    }
}

/// Returns what a variable with this value disables.
pub(crate) fn weakening_variable(name: &str, value: &str) -> Option<Weakened> {
    let is_off = match name {
        "HISTFILE" => matches!(value, "" | "/dev/null"),
        "HISTSIZE" | "HISTFILESIZE" | "SAVEHIST" => value == "0",
        _ => false,
    };
    is_off.then_some(("the shell history", Protection::History))
}
