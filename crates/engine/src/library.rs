//! Loads the shared libraries that an engine calls, at run time.

use std::fmt;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};

use crate::EngineError;

/// Whether this program can load libraries.
pub(crate) const CAN_LOAD: bool = !cfg!(target_feature = "crt-static");

/// Refuses to load libraries in a program that cannot. `whose` begins the message.
pub(crate) fn possible(whose: &dyn fmt::Display) -> Result<(), EngineError> {
    if CAN_LOAD { Ok(()) } else { Err(impossible(whose)) }
}

fn impossible(whose: &dyn fmt::Display) -> EngineError {
    let what = format!("{whose}: a statically linked fiord cannot load libraries");
    EngineError::plain(what).help("To fix: use a fiord that is linked dynamically")
}

/// A library of the system with the functions that an engine calls.
#[derive(Debug)]
pub(crate) struct SystemLibrary {
    /// The name of the engine.
    engine: &'static str,
    /// The name of the file, which the loader searches in the directories of the system.
    file: &'static str,
    /// The Debian package that contains it.
    package: &'static str,
    library: Library,
}

impl SystemLibrary {
    /// Loads a library.
    ///
    /// # Errors
    ///
    /// This program is static, or the library is not installed.
    pub(crate) fn load(
        engine: &'static str,
        file: &'static str,
        package: &'static str,
    ) -> Result<Self, EngineError> {
        possible(&format_args!("ioengine={engine}"))?;
        // SAFETY: a library of the system, which the user's choice of the engine asks for. Its initialization
        // has no preconditions.
        match unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) } {
            Ok(library) => Ok(SystemLibrary { engine, file, package, library }),
            Err(error) => {
                let what =
                    format!("ioengine={engine}: the library {file} cannot be loaded: {error}");
                Err(EngineError::plain(what)
                    .help(format!("To fix: install the package `{package}`")))
            }
        }
    }

    /// A function of the library.
    ///
    /// # Errors
    ///
    /// The library has no function of this name.
    ///
    /// # Safety
    ///
    /// `T` is the type of the function, and the result is not used after the library was unloaded.
    pub(crate) unsafe fn function<T: Copy>(&self, name: &'static str) -> Result<T, EngineError> {
        // SAFETY: the caller vouches for the type.
        let found: Result<Symbol<T>, _> = unsafe { self.library.get(name.as_bytes()) };
        found.map(|symbol| *symbol).map_err(|_| {
            let SystemLibrary { engine, file, package, .. } = self;
            let what = format!("ioengine={engine}: the library {file} has no function {name}");
            EngineError::plain(what).help(format!("To fix: install a newer package `{package}`"))
        })
    }
}

/// Declares a structure of the functions of a library that the engine calls, and how it is made.
macro_rules! library_functions {
    ($(#[$doc:meta])* $type:ident {
        $($name:ident($($argument:ty),*) -> $result:ty;)*
    }) => {
        $(#[$doc])*
        ///
        /// The functions are valid as long as this value exists, because it keeps the library loaded.
        pub(super) struct $type {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> $result,)*
            _library: $crate::library::SystemLibrary,
        }

        impl $type {
            /// Looks the functions up in the library.
            fn of(library: $crate::library::SystemLibrary) -> Result<Self, $crate::EngineError> {
                Ok(Self {
                    // SAFETY: the headers of the library declare the functions with these types, and the value keeps the
                    // library.
                    $($name: unsafe { library.function(stringify!($name)) }?,)*
                    _library: library,
                })
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use library_functions;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_program_refuses_and_names_the_remedy() {
        let text = impossible(&"ioengine=rdma").to_string();
        assert!(
            text.starts_with("ioengine=rdma: a statically linked fiord cannot load libraries")
                && text.contains("To fix: use a fiord that is linked dynamically"),
            "{text}"
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri loads no libraries")]
    fn an_error_names_the_library_the_package_and_the_function() {
        let error = SystemLibrary::load("rdma", "libfiord-no-such.so.1", "no-such").unwrap_err();
        let text = error.to_string();
        if !CAN_LOAD {
            assert!(text.contains("statically linked"), "{text}");
            return;
        }
        assert!(text.contains("libfiord-no-such.so.1") && text.contains("`no-such`"), "{text}");
        let Ok(library) = SystemLibrary::load("rdma", "libc.so.6", "libc6") else { return };
        // SAFETY: the function is not called.
        let missing = unsafe { library.function::<unsafe extern "C" fn()>("fiord_no_such") };
        let text = missing.unwrap_err().to_string();
        assert!(text.contains("libc.so.6 has no function fiord_no_such"), "{text}");
        assert!(text.contains("To fix: install a newer package `libc6`"), "{text}");
    }
}
