//! Why a run most likely failed, by what it wrote to standard error and what it had: the first thing to look at, not a proof.

use std::path::Path;
use std::time::Duration;

use sandbox::Ended;
use skill::capabilities::Host;

/// Who reads why a run failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reader {
    /// A person on a terminal, who has flags.
    #[default]
    Person,
    /// A model, which has the arguments of a tool, and no business with where things are on this machine.
    Model,
}

/// What is known of a failed run.
pub(crate) struct Failed<'a> {
    pub(crate) reader: Reader,
    /// The command that approves the skill again with all it was granted.
    pub(crate) approve: &'a str,
    pub(crate) stderr: &'a str,
    pub(crate) ended: Ended,
    /// Whether it tried to open a socket and was not let.
    pub(crate) is_socket_blocked: bool,
    /// Hosts that the skill declares.
    pub(crate) declared: &'a [String],
    /// How long it may take.
    pub(crate) wall: Duration,
    pub(crate) interpreter: Option<&'a Path>,
    /// Folders of packages that are not used, each with the reason.
    pub(crate) unused: &'a [String],
    /// The most memory that it may use, in bytes.
    pub(crate) memory: u64,
    pub(crate) is_dry: bool,
    /// Whether it may reach any host.
    pub(crate) has_network: bool,
    /// Hosts that it asked for and was denied.
    pub(crate) denied: &'a [String],
    /// Whether it may write to its workspace.
    pub(crate) may_write: bool,
    /// Whether it ran in an empty folder, since none was named.
    pub(crate) is_workspace_empty: bool,
}

/// What programs say when they cannot reach anybody.
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
/// What they say when there is no memory left.
const NO_MEMORY: [&str; 7] = [
    "MemoryError",
    "Cannot allocate memory",
    "cannot allocate memory",
    "heap out of memory",
    "std::bad_alloc",
    "memory allocation of",
    "failed to map segment from shared object",
];
/// What they say when a file is not there.
const NO_FILE: [&str; 4] =
    ["FileNotFoundError", "No such file or directory", "ENOENT", "no such file or directory"];

impl Failed<'_> {
    /// Returns what is worth a look, most likely first. Nothing where it ended well, or its end says why.
    pub(crate) fn causes(&self) -> Vec<String> {
        match self.ended {
            Ended::Exited(0) | Ended::Cancelled | Ended::Trapped => Vec::new(),
            Ended::Timeout => {
                let most = self.wall.as_secs_f64();
                let more = self
                    .words("--timeout gives it more", "call it with a larger `timeout_seconds`");
                let late = format!("it took too long, and was ended after {most} s; {more}");
                // What waits for an answer that cannot come waits until the end.
                std::iter::once(late).chain(self.network()).collect()
            }
            Ended::Memory => {
                let most = self.memory >> 20;
                let more = self.more_memory();
                vec![format!("it took too much memory, more than {most} MiB; {more}")]
            }
            Ended::Output => vec!["it wrote too much, and was ended".to_owned()],
            Ended::Exited(_) | Ended::Signalled(_) => {
                let causes = [self.memory(), self.network(), self.package(), self.writing()];
                let causes = causes.into_iter().chain([self.workspace()]);
                let mut causes: Vec<String> = causes.flatten().collect();
                let name = |path: &Path| match self.reader {
                    Reader::Person => path.display().to_string(),
                    Reader::Model => {
                        path.file_name().unwrap_or_default().to_string_lossy().into_owned()
                    }
                };
                causes.extend(self.interpreter.map(|path| format!("it ran with {}", name(path))));
                causes
            }
        }
    }

    fn words(&self, person: &'static str, model: &'static str) -> &'static str {
        match self.reader {
            Reader::Person => person,
            Reader::Model => model,
        }
    }

    fn more_memory(&self) -> &'static str {
        self.words("--memory gives it more", "only the user can raise the limit, in a terminal")
    }

    fn says(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.stderr.contains(word))
    }

    fn memory(&self) -> Option<String> {
        // A program that cannot even be loaded is killed, and has no words.
        let is_mute =
            matches!(self.ended, Ended::Signalled(4..=11)) || self.ended == Ended::Exited(127);
        let is_small = self.memory < 64 << 20;
        (self.says(&NO_MEMORY) || self.ended == Ended::Signalled(9) || (is_mute && is_small)).then(
            || {
                let most = self.memory >> 20;
                let more = self.more_memory();
                format!(
                    "it may have needed more memory than the {most} MiB that it may use; {more}"
                )
            },
        )
    }

    fn network(&self) -> Option<String> {
        let approve = |hosts: &[String]| {
            let hosts: String = hosts.iter().map(|host| format!(" --net {host}")).collect();
            let who = self.words("to let it reach that:", "only the user can allow that:");
            format!("{who} {}{hosts}", self.approve)
        };
        if !self.denied.is_empty() {
            let hosts = self.denied.join(", ");
            return Some(format!("it may not reach {hosts}; {}", approve(self.denied)));
        }
        if self.has_network || !(self.is_socket_blocked || self.says(&NO_NETWORK)) {
            return None;
        }
        if self.is_dry {
            return Some("a dry run reaches no host".to_owned());
        }
        let hosts: Vec<String> = host_in(self.stderr).into_iter().collect();
        let hosts = if hosts.is_empty() { self.declared } else { &hosts };
        Some(if hosts.is_empty() {
            format!(
                "it has no network; to let it reach a host, add --net and its name to: {}",
                self.approve
            )
        } else {
            format!("it has no network; {}", approve(hosts))
        })
    }

    fn package(&self) -> Option<String> {
        let python = quoted_after(self.stderr, "No module named ");
        let node = quoted_after(self.stderr, "Cannot find package ")
            .or_else(|| quoted_after(self.stderr, "Cannot find module "))
            .filter(|name| !name.starts_with(['.', '/']));
        let told = match (python, node) {
            (Some(name), _) => {
                let name = name.split('.').next().unwrap_or(name);
                format!(
                    "Python found no package `{name}`; install it into the project's .venv or activate the environment that has it"
                )
            }
            (None, Some(name)) => format!(
                "node found no package `{name}`; install it into the project: npm install {name}"
            ),
            (None, None) => return None,
        };
        // Where a folder is left out, what is missing may be in it.
        Some(
            std::iter::once(told).chain(self.unused.iter().cloned()).collect::<Vec<_>>().join("; "),
        )
    }

    fn writing(&self) -> Option<String> {
        let is_tried = self.says(&["Read-only file system", "EROFS"]);
        (is_tried && !self.may_write).then(|| {
            "it may not write to its workspace: the skill declares no such tool or capability"
                .to_owned()
        })
    }

    fn workspace(&self) -> Option<String> {
        (self.is_workspace_empty && self.says(&NO_FILE)).then(|| {
            let more = self.words(
                "`--workspace .` lets it work in this one",
                "`use_workspace` lets it work in the workspace, where the server has one",
            );
            format!("it ran in an empty folder; {more}")
        })
    }
}

/// Returns the name in quotes that follows some words. It is put into a message, so it is one plain word.
fn quoted_after<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let rest = text.split_once(words)?.1.strip_prefix(['\'', '"'])?;
    let name = rest.split(['\'', '"']).next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@/._-".contains(c);
    (!name.is_empty() && name.len() <= 100 && name.chars().all(is_plain)).then_some(name)
}

/// Finds the host that a message names: in a URL, as `host='…'`, or after the words of a resolver.
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

    fn failed(stderr: &str) -> Failed<'_> {
        Failed {
            reader: Reader::Person,
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
    fn the_likely_cause_of_a_failure_is_named() {
        for (stderr, cause) in [
            (
                "socket.gaierror: [Errno -3] Temporary failure in name resolution",
                "it has no network; to let it reach a host, add --net and its name to: openskills approve s --net a.test",
            ),
            (
                "Could not connect to 'www.example.org:80': Operation not permitted at a.pl line 2.",
                "it has no network; to let it reach that: openskills approve s --net a.test --net www.example.org",
            ),
            (
                "HTTPSConnectionPool(host='api.example.com', port=443): Failed to resolve",
                "it has no network; to let it reach that: openskills approve s --net a.test --net api.example.com",
            ),
            (
                "curl: (6) Could not resolve host: files.example.org",
                "it has no network; to let it reach that: openskills approve s --net a.test --net files.example.org",
            ),
            (
                "ModuleNotFoundError: No module named 'pypdf.errors'",
                "Python found no package `pypdf`; install it into the project's .venv or activate the environment that has it",
            ),
            (
                "Error: Cannot find module 'left-pad'",
                "node found no package `left-pad`; install it into the project: npm install left-pad",
            ),
            (
                "FileNotFoundError: [Errno 2] No such file or directory: 'a.pdf'",
                "it ran in an empty folder; `--workspace .` lets it work in this one",
            ),
            (
                "MemoryError",
                "it may have needed more memory than the 512 MiB that it may use; --memory gives it more",
            ),
        ] {
            assert_eq!(failed(stderr).causes(), [cause], "{stderr}");
        }
        assert_eq!(failed("ValueError: three").causes(), [""; 0]);
        let denied = ["evil.test".to_owned()];
        let reached = Failed { has_network: true, denied: &denied, ..failed("403") };
        assert!(reached.causes()[0].ends_with("--net a.test --net evil.test"));
        let blocked = Failed { is_socket_blocked: true, ..failed("PermissionError: [Errno 1]") };
        assert!(blocked.causes()[0].starts_with("it has no network"), "{:?}", blocked.causes());
        let declared = ["api.test".to_owned()];
        let late = Failed { ended: Ended::Timeout, declared: &declared, ..blocked };
        assert_eq!(
            late.causes(),
            [
                "it took too long, and was ended after 30 s; --timeout gives it more",
                "it has no network; to let it reach that: openskills approve s --net a.test --net api.test",
            ]
        );
        let full = Failed { ended: Ended::Memory, ..failed("") };
        assert!(full.causes()[0].contains("512 MiB"), "{:?}", full.causes());
        let mute = Failed { memory: 1 << 20, ended: Ended::Signalled(9), ..failed("") };
        assert!(mute.causes()[0].contains("1 MiB"));
        let python = Path::new("/usr/bin/python3");
        let other = Failed { interpreter: Some(python), ..failed("ValueError") };
        assert_eq!(other.causes(), ["it ran with /usr/bin/python3"]);
        let model = Failed { reader: Reader::Model, ..other };
        assert_eq!(model.causes(), ["it ran with python3"]);
        for ended in [Ended::Timeout, Ended::Memory, Ended::Signalled(9)] {
            let model = Failed { reader: Reader::Model, ended, ..failed("MemoryError") };
            assert!(!model.causes().concat().contains("--"), "{:?}", model.causes());
        }
        let fine = Failed { ended: Ended::Exited(0), ..failed("MemoryError") };
        assert_eq!(fine.causes(), [""; 0]);
        let closed = Failed { may_write: false, ..failed("touch: a: Read-only file system") };
        assert!(closed.causes()[0].contains("may not write"), "{:?}", closed.causes());
        // What a script writes does not become a command line.
        assert_eq!(host_in("https://a;rm.test/"), None);
        assert_eq!(quoted_after("No module named 'a; rm'", "No module named "), None);
    }
}
