//! Sources of skills, as users write them: from the text on a command line to the skills in a commit.
//!
//! [`SourceSpec`] parses what was written; [`open`] finds or clones the repository; [`choose_version`] picks a tag,
//! branch or commit; [`offered`] lists the skills in it.

mod offered;
mod open;
mod spec;
mod version;

pub use offered::{Offer, OfferedSkill, UnusableFolder, offered};
pub(crate) use open::public_origin;
pub use open::{OpenError, OpenedSource, is_cloned, open, open_in_place};
pub use spec::{SourceLocation, SourceSpec, SourceSpecError, VersionAndFolder};
pub(crate) use version::VersionTag;
pub use version::{ChosenVersion, WantedVersion, choose_version};
