// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! Heaps as objects.
use crate::{raw, LEAST_ALIGNMENT};
use std::alloc::Layout;
use std::{io, mem};

/// Limits of a heap, of all threads together. A field that is 0 stands for the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Held from the system at once; a request beyond is refused. Default: no limit.
    pub max_bytes: usize,
    /// Free memory that stays for reuse. Default: 8 MiB.
    pub retain_bytes: usize,
    /// Milliseconds until other free memory goes back. Default: 500.
    pub decay_ms: u32,
}

/// The contents of a heap. `held_bytes` is the sum of the live, spare, waste, free, fresh and head bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    struct_bytes: usize,
    /// Allocated by callers.
    pub live_blocks: usize,
    /// Of these, rounded up to cells and spans.
    pub live_bytes: usize,
    /// Free blocks in slabs and caches, retained spans and huge blocks.
    pub spare_blocks: usize,
    pub spare_bytes: usize,
    /// Of slabs, outside of cells.
    pub waste_bytes: usize,
    /// Live blocks with pages of their own; in `live_blocks` too.
    pub huge_blocks: usize,
    pub huge_bytes: usize,
    /// From the system, resident or not.
    pub held_bytes: usize,
    /// Of these: free, and in use before.
    pub free_bytes: usize,
    /// Of these: never in use, or given back: not resident.
    pub fresh_bytes: usize,
    /// Of these: the headers of segments.
    pub head_bytes: usize,
    /// From the system, for tables; not in `held_bytes`.
    pub table_bytes: usize,
    /// Of `live_bytes`, about: in the caches of other running threads.
    pub cached_bytes: usize,
    /// Of 4 MiB.
    pub segments: usize,
    /// Pages that were reused without a return to the system in between.
    pub page_faults_avoided: u64,
}

pub(crate) unsafe fn statistics_of(heap: *mut raw::RawHeap) -> Statistics {
    let mut found = Statistics { struct_bytes: mem::size_of::<Statistics>(), ..Default::default() };
    raw::ashlar_heap_statistics(heap, &mut found);
    found
}

/// A heap of its own, which all threads share under one lock: its blocks end together, and its limit counts them alone.
/// As an allocator of collections (feature `allocator-api2`) it is taken by reference: they cannot outlive it.
#[derive(Debug)]
pub struct Heap {
    raw: *mut raw::RawHeap,
}

unsafe impl Send for Heap {}
unsafe impl Sync for Heap {}

impl Heap {
    /// A heap with these limits, or the error of the system: it is out of memory.
    pub fn new(options: Options) -> io::Result<Heap> {
        let given = raw::RawOptions {
            struct_bytes: mem::size_of::<raw::RawOptions>(),
            max_bytes: options.max_bytes,
            retain_bytes: options.retain_bytes,
            decay_ms: options.decay_ms,
        };
        let raw = unsafe { raw::ashlar_heap_new(&given) };
        if raw.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(Heap { raw })
    }

    /// A block, or null if there is no memory or the limit is reached.
    ///
    /// # Safety
    /// The size of `layout` is not 0. The block goes back by [`Heap::dealloc`], or ends with the heap.
    pub unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= LEAST_ALIGNMENT {
            raw::ashlar_heap_malloc(self.raw, layout.size())
        } else {
            raw::ashlar_heap_aligned_malloc(self.raw, layout.size(), layout.align())
        }
    }

    /// As [`Heap::alloc`]; the bytes are zero.
    ///
    /// # Safety
    /// As [`Heap::alloc`].
    pub unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= LEAST_ALIGNMENT {
            return raw::ashlar_heap_zalloc(self.raw, layout.size());
        }
        raw::ashlar_heap_aligned_zalloc(self.raw, layout.size(), layout.align())
    }

    /// Frees a block.
    ///
    /// # Safety
    /// `p` is a live block of this heap.
    pub unsafe fn dealloc(&self, p: *mut u8) {
        raw::ashlar_heap_free(self.raw, p)
    }

    /// The block with `bytes` bytes, moved or in place; null, and `p` is unchanged, if there is no memory.
    ///
    /// # Safety
    /// `p` is a live block of this heap, of `layout`; `bytes` is not 0.
    pub unsafe fn realloc(&self, p: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if layout.align() <= LEAST_ALIGNMENT {
            return raw::ashlar_heap_realloc(self.raw, p, bytes);
        }
        raw::ashlar_heap_aligned_realloc(self.raw, p, bytes, layout.align())
    }

    /// Whether the address lies in this heap's memory for blocks, live or free. It is not read.
    pub fn contains(&self, p: *const u8) -> bool {
        unsafe { raw::ashlar_heap_of(p) == self.raw }
    }

    /// Gives all free memory of the heap to the system. Returns the bytes given back.
    pub fn trim(&self) -> usize {
        unsafe { raw::ashlar_heap_trim(self.raw) }
    }

    pub fn statistics(&self) -> Statistics {
        unsafe { statistics_of(self.raw) }
    }
}

/// All of its blocks go, by one call.
impl Drop for Heap {
    fn drop(&mut self) {
        unsafe { raw::ashlar_heap_delete(self.raw) }
    }
}
