//! JSON output of `approve` and `approvals`.

use std::collections::BTreeMap;

use openskills_runtime::rfc3339;
use schemars::JsonSchema;
use serde::Serialize;
use skill::capabilities::Extent;
use skill_state::Approval;

/// Output of `openskills approve --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApproveJson {
    /// Version of this format.
    pub version: u32,
    /// The new approval.
    pub approval: ApprovalJson,
}

/// Output of `openskills approvals list --json` and `openskills approvals revoke --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalsJson {
    /// Version of this format.
    pub version: u32,
    /// The stored approvals, or those just revoked, oldest first.
    pub approvals: Vec<ApprovalJson>,
}

/// An approval.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalJson {
    /// ID of the approval.
    pub id: String,
    /// The skill's ID at the time of approval.
    pub skill_id: String,
    /// Where the skill comes from.
    pub origin: String,
    /// The bundle digest that the approval is bound to.
    pub bundle_sha256: String,
    /// Permissions granted beyond running in the sandbox.
    pub granted: Vec<String>,
    /// Capabilities that the skill declared: a list, or null for any. A missing capability was not declared.
    pub declared: BTreeMap<String, Option<Vec<String>>>,
    /// When it was approved (RFC 3339).
    pub approved_at: String,
    /// When it expires (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The session that the approval is limited to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl ApprovalJson {
    /// Returns the JSON of an approval.
    pub fn new(approval: &Approval) -> Self {
        let declared = approval.capabilities.iter().filter_map(|(kind, extent)| {
            let items = match extent {
                Extent::Undeclared => return None,
                Extent::Anything => None,
                Extent::Only(items) => Some(items.iter().cloned().collect()),
            };
            Some((kind.as_str().to_owned(), items))
        });
        Self {
            id: approval.id(),
            skill_id: approval.skill_id.clone(),
            origin: approval.origin.clone(),
            bundle_sha256: approval.bundle.to_string(),
            granted: approval.grant.lines(),
            declared: declared.collect(),
            approved_at: rfc3339(approval.approved_at),
            expires_at: approval.expires_at.map(rfc3339),
            session: approval.session.clone(),
        }
    }
}
