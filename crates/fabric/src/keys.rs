//! Keys of this host, and the keys of other hosts that it trusts.
//!
//! A directory contains both: `key.pem` is the private key (PKCS #8, Ed25519), and `trusted` has a line for each key of
//! another host, with its fingerprint and a name. There are no certificates, no authorities and no expiry: two hosts can
//! talk if each trusts the key of the other, as with the keys of ssh.

use std::fmt;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base64::prelude::{BASE64_STANDARD_NO_PAD, Engine as _};
use fiord_sys::file::{FileGuard, Open};
use rcgen::{KeyPair, PKCS_ED25519, PublicKeyData};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Names a public key: the SHA-256 digest of its SubjectPublicKeyInfo (RFC 5280, in DER).
///
/// The text is `SHA256:` and the digest in base64, as ssh writes fingerprints. The digests differ from ssh's.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

const PREFIX: &str = "SHA256:";

impl Fingerprint {
    /// The fingerprint of a public key, which is a SubjectPublicKeyInfo in DER.
    #[must_use]
    pub fn of(public_key: &[u8]) -> Fingerprint {
        Fingerprint(Sha256::digest(public_key).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", BASE64_STANDARD_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is not a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a fingerprint. To fix: copy the line `SHA256:...` that `fiord keys show` prints on the other host"
)]
pub struct NoFingerprint(String);

impl FromStr for Fingerprint {
    type Err = NoFingerprint;

    fn from_str(text: &str) -> Result<Self, NoFingerprint> {
        let digest = text.strip_prefix(PREFIX).and_then(|base64| {
            let bytes = BASE64_STANDARD_NO_PAD.decode(base64).ok()?;
            bytes.try_into().ok()
        });
        digest.map(Fingerprint).ok_or_else(|| NoFingerprint(text.chars().take(80).collect()))
    }
}

/// The key of another host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    pub fingerprint: Fingerprint,
    /// What the user calls its owner, for messages.
    pub name: String,
}

/// Why keys cannot be used.
#[derive(Debug, Error)]
pub enum KeysError {
    /// There is no key yet.
    #[error("there is no key in {}. To fix: create one with `fiord keys create`", .0.display())]
    NoKey(PathBuf),
    /// There is a key already.
    #[error(
        "{} exists. To fix: use it, or remove it first; hosts that trust the old key will not trust the new one", .0.display()
    )]
    Exists(PathBuf),
    /// Other users can read the private key.
    #[error("other users can read the private key {0} (mode {mode:04o}). To fix: chmod 600 {0}", .path.display())]
    Exposed {
        /// The file of the private key.
        path: PathBuf,
        /// Permissions of the file.
        mode: u32,
    },
    /// Other users can replace the private key or the list of trusted keys, and so decide whom this host trusts.
    #[error(
        "other users can {verb} {path} (mode {mode:04o}), and so decide which hosts this one trusts. To fix: chmod go-w {path}",
        verb = if *is_directory { "replace the files in" } else { "change" }, path = .path.display()
    )]
    Writable {
        /// The file or the directory.
        path: PathBuf,
        is_directory: bool,
        /// Permissions of the file or the directory.
        mode: u32,
    },
    /// The private key is not one that `fiord keys create` made.
    #[error("{}: this is not a private key that fiord can use ({why})", .path.display())]
    NotAKey {
        /// The file of the private key.
        path: PathBuf,
        why: rcgen::Error,
    },
    /// A line in the list of trusted keys is wrong.
    #[error("{}, line {line}: {why}", .path.display())]
    Line {
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        why: NoFingerprint,
    },
    /// The name of a key has a line break, or is empty.
    #[error("the name of a key must be one line of text")]
    Name,
    /// No trusted key has this name or fingerprint.
    #[error("no trusted key is called `{0}`. To fix: `fiord keys show` lists them")]
    Unknown(String),
    /// A key cannot be generated.
    #[error("cannot generate a key: {0}")]
    Generate(rcgen::Error),
    /// A file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },
}

impl KeysError {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> KeysError {
        |source| KeysError::File { path: path.into(), source }
    }
}

/// The keys in a directory.
pub struct KeyRing {
    directory: PathBuf,
    pair: KeyPair,
    trusted: Vec<TrustedKey>,
}

impl fmt::Debug for KeyRing {
    /// Shows no secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("own", &self.fingerprint()).finish_non_exhaustive()
    }
}

impl KeyRing {
    /// Makes a new key in a directory, which is created if it does not exist. Only its owner can read the key.
    ///
    /// # Errors
    /// There is a key already, or a file cannot be written.
    pub fn create(directory: &Path) -> Result<KeyRing, KeysError> {
        let path = private(directory);
        let pair = KeyPair::generate_for(&PKCS_ED25519).map_err(KeysError::Generate)?;
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(directory).map_err(KeysError::file(directory))?;
        protected_directory(directory)?;
        let how = Open::write_only().create(true).mode(0o600);
        let opened =
            guard().open(how, &path).map_err(|error| KeysError::file(&path)(error.into()))?;
        if !opened.created {
            return Err(KeysError::Exists(path));
        }
        let mut file = File::from(opened.fd);
        let written =
            file.write_all(pair.serialize_pem().as_bytes()).and_then(|()| file.sync_all());
        written.map_err(KeysError::file(&path))?;
        KeyRing::load(directory)
    }

    /// Reads the keys in a directory.
    ///
    /// # Errors
    /// There is no key, other users can read it, they can change a file or the directory, or a file is malformed.
    pub fn load(directory: &Path) -> Result<KeyRing, KeysError> {
        let path = private(directory);
        let metadata = path.metadata().map_err(|error| match error.kind() {
            ErrorKind::NotFound => KeysError::NoKey(directory.into()),
            _ => KeysError::file(&path)(error),
        })?;
        protected_directory(directory)?;
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(KeysError::Exposed { path, mode });
        }
        let text = fs::read_to_string(&path).map_err(KeysError::file(&path))?;
        let not_a_key = |why| KeysError::NotAKey { path, why };
        let pair = KeyPair::from_pem(&text).map_err(not_a_key)?;
        Ok(KeyRing { directory: directory.into(), pair, trusted: read_trusted(directory)? })
    }

    /// The fingerprint of this host's key.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.public_key())
    }

    /// The keys of other hosts that this host trusts.
    #[must_use]
    pub fn trusted(&self) -> &[TrustedKey] {
        &self.trusted
    }

    /// Trusts a key from now on. A key that is already trusted gets the new name.
    ///
    /// # Errors
    /// The name is not one line, or the list cannot be written.
    pub fn trust(&mut self, key: TrustedKey) -> Result<(), KeysError> {
        if key.name.trim() != key.name || key.name.is_empty() || key.name.contains(char::is_control)
        {
            return Err(KeysError::Name);
        }
        self.trusted.retain(|other| other.fingerprint != key.fingerprint);
        self.trusted.push(key);
        self.save()
    }

    /// Trusts the keys with this name or fingerprint no longer.
    ///
    /// # Errors
    /// There is no such key, or the list cannot be written.
    pub fn forget(&mut self, name: &str) -> Result<(), KeysError> {
        let before = self.trusted.len();
        self.trusted.retain(|key| key.name != name && key.fingerprint.to_string() != name);
        if self.trusted.len() == before {
            return Err(KeysError::Unknown(name.into()));
        }
        self.save()
    }

    /// The public key as a SubjectPublicKeyInfo in DER.
    pub(crate) fn public_key(&self) -> Vec<u8> {
        self.pair.subject_public_key_info()
    }

    /// The private key as PKCS #8 in DER.
    pub(crate) fn private_key(&self) -> Vec<u8> {
        self.pair.serialize_der()
    }

    /// Replaces the list of trusted keys, so that a reader sees the old or the new one.
    fn save(&self) -> Result<(), KeysError> {
        let mut text = String::from(
            "# Keys that this host trusts: fingerprint and name. `fiord keys` changes this file.\n",
        );
        for TrustedKey { fingerprint, name } in &self.trusted {
            text += &format!("{fingerprint} {name}\n");
        }
        let path = list(&self.directory);
        let new = self.directory.join(format!(".trusted.{}", std::process::id()));
        let how = Open::write_only().create(true).exclusive(true).mode(0o600);
        let file = guard().remove(&new).and_then(|_| guard().open(how, &new));
        let written = file
            .map_err(io::Error::from)
            .and_then(|opened| File::from(opened.fd).write_all(text.as_bytes()));
        let renamed = written.and_then(|()| Ok(guard().rename(&new, &path)?));
        renamed.inspect_err(|_| drop(guard().remove(&new))).map_err(KeysError::file(&path))
    }
}

/// The user names the directory of the keys, which may be in `/etc`.
fn guard() -> FileGuard {
    FileGuard::typed().allow_system(true)
}

/// The directory that is used if the user names none: `fiord` in the user's directory for configuration
/// (`XDG_CONFIG_HOME`, else `~/.config`). `variable` returns the value of an environment variable. `None` if there is no
/// home directory.
#[must_use]
pub fn default_directory(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let path = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let configuration = path("XDG_CONFIG_HOME").or_else(|| Some(path("HOME")?.join(".config")));
    Some(configuration?.join("fiord"))
}

fn private(directory: &Path) -> PathBuf {
    directory.join("key.pem")
}

fn list(directory: &Path) -> PathBuf {
    directory.join("trusted")
}

/// Checks that no other user can change a file or a directory.
fn protected(path: &Path, metadata: &Metadata) -> Result<(), KeysError> {
    let mode = metadata.permissions().mode() & 0o7777;
    match mode & 0o022 {
        0 => Ok(()),
        _ => Err(KeysError::Writable { path: path.into(), is_directory: metadata.is_dir(), mode }),
    }
}

fn protected_directory(directory: &Path) -> Result<(), KeysError> {
    protected(directory, &directory.metadata().map_err(KeysError::file(directory))?)
}

fn read_trusted(directory: &Path) -> Result<Vec<TrustedKey>, KeysError> {
    let path = list(directory);
    let mut file = match File::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        file => file.map_err(KeysError::file(&path))?,
    };
    protected(&path, &file.metadata().map_err(KeysError::file(&path))?)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(KeysError::file(&path))?;
    let mut keys = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (fingerprint, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let wrong = |why| KeysError::Line { path: path.clone(), line: number + 1, why };
        let fingerprint = fingerprint.parse().map_err(wrong)?;
        keys.push(TrustedKey { fingerprint, name: name.trim().into() });
    }
    Ok(keys)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A directory for keys, which is removed at the end of the test.
    pub(crate) struct KeyRoom(pub(crate) PathBuf);

    impl KeyRoom {
        pub(crate) fn new(name: &str) -> KeyRoom {
            let path =
                std::env::temp_dir().join(format!("fiord-keys-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            KeyRoom(path)
        }

        /// Makes a key in a directory of its own.
        pub(crate) fn ring(&self, name: &str) -> KeyRing {
            KeyRing::create(&self.0.join(name)).unwrap()
        }
    }

    impl Drop for KeyRoom {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    pub(crate) fn named(ring: &KeyRing, name: &str) -> TrustedKey {
        TrustedKey { fingerprint: ring.fingerprint(), name: name.into() }
    }

    #[test]
    fn keys_are_private_and_are_not_replaced() {
        let room = KeyRoom::new("private");
        let made = room.ring("a").fingerprint();
        let file = room.0.join("a/key.pem");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(room.0.join("a").metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(matches!(KeyRing::create(&room.0.join("a")), Err(KeysError::Exists(_))));
        let ring = KeyRing::load(&room.0.join("a")).unwrap();
        assert_eq!(ring.fingerprint(), made);
        assert!(!format!("{ring:?}").contains("pair"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let error = KeyRing::load(&room.0.join("a")).unwrap_err().to_string();
        assert!(error.contains("(mode 0640). To fix: chmod 600 "), "{error}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").unwrap();
        assert!(matches!(KeyRing::load(&room.0.join("a")), Err(KeysError::NotAKey { .. })));
        let none = KeyRing::load(&room.0.join("none")).unwrap_err().to_string();
        assert!(none.ends_with("To fix: create one with `fiord keys create`"), "{none}");
    }

    #[test]
    fn trusted_keys_survive() {
        let room = KeyRoom::new("trusted");
        let (mut a, b, c) = (room.ring("a"), room.ring("b"), room.ring("c"));
        a.trust(named(&b, "build server")).unwrap();
        a.trust(named(&c, "c")).unwrap();
        a.trust(named(&b, "b")).unwrap();
        let directory = room.0.join("a");
        let load = || KeyRing::load(&directory).unwrap();
        assert_eq!(load().trusted(), [named(&c, "c"), named(&b, "b")]);
        load().forget("c").unwrap();
        load().forget(&b.fingerprint().to_string()).unwrap();
        assert_eq!(load().trusted(), []);
        assert!(matches!(load().forget("c"), Err(KeysError::Unknown(_))));
        assert!(matches!(a.trust(named(&b, "b\nSHA256:x")), Err(KeysError::Name)));
        fs::write(room.0.join("a/trusted"), "# keys\n\nSHA256:AAAA x\n").unwrap();
        let error = KeyRing::load(&directory).unwrap_err().to_string();
        assert!(error.contains("trusted, line 3: `SHA256:AAAA` is not a fingerprint"), "{error}");
    }

    #[test]
    fn files_that_others_can_change_are_refused() {
        let room = KeyRoom::new("writable");
        let (mut a, b) = (room.ring("a"), room.ring("b"));
        a.trust(named(&b, "b")).unwrap();
        let directory = room.0.join("a");
        let mode = |name: &str, mode| {
            fs::set_permissions(directory.join(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        let list = directory.join("trusted").metadata().unwrap();
        assert_eq!(list.permissions().mode() & 0o777, 0o600);
        let refused = |what: &str| {
            let error = KeyRing::load(&directory).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("To fix: chmod go-w "), "{error}");
        };
        mode("trusted", 0o620);
        refused("other users can change ");
        mode("trusted", 0o602);
        refused("(mode 0602), and so decide which hosts this one trusts");
        mode("trusted", 0o644);
        assert_eq!(KeyRing::load(&directory).unwrap().trusted(), [named(&b, "b")]);
        mode("", 0o1777);
        refused("other users can replace the files in ");
        fs::remove_file(directory.join("key.pem")).unwrap();
        assert!(matches!(KeyRing::create(&directory), Err(KeysError::Writable { .. })));
        assert!(!directory.join("key.pem").exists());
    }

    #[test]
    fn fingerprints_are_text() {
        let fingerprint = Fingerprint::of(b"key");
        let text = fingerprint.to_string();
        // printf key | openssl dgst -sha256 -binary | base64
        assert_eq!(text, "SHA256:LHDhK3oGRvkiefQnx7OOczTY5Tic/xZ6HcMOc/gmtoM");
        assert_eq!(text.parse(), Ok(fingerprint));
        assert!("sha256:x".parse::<Fingerprint>().is_err());
    }

    #[test]
    fn the_default_directory_is_the_users() {
        let home = |name: &str| (name == "HOME").then(|| "/home/u".into());
        assert_eq!(default_directory(home), Some("/home/u/.config/fiord".into()));
        let xdg = |name: &str| Some(if name == "HOME" { "/home/u" } else { "/etc/xdg" }.into());
        assert_eq!(default_directory(xdg), Some("/etc/xdg/fiord".into()));
        assert_eq!(default_directory(|_| None), None);
    }
}
