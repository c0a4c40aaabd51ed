// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! One workload under the global allocator of a feature, or under the malloc of the system: main <workload>.
use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc;

#[cfg(feature = "ashlar")]
#[global_allocator]
static GLOBAL: ashlar::Ashlar = ashlar::Ashlar;
#[cfg(feature = "mimalloc")]
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;
#[cfg(feature = "jemalloc")]
#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
#[cfg(feature = "snmalloc")]
#[global_allocator]
static GLOBAL: snmalloc_rs::SnMalloc = snmalloc_rs::SnMalloc;

/// A generator of numbers that need not be good.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

/// Words of a text, counted and sorted: strings of 5 to 20 bytes, as keys.
fn words(random: &mut Random) -> usize {
    let mut counts: HashMap<String, u32> = HashMap::new();
    for _ in 0..1_500_000 {
        *counts.entry(format!("word{}", random.next() % 300_000)).or_default() += 1;
    }
    let sorted: BTreeMap<String, u32> = counts.into_iter().collect();
    sorted.range("word5".to_string()..).map(|(_, count)| *count as usize).sum()
}

enum Json {
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

fn grow(random: &mut Random, depth: usize) -> Json {
    match random.next() % 4 {
        0 if depth > 0 => Json::List((0..random.next() % 8).map(|_| grow(random, depth - 1)).collect()),
        1 if depth > 0 => Json::Object((0..6).map(|n| (format!("key {n}"), grow(random, depth - 1))).collect()),
        2 => Json::Text("x".repeat((random.next() % 60) as usize)),
        _ => Json::Number(random.next() as f64),
    }
}

fn size_of(value: &Json) -> usize {
    match value {
        Json::Number(n) => (*n >= 0.0) as usize,
        Json::Text(text) => text.len(),
        Json::List(values) => values.iter().map(size_of).sum(),
        Json::Object(values) => values.iter().map(|(key, value)| key.len() + size_of(value)).sum(),
    }
}

/// Documents, built, walked and dropped; one in ten stays.
fn documents(random: &mut Random) -> usize {
    let mut kept = Vec::new();
    let mut bytes = 0;
    for n in 0..12_000 {
        let document = Json::List((0..8).map(|_| grow(random, 5)).collect());
        bytes += size_of(&document);
        if n % 10 == 0 {
            kept.push(document);
        }
    }
    bytes + kept.iter().map(size_of).sum::<usize>()
}

/// Vectors that grow by pushes, beside one another.
fn vectors(random: &mut Random) -> usize {
    let mut all: Vec<Vec<u64>> = Vec::new();
    for round in 0..40 {
        all.resize_with(2_000, Vec::new);
        for _ in 0..400_000 {
            let at = (random.next() % 2_000) as usize;
            all[at].push(round);
        }
        all.retain(|_| random.next() % 2 == 0);
    }
    all.iter().map(Vec::len).sum()
}

/// Messages of four threads, freed by a fifth.
fn messages(_: &mut Random) -> usize {
    let (send, receive) = mpsc::sync_channel::<Vec<Box<[u8]>>>(64);
    let senders: Vec<_> = (1..=4u64)
        .map(|n| {
            let send = send.clone();
            std::thread::spawn(move || {
                let mut random = Random(n);
                for _ in 0..10_000 {
                    let blocks = (0..32).map(|_| vec![1u8; 16 + (random.next() % 240) as usize].into_boxed_slice());
                    send.send(blocks.collect()).unwrap();
                }
            })
        })
        .collect();
    drop(send);
    let bytes = receive.into_iter().flatten().map(|block| block.len()).sum();
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    bytes
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let random = &mut Random(1);
    let result = match wanted.as_str() {
        "words" => words(random),
        "documents" => documents(random),
        "vectors" => vectors(random),
        "messages" => messages(random),
        _ => panic!("workloads: words documents vectors messages"),
    };
    println!("{result}");
}
