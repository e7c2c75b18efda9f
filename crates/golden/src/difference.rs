//! What differs between an output and the reference.

/// The first difference between an output and the reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// The reference has no output in this format.
    #[error("there is no reference in this format")]
    NoReference,
    #[error("the reference: {0}")]
    ReferenceNotJson(NotJson),
    /// The output is not JSON.
    #[error(transparent)]
    NotJson(#[from] NotJson),
    /// A value of JSON has another type or number format.
    #[error("{path}: is {ours}, not {reference}")]
    Type {
        /// Keys and indexes that lead to the value.
        path: String,
        /// Type in the output.
        ours: String,
        /// Type in the reference.
        reference: String,
    },
    /// Keys of a JSON object have another order.
    #[error("{path}: key `{ours}` where `{reference}` should be")]
    Order {
        /// Keys and indexes that lead to the object.
        path: String,
        /// Key in the output.
        ours: String,
        /// Key in the reference.
        reference: String,
    },
    /// A JSON object lacks a key.
    #[error("{path}: key `{key}` is missing")]
    MissingKey {
        /// Keys and indexes that lead to the object.
        path: String,
        key: String,
    },
    /// A JSON object has one key more.
    #[error("{path}: key `{key}` is too much")]
    ExtraKey {
        /// Keys and indexes that lead to the object.
        path: String,
        key: String,
    },
    /// The number of elements, lines or fields differs.
    #[error("{place}{ours} {unit}, not {reference}")]
    Count {
        /// The place, with a colon; empty for the whole output.
        place: String,
        /// What is counted.
        unit: &'static str,
        /// Number in the output.
        ours: usize,
        /// Number in the reference.
        reference: usize,
    },
    /// A field of a terse line is written in another way.
    #[error(
        "line {line}, field {field}: `{ours}` is {ours_kind}, not {reference_kind} like `{reference}`"
    )]
    Field {
        /// Number of the line, counted from 1.
        line: usize,
        /// Number of the field, counted from 1.
        field: usize,
        /// The field in the output.
        ours: String,
        /// How it is written.
        ours_kind: String,
        /// The field in the reference.
        reference: String,
        /// How it is written.
        reference_kind: String,
    },
    /// A line of the text has another shape.
    #[error(
        "line {line}: `{ours}`\n  has the shape `{ours_shape}`,\n  should have   `{reference_shape}`\n  \
         as in `{reference}`"
    )]
    Line {
        /// Number of the line, counted from 1.
        line: usize,
        /// The line in the output.
        ours: String,
        /// Shape of `ours`: numbers and units are masked.
        ours_shape: String,
        /// The line in the reference.
        reference: String,
        reference_shape: String,
    },
    /// The text lacks a line.
    #[error("`{0}` is missing")]
    MissingLine(String),
    /// The text has one line more.
    #[error("line {line}: `{text}` is too much")]
    ExtraLine {
        /// Number of the line, counted from 1.
        line: usize,
        text: String,
    },
    /// A difference in one format of a case.
    #[error("case {case}, {format}: {difference}")]
    Case {
        case: String,
        format: String,
        #[source]
        difference: Box<Difference>,
    },
}

/// Where and why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not JSON: line {line} (byte {byte}): {what}")]
pub struct NotJson {
    /// Number of the line, counted from 1.
    pub line: usize,
    /// Number of bytes before the error.
    pub byte: usize,
    /// What is wrong.
    pub what: &'static str,
}
