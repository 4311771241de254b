//! The traits that an instruction set implements: eight 64-bit words at a time, and arithmetic
//! modulo one prime on them. `ntt.rs` and `pointwise.rs` are generic over these traits, and
//! `pointwise_words.rs` and `cmux.rs` over those in `integers.rs`. `floats.rs` has the instructions
//! in floating point.

pub(super) use crate::ntt::roots::Line;

/// Eight words in registers. A value of the implementing type proves that the CPU has the
/// instructions.
pub(super) trait Wide: Copy {
    /// Eight `u64` in registers.
    type V: Copy;
    fn load(self, line: &Line) -> Self::V;
    fn store(self, x: Self::V, line: &mut Line);
    fn splat(self, x: u64) -> Self::V;
    /// Modulo `2^64`.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Modulo `2^64`.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// Prefetches a line into the second-level cache.
    fn fetch(self, line: &Line);
    /// Exchanges the lanes of `x` whose index has bit `BIT` set with the lanes of `y` where it is
    /// clear. On pairs of rows whose indices differ in one bit, this exchanges that bit with the
    /// bit of the lane index.
    fn exchange<const BIT: u32>(self, x: &mut Self::V, y: &mut Self::V);
}

/// Arithmetic modulo one prime on eight residues at a time.
///
/// Lazy residues are "forward" in a transform from coefficients to values and "inverse" in a
/// transform back. The bounds of both depend on the implementation and are stated there.
pub(super) trait Arithmetic: Copy {
    /// The registers.
    type W: Wide;
    /// A constant factor in every lane, with its companion.
    type Root: Copy;
    /// The same arithmetic on a part of a line. Inverse stages run on one part after the other, if
    /// lines are too many for the registers. A part exchanges bits of lanes within itself alone.
    type Part: Arithmetic;
    /// The number of parts.
    const PARTS: usize;
    fn part(self, index: usize) -> Self::Part;
    /// All parts of a line in registers.
    fn parts_of(x: &mut V<Self>) -> &mut [V<Self::Part>];

    fn wide(self) -> Self::W;
    /// A factor from its `[value, companion]`.
    fn root(self, root: [u64; 2]) -> Self::Root;
    /// The factors in a line of the record of a tile, see [`Roots::records`].
    ///
    /// [`Roots::records`]: crate::ntt::roots::Roots::records
    fn roots<const LINES: usize>(self, tile: &[Line; LINES], line: usize) -> Self::Root;
    /// `[value, companion]` of a constant in `[0, q)`.
    fn companion(self, w: u64) -> [u64; 2];

    /// To the form in which stages hold numbers, from a residue in `[0, 4q)`.
    #[inline(always)]
    fn enter(self, x: V<Self>) -> V<Self> {
        x
    }
    /// To a forward residue, from a residue in `[0, 4q)` that has [entered](Self::enter), or from
    /// [`Sums::reduce_weighted`].
    #[inline(always)]
    fn start_forward(self, x: V<Self>) -> V<Self> {
        x
    }
    /// To a forward residue for at most three more stages, after at most three stages.
    #[inline(always)]
    fn continue_forward(self, x: V<Self>) -> V<Self> {
        x
    }
    /// `(x + w y, x - w y)`, forward to forward. `y` may be any input of
    /// [`start_forward`](Self::start_forward) or [`continue_forward`](Self::continue_forward).
    fn forward_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, w: Self::Root);
    /// Forward `-> [0, q)`.
    fn finish_forward(self, x: V<Self>) -> V<Self>;
    /// `(x + y, (x - y) w)`, inverse to inverse, unless [`settles`](Self::settles) is true.
    fn inverse_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, w: Self::Root);
    /// The last inverse butterfly, including the factor `1 / N`: inverse `-> [0, q)`.
    fn last_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, scale: Self::Root, w: Self::Root);
    /// An inverse residue times a factor, to `[0, q)`.
    #[inline(always)]
    fn finish_inverse(self, x: V<Self>, w: Self::Root) -> V<Self> {
        self.mul_root(x, w)
    }
    /// Whether the sum in a row has to be bounded after a stage between rows that are `half` apart.
    /// `half` is 1, 2 and 4 in order; the `last` one ends a pass.
    fn settles(half: usize, row: usize, last: bool) -> bool;
    /// Bounds the sum of an inverse butterfly.
    fn settle(self, x: V<Self>) -> V<Self>;

    /// `[0, q), [0, q) -> [0, q)`.
    fn add(self, a: V<Self>, b: V<Self>) -> V<Self>;
    /// `[0, q), [0, q) -> [0, q)`.
    fn sub(self, a: V<Self>, b: V<Self>) -> V<Self>;
    /// `[0, q), [0, q) -> [0, q)`.
    fn mul(self, a: V<Self>, b: V<Self>) -> V<Self>;
    /// `[0, 4q) -> [0, q)`.
    fn mul_root(self, x: V<Self>, w: Self::Root) -> V<Self>;
    /// `[0, q), [0, q) -> [0, 2q)`.
    #[inline(always)]
    fn sub_lazy(self, a: V<Self>, b: V<Self>) -> V<Self> {
        self.sub(a, b)
    }
    /// `x w + y v` to `[0, q)`, for inputs of [`mul_root`](Self::mul_root).
    #[inline(always)]
    fn mul_two_roots(self, x: V<Self>, w: Self::Root, y: V<Self>, v: Self::Root) -> V<Self> {
        self.add(self.mul_root(x, w), self.mul_root(y, v))
    }
    /// Whether [`Sums::accumulate`] also takes forward residues, if the other factor is in
    /// `[0, q)`.
    const MULTIPLIES_FORWARD: bool = false;
}

/// The vector type of an arithmetic.
pub(super) type V<A> = <<A as Arithmetic>::W as Wide>::V;
