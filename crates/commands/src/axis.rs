//! The axes of a sweep or suite, and the points that they span.

/// Why `--set` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AxisError {
    /// There is no equals sign.
    #[error("--set {text}: no values. To fix: write --set {text}=V1,V2")]
    NoList { text: String },
    /// There is nothing before the equals sign.
    #[error("--set {text}: no option. To fix: write --set iodepth=1,2,4")]
    NoName { text: String },
    /// There is nothing after the equals sign.
    #[error("--set {text}: no values. To fix: write --set {name}=V1,V2")]
    NoValues { text: String, name: String },
    /// A value of the list is empty.
    #[error("--set {text}: value {place} is empty. To fix: write --set {name}=V1,V2")]
    EmptyValue {
        text: String,
        name: String,
        /// Place of the value in the list, counted from 1.
        place: usize,
    },
    /// A value occurs twice.
    #[error("--set {text}: duplicate value {value}")]
    DuplicateValue { text: String, value: String },
    /// Two `--set` name the same option.
    #[error("two axes for {name}. To fix: write all its values in one --set")]
    TwoAxes { name: String },
}

/// An axis, from one `--set`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Name of the job option.
    pub name: String,
    /// Values of the option, in the order in which they are run.
    pub values: Vec<String>,
}

/// A point: option and value for each axis.
pub type PointSettings = Vec<(String, String)>;

/// Parses `OPTION=V1,V2,…`. Semicolons separate values that contain commas (`bs=4k,8k` has one
/// value for reads and one for writes).
///
/// # Errors
/// The text names no option or no values, or a value twice.
pub fn read(text: &str) -> Result<Axis, AxisError> {
    let typed = || text.to_owned();
    let (name, list) = text.split_once('=').ok_or_else(|| AxisError::NoList { text: typed() })?;
    let name = name.trim().trim_start_matches('-');
    if name.is_empty() {
        return Err(AxisError::NoName { text: typed() });
    }
    if list.trim().is_empty() {
        return Err(AxisError::NoValues { text: typed(), name: name.into() });
    }
    let separator = if list.contains(';') { ';' } else { ',' };
    let values: Vec<String> = list.split(separator).map(|v| v.trim().to_owned()).collect();
    if let Some(at) = values.iter().position(String::is_empty) {
        return Err(AxisError::EmptyValue { text: typed(), name: name.into(), place: at + 1 });
    }
    for (i, value) in values.iter().enumerate() {
        if values[..i].contains(value) {
            return Err(AxisError::DuplicateValue { text: typed(), value: value.clone() });
        }
    }
    Ok(Axis { name: name.to_owned(), values })
}

/// Parses the arguments of all `--set` options.
///
/// # Errors
/// The errors of [`read`], or an option with two axes.
pub fn read_all(texts: &[String]) -> Result<Vec<Axis>, AxisError> {
    let mut axes: Vec<Axis> = Vec::new();
    for text in texts {
        let axis = read(text)?;
        if axes.iter().any(|a| a.name == axis.name) {
            return Err(AxisError::TwoAxes { name: axis.name });
        }
        axes.push(axis);
    }
    Ok(axes)
}

/// Returns every combination of values; the last axis varies fastest.
#[must_use]
pub fn product(axes: &[Axis]) -> Vec<PointSettings> {
    axes.iter().fold(vec![PointSettings::new()], |points, axis| {
        let with = |point: &PointSettings, value: &String| {
            let mut point = point.clone();
            point.push((axis.name.clone(), value.clone()));
            point
        };
        points.iter().flat_map(|p| axis.values.iter().map(move |v| with(p, v))).collect()
    })
}

/// Returns the value of an option; `None` if the point does not set it.
#[must_use]
pub fn value<'a>(settings: &'a PointSettings, name: &str) -> Option<&'a str> {
    settings.iter().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
}

/// Formats settings on one line: `iodepth=4 bs=64k`.
#[must_use]
pub fn words(settings: &PointSettings) -> String {
    settings.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(" ")
}

/// Whether the values are increasing numbers (with the suffix `k`, `m`, `g` or `t`). Only such an
/// axis can have a knee.
#[must_use]
pub fn is_increasing(axis: &Axis) -> bool {
    let numbers: Option<Vec<f64>> = axis.values.iter().map(|v| number(v)).collect();
    numbers.is_some_and(|n| n.len() > 1 && n.windows(2).all(|w| w[0] < w[1]))
}

fn number(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let (digits, scale) = match lower.strip_suffix(['k', 'm', 'g', 't']) {
        Some(digits) => {
            let power = "kmgt".find(&lower[digits.len()..])? as i32 + 1;
            (digits, 1024f64.powi(power))
        }
        None => (lower.as_str(), 1.0),
    };
    digits.parse::<f64>().ok().map(|n| n * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_by_commas_or_semicolons() {
        assert_eq!(read("iodepth=1, 2,4").unwrap().values, ["1", "2", "4"]);
        assert_eq!(
            read("--bs=4k,8k;64k").unwrap(),
            Axis { name: "bs".into(), values: vec!["4k,8k".into(), "64k".into()] }
        );
        for wrong in ["iodepth", "iodepth=", "=1,2", "iodepth=1,,2", "iodepth=1,2,1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let twice = ["bs=4k".to_string(), "bs=8k".to_string()];
        assert_eq!(read_all(&twice), Err(AxisError::TwoAxes { name: "bs".into() }));
    }

    #[test]
    fn points_are_every_combination() {
        let axes = [read("bs=4k,64k").unwrap(), read("iodepth=1,2,4").unwrap()];
        let points = product(&axes);
        assert_eq!(points.len(), 6);
        assert_eq!(
            (words(&points[0]), words(&points[5])),
            ("bs=4k iodepth=1".into(), "bs=64k iodepth=4".into())
        );
    }

    #[test]
    fn only_lists_of_increasing_numbers_are_increasing() {
        for (text, does) in [
            ("iodepth=1,2,4", true),
            ("bs=512,4k,1m", true),
            ("iodepth=4,2", false),
            ("ioengine=psync,io_uring", false),
            ("iodepth=4", false),
        ] {
            assert_eq!(is_increasing(&read(text).unwrap()), does, "{text}");
        }
    }
}
