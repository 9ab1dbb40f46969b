//! What the commands about approvals write.

use std::collections::BTreeMap;

use openskills_runtime::rfc3339;
use schemars::JsonSchema;
use serde::Serialize;
use skill::capabilities::Extent;
use skill_state::Approval;

/// `openskills approve --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApproveJson {
    /// The version of this format.
    pub version: u32,
    /// What was approved.
    pub approval: ApprovalJson,
}

/// `openskills approvals list --json` and `revoke --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalsJson {
    /// The version of this format.
    pub version: u32,
    /// What is approved, or was until now; the oldest first.
    pub approvals: Vec<ApprovalJson>,
}

/// One approval.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalJson {
    /// Its id.
    pub id: String,
    /// The skill's id when it was approved.
    pub skill_id: String,
    /// Where the skill comes from.
    pub origin: String,
    /// The digest that it is bound to.
    pub bundle_sha256: String,
    /// What it grants beyond running in the sandbox.
    pub granted: Vec<String>,
    /// What the skill declared: a list, or null where it may be anything; a kind that is missing was not declared.
    pub declared: BTreeMap<String, Option<Vec<String>>>,
    /// When, RFC 3339.
    pub approved_at: String,
    /// Until when, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The session that it holds for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl ApprovalJson {
    /// Returns an approval as it is written.
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
