//! Loops over memory, compiled for the widest vectors that the CPU has.

/// A loop that [`widest`] compiles for several widths.
pub trait VectorWork {
    /// What the loop returns.
    type Output;

    /// Runs the loop. Implementations, and the functions that contain the loop, must be `#[inline(always)]`: code
    /// that is not inlined uses the vectors that every CPU of the architecture has.
    fn run(self) -> Self::Output;
}

/// Runs `work` with AVX-512 or AVX2 if this CPU has it.
///
/// ```
/// use fiord_simd::vectors::{VectorWork, widest};
///
/// struct Sum<'a>(&'a [u64]);
/// impl VectorWork for Sum<'_> {
///     type Output = u64;
///     #[inline(always)]
///     fn run(self) -> u64 {
///         self.0.iter().sum()
///     }
/// }
/// assert_eq!(widest(Sum(&[1, 2, 3])), 6);
/// ```
#[inline]
pub fn widest<W: VectorWork>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw") {
            // SAFETY: the CPU has all features with which the function is compiled.
            return unsafe { with_avx512(work) };
        }
        if has!("avx2") {
            // SAFETY: the CPU has AVX2.
            return unsafe { with_avx2(work) };
        }
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw")]
fn with_avx512<W: VectorWork>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<W: VectorWork>(work: W) -> W::Output {
    work.run()
}
