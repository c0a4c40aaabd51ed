// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of misuse that the heap of the process detects at two levels, by reports and by inaccessible pages: a table for
// each.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/heap/process_heap.hpp>

#if defined(__linux__)

namespace {

using ashlar::process_heap;

// Through volatile, so that no compiler drops an access.
using bytes = volatile char*;

[[nodiscard]] bytes taken(std::size_t size) { return static_cast<bytes>(process_heap().try_allocate(size)); }
void free_block(bytes p) { process_heap().deallocate(const_cast<char*>(p)); }
void change(bytes p, std::ptrdiff_t at) { p[at] = static_cast<char>(p[at] ^ 0x41); }

constexpr std::size_t kib = 1024;

struct misuse {
  const char* name;
  int signal;
  const char* message;  // none where the processor detects it
  void (*commit)();
};

// Until any cell was handed out, and none waits in quarantine.
void take_and_free(std::size_t size) {
  for (int i = 0; i < 50'000; ++i) {
    static_cast<void>(taken(size));
    free_block(taken(size));
  }
}

constexpr misuse from_checked[] = {
    {"a block of 0 bytes is read", SIGSEGV, "", [] { static_cast<void>(*taken(0)); }},
    {"a block of 0 bytes is written to", SIGSEGV, "", [] { *taken(0) = 1; }},
    {"a block of 0 bytes is freed twice", SIGABRT, "double_free: freed a block that is free",
     [] {
       const bytes p = taken(0);
       free_block(p), free_block(p);
     }},
    {"the byte behind a block of 0 bytes is freed", SIGABRT, "misaligned_free: ", [] { free_block(taken(0) + 1); }},
    {"a block of 0 bytes is freed as one of 8", SIGABRT, "size_mismatch: freed a block with another size",
     [] { process_heap().deallocate(process_heap().try_allocate(0), 8); }},
    {"the link of a cell at a sampled address is written to", SIGABRT, "corrupt_link: a free block was written to",
     [] {
       bytes p = taken(1000);
       while (!ashlar::detail::is_sampled(const_cast<char*>(p))) p = taken(1000);
       free_block(p);
       change(p, 0);
       take_and_free(1000);
     }},
};

constexpr misuse at_hardened[] = {
    {"a byte behind a cell is written to", SIGABRT, "overflow: bytes past the end of a block",
     [] {
       const bytes p = taken(8);
       change(p, 8), free_block(p);
     }},
    {"32 bytes behind a cell that fits are written to", SIGABRT, "overflow: bytes past the end of a block",
     [] {
       const bytes p = taken(4 * kib);
       change(p, 4 * kib + 31), free_block(p);
     }},
    {"a byte in front of a cell is written to", SIGABRT, "underflow: bytes before a block",
     [] {
       const bytes p = taken(8);
       change(p, -1), free_block(p);
     }},
    {"a byte 32 in front of a cell is written to", SIGABRT, "underflow: bytes before a block",
     [] {
       const bytes p = taken(8);
       change(p, -32), free_block(p);
     }},
    {"a byte in front of a run is written to", SIGSEGV, "", [] { change(taken(256 * kib), -1); }},
    {"the page behind a run is written to", SIGSEGV, "", [] { change(taken(256 * kib), 316 * kib); }},
    {"a MiB behind a cell is written to", SIGSEGV, "",
     [] {
       for (int i = 0; i < 40; ++i) change(taken(8), (64 + 4 * i) * 16 * std::ptrdiff_t{kib});
     }},
    {"a freed run is read", SIGSEGV, "",
     [] {
       const bytes p = taken(256 * kib);
       free_block(p);
       static_cast<void>(*p);
     }},
    {"a freed run is freed again, after others", SIGABRT, "double_free: freed a block that is free",
     [] {
       const bytes p = taken(256 * kib);
       free_block(p);
       for (int i = 0; i < 8; ++i) free_block(taken(256 * kib));
       free_block(p);
     }},
    {"a cell that was never in use is written to", SIGABRT, "corrupt_link: a free block was written to",
     [] {
       std::array<bytes, 4> some = {taken(1000), taken(1000), taken(1000), taken(1000)};  // any of some 60 cells
       std::ranges::sort(some);
       std::size_t low = 0;
       while (low != 2 && some[low] + kib == some[low + 1]) ++low;
       change(some[low], kib);
       for (int i = 0; i < 100; ++i) static_cast<void>(taken(1000));
     }},
    {"a free cell is written to", SIGABRT, "ashlar: (corrupt_link|underflow|overflow): ",
     [] {
       const bytes p = taken(40);
       free_block(p);
       change(p, 39);
       take_and_free(40);
     }},
};

template <std::size_t Count>
void expect_end(const misuse (&table)[Count]) {
  for (const misuse& each : table)
    EXPECT_EXIT(each.commit(), ::testing::KilledBySignal(each.signal), each.message) << each.name;
}

TEST(process_heap_faults, each_misuse_ends_the_process_from_checked_on) {
  if (ashlar::checking_level < ashlar::checking::checked || ashlar::detail::always_marked)
    GTEST_SKIP() << "known from level checked on, where no tool does";
  expect_end(from_checked);
}

TEST(process_heap_faults, each_misuse_ends_the_process_at_hardened) {
  if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "known at level hardened, where no tool does";
  expect_end(at_hardened);
}

TEST(process_heap_faults, blocks_of_no_bytes_are_apart) {
  if (ashlar::checking_level < ashlar::checking::checked || ashlar::detail::always_marked)
    GTEST_SKIP() << "cells otherwise";
  const bytes first = taken(0), second = taken(0);
  EXPECT_NE(first, second);
  EXPECT_EQ(process_heap().usable_size(const_cast<char*>(first)), 0u);
  const auto grown = static_cast<bytes>(process_heap().reallocate(const_cast<char*>(first), 100));
  grown[99] = 'A';
  free_block(grown);
  process_heap().deallocate(const_cast<char*>(second), 0);
}

TEST(process_heap_faults, a_freed_cell_and_a_new_block_are_zero) {
  if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "known at level hardened, where no tool does";
  for (const std::size_t size : {std::size_t{8}, std::size_t{1000}, 4 * kib, 32 * kib, 256 * kib}) {
    const bytes anchor = taken(size);  // an empty slab would be inaccessible
    for (int i = 0; i < 100; ++i) {
      const bytes p = taken(size);
      for (std::size_t at = 0; at < size; ++at) ASSERT_EQ(p[at], 0) << size;
      std::memset(const_cast<char*>(p), 'A', size);
      free_block(p);
      if (size <= 1000 && i < 30)
        for (std::size_t at = 0; at < size; ++at) ASSERT_EQ(p[at], 0) << size;
    }
    free_block(anchor);
  }
}

TEST(process_heap_faults, no_block_comes_again_at_once) {
  if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "known at level hardened, where no tool does";
  for (const std::size_t size : {std::size_t{0}, 256 * kib}) {
    const bytes p = taken(size);
    free_block(p);
    for (int i = 0; i < 10; ++i) {
      const bytes next = taken(size);
      EXPECT_NE(next, p);
      free_block(next);
    }
  }
}

}  // namespace

#endif
