//! Decides whether packages may be fetched. Nothing but the user's own index is contacted, and nothing of a skill takes
//! part.

use skill::capabilities::{Host, Reach};
use skill_state::{OrgPolicy, PackageRequest};

use super::permit::Refusal;
use crate::run::{IndexLocation, PackageIndex};

/// Permission to fetch packages from one index. Only [`authorize_fetch`] creates one.
#[derive(Debug)]
pub(crate) struct FetchPermit {
    requests: Vec<PackageRequest>,
    index: PackageIndex,
}

impl FetchPermit {
    pub(crate) fn requests(&self) -> &[PackageRequest] {
        &self.requests
    }

    pub(crate) fn index(&self) -> &PackageIndex {
        &self.index
    }

    /// Returns the hosts and ports that may be contacted.
    pub(crate) fn hosts(&self) -> &[(String, u16)] {
        match &self.index.location {
            IndexLocation::Hosts { hosts, .. } => hosts,
            IndexLocation::Folder(_) => &[],
        }
    }
}

/// Decides whether packages may be fetched from an index: the organization must allow its hosts.
pub(crate) fn authorize_fetch(
    requests: Vec<PackageRequest>,
    index: PackageIndex,
    policy: &OrgPolicy,
) -> Result<FetchPermit, Refusal> {
    let refused = |reason: String| {
        let hint = "ask the administrator of this machine".to_owned();
        Refusal { reasons: vec![reason], hints: vec![hint] }
    };
    if let IndexLocation::Hosts { hosts, .. } = &index.location {
        let parsed: Option<Vec<Host>> = hosts.iter().map(|(host, _)| Host::parse(host)).collect();
        let wanted = Reach::only(parsed.unwrap_or_default());
        let is_complete = matches!(&wanted, Reach::Only(parsed) if parsed.len() == hosts.len());
        let allowed = policy.hosts(&wanted).map_err(refused)?;
        if !is_complete || allowed != wanted {
            return Err(refused(format!(
                "the organization does not allow packages from {}",
                index.label()
            )));
        }
    }
    Ok(FetchPermit { requests, index })
}

#[cfg(test)]
mod tests {
    use skill_state::PackageSource;

    use super::*;

    #[test]
    fn only_the_index_may_be_contacted_and_only_if_the_organization_allows_it() {
        let index = |hosts: &[(&str, u16)]| PackageIndex {
            source: PackageSource::Pypi,
            url: "https://pypi.org/simple".to_owned(),
            location: IndexLocation::Hosts {
                hosts: hosts.iter().map(|(host, port)| ((*host).to_owned(), *port)).collect(),
                is_https: true,
            },
            certificates: None,
            is_trusted: false,
            folders: Vec::new(),
            scopes: std::collections::BTreeMap::new(),
        };
        let pypi = index(&[("pypi.org", 443), ("files.pythonhosted.org", 443)]);
        let permit = authorize_fetch(Vec::new(), pypi.clone(), &OrgPolicy::default()).unwrap();
        let hosts: Vec<&str> = permit.hosts().iter().map(|(host, _)| host.as_str()).collect();
        assert_eq!(hosts, ["pypi.org", "files.pythonhosted.org"]);
        let only = |host: &str| OrgPolicy {
            allowed_hosts: Reach::only([Host::parse(host).unwrap()]),
            ..OrgPolicy::default()
        };
        assert!(authorize_fetch(Vec::new(), pypi, &only("pypi.org")).is_err());
        let own = index(&[("nexus.example.com", 443)]);
        assert!(authorize_fetch(Vec::new(), own.clone(), &only("nexus.example.com")).is_ok());
        let denied = OrgPolicy {
            denied_hosts: vec![Host::parse("*.example.com").unwrap()],
            ..OrgPolicy::default()
        };
        assert!(authorize_fetch(Vec::new(), own, &denied).is_err());
    }
}
