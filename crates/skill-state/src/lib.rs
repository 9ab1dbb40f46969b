//! What both programs keep about trust: csk writes receipts for what it installs, openskills believes an origin only
//! with one; what the user approved; what the organisation forbids.

mod approvals;
pub mod audit;
mod key;
mod org_policy;
mod origin;
mod receipts;
mod runtime_list;
mod source;

pub use approvals::{
    ANY_HOST, Approval, ApprovalKey, Approvals, DELETIONS, DIRECT_WRITES, Grant, StateError,
};
pub use key::key_of;
pub use org_policy::{OrgPolicy, RequiredTrust, Used};
pub use origin::{Pattern, origin_key, plain_path, without_password};
pub use receipts::Receipts;
pub use runtime_list::{
    RUNTIME_LIST, RuntimeFile, compare_runtime, file_line, link_line, runtime_place,
};
pub use source::SkillSource;

/// Checks the `schema_version` of a file of openskills.
fn schema_version(object: &mut skill::json::Object<'_, '_, '_>) -> Option<u64> {
    object.schema_version_or(&[1], |found| {
        let message = format!("`schema_version` is {found}; this version knows the number 1");
        (message, "write 1, or update openskills if the file is of a newer one".to_owned())
    })
}
