//! Terse lines: the number of fields and the number format of each.

use crate::difference::Difference;

/// Compares the shape of terse output with the reference's, line by line.
///
/// # Errors
/// The first difference.
pub fn shape(reference: &str, ours: &str) -> Result<(), Difference> {
    let (a, b): (Vec<_>, Vec<_>) = (reference.lines().collect(), ours.lines().collect());
    if a.len() != b.len() {
        let (ours, reference) = (b.len(), a.len());
        return Err(Difference::Count { place: String::new(), unit: "lines", ours, reference });
    }
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        let line = i + 1;
        let (a, b) = (fields(a), fields(b));
        if let Some(at) = a.iter().zip(&b).position(|(x, y)| x.1 != y.1) {
            return Err(Difference::Field {
                line,
                field: at + 1,
                ours: b[at].0.into(),
                ours_kind: b[at].1.clone(),
                reference: a[at].0.into(),
                reference_kind: a[at].1.clone(),
            });
        }
        if a.len() != b.len() {
            let (place, unit) = (format!("line {line}: "), "fields without disks");
            let (ours, reference) = (b.len(), a.len());
            return Err(Difference::Count { place, unit, ours, reference });
        }
    }
    Ok(())
}

/// Returns the fields with their number formats. Leaves out disks, which differ between machines.
fn fields(line: &str) -> Vec<(&str, String)> {
    let mut all: Vec<(&str, String)> = line.split(';').map(|f| (f, kind(f))).collect();
    let is_disk = |row: &[(&str, String)]| {
        row[0].1 == "text"
            && row[1..8].iter().all(|f| f.1 == "integer")
            && row[8].1 == "percentage (2 decimals)"
    };
    let mut at = 5;
    while at + 9 <= all.len() {
        if is_disk(&all[at..at + 9]) {
            all.drain(at..at + 9);
        } else {
            at += 1;
        }
    }
    all
}

fn kind(field: &str) -> String {
    if let Some((percentage, value)) = field.split_once("%=") {
        // A percentage that was not requested is a bare zero.
        return format!("`{percentage}%=` and {}", kind(value));
    }
    let (number, name) = match field.strip_suffix('%') {
        Some(number) => (number, "percentage"),
        None => (field, "number"),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match number.split_once('.') {
        Some((a, b)) if digits(a) && digits(b) => format!("{name} ({} decimals)", b.len()),
        None if digits(number) && name == "number" => "integer".into(),
        None if digits(number) => name.into(),
        _ => "text".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn differences_are_named() {
        let line = "3;fio-3.42;a;0;0;1.000000;5.00%;1.000000%=7;9";
        let with_disk = "3;x;b;1;2;3.000000;6.00%;1.000000%=8;9;sda;1;2;3;4;5;6;7;1.00%";
        assert_eq!(shape(line, with_disk), Ok(()));
        let other = "3;x;b;1;2;3.0;6.00%;1.000000%=8;9";
        assert_eq!(
            shape(line, other).expect_err("it differs").to_string(),
            "line 1, field 6: `3.0` is number (1 decimals), not number (6 decimals) like `1.000000`"
        );
        assert_eq!(shape(line, "").expect_err("it differs").to_string(), "0 lines, not 1");
        let short = "3;x;b;1;2;3.000000;6.00%;1.000000%=8";
        assert_eq!(
            shape(line, short).expect_err("it differs").to_string(),
            "line 1: 8 fields without disks, not 9"
        );
    }
}
