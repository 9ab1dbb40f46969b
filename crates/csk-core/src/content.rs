//! What a commit of a skill holds (`snapshot`), and what of it goes where: text into projects (`context`, in one `locale`), files of `commands` into the
//! runtime store.

pub(crate) mod commands;
pub(crate) mod context;
pub(crate) mod locale;
pub(crate) mod snapshot;
