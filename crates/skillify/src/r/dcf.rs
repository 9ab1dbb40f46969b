//! Parses DESCRIPTION: fields, whose continuation lines begin with a space or tab.

/// The fields of a file.
pub(super) struct Dcf(Vec<(String, String)>);

impl Dcf {
    pub(super) fn parse(text: &str) -> Self {
        let mut fields: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            if line.starts_with([' ', '\t']) {
                if let Some((_, value)) = fields.last_mut() {
                    value.push(' ');
                    value.push_str(line.trim());
                }
            } else if let Some((name, value)) = line.split_once(':') {
                fields.push((name.trim().to_owned(), value.trim().to_owned()));
            }
        }
        Self(fields)
    }

    /// Returns a field, on one line.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        let (_, value) = self.0.iter().find(|(found, _)| found == name)?;
        Some(value.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|value| !value.is_empty())
    }
}
