// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! A program whose global allocator is the heap of the process.
use ashlar::Ashlar;
use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::mpsc;

#[global_allocator]
static GLOBAL: Ashlar = Ashlar;

extern "C" {
    fn malloc(bytes: usize) -> *mut u8;
    fn free(p: *mut u8);
}

#[test]
fn collections_hold_what_they_are_given() {
    let mut tree = BTreeMap::new();
    let mut map: HashMap<String, VecDeque<u64>> = HashMap::new();
    for n in 0..100_000u64 {
        tree.insert(n.wrapping_mul(0x9E37_79B9_7F4A_7C15), n.to_string());
        map.entry(format!("word {}", n % 97)).or_default().push_back(n);
    }
    assert_eq!(tree.len(), 100_000);
    assert!(tree.iter().all(|(key, text)| text.parse::<u64>().unwrap().wrapping_mul(0x9E37_79B9_7F4A_7C15) == *key));
    assert_eq!(map.values().map(VecDeque::len).sum::<usize>(), 100_000);
    assert!(ashlar::statistics().live_blocks > 100_000);
}

#[test]
fn blocks_of_each_size_and_alignment_are_aligned_zeroed_and_moved() {
    for align in (0..=16).map(|bits| 1usize << bits) {
        for size in [1, 7, 16, 100, 1000, 4096, 40_000, 300_000, 5_000_000] {
            let layout = Layout::from_size_align(size, align).unwrap();
            unsafe {
                let p = alloc(layout);
                assert_eq!(p as usize % align, 0);
                assert!(ashlar::usable_size(p) >= size);
                p.write_bytes(0xA5, size);
                let q = realloc(p, layout, size * 3);
                assert_eq!(q as usize % align, 0);
                assert!(std::slice::from_raw_parts(q, size).iter().all(|byte| *byte == 0xA5));
                let r = realloc(q, Layout::from_size_align(size * 3, align).unwrap(), 1);
                assert_eq!(*r, 0xA5);
                dealloc(r, Layout::from_size_align(1, align).unwrap());
                let zeroed = alloc_zeroed(layout);
                assert_eq!(zeroed as usize % align, 0);
                assert!(std::slice::from_raw_parts(zeroed, size).iter().all(|byte| *byte == 0));
                dealloc(zeroed, layout);
            }
        }
    }
}

#[test]
fn a_size_beyond_all_memory_is_null_or_an_error() {
    let layout = Layout::from_size_align(1 << 60, 8).unwrap();
    assert!(unsafe { alloc(layout) }.is_null());
    assert!(Vec::<u64>::new().try_reserve(1 << 58).is_err());
}

#[test]
fn blocks_go_back_from_other_threads() {
    let (send, receive) = mpsc::channel::<Vec<Box<[u8]>>>();
    let taker = std::thread::spawn(move || receive.into_iter().flatten().map(|block| block.len()).sum::<usize>());
    let givers: Vec<_> = (1..5usize)
        .map(|n| {
            let send = send.clone();
            std::thread::spawn(move || {
                for _ in 0..200 {
                    send.send((0..100).map(|_| vec![n as u8; 40 * n].into_boxed_slice()).collect()).unwrap();
                }
            })
        })
        .collect();
    drop(send);
    givers.into_iter().for_each(|giver| giver.join().unwrap());
    assert_eq!(taker.join().unwrap(), 20_000 * 40 * (1 + 2 + 3 + 4));
    ashlar::flush_thread();
    ashlar::trim(0);
}

#[test]
fn blocks_of_c_are_of_the_same_heap() {
    let before = ashlar::statistics().live_blocks;
    let blocks: Vec<_> = (0..10_000).map(|_| unsafe { malloc(48) }).collect();
    assert!(ashlar::statistics().live_blocks >= before + 9_000);
    blocks.into_iter().for_each(|block| unsafe { free(block) });
}

#[test]
fn the_level_is_the_one_of_the_features() {
    let wanted = match (cfg!(feature = "hardened"), cfg!(feature = "checked")) {
        (true, _) => "hardened",
        (_, true) => "checked",
        _ => "fast",
    };
    assert!(ashlar::level() == wanted || std::env::var_os("ASHLAR_LIB_DIR").is_some());
    assert_eq!(ashlar::good_size(1 << 60), 0);
    assert!(ashlar::good_size(33) >= 33);
}

/// The test runs itself once more, as the program that is at fault.
#[cfg(any(feature = "checked", feature = "hardened"))]
#[test]
fn a_deallocation_of_another_size_ends_the_program_with_a_line() {
    if std::env::var_os("ASHLAR_TEST_MISUSE").is_some() {
        unsafe { dealloc(alloc(Layout::new::<[u8; 100]>()), Layout::new::<[u8; 4000]>()) };
        return;
    }
    let ended = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_deallocation_of_another_size_ends_the_program_with_a_line"])
        .env("ASHLAR_TEST_MISUSE", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && text.contains("ashlar: size_mismatch"), "{text}");
}
