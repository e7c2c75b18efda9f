//! `fiord keys`: keys of this host, and the keys of other hosts that it trusts.

use std::path::PathBuf;

use crate::session::{CannotPrint, CommandEnd, Session};

/// Command line of `fiord keys`.
#[derive(Debug, clap::Args)]
pub struct KeysArgs {
    #[command(subcommand)]
    action: KeysAction,
    /// Directory of the keys. [default: fiord in $XDG_CONFIG_HOME, or in ~/.config]
    #[arg(long, global = true)]
    keys: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum KeysAction {
    /// Make the key of this host, and print its fingerprint.
    Create {
        /// Also trust the new key, for hosts that share it.
        #[arg(long)]
        shared: bool,
    },
    /// Print the fingerprint of this host's key, and the keys that it trusts.
    Show,
    /// Trust the key of another host.
    Trust {
        /// What `fiord keys show` prints there: SHA256:...
        fingerprint: String,
        /// The name of the host in messages.
        name: String,
    },
    /// Stop trusting a key.
    Forget {
        /// Name or fingerprint of the key.
        name: String,
    },
}

/// Why the keys cannot be shown or changed.
#[derive(Debug, thiserror::Error)]
pub enum KeysCommandError {
    /// There is no directory for the keys.
    #[error(
        "neither XDG_CONFIG_HOME nor HOME is set. To fix: name the directory of the keys with --keys"
    )]
    NoDirectory,
    /// The keys are missing or wrong.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Keys(#[from] fiord_fabric::keys::KeysError),
    /// The fingerprint is wrong.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Fingerprint(#[from] fiord_fabric::keys::NoFingerprint),
    /// The program has no TLS.
    #[cfg(not(feature = "tls"))]
    #[error("this fiord has no keys. To fix: build it with `--features tls`")]
    NotBuilt,
    /// The result cannot be written.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

/// Shows or changes the keys.
///
/// # Errors
/// The keys cannot be read or written.
#[cfg(not(feature = "tls"))]
pub fn run(_: &KeysArgs, _: &mut Session) -> Result<CommandEnd, KeysCommandError> {
    Err(KeysCommandError::NotBuilt)
}

/// Shows or changes the keys.
///
/// # Errors
/// The keys cannot be read or written.
#[cfg(feature = "tls")]
pub fn run(args: &KeysArgs, session: &mut Session) -> Result<CommandEnd, KeysCommandError> {
    use fiord_fabric::keys::{KeyRing, TrustedKey, default_directory};

    let variable = |name: &str| std::env::var(name).ok();
    let directory = args.keys.clone().or_else(|| default_directory(variable));
    let directory = directory.ok_or(KeysCommandError::NoDirectory)?;
    match &args.action {
        KeysAction::Create { shared } => {
            let mut ring = KeyRing::create(&directory)?;
            if *shared {
                ring.trust(TrustedKey { fingerprint: ring.fingerprint(), name: "shared".into() })?;
            }
            session.print(&format!("{}\n", ring.fingerprint()))?;
        }
        KeysAction::Show => session.print(&shown(&KeyRing::load(&directory)?))?,
        KeysAction::Trust { fingerprint, name } => {
            let fingerprint = fingerprint.parse()?;
            KeyRing::load(&directory)?.trust(TrustedKey { fingerprint, name: name.clone() })?;
        }
        KeysAction::Forget { name } => KeyRing::load(&directory)?.forget(name)?,
    }
    Ok(CommandEnd::Done)
}

#[cfg(feature = "tls")]
fn shown(ring: &fiord_fabric::keys::KeyRing) -> String {
    let mut text = format!("own      {}\n", ring.fingerprint());
    for key in ring.trusted() {
        text += &format!("trusted  {} {}\n", key.fingerprint, key.name);
    }
    text
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use std::io;

    use clap::Parser;

    use super::*;
    use crate::consent::{Answer, Scripted};

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: KeysArgs,
    }

    /// Runs `fiord keys` with words, and returns what it prints, or its error.
    fn keys(directory: &std::path::Path, words: &str) -> String {
        let directory = directory.to_str().unwrap();
        let line = ["fiord", "--keys", directory].into_iter().chain(words.split(' '));
        let mut out = Vec::new();
        let mut ask = Scripted::new(Answer::No);
        let mut session =
            Session { out: &mut out, columns: None, err: &mut io::sink(), ask: &mut ask };
        match run(&Line::parse_from(line).args, &mut session) {
            Ok(_) => String::from_utf8(out).unwrap(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn two_hosts_trust_each_other() {
        let room = std::env::temp_dir().join(format!("fiord-keys-command-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&room);
        let (a, b) = (room.join("a"), room.join("b"));
        let own = keys(&a, "create");
        assert!(own.starts_with("SHA256:") && own.ends_with('\n'), "{own}");
        assert!(keys(&a, "create").contains("exists. To fix: "));
        assert_eq!(keys(&a, "show"), format!("own      {own}"));
        let other = keys(&b, "create --shared");
        assert_eq!(keys(&b, "show"), format!("own      {other}trusted  {} shared\n", other.trim()));
        assert_eq!(keys(&a, &format!("trust {} b", other.trim())), "");
        assert_eq!(keys(&a, "show"), format!("own      {own}trusted  {} b\n", other.trim()));
        assert_eq!(keys(&a, "forget b"), "");
        assert!(keys(&a, "forget b").contains("no trusted key is called `b`"));
        assert!(keys(&a, "trust MD5:x b").contains("`MD5:x` is not a fingerprint"));
        assert!(keys(&room.join("c"), "show").contains("`fiord keys create`"));
        std::fs::remove_dir_all(&room).unwrap();
    }
}
