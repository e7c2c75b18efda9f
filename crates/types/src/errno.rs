//! Error numbers of the system.

use std::fmt;
use std::sync::OnceLock;

/// A number that a failed system call leaves in `errno`. The names, numbers and meanings are those of errno(3),
/// with the numbers of `asm-generic/errno.h`.
///
/// `Display` writes the text and the name: `No space left on device (ENOSPC)`.
///
/// ```
/// use fiord_types::Errno;
///
/// let error = std::io::Error::from_raw_os_error(28);
/// assert_eq!(Errno::of(&error), Some(Errno::ENOSPC));
/// assert_eq!(Errno::ENOSPC.to_string(), "No space left on device (ENOSPC)");
/// ```
///
/// An errno is not a count, so it does not compare with a number:
///
/// ```compile_fail
/// assert!(fiord_types::Errno::EIO == 5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[repr(transparent)]
pub struct Errno(i32);

/// Defines the constants and the table of names.
macro_rules! errnos {
    ($($name:ident = $number:literal,)*) => {
        #[allow(missing_docs)]
        impl Errno {
            $(pub const $name: Errno = Errno($number);)*
        }

        /// All names, ordered by number.
        const NAMES: &[(Errno, &str)] = &[$((Errno($number), stringify!($name)),)*];
    };
}

errnos! {
    EPERM = 1,
    ENOENT = 2,
    ESRCH = 3,
    EINTR = 4,
    EIO = 5,
    ENXIO = 6,
    E2BIG = 7,
    ENOEXEC = 8,
    EBADF = 9,
    ECHILD = 10,
    EAGAIN = 11,
    ENOMEM = 12,
    EACCES = 13,
    EFAULT = 14,
    ENOTBLK = 15,
    EBUSY = 16,
    EEXIST = 17,
    EXDEV = 18,
    ENODEV = 19,
    ENOTDIR = 20,
    EISDIR = 21,
    EINVAL = 22,
    ENFILE = 23,
    EMFILE = 24,
    ENOTTY = 25,
    ETXTBSY = 26,
    EFBIG = 27,
    ENOSPC = 28,
    ESPIPE = 29,
    EROFS = 30,
    EMLINK = 31,
    EPIPE = 32,
    EDOM = 33,
    ERANGE = 34,
    EDEADLK = 35,
    ENAMETOOLONG = 36,
    ENOLCK = 37,
    ENOSYS = 38,
    ENOTEMPTY = 39,
    ELOOP = 40,
    ENOMSG = 42,
    EIDRM = 43,
    ECHRNG = 44,
    EL2NSYNC = 45,
    EL3HLT = 46,
    EL3RST = 47,
    ELNRNG = 48,
    EUNATCH = 49,
    ENOCSI = 50,
    EL2HLT = 51,
    EBADE = 52,
    EBADR = 53,
    EXFULL = 54,
    ENOANO = 55,
    EBADRQC = 56,
    EBADSLT = 57,
    EBFONT = 59,
    ENOSTR = 60,
    ENODATA = 61,
    ETIME = 62,
    ENOSR = 63,
    ENONET = 64,
    ENOPKG = 65,
    EREMOTE = 66,
    ENOLINK = 67,
    EADV = 68,
    ESRMNT = 69,
    ECOMM = 70,
    EPROTO = 71,
    EMULTIHOP = 72,
    EDOTDOT = 73,
    EBADMSG = 74,
    EOVERFLOW = 75,
    ENOTUNIQ = 76,
    EBADFD = 77,
    EREMCHG = 78,
    ELIBACC = 79,
    ELIBBAD = 80,
    ELIBSCN = 81,
    ELIBMAX = 82,
    ELIBEXEC = 83,
    EILSEQ = 84,
    ERESTART = 85,
    ESTRPIPE = 86,
    EUSERS = 87,
    ENOTSOCK = 88,
    EDESTADDRREQ = 89,
    EMSGSIZE = 90,
    EPROTOTYPE = 91,
    ENOPROTOOPT = 92,
    EPROTONOSUPPORT = 93,
    ESOCKTNOSUPPORT = 94,
    EOPNOTSUPP = 95,
    EPFNOSUPPORT = 96,
    EAFNOSUPPORT = 97,
    EADDRINUSE = 98,
    EADDRNOTAVAIL = 99,
    ENETDOWN = 100,
    ENETUNREACH = 101,
    ENETRESET = 102,
    ECONNABORTED = 103,
    ECONNRESET = 104,
    ENOBUFS = 105,
    EISCONN = 106,
    ENOTCONN = 107,
    ESHUTDOWN = 108,
    ETOOMANYREFS = 109,
    ETIMEDOUT = 110,
    ECONNREFUSED = 111,
    EHOSTDOWN = 112,
    EHOSTUNREACH = 113,
    EALREADY = 114,
    EINPROGRESS = 115,
    ESTALE = 116,
    EUCLEAN = 117,
    ENOTNAM = 118,
    ENAVAIL = 119,
    EISNAM = 120,
    EREMOTEIO = 121,
    EDQUOT = 122,
    ENOMEDIUM = 123,
    EMEDIUMTYPE = 124,
    ECANCELED = 125,
    ENOKEY = 126,
    EKEYEXPIRED = 127,
    EKEYREVOKED = 128,
    EKEYREJECTED = 129,
    EOWNERDEAD = 130,
    ENOTRECOVERABLE = 131,
    ERFKILL = 132,
    EHWPOISON = 133,
}

impl Errno {
    /// An errno from its number, a positive number.
    #[inline]
    #[must_use]
    pub const fn from_raw(number: i32) -> Errno {
        Errno(number)
    }

    /// The errno in a negative return value of the kernel, such as `-5`.
    #[inline]
    #[must_use]
    pub const fn from_result(result: i64) -> Errno {
        Errno(-result as i32)
    }

    /// A return value in the convention of the kernel: the negative number.
    #[inline]
    #[must_use]
    pub const fn as_result(self) -> i64 {
        -(self.0 as i64)
    }

    /// The number.
    #[inline]
    #[must_use]
    pub const fn raw(self) -> i32 {
        self.0
    }

    /// The errno of the last system call of this thread. Call it right after the failed call.
    #[inline]
    #[must_use]
    pub fn last() -> Errno {
        Errno::of(&std::io::Error::last_os_error()).unwrap_or(Errno::EIO)
    }

    /// The errno of an error of the standard library. `None` if no system call caused the error, for example at an
    /// early end of a file.
    #[inline]
    pub fn of(error: &std::io::Error) -> Option<Errno> {
        error.raw_os_error().map(Errno)
    }

    /// The text of an error of the standard library for a message: the errno as `Display` shows it
    /// (`"No such file or directory (ENOENT)"`), or the error's own text if no system call caused it.
    #[must_use]
    pub fn explain(error: &std::io::Error) -> String {
        Errno::of(error).map_or_else(|| error.to_string(), |errno| errno.to_string())
    }

    /// The symbolic name (`"ENOSPC"`), or `"E?"` for a number that Linux does not define.
    ///
    /// If several names share a number, this is the usual one: `EAGAIN`, `EDEADLK`, `EOPNOTSUPP`.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(errno, _)| *errno == self).map_or("E?", |(_, name)| name)
    }

    /// All symbolic names, ordered by number.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name)| *name)
    }

    /// The errno with this symbolic name. The aliases `EWOULDBLOCK`, `EDEADLOCK` and `ENOTSUP` are accepted too.
    #[must_use]
    pub fn named(name: &str) -> Option<Errno> {
        let name = match name {
            "EWOULDBLOCK" => "EAGAIN",
            "EDEADLOCK" => "EDEADLK",
            "ENOTSUP" => "EOPNOTSUPP",
            other => other,
        };
        NAMES.iter().find(|(_, known)| *known == name).map(|(errno, _)| *errno)
    }

    /// The C library's text (`"No space left on device"`).
    #[must_use]
    pub fn text(self) -> String {
        let text = std::io::Error::from_raw_os_error(self.0).to_string();
        // The standard library appends the number.
        let end = text.rfind(" (os error ").unwrap_or(text.len());
        text[..end].to_owned()
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Looking up a million files that do not exist yet makes a million errors with this text, and to ask the C
        // library for it takes longer than the look-up.
        static NOT_FOUND: OnceLock<String> = OnceLock::new();
        let described = |errno: Errno| format!("{} ({})", errno.text(), errno.name());
        match *self {
            Errno::ENOENT => f.write_str(NOT_FOUND.get_or_init(|| described(Errno::ENOENT))),
            other => f.write_str(&described(other)),
        }
    }
}

impl From<Errno> for std::io::Error {
    fn from(errno: Errno) -> Self {
        std::io::Error::from_raw_os_error(errno.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_agree() {
        for (errno, known) in NAMES {
            assert_eq!(errno.name(), *known, "two names for {}", errno.raw());
            assert_eq!(Errno::named(known), Some(*errno));
        }
        assert!(NAMES.is_sorted(), "ordered by number");
        assert_eq!(Errno::from_raw(9999).name(), "E?");
        assert_eq!(Errno::named("ENOTSUP"), Some(Errno::EOPNOTSUPP));
        assert_eq!(Errno::named("EFOO"), None);
    }

    #[test]
    fn texts_come_from_the_c_library() {
        assert_eq!(Errno::ENOSPC.text(), "No space left on device");
        assert_eq!(Errno::EIO.to_string(), "Input/output error (EIO)");
        assert!(Errno::from_raw(9999).text().contains("9999"));
        assert_eq!(Errno::explain(&Errno::EIO.into()), Errno::EIO.to_string());
        assert_eq!(Errno::explain(&std::io::Error::other("odd")), "odd");
    }
}
