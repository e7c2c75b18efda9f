//! The ending of a plural.

/// The ending of a noun after this number: `1 write`, `2 writes`.
///
/// ```
/// assert_eq!(format!("1 write{}", fiord_types::plural(1_u64)), "1 write");
/// assert_eq!(format!("0 write{}", fiord_types::plural(0_u64)), "0 writes");
/// ```
#[must_use]
pub fn plural<N: PartialEq + From<u8>>(count: N) -> &'static str {
    if count == N::from(1) { "" } else { "s" }
}
