//! MD5 (RFC 1321). Each step depends on the one before it, so the speed is the number of operations between two
//! steps. Here the operations on the newest word come last.

/// The constants of the steps: the sines of 1 to 64, times 2^32.
const SINES: [[u32; 16]; 4] = [
    [
        0xd76a_a478,
        0xe8c7_b756,
        0x2420_70db,
        0xc1bd_ceee,
        0xf57c_0faf,
        0x4787_c62a,
        0xa830_4613,
        0xfd46_9501,
        0x6980_98d8,
        0x8b44_f7af,
        0xffff_5bb1,
        0x895c_d7be,
        0x6b90_1122,
        0xfd98_7193,
        0xa679_438e,
        0x49b4_0821,
    ],
    [
        0xf61e_2562,
        0xc040_b340,
        0x265e_5a51,
        0xe9b6_c7aa,
        0xd62f_105d,
        0x0244_1453,
        0xd8a1_e681,
        0xe7d3_fbc8,
        0x21e1_cde6,
        0xc337_07d6,
        0xf4d5_0d87,
        0x455a_14ed,
        0xa9e3_e905,
        0xfcef_a3f8,
        0x676f_02d9,
        0x8d2a_4c8a,
    ],
    [
        0xfffa_3942,
        0x8771_f681,
        0x6d9d_6122,
        0xfde5_380c,
        0xa4be_ea44,
        0x4bde_cfa9,
        0xf6bb_4b60,
        0xbebf_bc70,
        0x289b_7ec6,
        0xeaa1_27fa,
        0xd4ef_3085,
        0x0488_1d05,
        0xd9d4_d039,
        0xe6db_99e5,
        0x1fa2_7cf8,
        0xc4ac_5665,
    ],
    [
        0xf429_2244,
        0x432a_ff97,
        0xab94_23a7,
        0xfc93_a039,
        0x655b_59c3,
        0x8f0c_cc92,
        0xffef_f47d,
        0x8584_5dd1,
        0x6fa8_7e4f,
        0xfe2c_e6e0,
        0xa301_4314,
        0x4e08_11a1,
        0xf753_7e82,
        0xbd3a_f235,
        0x2ad7_d2bb,
        0xeb86_d391,
    ],
];

/// The state before the first block.
pub(super) const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

pub(super) fn digest(data: &[u8]) -> [u8; 16] {
    let mut state = START;
    // If the compiler knew the constants, it would add them after the newest word.
    let sines = std::hint::black_box(&SINES);
    let (blocks, rest) = data.as_chunks::<64>();
    for block in blocks {
        compress(&mut state, sines, block);
    }
    let mut last = [0; 64];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    if rest.len() >= 56 {
        compress(&mut state, sines, &last);
        last = [0; 64];
    }
    last[56..].copy_from_slice(&(data.len() as u64).wrapping_mul(8).to_le_bytes());
    compress(&mut state, sines, &last);
    bytes(state)
}

/// The digest with this state after the last block.
pub(super) fn bytes(state: [u32; 4]) -> [u8; 16] {
    let mut digest = [0; 16];
    for (bytes, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *bytes = word.to_le_bytes();
    }
    digest
}

/// Sixteen steps: `$word` is the function from the number of a step to that of its word; `$old` and `$newest` are the
/// terms that do not, and that do depend on the newest word `b`.
macro_rules! round {
    ($s:ident, $words:ident, $sines:expr, $word:expr, $rotations:expr, |$b:ident, $c:ident, $d:ident| $old:expr, $newest:expr) => {{
        let sines: &[u32; 16] = $sines;
        round!(@four $s $words sines $word, $rotations, |$b, $c, $d| $old, $newest, 0);
        round!(@four $s $words sines $word, $rotations, |$b, $c, $d| $old, $newest, 4);
        round!(@four $s $words sines $word, $rotations, |$b, $c, $d| $old, $newest, 8);
        round!(@four $s $words sines $word, $rotations, |$b, $c, $d| $old, $newest, 12);
    }};
    (@four $s:ident $words:ident $sines:ident $word:expr, $rotations:expr, |$b:ident, $c:ident, $d:ident| $old:expr, $newest:expr, $i:expr) => {
        round!(@step $s $words $sines $word, $rotations[0], |$b, $c, $d| $old, $newest, $i);
        round!(@step $s $words $sines $word, $rotations[1], |$b, $c, $d| $old, $newest, $i + 1);
        round!(@step $s $words $sines $word, $rotations[2], |$b, $c, $d| $old, $newest, $i + 2);
        round!(@step $s $words $sines $word, $rotations[3], |$b, $c, $d| $old, $newest, $i + 3);
    };
    (@step $s:ident $words:ident $sines:ident $word:expr, $rotation:expr, |$b:ident, $c:ident, $d:ident| $old:expr, $newest:expr, $i:expr) => {
        let [a, $b, $c, $d] = $s;
        let word: u32 = $words[{ const FROM: fn(usize) -> usize = $word; FROM($i) } % 16];
        let old = a.wrapping_add($sines[$i]).wrapping_add(word).wrapping_add($old);
        let next = old.wrapping_add($newest).rotate_left($rotation).wrapping_add($b);
        $s = [$d, next, $b, $c];
    };
}

fn compress(state: &mut [u32; 4], sines: &[[u32; 16]; 4], block: &[u8; 64]) {
    let mut w = [0u32; 16];
    for (word, bytes) in w.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let mut s = *state;
    round!(s, w, &sines[0], |i| i, [7, 12, 17, 22], |b, c, d| 0, d ^ (b & (c ^ d)));
    // The two terms have no bit in common, so that only one of them waits for `b`.
    round!(s, w, &sines[1], |i| 5 * i + 1, [5, 9, 14, 20], |b, c, d| c & !d, b & d);
    round!(s, w, &sines[2], |i| 3 * i + 5, [4, 11, 16, 23], |b, c, d| 0, b ^ (c ^ d));
    round!(s, w, &sines[3], |i| 7 * i, [6, 10, 15, 21], |b, c, d| 0, c ^ (b | !d));
    for (sum, word) in state.iter_mut().zip(s) {
        *sum = sum.wrapping_add(word);
    }
}

#[cfg(test)]
mod tests {
    use ::md5::Digest;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digests_equal_those_of_another_implementation(data in prop::collection::vec(any::<u8>(), 0..300)) {
            let expected: [u8; 16] = ::md5::Md5::digest(&data).into();
            prop_assert_eq!(super::digest(&data), expected);
        }
    }
}
