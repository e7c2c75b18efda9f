//! Terse lines: how many fields, and how each is written.

/// Compares the shape of terse output with the reference's, line by line.
///
/// # Errors
/// The first difference.
pub fn shape(reference: &str, ours: &str) -> Result<(), String> {
    let (a, b): (Vec<_>, Vec<_>) = (reference.lines().collect(), ours.lines().collect());
    if a.len() != b.len() {
        return Err(format!("{} lines, not {}", b.len(), a.len()));
    }
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        let (a, b) = (fields(a), fields(b));
        let different = a.iter().zip(&b).position(|(x, y)| x.1 != y.1);
        if let Some(at) = different {
            let (is, should) = (&b[at], &a[at]);
            let number = at + 1;
            return Err(format!(
                "line {}, field {number}: `{}` is {}, not {} like `{}`",
                i + 1,
                is.0,
                is.1,
                should.1,
                should.0
            ));
        }
        if a.len() != b.len() {
            return Err(format!(
                "line {}: {} fields without disks, not {}",
                i + 1,
                b.len(),
                a.len()
            ));
        }
    }
    Ok(())
}

/// Fields and how each is written, without those of disks, which differ between machines.
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
        // A percentage that is not asked for is a bare zero.
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
            shape(line, other).expect_err("it differs"),
            "line 1, field 6: `3.0` is number (1 decimals), not number (6 decimals) like `1.000000`"
        );
        assert_eq!(shape(line, "").expect_err("it differs"), "0 lines, not 1");
        let short = "3;x;b;1;2;3.000000;6.00%;1.000000%=8";
        assert_eq!(
            shape(line, short).expect_err("it differs"),
            "line 1: 8 fields without disks, not 9"
        );
    }
}
