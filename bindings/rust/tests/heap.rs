// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! Heaps as objects, beside the malloc of the system.
use ashlar::{Heap, Options};
use std::alloc::Layout;

fn bounded(max_bytes: usize) -> Heap {
    Heap::new(Options { max_bytes, ..Options::default() }).unwrap()
}

#[test]
fn a_heap_ends_with_its_blocks() {
    for _ in 0..50 {
        let heap = bounded(0);
        for n in 1..2000usize {
            let layout = Layout::from_size_align(n, 8).unwrap();
            let p = unsafe { heap.alloc(layout) };
            assert!(heap.contains(p));
            unsafe { p.write_bytes(1, n) };
        }
        assert_eq!(heap.statistics().live_blocks, 1999);
    }
}

#[test]
fn a_limit_refuses_and_a_free_makes_room() {
    let heap = bounded(16 << 20);
    let layout = Layout::from_size_align(1 << 20, 64).unwrap();
    let mut blocks = Vec::new();
    loop {
        let p = unsafe { heap.alloc(layout) };
        if p.is_null() {
            break;
        }
        assert_eq!(p as usize % 64, 0);
        blocks.push(p);
    }
    assert!((4..=16).contains(&blocks.len()), "{} blocks", blocks.len());
    unsafe { heap.dealloc(blocks.pop().unwrap()) };
    assert!(!unsafe { heap.alloc(layout) }.is_null());
}

#[test]
fn a_moved_block_keeps_its_bytes_at_each_alignment() {
    let heap = bounded(0);
    for align in [1, 16, 64, 4096] {
        let layout = Layout::from_size_align(100, align).unwrap();
        unsafe {
            let p = heap.alloc_zeroed(layout);
            assert!(std::slice::from_raw_parts(p, 100).iter().all(|byte| *byte == 0));
            p.write_bytes(7, 100);
            let q = heap.realloc(p, layout, 100_000);
            assert_eq!(q as usize % align, 0);
            assert!(std::slice::from_raw_parts(q, 100).iter().all(|byte| *byte == 7));
            heap.dealloc(q);
        }
    }
    assert_eq!(heap.statistics().live_blocks, 0);
    heap.trim();
}

#[cfg(feature = "allocator-api2")]
mod collections {
    use super::*;
    use allocator_api2::{boxed::Box, vec::Vec};
    use ashlar::Ashlar;

    #[test]
    fn collections_lie_in_their_heap() {
        let heap = bounded(0);
        let mut all = Vec::new_in(&heap);
        for n in 0..1000u32 {
            all.push(Box::new_in(n, &heap));
        }
        assert!(heap.contains(all.as_ptr().cast()) && heap.contains((&*all[999] as *const u32).cast()));
        assert_eq!(all.iter().map(|n| **n).sum::<u32>(), 499_500);
        drop(all);
        assert_eq!(heap.statistics().live_blocks, 0);
    }

    #[test]
    fn threads_share_a_heap() {
        let heap = bounded(0);
        std::thread::scope(|scope| {
            for n in 0..4u64 {
                let heap = &heap;
                scope.spawn(move || {
                    for _ in 0..100 {
                        let mut part = Vec::new_in(heap);
                        part.extend((0..1000).map(|k| k * n));
                        assert_eq!(part.iter().sum::<u64>(), 499_500 * n);
                    }
                });
            }
        });
        assert_eq!(heap.statistics().live_blocks, 0);
    }

    #[test]
    fn blocks_of_no_bytes_are_none() {
        let heap = bounded(0);
        let mut none: Vec<(), _> = Vec::new_in(&heap);
        none.push(());
        let unused: Vec<u64, _> = Vec::with_capacity_in(0, Ashlar);
        assert_eq!((none.len(), unused.capacity()), (1, 0));
        assert_eq!(heap.statistics().live_blocks, 0);
    }

    #[test]
    fn growth_beyond_the_limit_is_an_error_and_keeps_what_is_there() {
        let heap = bounded(8 << 20);
        let mut some = Vec::new_in(&heap);
        some.extend(0..1000u64);
        assert!(some.try_reserve(4 << 20).is_err());
        assert!(some.iter().copied().eq(0..1000));
    }
}
