//! Moments as dates, by ISO 8601.

use fiord_types::Nanos;

const MS_PER_DAY: u64 = 86_400_000;

/// A moment in UTC with milliseconds: `2026-11-24T02:05:51.123Z`.
pub(super) fn iso(since_1970: Nanos) -> String {
    let ms = since_1970.as_millis();
    let (day, rest) = (ms / MS_PER_DAY, ms % MS_PER_DAY);
    let (year, month, day) = civil(day);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, ms) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Year, month and day of a day since 1970, in the Gregorian calendar. Years begin in March here, so that the leap day
/// is the last day of a year.
fn civil(day: u64) -> (u64, u64, u64) {
    const DAYS_IN_400_YEARS: u64 = 146_097;
    /// From March 1 of the year 0 to 1970.
    const DAYS_TO_1970: u64 = 719_468;
    let day = day + DAYS_TO_1970;
    let (era, of_era) = (day / DAYS_IN_400_YEARS, day % DAYS_IN_400_YEARS);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are from `date -u -d @SECONDS`.
    #[test]
    fn dates_are_those_of_the_calendar() {
        for (ms, date) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_795_485_951_123, "2026-11-24T02:05:51.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso(Nanos::from_millis(ms)), date);
        }
    }
}
