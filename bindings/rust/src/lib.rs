// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! The global allocator of a program, and heaps as objects, by libashlar.
//!
//! ```
//! #[global_allocator]
//! static GLOBAL: ashlar::Ashlar = ashlar::Ashlar;
//!
//! let words: Vec<String> = (0..100).map(|n| format!("word {n}")).collect();
//! assert!(ashlar::usable_size(words.as_ptr().cast()) >= 100 * std::mem::size_of::<String>());
//! ```
//!
//! A program with this crate has one malloc: C and C++ code in it allocates here too. A library that is loaded while the
//! program runs must not bring the crate along, as it could not be unloaded.
mod heap;
mod raw;

use std::alloc::{GlobalAlloc, Layout};

pub use heap::{Heap, Options, Statistics};

/// The heap of the process, as `#[global_allocator]`. Every deallocation gives size and alignment, which the features
/// `checked` and `hardened` verify.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ashlar;

/// The alignment of every block.
const LEAST_ALIGNMENT: usize = 16;

unsafe impl GlobalAlloc for Ashlar {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= LEAST_ALIGNMENT {
            raw::ashlar_malloc(layout.size())
        } else {
            raw::ashlar_aligned_malloc(layout.size(), layout.align())
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= LEAST_ALIGNMENT {
            return raw::ashlar_zalloc(layout.size());
        }
        let p = raw::ashlar_aligned_malloc(layout.size(), layout.align());
        if !p.is_null() {
            p.write_bytes(0, layout.size());
        }
        p
    }

    #[inline]
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        raw::ashlar_free_sized(p, layout.size(), layout.align().max(LEAST_ALIGNMENT))
    }

    #[inline]
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if layout.align() <= LEAST_ALIGNMENT {
            return raw::ashlar_realloc(p, bytes);
        }
        let moved = raw::ashlar_aligned_malloc(bytes, layout.align());
        if !moved.is_null() {
            moved.copy_from_nonoverlapping(p, layout.size().min(bytes));
            self.dealloc(p, layout);
        }
        moved
    }
}

/// The bytes of a block that its owner may use, at least those requested; 0 for null. The block is live.
pub fn usable_size(p: *const u8) -> usize {
    unsafe { raw::ashlar_usable_size(p) }
}

/// The bytes that a request of `bytes` would get; 0 for a size that is refused.
pub fn good_size(bytes: usize) -> usize {
    unsafe { raw::ashlar_good_size(bytes) }
}

/// Gives free memory of the process to the system, but for `retain` bytes of the calling thread. Returns the bytes
/// given back.
pub fn trim(retain: usize) -> usize {
    unsafe { raw::ashlar_trim(retain) }
}

/// Sends the frees of other threads' blocks that the calling thread has gathered: of use before a thread sleeps for long.
pub fn flush_thread() {
    unsafe { raw::ashlar_thread_flush() }
}

/// The amount of misuse that is detected: "fast", "checked" or "hardened".
pub fn level() -> &'static str {
    unsafe { std::ffi::CStr::from_ptr(raw::ashlar_level()) }.to_str().unwrap_or("")
}

/// The contents of the heap of the process.
pub fn statistics() -> Statistics {
    unsafe { heap::statistics_of(raw::ashlar_heap_of_process()) }
}

#[cfg(feature = "allocator-api2")]
mod allocators {
    use super::*;
    use allocator_api2::alloc::{AllocError, Allocator};
    use std::ptr::NonNull;

    /// A block that an allocator of a collection hands out; one of 0 bytes is none.
    fn hand_out(layout: Layout, take: impl FnOnce() -> *mut u8) -> Result<NonNull<[u8]>, AllocError> {
        let p = if layout.size() == 0 { layout.align() as *mut u8 } else { take() };
        Ok(NonNull::slice_from_raw_parts(NonNull::new(p).ok_or(AllocError)?, layout.size()))
    }

    unsafe fn move_block<A: Allocator>(
        allocator: &A, p: NonNull<u8>, old: Layout, new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let moved = allocator.allocate(new)?;
        moved.cast::<u8>().as_ptr().copy_from_nonoverlapping(p.as_ptr(), old.size());
        allocator.deallocate(p, old);
        Ok(moved)
    }

    /// An `Allocator` of what has the calls of blocks; `$free` frees one that has bytes.
    macro_rules! allocator_of_blocks {
        ($heap:ty, $free:expr) => {
            unsafe impl Allocator for $heap {
                fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
                    hand_out(layout, || unsafe { self.alloc(layout) })
                }

                fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
                    hand_out(layout, || unsafe { self.alloc_zeroed(layout) })
                }

                unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
                    if layout.size() != 0 {
                        $free(self, p.as_ptr(), layout)
                    }
                }

                unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
                    if old.size() == 0 || old.align() != new.align() {
                        return move_block(self, p, old, new);
                    }
                    hand_out(new, || self.realloc(p.as_ptr(), old, new.size()))
                }
            }
        };
    }

    allocator_of_blocks!(Ashlar, |all: &Ashlar, p, layout| all.dealloc(p, layout));
    allocator_of_blocks!(&Heap, |heap: &Heap, p, _| heap.dealloc(p));
}
