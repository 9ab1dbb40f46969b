//! Durations and points in time, as typed on the command line.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Parses a duration: `30s`, `90m`, `12h`, `30d` or `2w`.
pub(crate) fn duration(text: &str) -> Result<SignedDuration, String> {
    let invalid = || {
        format!("`{text}` is not a duration; use a form like `30s`, `90m`, `12h`, `30d` or `2w`")
    };
    let unit = text.chars().next_back().ok_or_else(invalid)?;
    let seconds: i64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        'w' => 7 * 24 * 3600,
        _ => return Err(invalid()),
    };
    let number = &text[..text.len() - 1];
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: i64 = number.parse().ok().filter(|_| is_number).ok_or_else(invalid)?;
    let total = number.checked_mul(seconds).filter(|total| *total > 0).ok_or_else(invalid)?;
    // More than 1000 years is a typo.
    if total > 1000 * 365 * 24 * 3600 {
        Err(invalid())
    } else {
        Ok(SignedDuration::from_secs(total))
    }
}

/// A point in time, absolute or relative to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeArg {
    At(Timestamp),
    /// This long before now.
    Ago(SignedDuration),
}

impl TimeArg {
    /// Parses `2026-01-31`, `2026-01-31T12:00:00Z`, or a duration before now such as `2d`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Ok(at) = text.parse::<Timestamp>() {
            return Ok(Self::At(at));
        }
        let day = text.parse::<Date>().ok().filter(|_| text.len() == 10);
        if let Some(start) = day.and_then(|day| day.to_zoned(TimeZone::UTC).ok()) {
            return Ok(Self::At(start.timestamp()));
        }
        duration(text).map(Self::Ago).map_err(|_| {
            format!("`{text}` is not a time; use a form like `2026-01-31`, `2026-01-31T12:00:00Z`, or `2d` for two days ago")
        })
    }

    /// Returns the point in time, given the current time.
    pub(crate) fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Ago(duration) => now.checked_sub(duration).unwrap_or(Timestamp::MIN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_are_parsed() {
        assert_eq!(duration("30d"), Ok(SignedDuration::from_hours(720)));
        for invalid in
            ["", "d", "0d", "-1d", "1y", "1.5h", "99999999999999999999d", "9999999w", "é"]
        {
            assert!(duration(invalid).is_err(), "{invalid}");
        }
        let now: Timestamp = "2026-02-03T00:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2d", "2026-02-01T00:00:00Z"),
            ("2026-01-31", "2026-01-31T00:00:00Z"),
            ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ] {
            assert_eq!(TimeArg::parse(text).unwrap().resolve(now).to_string(), expected);
        }
        assert!(TimeArg::parse("yesterday").is_err() && TimeArg::parse("2026-13-01").is_err());
    }
}
