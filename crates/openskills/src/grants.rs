//! The flags that grant a skill more than the sandbox allows by default.

use std::path::PathBuf;

use openskills_runtime::RuntimeError;
use openskills_runtime::permit::{RequestedAccess, RequestedNetwork};
use skill::capabilities::Host;
use skill_state::PackageRequest;

/// Explicit grants. What a skill merely declares is not granted.
#[derive(Debug, clap::Args)]
pub(crate) struct GrantArgs {
    /// Allow reading this file or folder outside the skill and the workspace; can be repeated
    #[arg(long, value_name = "PATH")]
    read: Vec<PathBuf>,
    /// Allow connections to this host, such as api.example.com or *.example.com, or '*' for any; can be repeated
    #[arg(long, value_name = "HOST", value_parser = net)]
    net: Vec<NetArg>,
    /// Allow reading this environment variable; can be repeated
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// Allow writing directly to the workspace, except to protected names; requires --deletions; such writes cannot be undone
    #[arg(long)]
    pub(crate) direct_writes: bool,
    /// Allow deleting files in the workspace
    #[arg(long)]
    deletions: bool,
    /// Prepare a package for the script, such as pypdf, 'pillow>=11' or npm:docx; can be repeated
    #[arg(long, value_name = "PACKAGE")]
    with: Vec<PackageRequest>,
}

/// A value of `--net`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NetArg {
    Host(Host),
    Any,
}

fn net(text: &str) -> Result<NetArg, String> {
    if text == "*" {
        return Ok(NetArg::Any);
    }
    let hint = "use a form like api.example.com or *.example.com, without scheme, port or path";
    Host::parse(text).map(NetArg::Host).ok_or_else(|| format!("`{text}` is not a host; {hint}"))
}

impl GrantArgs {
    /// Returns the grants that the user requests.
    pub(crate) fn requested(&self) -> Result<RequestedAccess, RuntimeError> {
        let first_host = self.net.iter().find_map(|net| match net {
            NetArg::Host(host) => Some(host),
            NetArg::Any => None,
        });
        if let (Some(host), true) = (first_host, self.net.contains(&NetArg::Any)) {
            return Err(RuntimeError::Setup {
                message: format!("`--net '*'` and `--net {host}` cannot be combined"),
                hint: Some(
                    "`*` covers only public addresses; for a private address, replace `*` with one --net for each host and address"
                        .to_owned(),
                ),
            });
        }
        let hosts = self.net.iter().map(|net| match net {
            NetArg::Host(host) => Some(host.clone()),
            NetArg::Any => None,
        });
        let network = match hosts.collect::<Option<Vec<Host>>>() {
            None => RequestedNetwork::Any,
            Some(hosts) if hosts.is_empty() => RequestedNetwork::AsDeclared,
            Some(hosts) => RequestedNetwork::Named(hosts),
        };
        Ok(RequestedAccess {
            read: self.read.clone(),
            network,
            env: self.env.clone(),
            direct_writes: self.direct_writes,
            deletions: self.deletions,
            with: self.with.clone(),
            ..RequestedAccess::default()
        })
    }
}
