//! The style sheet and the scripts of the page, and the policy that allows exactly these.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The style sheet of the chart library, then that of the page.
const STYLES: &str = concat!(
    include_str!("../assets/uplot/uPlot.min.css"),
    "\n",
    include_str!("../assets/page.css")
);
/// The chart library: `assets/uplot/README.md` says where it comes from.
pub(crate) const LIBRARY: &str = include_str!("../assets/uplot/uPlot.iife.min.js");
const SCRIPT: &str = include_str!("../assets/page.js");

/// The style sheet.
pub(crate) fn styles() -> &'static str {
    STYLES
}

/// The scripts, in the order in which they run.
pub(crate) fn scripts() -> [&'static str; 2] {
    [LIBRARY, SCRIPT]
}

/// The content security policy: the page may use its own style sheet and its own scripts, and nothing else. It cannot
/// load, send, frame or submit anything, and a script that a job name smuggles in does not run.
pub(crate) fn policy() -> String {
    let scripts: Vec<String> = scripts().iter().map(|script| source(script)).collect();
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        scripts.join(" "),
        source(styles())
    )
}

/// The name of an inline text in a policy.
fn source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hashes in `assets/uplot/README.md`, of the files in the package `uplot` 1.6.32.
    #[test]
    fn the_library_is_unchanged() {
        let readme = include_str!("../assets/uplot/README.md");
        let files = [
            ("uPlot.iife.min.js", LIBRARY),
            ("uPlot.min.css", include_str!("../assets/uplot/uPlot.min.css")),
            ("LICENSE", include_str!("../assets/uplot/LICENSE")),
        ];
        for (name, text) in files {
            let hash: String = Sha256::digest(text).iter().map(|b| format!("{b:02x}")).collect();
            assert!(readme.contains(&format!("{hash}  {name}")), "{name} has the hash {hash}");
        }
    }

    #[test]
    fn texts_cannot_end_their_element() {
        for script in scripts() {
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
        assert!(!styles().contains("</style"));
        assert!(!styles().contains("url(") && !styles().contains("@import"), "nothing is loaded");
    }
}
