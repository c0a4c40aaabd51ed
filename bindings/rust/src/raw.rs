// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! The C interface, as far as this crate takes it: malloc/ashlar_malloc.h has the contract of each function.
use std::ffi::{c_char, c_int};

/// A heap of libashlar.
#[repr(C)]
pub struct RawHeap {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct RawOptions {
    pub struct_bytes: usize,
    pub max_bytes: usize,
    pub retain_bytes: usize,
    pub decay_ms: u32,
}

extern "C" {
    pub fn ashlar_malloc(bytes: usize) -> *mut u8;
    pub fn ashlar_zalloc(bytes: usize) -> *mut u8;
    pub fn ashlar_aligned_malloc(bytes: usize, alignment: usize) -> *mut u8;
    pub fn ashlar_realloc(p: *mut u8, bytes: usize) -> *mut u8;
    pub fn ashlar_free_sized(p: *mut u8, bytes: usize, alignment: usize);
    pub fn ashlar_usable_size(p: *const u8) -> usize;
    pub fn ashlar_good_size(bytes: usize) -> usize;
    pub fn ashlar_trim(retain: usize) -> usize;
    pub fn ashlar_thread_flush();
    pub fn ashlar_level() -> *const c_char;
    pub fn ashlar_heap_of_process() -> *mut RawHeap;
    pub fn ashlar_heap_new(options: *const RawOptions) -> *mut RawHeap;
    pub fn ashlar_heap_delete(heap: *mut RawHeap);
    pub fn ashlar_heap_trim(heap: *mut RawHeap) -> usize;
    pub fn ashlar_heap_malloc(heap: *mut RawHeap, bytes: usize) -> *mut u8;
    pub fn ashlar_heap_zalloc(heap: *mut RawHeap, bytes: usize) -> *mut u8;
    pub fn ashlar_heap_aligned_malloc(heap: *mut RawHeap, bytes: usize, alignment: usize) -> *mut u8;
    pub fn ashlar_heap_aligned_zalloc(heap: *mut RawHeap, bytes: usize, alignment: usize) -> *mut u8;
    pub fn ashlar_heap_realloc(heap: *mut RawHeap, p: *mut u8, bytes: usize) -> *mut u8;
    pub fn ashlar_heap_aligned_realloc(heap: *mut RawHeap, p: *mut u8, bytes: usize, alignment: usize) -> *mut u8;
    pub fn ashlar_heap_free(heap: *mut RawHeap, p: *mut u8);
    pub fn ashlar_heap_of(p: *const u8) -> *mut RawHeap;
    pub fn ashlar_heap_statistics(heap: *mut RawHeap, statistics: *mut super::Statistics) -> c_int;
}
