//! `value-adjusted`: a value that fiord replaces by another one.

use fiord_stat::finding::Severity;

use crate::check::Check;
use crate::evidence::noted;

pub(crate) const CHECK: Check = Check {
    id: "value-adjusted",
    severity: Severity::Note,
    title: "a value that fiord replaces by another one",
    about: "fiord cannot use the value as written and uses the nearest possible one: a depth that \
            the engine does not support, a size beyond the end of the file, an offset that is not \
            a multiple of a zone, buffers in huge pages that the machine does not have. Or the \
            text means something other than it seems to: `bs=4k-16k` is not a range.",
    detection: "fiord changes the value while it reads or plans the job. The finding names both \
                values.",
    effect: "As large as the difference. `size=10g` on a file of 1 GiB moves a tenth of the data.",
    remedy: "write the value that is used, or the one that you meant. The finding says how.",
    lint: Some(|known, findings| noted::report(&CHECK, known, findings)),
    before: None,
    after: None,
    hosts: None,
};
