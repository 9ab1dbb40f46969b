//! Times and spans of time as people type them.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Reads `30s`, `90m`, `12h`, `30d` or `2w`.
pub(crate) fn span(text: &str) -> Result<SignedDuration, String> {
    let wrong = || format!("`{text}` is no span of time; write `30s`, `90m`, `12h`, `30d` or `2w`");
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds: i64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        'w' => 7 * 24 * 3600,
        _ => return Err(wrong()),
    };
    let number = &text[..text.len() - 1];
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: i64 = number.parse().ok().filter(|_| is_number).ok_or_else(wrong)?;
    let all = number.checked_mul(seconds).filter(|all| *all > 0).ok_or_else(wrong)?;
    // Longer than a calendar: more likely a slip than a wish.
    if all > 1000 * 365 * 24 * 3600 { Err(wrong()) } else { Ok(SignedDuration::from_secs(all)) }
}

/// A moment: said as such, or as so long before now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// This one.
    At(Timestamp),
    /// So long ago.
    Ago(SignedDuration),
}

impl When {
    /// Reads `2026-01-31`, `2026-01-31T12:00:00Z`, or a span before now such as `2d`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Ok(at) = text.parse::<Timestamp>() {
            return Ok(Self::At(at));
        }
        let day = text.parse::<Date>().ok().filter(|_| text.len() == 10);
        if let Some(start) = day.and_then(|day| day.to_zoned(TimeZone::UTC).ok()) {
            return Ok(Self::At(start.timestamp()));
        }
        span(text).map(Self::Ago).map_err(|_| {
            format!("`{text}` is no time; write `2026-01-31`, `2026-01-31T12:00:00Z` or `2d` for two days ago")
        })
    }

    /// Returns the moment.
    pub(crate) fn seen_from(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Ago(span) => now.checked_sub(span).unwrap_or(Timestamp::MIN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_typed() {
        assert_eq!(span("30d"), Ok(SignedDuration::from_hours(720)));
        for wrong in ["", "d", "0d", "-1d", "1y", "1.5h", "99999999999999999999d", "9999999w", "é"]
        {
            assert!(span(wrong).is_err(), "{wrong}");
        }
        let now: Timestamp = "2026-02-03T00:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2d", "2026-02-01T00:00:00Z"),
            ("2026-01-31", "2026-01-31T00:00:00Z"),
            ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ] {
            assert_eq!(When::parse(text).unwrap().seen_from(now).to_string(), expected);
        }
        assert!(When::parse("yesterday").is_err() && When::parse("2026-13-01").is_err());
    }
}
