// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of misuse, which ends the program and names the heap, and of guarded spans.
#include <array>
#include <bit>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/exact_sizes.hpp>
#include <ashlar/detail/heap/heap_checks.hpp>
#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/detail/heap/span_guards.hpp>
#include <ashlar/detail/heap/span_store.hpp>
#include <ashlar/detail/heap/thread_cache.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::fault;
using ashlar::local_heap;
using ashlar_test::caught_in;

constexpr bool is_hardened = ashlar::checking_level >= ashlar::checking::hardened;

// Small blocks, spans of slices, a huge block.
constexpr std::size_t sizes_of_frees[] = {1, 24, 100, 4096, 30'000, 70'000, 900'000, 5'000'000};

class heap_checks : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }

  template <class F>
  void expect_fault(fault kind, const void* p, const F& misuse, const void* owner = nullptr) {
    const auto seen = caught_in(misuse);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->kind, kind) << seen->what;
    EXPECT_EQ(seen->pointer, p);
    EXPECT_EQ(seen->resource, &heap_);
    EXPECT_EQ(seen->owner, owner);
  }

  // By each call that takes a block back.
  void expect_fault_of_all(fault kind, void* p, const void* owner = nullptr) {
    expect_fault(kind, p, [&] { heap_.deallocate(p); }, owner);
    expect_fault(kind, p, [&] { heap_.deallocate(p, 400); }, owner);
    expect_fault(kind, p, [&] { heap_.deallocate(p, 40'000, 64); }, owner);
    expect_fault(kind, p, [&] { heap_.deallocate<48>(p); }, owner);
    expect_fault(kind, p, [&] { heap_.deallocate<5'000'000>(p); }, owner);
    expect_fault(kind, p, [&] { static_cast<void>(heap_.try_reallocate(p, 100)); }, owner);
    expect_fault(kind, p, [&] { static_cast<void>(heap_.reallocate(p, 100'000)); }, owner);
    expect_fault(kind, p, [&] { static_cast<void>(heap_.try_expand(p, 100, 101, 16)); }, owner);
    expect_fault(kind, p, [&] { static_cast<void>(heap_.usable_size(p)); }, owner);
  }

  local_heap<> heap_;
};

// The fault matrix has the plain frees of each kind of block, and the texts.
TEST_F(heap_checks, every_call_that_takes_a_block_reports_what_is_none) {
  static int global = 0;
  int local = 0;
  std::vector<int> vector(100);
  void* const mapped = ::mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);  // not even readable
  std::optional<local_heap<>> other(std::in_place);
  ashlar::block_pool<> pool({.cell_bytes = 48});
  void* const cell = pool.allocate();
  const auto expect_foreign = [&] {
    for (void* const p :
         {static_cast<void*>(&local), static_cast<void*>(&global), static_cast<void*>(vector.data()), mapped})
      expect_fault_of_all(fault::invalid_free, p);
    expect_fault_of_all(fault::wrong_pool, cell, &pool);
  };
  expect_foreign();  // of a heap without memory
  for (const std::size_t bytes : sizes_of_frees) {
    auto* const p = static_cast<std::byte*>(heap_.allocate(bytes));
    void* const dead = heap_.allocate(bytes);
    void* const foreign = other->allocate(bytes);
    heap_.deallocate(dead);
    expect_fault_of_all(fault::double_free, dead);
    for (const std::size_t inside :
         {std::size_t{1}, std::size_t{8}, std::size_t{16}, std::size_t{4096}, std::size_t{65536}, bytes / 2, bytes - 1})
      if (inside != 0 && inside < heap_.usable_size(p)) expect_fault_of_all(fault::misaligned_free, p + inside);
    expect_fault_of_all(fault::wrong_pool, foreign, &*other);
    heap_.deallocate(p);
    other->deallocate(foreign, bytes);
  }
  expect_foreign();
  void* const held = heap_.allocate(100);
  expect_fault_of_all(fault::invalid_free,
                      ashlar::align_down(static_cast<std::byte*>(held), ashlar::detail::segment_bytes) + 64);
  void* const last = other->allocate(24);
  other.reset();
  expect_fault_of_all(fault::invalid_free, last);
  pool.deallocate(cell);
  ::munmap(mapped, 8192);
  EXPECT_TRUE(heap_.invariant());
}

TEST_F(heap_checks, freed_as_another_size) {
  for (const std::size_t bytes : sizes_of_frees)
    for (const std::size_t other : {std::size_t{2000}, bytes + 200'000, bytes * 2 + 16, bytes + 1, bytes - 1}) {
      if (!is_hardened && (other + 1 == bytes || other == bytes + 1)) continue;
      if (other == 0) continue;  // counts as 1
      void* const p = heap_.allocate(bytes);
      if (is_hardened || bytes <= 4'000'000 || other == 2000) {
        expect_fault(fault::size_mismatch, p, [&] { heap_.deallocate(p, other); });
        expect_fault(fault::size_mismatch, p, [&] { static_cast<void>(heap_.try_expand(p, other, 10, 16)); });
      }
      heap_.deallocate(p, bytes);
    }
  void* const aligned = heap_.allocate(24, 256);
  expect_fault(fault::size_mismatch, aligned, [&] { heap_.deallocate(aligned, 24); });
  heap_.deallocate(aligned, 24, 256);
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{70'000}, std::size_t{5'000'000}}) {
    void* const p = heap_.allocate(bytes);
    const std::size_t own = std::size_t{1} << std::countr_zero(ashlar::address_of(p));
    expect_fault(fault::size_mismatch, p, [&] { heap_.deallocate(p, bytes, 2 * own); });
    expect_fault(fault::size_mismatch, p, [&] { static_cast<void>(heap_.try_expand(p, bytes, bytes, 2 * own)); });
    heap_.deallocate(p, bytes);
  }
}

// A huge block may exceed the size known to its caller by an eighth, or by a third after it shrank in place.
TEST_F(heap_checks, a_huge_block_freed_as_a_much_smaller_one) {
  void* const p = heap_.allocate(9'000'000);
  for (const std::size_t other : {std::size_t{70'000}, std::size_t{4'500'000}, std::size_t{6'700'000}}) {
    expect_fault(fault::size_mismatch, p, [&] { heap_.deallocate(p, other); });
    expect_fault(fault::size_mismatch, p, [&] { static_cast<void>(heap_.try_expand(p, other, 10, 16)); });
  }
  heap_.deallocate(p, 9'000'000);
  void* q = heap_.allocate(8'020'000);
  EXPECT_EQ(q, p) << "the spare one, as it is";
  for (const std::size_t smaller :
       {std::size_t{6'760'000}, std::size_t{5'300'000}, std::size_t{70'000}, std::size_t{33'000}}) {
    q = heap_.reallocate(q, smaller);
    EXPECT_TRUE(heap_.try_expand(q, smaller, smaller, 16));
  }
  heap_.deallocate(q, 33'000);
  void* const aligned = heap_.allocate(1, std::size_t{8} << 20);
  heap_.deallocate(aligned, 1, std::size_t{8} << 20);
}

// Writes that a heap detects at level hardened where no tool does.
class written_blocks : public heap_checks {
protected:
  void SetUp() override {
    if (!is_hardened) GTEST_SKIP() << "known at level hardened";
    if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "a tool sees the write itself";
  }

  // A cell, a span, a huge block.
  static constexpr std::size_t sizes[] = {1, 40, 100, 1000, 20'000, 70'000, 5'000'000};

  [[nodiscard]] std::byte* allocate(std::size_t bytes) { return static_cast<std::byte*>(heap_.allocate(bytes)); }
};

TEST_F(written_blocks, one_byte_behind_any_size_is_seen) {
  for (std::size_t bytes = 1; bytes <= 4096; ++bytes) {
    auto* const p = allocate(bytes);
    p[bytes] ^= std::byte{1};
    expect_fault(fault::overflow, p, [&] { heap_.deallocate(p); });
    p[bytes] ^= std::byte{1};
    heap_.deallocate(p);
  }
}

TEST_F(written_blocks, bytes_before_a_cell_are_watched_for_any_neighbour) {
  for (const std::size_t bytes : {1u, 16u, 40u, 112u, 1000u, 20'000u}) {
    local_heap<> heap;
    std::vector<std::byte*> cells;
    for (int i = 0; i < 40; ++i) cells.push_back(static_cast<std::byte*>(heap.allocate(bytes)));
    for (std::size_t i = 1; i < 40; i += 3) heap.deallocate(cells[i]);  // live and free neighbours
    for (std::size_t i = 0; i < 40; ++i) {
      if (i % 3 == 1) continue;
      cells[i][-1] ^= std::byte{4};
      const auto seen = caught_in([&] { heap.deallocate(cells[i], bytes); });
      cells[i][-1] ^= std::byte{4};
      if (ashlar::is_aligned(cells[i], ashlar::detail::slice_bytes)) continue;  // no neighbour of the block
      ASSERT_TRUE(seen.has_value()) << bytes << " bytes, block " << i;
      EXPECT_EQ(seen->kind, fault::underflow);
      EXPECT_EQ(seen->pointer, cells[i]);
    }
    heap.release();
  }
}

TEST_F(written_blocks, an_overflow_is_detected_by_every_call_that_takes_the_block) {
  for (const std::size_t bytes : sizes)
    for (const std::size_t behind : {0u, 7u, 31u}) {
      if (bytes + behind >= ashlar::detail::size_classes::rounded(bytes < 30'000 ? bytes : 1) && bytes < 30'000)
        continue;
      auto* const p = allocate(bytes);
      p[bytes + behind] ^= std::byte{0x40};
      expect_fault(fault::overflow, p, [&] { heap_.deallocate(p); });
      expect_fault(fault::overflow, p, [&] { heap_.deallocate(p, bytes); });
      expect_fault(fault::overflow, p, [&] { static_cast<void>(heap_.try_reallocate(p, bytes + 1)); });
      expect_fault(fault::overflow, p, [&] { static_cast<void>(heap_.try_expand(p, bytes, bytes + 1, 16)); });
      p[bytes + behind] ^= std::byte{0x40};
      heap_.deallocate(p, bytes);
    }
}

TEST_F(written_blocks, any_byte_of_a_dead_run_up_to_512_kib_is_seen) {
  for (const std::size_t bytes : {std::size_t{70'000}, std::size_t{262'144}, std::size_t{524'000}})
    for (const std::size_t at : {std::size_t{0}, std::size_t{4096}, bytes / 2, bytes - 1})
      for (const bool is_joined : {false, true}) {
        local_heap<> heap;
        auto* const p = static_cast<std::byte*>(heap.allocate(bytes));
        void* const other = heap.allocate(bytes);
        heap.deallocate(p);
        if (is_joined) heap.for_each_live([](void*, std::size_t) {});
        p[at] ^= std::byte{0x40};
        const auto seen = caught_in([&] {
          for (int i = 0; i < 8; ++i) static_cast<void>(heap.allocate(bytes / 2));
          heap.release();
        });
        ASSERT_TRUE(seen.has_value()) << bytes << " at " << at;
        EXPECT_EQ(seen->kind, fault::corrupt_link);
        EXPECT_EQ(seen->pointer, p);
        p[at] ^= std::byte{0x40};
        heap.deallocate(other);
      }
}

TEST_F(written_blocks, a_write_beside_a_live_block_is_seen_when_the_heap_is_released_or_ends) {
  for (const std::size_t bytes : sizes) {
    auto* const p = allocate(bytes);
    p[bytes] ^= std::byte{1};
    expect_fault(fault::overflow, p, [&] { heap_.release(); });
    const auto ends = [&] { heap_.~local_heap<>(); };
    EXPECT_EXIT((ends(), std::_Exit(0)), ::testing::KilledBySignal(SIGABRT),
                "ashlar: overflow: bytes past the end of a block");
    p[bytes] ^= std::byte{1};
    heap_.release();
  }
}

using ashlar::detail::fresh_block;
using ashlar::detail::segment;
using ashlar::detail::slice_bytes;
using guarded_pages = ashlar::basic_page_resource<ashlar::fresh::by_wish>;
using store_type = ashlar::detail::span_store<guarded_pages>;

constexpr std::size_t page = 4096;

static_assert(ashlar::detail::guard_bytes<ashlar::page_resource> == 0, "the wish of one upstream");
static_assert(ashlar::detail::with_guard<guarded_pages>(ashlar::max_size) == ashlar::max_size);

/// The system reads the byte into a pipe, and refuses to if it is inaccessible. `is_open()`: the pipe could be had.
class access_probe {
public:
  access_probe() {
    if (::pipe(ends_.data()) != 0) ends_ = {-1, -1};
  }
  access_probe(const access_probe&) = delete;
  access_probe& operator=(const access_probe&) = delete;
  ~access_probe() {
    for (const int end : ends_)
      if (end >= 0) ::close(end);
  }

  [[nodiscard]] bool is_open() const { return ends_[0] >= 0; }

  [[nodiscard]] bool is_accessible(const std::byte* p) const {
    std::byte seen;
    return ::write(ends_[1], p, 1) == 1 && ::read(ends_[0], &seen, 1) == 1;
  }

private:
  std::array<int, 2> ends_ = {-1, -1};
};

class span_guards : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar::detail::span_guards<guarded_pages>::are_kept) GTEST_SKIP() << "known at level hardened";
    ASSERT_TRUE(probe.is_open());
  }

  [[nodiscard]] bool is_accessible(const std::byte* p) const { return probe.is_accessible(p); }

  // Whether a span is accessible but for its last page, and not the pages around it.
  [[nodiscard]] bool is_open(const fresh_block& run, std::size_t length) const {
    const std::byte* const end = run.data + length * slice_bytes;
    for (const std::byte* p = run.data; p < end - page; p += page)
      if (!is_accessible(p)) return false;
    return !is_accessible(run.data - 1) && !is_accessible(end - page) && !is_accessible(end - 1);
  }

  [[nodiscard]] fresh_block take(std::size_t length) {
    if (const fresh_block run = store.made_block(store.take(length), length); run.data != nullptr) return run;
    EXPECT_TRUE(store.grow(length));
    return store.made_block(store.take(length), length);
  }

  access_probe probe;
  ashlar::detail::extent_map<guarded_pages> space{ashlar::max_size, guarded_pages{}};
  store_type store{space};
};

TEST_F(span_guards, a_span_is_open_between_closed_pages_wherever_it_is) {
  std::vector<fresh_block> all;
  for (int i = 0; i < 60; ++i) all.push_back(take(1));
  for (const fresh_block& run : all) EXPECT_TRUE(run.is_zero && is_open(run, 1));
  for (std::size_t i = 0; i < all.size(); i += 2) {
    store.give(all[i].data, 1);
    EXPECT_FALSE(is_accessible(all[i].data));
  }
  EXPECT_TRUE(is_open(all[1], 1));
  EXPECT_TRUE(store.invariant());
}

TEST_F(span_guards, a_freed_block_is_closed_and_its_contents_are_gone) {
  const fresh_block run = take(4);
  std::memset(run.data, 0xEE, 4 * slice_bytes - page);
  EXPECT_EQ(store.give_block(run.data), 4u);
  EXPECT_FALSE(is_accessible(run.data));
  EXPECT_NE(take(4).data, run.data) << "it waits in quarantine";
  EXPECT_TRUE(ashlar::detail::segment::is_given(run.data));
  store.end_quarantine();
  std::vector<fresh_block> others;
  for (int i = 0; i < 20; ++i) others.push_back(take(4));
  for (const fresh_block& other : others)
    for (std::size_t at = 0; at < 4 * slice_bytes - page; at += 512) ASSERT_EQ(other.data[at], std::byte{0});
  EXPECT_TRUE(store.invariant());
}

TEST_F(span_guards, a_block_that_grows_or_shrinks_has_its_guard_at_the_end) {
  const fresh_block run = take(8);
  segment& home = *segment::of(run.data);
  const std::size_t first = segment::slice_of(run.data);
  std::memset(run.data, 0xEE, 8 * slice_bytes - page);
  home.set_block(first, 3);
  store.give_tail(run.data, 8, 3);
  EXPECT_TRUE(is_open(run, 3));
  ASSERT_TRUE(store.extend(run.data, 3, 8));
  home.set_block(first, 8);
  EXPECT_TRUE(is_open(run, 8));
  EXPECT_EQ(run.data[3 * slice_bytes - page - 1], std::byte{0xEE});
  for (std::size_t at = 3 * slice_bytes - page; at < 8 * slice_bytes - page; at += 512)
    ASSERT_EQ(run.data[at], std::byte{0});
  EXPECT_TRUE(store.invariant());
}

TEST_F(span_guards, starts_are_chosen_by_chance) {
  std::size_t ascending = 0;
  const std::byte* last = take(1).data;
  for (int i = 0; i < 40; ++i) {
    const std::byte* const next = take(1).data;
    ascending += next > last ? 1 : 0;
    last = next;
  }
  EXPECT_LT(ascending, 40u);
}

}  // namespace
