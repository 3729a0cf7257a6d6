//! What becomes of freed memory.

/// Smaller pieces come from the heap, where they are found again faster than the system gives new ones.
const LARGE: i32 = 1 << 20;
/// So much of the heap's end is kept: giving it back and taking it again costs more.
const KEPT: i32 = 16 << 20;

/// Lets large pieces go back to the system when they are freed. By itself the C library raises its notion of large up to 32 MiB with
/// each piece that is freed; then pieces of megabytes come from the heap, and one small neighbour that stays keeps them there.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "rustix has no call for it")]
pub fn return_large_pieces() {
    for (what, bytes) in [
        (libc::M_MMAP_THRESHOLD, LARGE),
        (libc::M_TRIM_THRESHOLD, KEPT),
    ] {
        // SAFETY: the call changes numbers of the allocator under its own lock. Where it fails, all stays as it was.
        let _done = unsafe { libc::mallopt(what, bytes) };
    }
}

/// Other C libraries have no such call.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn return_large_pieces() {}
