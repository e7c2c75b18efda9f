//! `value-adjusted`: a value that counts as another one.

use fiord_stat::finding::Severity;

use crate::{Check, noted};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "value-adjusted",
    severity: Severity::Note,
    title: "a value that counts as another one",
    about: "The job asks for a value that cannot be used as it stands, and runs with the nearest one: a \
            depth that the engine cannot have, a size beyond the end of the file, an offset that is no \
            multiple of a zone, buffers in huge pages that the machine does not have. Or the text \
            means something else than it seems to: `bs=4k-16k` is no range.",
    detection: "The reader or the planner changes the value. The finding names both values.",
    effect: "As large as the difference. `size=10g` on a file of 1 GiB moves a tenth of the data.",
    remedy: "Write the value that is used, or the one that was meant. The finding says how.",
    lint: Some(|known, findings| noted::report(&CHECK, known, findings)),
    before: None,
    after: None,
};
