// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The global allocator of a program in Rust: rustc -O global_alloc.rs -L <folder of libashlar.so> -l ashlar
use std::alloc::{GlobalAlloc, Layout};
use std::collections::BTreeMap;

extern "C" {
    fn ashlar_malloc(bytes: usize) -> *mut u8;
    fn ashlar_zalloc(bytes: usize) -> *mut u8;
    fn ashlar_aligned_malloc(bytes: usize, alignment: usize) -> *mut u8;
    fn ashlar_realloc(p: *mut u8, bytes: usize) -> *mut u8;
    fn ashlar_free_sized(p: *mut u8, bytes: usize, alignment: usize);
    fn ashlar_heap_of(p: *const u8) -> *const u8;
}

struct Ashlar;

/// The alignment of every block.
const LEAST: usize = 16;

unsafe impl GlobalAlloc for Ashlar {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= LEAST {
            ashlar_malloc(layout.size())
        } else {
            ashlar_aligned_malloc(layout.size(), layout.align())
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= LEAST {
            return ashlar_zalloc(layout.size());
        }
        let p = ashlar_aligned_malloc(layout.size(), layout.align());
        if !p.is_null() {
            p.write_bytes(0, layout.size());
        }
        p
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        ashlar_free_sized(p, layout.size(), layout.align().max(LEAST))
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if layout.align() <= LEAST {
            return ashlar_realloc(p, bytes);
        }
        let moved = self.alloc(Layout::from_size_align_unchecked(bytes, layout.align()));
        if !moved.is_null() {
            std::ptr::copy_nonoverlapping(p, moved, layout.size().min(bytes));
            self.dealloc(p, layout);
        }
        moved
    }
}

#[global_allocator]
static GLOBAL: Ashlar = Ashlar;

fn main() {
    let mut words: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for i in 0..10_000 {
        words.entry(format!("word {}", i % 97)).or_default().push(i);
    }
    let workers: Vec<_> = (0..4).map(|n| std::thread::spawn(move || vec![n; 100_000].iter().sum::<usize>())).collect();
    let sum: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    assert_eq!(sum, 600_000);
    let all = &words["word 1"];
    assert!(!unsafe { ashlar_heap_of(all.as_ptr().cast()) }.is_null());
    println!("{} words, the first in {} places", words.len(), all.len());
}
