//! Dates in words, from seconds: `Fri Nov 20 10:34:48 2026`.

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Formats the date and time at `unix_s` seconds after 1970 (UTC), for a zone `offset_s` seconds east of
/// Greenwich.
#[must_use]
pub fn words(unix_s: u64, offset_s: i32) -> String {
    let local = unix_s.saturating_add_signed(i64::from(offset_s));
    let (days, second) = (local / 86400, local % 86400);
    let (year, month, day) = civil(days);
    format!(
        "{} {} {day:2} {:02}:{:02}:{:02} {year}",
        DAYS[(days % 7) as usize],
        MONTHS[month as usize],
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// Converts days since 1970 to a Gregorian year, a month counted from 0 and a day counted from 1.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years begin in March here, so that the leap day comes last.
    let since = days + 719_468;
    let era = since / 146_097;
    let day_of_era = since % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12;
    let year = era * 400 + year_of_era + u64::from(month < 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn known_dates() {
        assert_eq!(words(0, 0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(words(1_795_170_888, 0), "Fri Nov 20 10:34:48 2026");
        assert_eq!(words(1_709_164_800, 3600), "Thu Feb 29 01:00:00 2024");
        assert_eq!(words(1_709_164_800, -7200), "Wed Feb 28 22:00:00 2024");
    }
}
