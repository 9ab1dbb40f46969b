//! Guesses why a run failed from its standard error and its permissions. The result is a hint, not a proof.

mod missing;

use std::path::Path;
use std::time::Duration;

use sandbox::Ended;
use skill::capabilities::Host;

use self::missing::{debian_package, missing_program, node_package, python_package};

/// Who the causes of a failure are written for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Audience {
    /// A person at a terminal, who can use flags.
    #[default]
    Person,
    /// A model, which can only use tool arguments and should not see local paths.
    Model,
}

/// What is known about a failed run.
pub(crate) struct FailedRun<'a> {
    pub(crate) audience: Audience,
    /// The command that approves the skill with everything it was granted so far.
    pub(crate) approve: &'a str,
    pub(crate) stderr: &'a str,
    pub(crate) ended: Ended,
    /// Whether an attempt to open a socket was blocked.
    pub(crate) is_socket_blocked: bool,
    /// Hosts that the skill declares.
    pub(crate) declared: &'a [String],
    /// The time limit.
    pub(crate) wall: Duration,
    pub(crate) interpreter: Option<&'a Path>,
    /// Package folders that are ignored, each with the reason.
    pub(crate) unused: &'a [String],
    /// The memory limit in bytes.
    pub(crate) memory: u64,
    pub(crate) is_dry: bool,
    /// Whether it may reach any host.
    pub(crate) has_network: bool,
    /// Hosts that it tried to reach and was denied.
    pub(crate) denied: &'a [String],
    /// Whether it may write to its workspace.
    pub(crate) may_write: bool,
    /// Whether it ran in an empty folder because no workspace was specified.
    pub(crate) is_workspace_empty: bool,
}

/// Messages of programs without network access.
const NO_NETWORK: [&str; 18] = [
    "Name or service not known",
    "Temporary failure in name resolution",
    "nodename nor servname",
    "Could not resolve host",
    "unable to resolve host address",
    "Network is unreachable",
    "No address associated with hostname",
    "getaddrinfo",
    "ENOTFOUND",
    "EAI_AGAIN",
    "ENETUNREACH",
    "Failed to resolve",
    "Tunnel connection failed: 403",
    "socket: Operation not permitted",
    "Could not connect to",
    "Can't connect to",
    "Failed to open TCP connection",
    "ConnectTimeoutError",
];
/// Messages of programs that run out of memory.
const NO_MEMORY: [&str; 7] = [
    "MemoryError",
    "Cannot allocate memory",
    "cannot allocate memory",
    "heap out of memory",
    "std::bad_alloc",
    "memory allocation of",
    "failed to map segment from shared object",
];
/// Messages of programs that cannot find a file.
const NO_FILE: [&str; 4] =
    ["FileNotFoundError", "No such file or directory", "ENOENT", "no such file or directory"];

impl FailedRun<'_> {
    /// Returns the likely causes, most likely first. Empty if the run succeeded or its end already explains the
    /// failure.
    pub(crate) fn causes(&self) -> Vec<String> {
        match self.ended {
            Ended::Exited(0) | Ended::Cancelled | Ended::Trapped => Vec::new(),
            Ended::Timeout => {
                let most = self.wall.as_secs_f64();
                let more = self.words(
                    "raise the limit with --timeout",
                    "retry with a larger `timeout_seconds`",
                );
                let late = format!("timed out after {most}s; {more}");
                // A program without network access may wait for a response until it times out.
                std::iter::once(late).chain(self.network()).collect()
            }
            Ended::Memory => {
                let most = self.memory >> 20;
                let more = self.more_memory();
                vec![format!("exceeded the memory limit of {most} MiB; {more}")]
            }
            Ended::Output => {
                vec!["exceeded the output limit; make it write less, or write to a file".to_owned()]
            }
            Ended::Exited(_) | Ended::Signalled(_) => {
                let program = self.program();
                // A program that was not found looks like a file that was not found.
                let workspace = if program.is_none() { self.workspace() } else { None };
                let causes = [self.memory(), self.network(), self.package(), self.writing()];
                let causes = causes.into_iter().chain([program, workspace]);
                let mut causes: Vec<String> = causes.flatten().collect();
                let name = |path: &Path| match self.audience {
                    Audience::Person => path.display().to_string(),
                    Audience::Model => {
                        path.file_name().unwrap_or_default().to_string_lossy().into_owned()
                    }
                };
                causes.extend(self.interpreter.map(|path| format!("interpreter: {}", name(path))));
                causes
            }
        }
    }

    fn words(&self, person: &'static str, model: &'static str) -> &'static str {
        match self.audience {
            Audience::Person => person,
            Audience::Model => model,
        }
    }

    fn more_memory(&self) -> &'static str {
        self.words(
            "raise the limit with --memory",
            "only the user can raise the limit, in a terminal",
        )
    }

    fn says(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.stderr.contains(word))
    }

    fn memory(&self) -> Option<String> {
        // A program that cannot even be loaded is killed before it can print anything.
        let is_mute =
            matches!(self.ended, Ended::Signalled(4..=11)) || self.ended == Ended::Exited(127);
        let is_small = self.memory < 64 << 20;
        (self.says(&NO_MEMORY) || self.ended == Ended::Signalled(9) || (is_mute && is_small)).then(
            || {
                let most = self.memory >> 20;
                let more = self.more_memory();
                format!("it may have hit the memory limit of {most} MiB; {more}")
            },
        )
    }

    fn network(&self) -> Option<String> {
        let approve = |hosts: &[String]| {
            let hosts: String = hosts.iter().map(|host| format!(" --net {host}")).collect();
            let who = self.words("to allow it, run:", "only the user can allow it:");
            format!("{who} {}{hosts}", self.approve)
        };
        if !self.denied.is_empty() {
            let hosts = self.denied.join(", ");
            return Some(format!("network access to {hosts} was denied; {}", approve(self.denied)));
        }
        if self.has_network || !(self.is_socket_blocked || self.says(&NO_NETWORK)) {
            return None;
        }
        if self.is_dry {
            return Some("a dry run has no network access".to_owned());
        }
        let hosts: Vec<String> = host_in(self.stderr).into_iter().collect();
        let hosts = if hosts.is_empty() { self.declared } else { &hosts };
        Some(if hosts.is_empty() {
            format!(
                "the script has no network access; to allow a host, run: {} --net HOST",
                self.approve
            )
        } else {
            format!("the script has no network access; {}", approve(hosts))
        })
    }

    fn package(&self) -> Option<String> {
        let python = quoted_after(self.stderr, "No module named ");
        let node = quoted_after(self.stderr, "Cannot find package ")
            .or_else(|| quoted_after(self.stderr, "Cannot find module "))
            .filter(|name| !name.starts_with(['.', '/']));
        let told = match (python, node) {
            (Some(name), _) => {
                let name = python_package(name.split('.').next().unwrap_or(name));
                let with = self.with(name);
                format!(
                    "Python package `{name}` not found; {with}, or install it in the project's .venv"
                )
            }
            (None, Some(name)) => {
                let name = node_package(name);
                let with = self.with(&format!("npm:{name}"));
                format!("Node.js package `{name}` not found; {with}, or install it in the project")
            }
            (None, None) => return None,
        };
        // The missing package may be in an ignored folder.
        Some(
            std::iter::once(told).chain(self.unused.iter().cloned()).collect::<Vec<_>>().join("; "),
        )
    }

    /// Returns how to get a package without installing it.
    fn with(&self, package: &str) -> String {
        let who =
            self.words("to prepare it for this skill, add", "only the user can prepare it, with");
        format!("{who} `--with {package}`")
    }

    fn program(&self) -> Option<String> {
        let name = missing_program(self.stderr)?;
        let how = debian_package(name)
            .map_or_else(String::new, |package| format!(" (on Debian: apt install {package})"));
        Some(format!("program `{name}` not found in the sandbox; install it on this machine{how}"))
    }

    fn writing(&self) -> Option<String> {
        let is_tried = self.says(&["Read-only file system", "EROFS"]);
        (is_tried && !self.may_write).then(|| {
            "it cannot write to its workspace: the skill declares no tool or capability that allows writing"
                .to_owned()
        })
    }

    fn workspace(&self) -> Option<String> {
        (self.is_workspace_empty && self.says(&NO_FILE)).then(|| {
            let more = self.words(
                "to run it in the current folder, add `--workspace .`",
                "to run it in the server's workspace, if it has one, set `use_workspace`",
            );
            format!("it ran in an empty folder; {more}")
        })
    }
}

/// Returns the quoted name after the given words. Only a plain word is accepted, because it ends up in a message.
fn quoted_after<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let rest = text.split_once(words)?.1.strip_prefix(['\'', '"'])?;
    let name = rest.split(['\'', '"']).next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@/._-".contains(c);
    (!name.is_empty() && name.len() <= 100 && name.chars().all(is_plain)).then_some(name)
}

/// Finds the host in an error message: in a URL, as `host='…'`, or after the words of a resolver.
fn host_in(text: &str) -> Option<String> {
    let starts = [
        "https://",
        "http://",
        "host='",
        "resolve host: ",
        "resolve host address ",
        "ENOTFOUND ",
        "EAI_AGAIN ",
        "connect to ",
        "TCP connection to ",
    ];
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    starts.into_iter().find_map(|start| {
        let rest = text.split_once(start)?.1.trim_start_matches(['\'', '"', '`', '‘']);
        let host: String = rest.chars().take_while(|c| is_part(*c)).collect();
        let host = host.trim_end_matches('.');
        (host.contains('.') && Host::parse(host).is_some()).then(|| host.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(stderr: &str) -> FailedRun<'_> {
        FailedRun {
            audience: Audience::Person,
            approve: "openskills approve s --net a.test",
            stderr,
            ended: Ended::Exited(1),
            is_socket_blocked: false,
            declared: &[],
            wall: Duration::from_secs(30),
            interpreter: None,
            unused: &[],
            memory: 512 << 20,
            is_dry: false,
            has_network: false,
            denied: &[],
            may_write: true,
            is_workspace_empty: true,
        }
    }

    #[test]
    fn the_likely_cause_of_a_failure_is_reported() {
        for (stderr, cause) in [
            (
                "socket.gaierror: [Errno -3] Temporary failure in name resolution",
                "the script has no network access; to allow a host, run: openskills approve s --net a.test --net HOST",
            ),
            (
                "Could not connect to 'www.example.org:80': Operation not permitted at a.pl line 2.",
                "the script has no network access; to allow it, run: openskills approve s --net a.test --net www.example.org",
            ),
            (
                "HTTPSConnectionPool(host='api.example.com', port=443): Failed to resolve",
                "the script has no network access; to allow it, run: openskills approve s --net a.test --net api.example.com",
            ),
            (
                "curl: (6) Could not resolve host: files.example.org",
                "the script has no network access; to allow it, run: openskills approve s --net a.test --net files.example.org",
            ),
            (
                "ModuleNotFoundError: No module named 'pypdf.errors'",
                "Python package `pypdf` not found; to prepare it for this skill, add `--with pypdf`, or install it in the project's .venv",
            ),
            (
                "Error: Cannot find module 'left-pad'",
                "Node.js package `left-pad` not found; to prepare it for this skill, add `--with npm:left-pad`, or install it in the project",
            ),
            (
                "FileNotFoundError: [Errno 2] No such file or directory: 'soffice'",
                "program `soffice` not found in the sandbox; install it on this machine (on Debian: apt install libreoffice)",
            ),
            (
                "FileNotFoundError: [Errno 2] No such file or directory: 'a.pdf'",
                "it ran in an empty folder; to run it in the current folder, add `--workspace .`",
            ),
            (
                "MemoryError",
                "it may have hit the memory limit of 512 MiB; raise the limit with --memory",
            ),
        ] {
            assert_eq!(failed(stderr).causes(), [cause], "{stderr}");
        }
        assert_eq!(failed("ValueError: three").causes(), [""; 0]);
        let denied = ["evil.test".to_owned()];
        let reached = FailedRun { has_network: true, denied: &denied, ..failed("403") };
        assert!(reached.causes()[0].ends_with("--net a.test --net evil.test"));
        let blocked = FailedRun { is_socket_blocked: true, ..failed("PermissionError: [Errno 1]") };
        assert!(
            blocked.causes()[0].starts_with("the script has no network"),
            "{:?}",
            blocked.causes()
        );
        let declared = ["api.test".to_owned()];
        let late = FailedRun { ended: Ended::Timeout, declared: &declared, ..blocked };
        assert_eq!(
            late.causes(),
            [
                "timed out after 30s; raise the limit with --timeout",
                "the script has no network access; to allow it, run: openskills approve s --net a.test --net api.test",
            ]
        );
        let full = FailedRun { ended: Ended::Memory, ..failed("") };
        assert!(full.causes()[0].contains("512 MiB"), "{:?}", full.causes());
        let mute = FailedRun { memory: 1 << 20, ended: Ended::Signalled(9), ..failed("") };
        assert!(mute.causes()[0].contains("1 MiB"));
        let python = Path::new("/usr/bin/python3");
        let other = FailedRun { interpreter: Some(python), ..failed("ValueError") };
        assert_eq!(other.causes(), ["interpreter: /usr/bin/python3"]);
        let model = FailedRun { audience: Audience::Model, ..other };
        assert_eq!(model.causes(), ["interpreter: python3"]);
        for ended in [Ended::Timeout, Ended::Memory, Ended::Signalled(9)] {
            let model = FailedRun { audience: Audience::Model, ended, ..failed("MemoryError") };
            assert!(!model.causes().concat().contains("--"), "{:?}", model.causes());
        }
        let fine = FailedRun { ended: Ended::Exited(0), ..failed("MemoryError") };
        assert_eq!(fine.causes(), [""; 0]);
        let closed = FailedRun { may_write: false, ..failed("touch: a: Read-only file system") };
        assert!(closed.causes()[0].contains("cannot write"), "{:?}", closed.causes());
        // Output of a script never ends up in a suggested command line unchecked.
        assert_eq!(host_in("https://a;rm.test/"), None);
        assert_eq!(quoted_after("No module named 'a; rm'", "No module named "), None);
    }
}
