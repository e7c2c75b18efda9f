//! The time of requests.

/// A moment in UTC, as signatures of S3 write it: `20130524T000000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UtcStamp([u8; 16]);

impl UtcStamp {
    /// The moment `seconds` after the beginning of 1970. Years after 9999 become 9999.
    #[must_use]
    pub fn of_unix_seconds(seconds: u64) -> UtcStamp {
        // 31 December 9999, 23:59:59.
        let seconds = seconds.min(253_402_300_799);
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = date(days);
        let text = format!(
            "{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z",
            second / 3600,
            second / 60 % 60,
            second % 60
        );
        let mut bytes = [b'0'; 16];
        bytes.copy_from_slice(text.as_bytes());
        UtcStamp(bytes)
    }

    /// The text with date and time.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The text of the date: `20130524`.
    #[must_use]
    pub fn date(&self) -> &str {
        &self.text()[..8]
    }
}

/// Year, month and day of a day after 1 January 1970.
const fn date(days: u64) -> (u64, u64, u64) {
    // Years begin in March, so that the day of a leap year is the last one.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + (month <= 2) as u64, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_the_date_of_the_calendar() {
        for (seconds, text) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (1_369_353_600, "20130524T000000Z"),
            (1_709_251_199, "20240229T235959Z"),
            (1_735_689_599, "20241231T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
            (u64::MAX, "99991231T235959Z"),
        ] {
            assert_eq!(UtcStamp::of_unix_seconds(seconds).text(), text);
        }
        assert_eq!(UtcStamp::of_unix_seconds(1_369_353_600).date(), "20130524");
    }
}
