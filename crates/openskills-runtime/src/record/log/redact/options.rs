//! Secrets that are option values of certain programs.

use super::Ranges;

/// Programs and their options whose value is a secret.
const OPTIONS: &[(&str, &[&str])] = &[
    ("curl", &["-u", "--user", "--proxy-user", "-U"]),
    ("wget", &["--http-password", "--ftp-password"]),
    ("mysql", &["-p"]),
    ("mysqldump", &["-p"]),
    ("sshpass", &["-p"]),
    ("docker", &["-p"]),
    ("redis-cli", &["-a"]),
    ("zip", &["-P"]),
    ("unzip", &["-P"]),
    ("ldapsearch", &["-w"]),
    ("openssl", &["-passin", "-passout", "-pass", "-k"]),
    ("smbclient", &["-U"]),
    ("ssh-keygen", &["-N", "-P"]),
    ("gh", &["--body", "-b"]),
];

/// Finds option values that are secrets of certain programs, line by line.
pub(super) fn options(text: &str, ranges: &mut Ranges) {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        options_of_line(line, start, ranges);
        start += line.len();
    }
}

fn options_of_line(line: &str, line_at: usize, ranges: &mut Ranges) {
    let offset = |word: &str| word.as_ptr() as usize - line.as_ptr() as usize;
    let mut words = line.split_whitespace().map(|word| (offset(word), word));
    let Some((_, known)) = words.find_map(|(_, word)| {
        let name = word.rsplit('/').next().unwrap_or(word);
        OPTIONS.iter().find(|(program, _)| *program == name)
    }) else {
        return;
    };
    let words: Vec<(usize, &str)> = words.collect();
    for (index, (at, word)) in words.iter().enumerate() {
        let Some(option) = known.iter().find(|option| word.starts_with(**option)) else { continue };
        let (start, value) = match word.strip_prefix(option) {
            Some("") => match words.get(index + 1) {
                Some((at, value)) => (*at, *value),
                None => continue,
            },
            // The value of a short option may be attached.
            Some(rest) if option.len() == 2 => (at + option.len(), rest),
            _ => continue,
        };
        // A user name before a colon or a percent sign is not a secret.
        let from = value.find([':', '%']).map_or(0, |sign| sign + 1);
        if value.len() > from {
            ranges.push((line_at + start + from, line_at + start + value.len()));
        }
    }
}
