//! SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash that is the same in every program,
//! unlike the hash of the standard library.

/// The hash of a message under a key of two words.
pub fn siphash(key: [u64; 2], message: &[u8]) -> u64 {
    let [k0, k1] = key;
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let mut absorb = |word: u64| {
        v[3] ^= word;
        (0..2).for_each(|_| round(&mut v));
        v[0] ^= word;
    };
    let blocks = message.chunks_exact(8);
    let mut last = [0; 8];
    last[..blocks.remainder().len()].copy_from_slice(blocks.remainder());
    last[7] = message.len() as u8;
    blocks.for_each(|block| absorb(u64::from_le_bytes(block.try_into().expect("eight bytes"))));
    absorb(u64::from_le_bytes(last));
    v[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut v));
    v.into_iter().fold(0, |hash, word| hash ^ word)
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}
