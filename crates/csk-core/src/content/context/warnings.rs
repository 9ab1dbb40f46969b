//! Warnings about references in a skill's text that are not installed: one line for each reason.

use std::collections::BTreeSet;

use crate::content::snapshot::File;

/// How many files a line lists.
const MAX_NAMED: usize = 8;
/// Longer paths are truncated.
const MAX_SHOWN_BYTES: usize = 120;

/// References that are not installed, each with the file that contains it.
#[derive(Debug, Default)]
pub(super) struct Omissions {
    missing: BTreeSet<(String, String)>,
    outside: BTreeSet<(String, String)>,
    not_installed: BTreeSet<(String, String)>,
    links: BTreeSet<(String, String)>,
    unread: BTreeSet<String>,
}

impl Omissions {
    /// Records that `file` links to a path that does not exist in the skill.
    pub(super) fn missing(&mut self, file: &str, path: &str) {
        self.missing.insert((file.to_owned(), path.to_owned()));
    }

    /// Records that `file` links to a path outside the skill.
    pub(super) fn outside(&mut self, file: &str, path: &str) {
        self.outside.insert((file.to_owned(), path.to_owned()));
    }

    /// Records that `file` refers to a file of the repository that is not installed.
    pub(super) fn not_installed(&mut self, file: &str, path: &str) {
        self.not_installed.insert((file.to_owned(), path.to_owned()));
    }

    /// Records a symlink that was skipped because its target is not installed.
    pub(super) fn dropped(&mut self, link: &File) {
        self.links.insert((link.path.to_string(), link.text().unwrap_or_default()));
    }

    /// Records a Markdown file that was not scanned.
    pub(super) fn unread(&mut self, file: &str) {
        self.unread.insert(file.to_owned());
    }

    /// Returns one warning for each reason.
    pub(super) fn into_warnings(self) -> Vec<String> {
        let named = |(file, path): (String, String)| format!("`{}` ({file})", short(&path));
        let symlink = |(link, target): (String, String)| format!("{link} -> {}", short(&target));
        let lines = [
            line(
                ["link to a missing file", "links to missing files"],
                self.missing.into_iter().map(named),
            ),
            line(
                ["link that points outside the skill", "links that point outside the skill"],
                self.outside.into_iter().map(named),
            ),
            line(["referenced but not installed"; 2], self.not_installed.into_iter().map(named)),
            line(
                [
                    "symlink skipped because its target is not installed",
                    "symlinks skipped because their targets are not installed",
                ],
                self.links.into_iter().map(symlink),
            ),
            line(["too large to scan for links"; 2], self.unread.into_iter()),
        ];
        lines.into_iter().flatten().collect()
    }
}

/// Returns a warning that starts with `one` or `many`, depending on the number of items.
fn line([one, many]: [&str; 2], items: impl ExactSizeIterator<Item = String>) -> Option<String> {
    let what = if items.len() == 1 { one } else { many };
    let more = items.len().saturating_sub(MAX_NAMED);
    let named: Vec<String> = items.take(MAX_NAMED).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("{what}: {}{more}", named.join(", ")))
}

fn short(path: &str) -> String {
    match path.len() > MAX_SHOWN_BYTES {
        true => format!("{}…", &path[..path.floor_char_boundary(MAX_SHOWN_BYTES)]),
        false => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_lists_a_few_and_counts_the_rest() {
        let mut omissions = Omissions::default();
        assert!(Omissions::default().into_warnings().is_empty());
        for number in 0..10 {
            omissions.missing("SKILL.md", &format!("{number}.md"));
        }
        omissions.outside("a.md", &format!("../{}", "x".repeat(500)));
        let warnings = omissions.into_warnings();
        assert_eq!(warnings.len(), 2);
        assert!(warnings[0].starts_with("links to missing files: `0.md` (SKILL.md), `1.md`"));
        assert!(warnings[0].ends_with("`7.md` (SKILL.md) and 2 more"), "{}", warnings[0]);
        assert!(warnings[1].ends_with("xx…` (a.md)") && warnings[1].len() < 200, "{}", warnings[1]);
    }
}
