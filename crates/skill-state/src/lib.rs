//! Trust state shared by both programs: receipts of what csk installed, which prove the origin of a skill to openskills;
//! approvals of the user; audit decisions; and the policy of the organization.

mod approvals;
pub mod audit;
mod command_files;
mod key;
mod org_policy;
mod origin;
mod packages;
mod receipts;
mod source;

pub use approvals::{
    ANY_HOST, Approval, ApprovalKey, Approvals, DELETIONS, DIRECT_WRITES, Grant, StateError,
};
pub use command_files::{
    COMMAND_FILES_LIST, CommandFileMode, command_files_path, compare_command_files, file_line,
    link_line,
};
pub use key::key_of;
pub use org_policy::{OrgPolicy, PolicySubject, RequiredTrust};
pub use origin::{Pattern, local_path, origin_key, plain_path, without_password};
pub use packages::{PackageRequest, PackageRequestError, PackageSet, PackageSource};
pub use receipts::Receipts;
pub use source::SkillSource;

/// Checks the `schema_version` of a state file.
fn schema_version(object: &mut skill::json::Object<'_, '_, '_>) -> Option<u64> {
    object.schema_version_or(&[1], |found| {
        let message = format!("`schema_version` is {found}; this version supports 1");
        (message, "set it to 1, or update openskills if a newer version wrote the file".to_owned())
    })
}
