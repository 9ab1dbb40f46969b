//! The flags by which a user grants a skill more than the sandbox allows by itself.

use std::path::PathBuf;

use openskills_runtime::RuntimeError;
use openskills_runtime::permit::{Asked, AskedNetwork};
use skill::capabilities::Host;

/// What is granted by name. Whatever a skill only declares is not.
#[derive(Debug, clap::Args)]
pub(crate) struct GrantArgs {
    /// File or folder beyond the skill and the workspace that it may read; may be given several times
    #[arg(long, value_name = "PATH")]
    read: Vec<PathBuf>,
    /// Host that it may reach, such as api.example.com or *.example.com, or '*' for any; may be given several times
    #[arg(long, value_name = "HOST", value_parser = net)]
    net: Vec<Net>,
    /// Variable that it may read; may be given several times
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// Let it write straight to the workspace, protected names apart; needs --deletions, and cannot be undone
    #[arg(long)]
    pub(crate) direct_writes: bool,
    /// Let it delete files of the workspace
    #[arg(long)]
    deletions: bool,
}

/// What `--net` names.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Net {
    Host(Host),
    Any,
}

fn net(text: &str) -> Result<Net, String> {
    if text == "*" {
        return Ok(Net::Any);
    }
    let hint = "write it as api.example.com or *.example.com, without a scheme, a port or a path";
    Host::parse(text).map(Net::Host).ok_or_else(|| format!("`{text}` is not a host; {hint}"))
}

impl GrantArgs {
    /// Returns what the user asks for.
    pub(crate) fn asked(&self) -> Result<Asked, RuntimeError> {
        let named = self.net.iter().find_map(|net| match net {
            Net::Host(host) => Some(host),
            Net::Any => None,
        });
        if let (Some(host), true) = (named, self.net.contains(&Net::Any)) {
            return Err(RuntimeError::Setup {
                message: format!("--net '*' and --net {host} cannot be given together"),
                hint: Some(
                    "'*' is every host with a public address; to reach a private address name each host and each address instead"
                        .to_owned(),
                ),
            });
        }
        let hosts = self.net.iter().map(|net| match net {
            Net::Host(host) => Some(host.clone()),
            Net::Any => None,
        });
        let network = match hosts.collect::<Option<Vec<Host>>>() {
            None => AskedNetwork::Any,
            Some(hosts) if hosts.is_empty() => AskedNetwork::AsDeclared,
            Some(hosts) => AskedNetwork::Named(hosts),
        };
        Ok(Asked {
            read: self.read.clone(),
            network,
            env: self.env.clone(),
            direct_writes: self.direct_writes,
            deletions: self.deletions,
            ..Asked::default()
        })
    }
}
