#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py [ROUNDS]: the crate beside those of other mallocs and the malloc of the system, interleaved. Prints medians of
processor seconds and peaks, and their ratios to the system's with exact intervals."""

import random
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "bench" / "support"))
import paired  # noqa: E402
import usage  # noqa: E402

PEERS = ["system", "ashlar", "mimalloc", "jemalloc", "snmalloc"]
WORKLOADS = ["words", "documents", "vectors", "messages"]


def built(peer):
    """The program with the allocator of a peer: a folder for each, since only a feature tells them apart."""
    target = HERE.parents[2] / "build" / "rust_bench" / peer
    command = ["cargo", "build", "--release", "--quiet", "--manifest-path", HERE / "Cargo.toml", "--target-dir", target]
    subprocess.run(command + ([] if peer == "system" else ["--features", peer]), check=True)
    return target / "release" / "ashlar-bench"


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    programs = {peer: built(peer) for peer in PEERS}
    for workload in WORKLOADS:
        runs = {peer: [] for peer in PEERS}
        for _ in range(rounds):
            for peer in random.sample(PEERS, len(PEERS)):
                runs[peer].append(usage.taken([programs[peer], workload]))
        print(f"{workload}: seconds, MiB, both as ratios to the system's")
        for peer in PEERS:
            seconds, peaks = zip(*runs[peer])
            ratios = [[own[field] / base[field] for own, base in zip(runs[peer], runs["system"])] for field in (0, 1)]
            print(f"  {peer:9} {statistics.median(seconds):6.2f} {statistics.median(peaks) / 2**20:7.1f}  "
                  f"{paired.shown(ratios[0], 2)}  {paired.shown(ratios[1], 2)}")


main()
