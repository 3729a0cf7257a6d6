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

/// Gives whole pages that are free back to the system, wherever in the heap they are. Takes some milliseconds for 100 MiB: for after
/// something large only.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "rustix has no call for it")]
pub fn return_free_pages() {
    // SAFETY: the call walks over free pieces under the allocator's own locks, and touches nothing that is in use.
    let _released = unsafe { libc::malloc_trim(0) };
}

/// Lets the system put large pages below a buffer of megabytes, where it has some: to make four thousand small ones takes longer
/// than to copy what they will hold.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the buffer is memory of ours")]
pub fn use_large_pages(buffer: &mut Vec<u8>) {
    const PAGE: usize = 4096;
    let begin = buffer.as_mut_ptr();
    let skipped = begin.align_offset(PAGE);
    let Some(bytes) = buffer.capacity().checked_sub(skipped) else {
        return;
    };
    // SAFETY: the range is within the buffer's own memory, and the advice changes nothing of what is in it. A system without
    // large pages refuses it.
    let _advised = unsafe {
        libc::madvise(
            begin.add(skipped).cast(),
            bytes / PAGE * PAGE,
            libc::MADV_HUGEPAGE,
        )
    };
}

/// Others know no such advice.
#[cfg(not(target_os = "linux"))]
pub fn use_large_pages(_: &mut Vec<u8>) {}

/// Other C libraries have no such calls.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn return_large_pieces() {}

/// The same.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn return_free_pages() {}
