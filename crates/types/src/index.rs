//! Positions in the lists of a run: jobs, files, zones, hosts.

use std::fmt;
use std::ops::{Index, IndexMut};

/// Defines an index type, and slices and vectors that it selects an element of.
macro_rules! index {
    ($(#[$doc:meta])+ $Index:ident($integer:ty)) => {
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
        #[repr(transparent)]
        pub struct $Index(pub $integer);

        impl $Index {
            /// The index for `slice::get`, `nth` and other functions that take a number.
            #[inline]
            #[must_use]
            pub const fn get(self) -> usize {
                self.0 as usize
            }
            /// The index of element number `position`, such as `enumerate` counts them.
            ///
            /// A position that does not fit becomes the largest index. No list has this length.
            #[inline]
            #[must_use]
            pub fn at(position: usize) -> Self {
                $Index(<$integer>::try_from(position).unwrap_or(<$integer>::MAX))
            }
            /// The indexes from this one to `end`, without `end`.
            #[inline]
            pub fn to(self, end: Self) -> impl DoubleEndedIterator<Item = Self> + Clone {
                (self.0..end.0).map($Index)
            }
        }

        impl fmt::Display for $Index {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl<T> Index<$Index> for [T] {
            type Output = T;
            #[inline(always)]
            fn index(&self, index: $Index) -> &T {
                &self[index.get()]
            }
        }

        impl<T> IndexMut<$Index> for [T] {
            #[inline(always)]
            fn index_mut(&mut self, index: $Index) -> &mut T {
                &mut self[index.get()]
            }
        }

        impl<T> Index<$Index> for Vec<T> {
            type Output = T;
            #[inline(always)]
            fn index(&self, index: $Index) -> &T {
                &self[index.get()]
            }
        }

        impl<T> IndexMut<$Index> for Vec<T> {
            #[inline(always)]
            fn index_mut(&mut self, index: $Index) -> &mut T {
                &mut self[index.get()]
            }
        }
    };
}

index! {
    /// The position of a job in the list of the run's jobs, which are the instances of all sections in
    /// order. It selects the job's element in every list that has one element per job:
    ///
    /// ```
    /// use fiord_types::JobIndex;
    ///
    /// let names = ["warm-up", "load"];
    /// assert_eq!(names[JobIndex(1)], "load");
    /// ```
    ///
    /// A job's position is not the position of anything else:
    ///
    /// ```compile_fail
    /// let job: fiord_types::JobIndex = fiord_types::FileIndex(0);
    /// ```
    JobIndex(usize)
}

index! {
    /// The position of a file in the list of a job's files.
    FileIndex(u32)
}

index! {
    /// The position of a zone in a zoned device, or in the part of it that a job uses.
    ZoneIndex(u32)
}

index! {
    /// The position of a host in the list of the hosts of a run. It is the host's rank.
    HostIndex(u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_selects_an_element() {
        let mut sizes = vec![1, 2, 3];
        sizes[ZoneIndex(1)] += 5;
        assert_eq!(sizes, [1, 7, 3]);
        assert_eq!(sizes.get(FileIndex(3).get()), None);
        assert_eq!(FileIndex::at(2), FileIndex(2));
        assert_eq!(FileIndex::at(usize::MAX), FileIndex(u32::MAX));
        assert_eq!(format!("{:>3}", JobIndex(7)), "  7");
        assert!(FileIndex(2).to(FileIndex(4)).eq([FileIndex(2), FileIndex(3)]));
        assert_eq!(ZoneIndex(3).to(ZoneIndex(2)).next(), None);
    }
}
