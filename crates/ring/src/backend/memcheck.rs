//! Requests to valgrind's memcheck, for the test that secrets choose no branch and no address: the
//! test marks secrets as undefined memory, and memcheck reports every conditional jump and every
//! address that depends on them.
//!
//! Marks live in the memory of valgrind. Outside of valgrind, and on CPUs other than x86-64, a
//! request does nothing.

use bytemuck::NoUninit;

/// "Is this valgrind?", a request to its core.
const RUNNING: usize = 0x1001;

/// The number of the first request to memcheck.
const MEMCHECK: usize = (b'M' as usize) << 24 | (b'C' as usize) << 16;

/// Whether the program runs under valgrind.
pub fn is_running() -> bool {
    request([RUNNING, 0, 0, 0, 0, 0]) != 0
}

/// Marks numbers as secret: memcheck reports branches and addresses that depend on them.
pub fn mark_secret<T: NoUninit>(numbers: &[T]) {
    request([MEMCHECK + 1, numbers.as_ptr().addr(), size_of_val(numbers), 0, 0, 0]);
}

/// Marks numbers as public: whatever is computed from them may branch.
pub fn mark_public<T: NoUninit>(numbers: &[T]) {
    request([MEMCHECK + 2, numbers.as_ptr().addr(), size_of_val(numbers), 0, 0, 0]);
}

/// A client request: a number and five arguments. The answer is 0 outside of valgrind.
#[cfg(target_arch = "x86_64")]
fn request(arguments: [usize; 6]) -> usize {
    let mut answer = 0;
    // SAFETY: the rotations of `rdi` add up to 128 bits and `rbx` is exchanged with itself, so a
    // CPU changes nothing but flags. Valgrind takes the sequence for a request: it reads the
    // arguments behind `rax`, which live until then, writes `rdx`, and changes no memory of the
    // program.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            inout("rdi") 0usize => _,
            in("rax") arguments.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

#[cfg(not(target_arch = "x86_64"))]
fn request(_: [usize; 6]) -> usize {
    0
}
