//! Landlock rules: a second layer below the mount namespace that grants the same reads and writes.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
};

/// Returns the newest Landlock ABI that both this kernel and this crate support.
pub(super) fn supported_abi() -> Option<ABI> {
    // SAFETY: with this flag the call takes no pointer and only returns a number.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, 1) };
    match answer {
        ..=0 => None,
        1 => Some(ABI::V1),
        2 => Some(ABI::V2),
        3 => Some(ABI::V3),
        4 => Some(ABI::V4),
        5 => Some(ABI::V5),
        _ => Some(ABI::V6),
    }
}

/// What the rules allow.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    pub(super) net: NetRules,
}

/// Which TCP connections are allowed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum NetRules {
    #[default]
    Nothing,
    /// Connections to this port.
    Port(u16),
    /// All that the network namespace allows.
    Unrestricted,
}

/// Enforces the rules on this process and all its children, all of them or none.
pub(super) fn enforce(abi: ABI, rules: &Rules) -> Result<(), String> {
    let message = |error: &dyn std::fmt::Display| error.to_string();
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .map_err(|error| message(&error))?;
    let net = AccessNet::from_all(abi);
    let handles_net = !net.is_empty() && rules.net != NetRules::Unrestricted;
    if handles_net {
        ruleset = ruleset.handle_access(net).map_err(|error| message(&error))?;
    }
    let scope = Scope::from_all(abi);
    if !scope.is_empty() {
        ruleset = ruleset.scope(scope).map_err(|error| message(&error))?;
    }
    let mut created = ruleset.create().map_err(|error| message(&error))?;
    let read = AccessFs::from_read(abi);
    // Device nodes cannot be created.
    let write = AccessFs::from_all(abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    for (paths, access) in [(&rules.read, read), (&rules.write, write)] {
        for path in paths {
            let Ok(fd) = PathFd::new(path) else { continue };
            let access = access_for(path, access, abi);
            created = created
                .add_rule(PathBeneath::new(fd.as_fd(), access))
                .map_err(|error| message(&error))?;
        }
    }
    if let NetRules::Port(port) = rules.net
        && handles_net
    {
        let rule = NetPort::new(port, AccessNet::ConnectTcp);
        created = created.add_rule(rule).map_err(|error| message(&error))?;
    }
    let status = created.restrict_self().map_err(|error| message(&error))?;
    if status.ruleset == landlock::RulesetStatus::FullyEnforced {
        Ok(())
    } else {
        Err(format!("Landlock does not enforce all rules: {:?}", status.ruleset))
    }
}

/// Limits the access rights to those that apply to the path: a file has fewer than a folder.
fn access_for(path: &Path, access: BitFlags<AccessFs>, abi: ABI) -> BitFlags<AccessFs> {
    if path.is_dir() { access } else { access & AccessFs::from_file(abi) }
}
