//! The directions of I/O, and values per direction.

use std::ops::{Index, IndexMut};

/// Direction of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Dir {
    /// Data moves from the target to memory.
    Read = 0,
    /// Data moves from memory to the target.
    Write = 1,
    /// The job deallocates a range of the target. No data moves.
    Trim = 2,
}

impl Dir {
    /// All directions, in the order in which options list them and reports print them.
    pub const ALL: [Dir; 3] = [Dir::Read, Dir::Write, Dir::Trim];

    /// The name in reports: `read`, `write` or `trim`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Dir::Read => "read",
            Dir::Write => "write",
            Dir::Trim => "trim",
        }
    }
}

/// One value per direction. Only a [`Dir`] selects a value:
///
/// ```compile_fail
/// # use fiord_types::PerDir;
/// let bytes = PerDir::all(0);
/// let of_reads = bytes[0];
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[repr(transparent)]
pub struct PerDir<T>([T; 3]);

impl<T> PerDir<T> {
    /// The values for reads, writes and trims.
    #[inline]
    pub const fn new(read: T, write: T, trim: T) -> Self {
        PerDir([read, write, trim])
    }
    /// Repeats a value for all directions.
    #[inline]
    pub const fn all(value: T) -> Self
    where
        T: Copy,
    {
        PerDir([value; 3])
    }
    /// The value that `f` returns for each direction.
    #[inline]
    pub fn from_fn(f: impl FnMut(Dir) -> T) -> Self {
        PerDir(Dir::ALL.map(f))
    }
    /// Applies `f` to each value.
    #[inline]
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> PerDir<U> {
        PerDir(self.0.map(f))
    }
    /// Each direction with its value, in the order of [`Dir::ALL`].
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Dir, &T)> + Clone {
        Dir::ALL.into_iter().zip(&self.0)
    }
    /// Each direction with its value, in the order of [`Dir::ALL`].
    #[inline]
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (Dir, &mut T)> {
        Dir::ALL.into_iter().zip(&mut self.0)
    }
    /// The values, in the order of [`Dir::ALL`].
    #[inline]
    pub fn values(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
    /// The values, in the order of [`Dir::ALL`].
    #[inline]
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }
    /// The values, in the order of [`Dir::ALL`].
    #[inline]
    pub const fn as_array(&self) -> &[T; 3] {
        &self.0
    }
    /// The values, in the order of [`Dir::ALL`].
    #[inline]
    pub const fn as_mut_array(&mut self) -> &mut [T; 3] {
        &mut self.0
    }
    /// The values, in the order of [`Dir::ALL`].
    #[inline]
    pub fn into_array(self) -> [T; 3] {
        self.0
    }
}

impl<T> From<[T; 3]> for PerDir<T> {
    /// Takes the values in the order of [`Dir::ALL`].
    #[inline]
    fn from(values: [T; 3]) -> Self {
        PerDir(values)
    }
}

impl<T: PartialEq> PartialEq<[T; 3]> for PerDir<T> {
    fn eq(&self, values: &[T; 3]) -> bool {
        self.0 == *values
    }
}

impl<T> Index<Dir> for PerDir<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, dir: Dir) -> &T {
        &self.0[dir as usize]
    }
}

impl<T> IndexMut<Dir> for PerDir<T> {
    #[inline(always)]
    fn index_mut(&mut self, dir: Dir) -> &mut T {
        &mut self.0[dir as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_selects_its_own_value() {
        let mut values = PerDir::from_fn(|dir| dir as u8);
        assert_eq!(Dir::ALL.map(|dir| values[dir]), [0, 1, 2]);
        values[Dir::Trim] = 7;
        assert_eq!(values, [0, 1, 7]);
        assert_eq!(values.map(|n| n + 1).into_array(), [1, 2, 8]);
        assert_eq!(values.iter().last(), Some((Dir::Trim, &7)));
    }

    #[test]
    #[cfg(feature = "serde")]
    fn values_serialize_as_an_array() {
        let values = PerDir::new(1, 2, 3);
        let text = serde_json::to_string(&values).unwrap();
        assert_eq!(text, "[1,2,3]");
        assert_eq!(serde_json::from_str::<PerDir<u8>>(&text).unwrap(), values);
    }
}
