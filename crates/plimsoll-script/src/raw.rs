//! The one place with `unsafe`: coroutines around the JavaScript engine, its allocator and its native functions.
//!
//! **Suspending.** A virtual user runs on a stack of its own ([`fiber`]). A native function that has to wait
//! switches back to the caller's stack with the engine's frames left where they are. Three pieces of state of the
//! engine's runtime, which all virtual users of a worker share, know about stacks, and each is put right here:
//! the stack limit (set on every switch, [`fiber::use_stack`]), the chain of frames (the switch happens inside a
//! nested C function, whose return restores the chain, and [`anchor`] resets it in between), and the job queue
//! (scripts that use promises get a runtime per virtual user, so its queue holds only their own jobs).
#![expect(
    unsafe_code,
    reason = "the engine's C interface; every block says why it is sound"
)]

mod allocator;
mod anchor;
mod bytecode;
mod bytes;
mod fiber;
mod native;
mod rejection;
mod slot;

pub(crate) use allocator::{Account, CountingAllocator};
pub(crate) use anchor::Anchor;
pub(crate) use bytecode::load_module;
pub(crate) use bytes::{bytes_of, fill_view};
pub(crate) use fiber::{Fiber, StackPool, prepare, run_job, suspend};
pub(crate) use native::{
    Call, Native, NativeTable, attach, define_getter, function, state_of, throw_uncatchable,
};
pub(crate) use rejection::{place_of, track_rejections};
pub(crate) use slot::Slot;
