//! Generated documentation of the command line: manual pages and completions. The example `pages` writes it below `docs`.

use fiord_job::{completion, man};

use crate::subcommand;

/// Returns every page with its path below the directory `docs`.
#[must_use]
pub fn all() -> Vec<(String, String)> {
    let subcommands = subcommand::list();
    let pages = [
        ("fiord.1", man::man(&subcommands)),
        ("completions/fiord.bash", completion::bash()),
        ("completions/_fiord", completion::zsh()),
        ("completions/fiord.fish", completion::fish()),
    ];
    pages.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn the_committed_pages_are_current() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let stale = |(name, text): &(String, String)| {
            fs::read_to_string(docs.join(name)).ok().as_ref() != Some(text)
        };
        let stale: Vec<String> =
            super::all().into_iter().filter(stale).map(|(name, _)| name).collect();
        assert!(stale.is_empty(), "run `cargo xtask docs`: {stale:?}");
    }
}
