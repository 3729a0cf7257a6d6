//! Counts what each virtual user holds and refuses memory beyond its share.

use std::cell::Cell;
use std::ptr;
use std::rc::Rc;

use rquickjs::allocator::Allocator;

/// Bytes held, and how many more the one who is running may take.
#[derive(Debug, Default)]
pub(crate) struct Account {
    held_bytes: Cell<usize>,
    limit_bytes: Cell<usize>,
    was_refused: Cell<bool>,
}

impl Account {
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes.get()
    }

    /// From now on at most `bytes` on top of what is held.
    pub(crate) fn allow(&self, bytes: usize) {
        let limit = self.held_bytes.get().saturating_add(bytes);
        self.limit_bytes.set(limit);
        self.was_refused.set(false);
    }

    /// Whether an allocation was refused since the last [`Account::allow`].
    pub(crate) fn was_refused(&self) -> bool {
        self.was_refused.get()
    }

    fn may_take(&self, bytes: usize) -> bool {
        let fits = self.held_bytes.get().saturating_add(bytes) <= self.limit_bytes.get();
        if !fits {
            self.was_refused.set(true);
        }
        fits
    }

    fn add(&self, bytes: usize) {
        self.held_bytes.set(self.held_bytes.get() + bytes);
    }

    fn sub(&self, bytes: usize) {
        self.held_bytes
            .set(self.held_bytes.get().saturating_sub(bytes));
    }
}

/// The C library's allocator with an [`Account`].
#[derive(Debug)]
pub(crate) struct CountingAllocator(pub(crate) Rc<Account>);

// SAFETY: every pointer comes from malloc, calloc or realloc and goes back to the same library; its alignment is at
// least that of `usize`, and `malloc_usable_size` is what may be used of it.
unsafe impl Allocator for CountingAllocator {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if !self.0.may_take(size) {
            return ptr::null_mut();
        }
        // SAFETY: malloc has no preconditions.
        let taken: *mut u8 = unsafe { libc::malloc(size) }.cast();
        self.note_taken(taken)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        if !self.0.may_take(count.saturating_mul(size)) {
            return ptr::null_mut();
        }
        // SAFETY: calloc has no preconditions.
        let taken: *mut u8 = unsafe { libc::calloc(count, size) }.cast();
        self.note_taken(taken)
    }

    unsafe fn dealloc(&mut self, ptr: *mut u8) {
        // SAFETY: the caller gives back what this allocator handed out (or null, of usable size 0).
        unsafe {
            self.0.sub(Self::usable_size(ptr));
            libc::free(ptr.cast());
        }
    }

    unsafe fn realloc(&mut self, ptr: *mut u8, new_size: usize) -> *mut u8 {
        // SAFETY: the caller hands back what this allocator handed out.
        let old_size = unsafe { Self::usable_size(ptr) };
        if new_size > old_size && !self.0.may_take(new_size - old_size) {
            return ptr::null_mut();
        }
        // SAFETY: as above; on failure the old block stays valid and counted.
        let taken: *mut u8 = unsafe { libc::realloc(ptr.cast(), new_size) }.cast();
        if !taken.is_null() {
            self.0.sub(old_size);
        }
        self.note_taken(taken)
    }

    unsafe fn usable_size(ptr: *mut u8) -> usize {
        // SAFETY: the caller hands in what this allocator handed out.
        unsafe { libc::malloc_usable_size(ptr.cast()) }
    }
}

impl CountingAllocator {
    fn note_taken(&self, taken: *mut u8) -> *mut u8 {
        if !taken.is_null() {
            // SAFETY: just allocated.
            self.0
                .add(unsafe { <Self as Allocator>::usable_size(taken) });
        }
        taken
    }
}
