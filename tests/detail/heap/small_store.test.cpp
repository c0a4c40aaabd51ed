// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of slabs behind a thread cache: each size class, sweeps, and the return of empty slabs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/extent_map.hpp>
#include <ashlar/detail/heap/small_store.hpp>
#include <ashlar/detail/heap/span_store.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/poison.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::detail::size_classes;
using ashlar_test::counting_resource;
using upstream_ref = ashlar::resource_ref<counting_resource<>>;

class small_store_test : public ::testing::Test {
protected:
  std::byte* take(std::size_t number) {
    void* p = lists_.pop(number);
    if (p != nullptr && ashlar::detail::is_sampled(p)) lists_.count_taken(number);
    if (p == nullptr) p = small_.take(number, lists_);
    if (p != nullptr) ashlar::detail::mark_live(p, size_classes::bytes_of(number));
    return static_cast<std::byte*>(p);
  }

  void give(std::size_t number, std::byte* cell) {
    lists_.push(number, cell);
    if (ashlar::detail::is_sampled(cell)) small_.count_freed(number, lists_);
  }

  [[nodiscard]] std::size_t slabs() const {
    std::size_t count = 0;
    small_.for_each_slab([&](ashlar::detail::span_header&) { ++count; });
    return count;
  }

  counting_resource<> upstream_;
  ashlar::detail::extent_map<upstream_ref> space_{ashlar::detail::max_size, upstream_};
  ashlar::detail::span_store<upstream_ref> spans_{space_};
  ashlar::detail::small_store<upstream_ref> small_{spans_};
  ashlar::detail::thread_cache lists_;
};

TEST_F(small_store_test, hands_out_cells_of_each_class_apart_from_each_other) {
  std::set<std::pair<std::byte*, std::byte*>> all;
  for (std::size_t number = 1; number <= size_classes::count; ++number)
    for (int i = 0; i < 100; ++i) {
      std::byte* const cell = take(number);
      ASSERT_NE(cell, nullptr);
      ASSERT_TRUE(small_.is_cached(cell) || ashlar::detail::segment::live_cells::is_kept);
      all.insert({cell, cell + size_classes::bytes_of(number)});
    }
  ASSERT_EQ(all.size(), 100 * size_classes::count);
  for (auto each = all.begin(), next = std::next(each); next != all.end(); ++each, ++next)
    ASSERT_LE(each->second, next->first);
  EXPECT_TRUE(small_.invariant());
}

TEST_F(small_store_test, gives_slabs_back_whose_cells_are_all_free) {
  std::vector<std::byte*> held;
  for (std::size_t number = 1; number <= size_classes::count; number += 7)
    for (int i = 0; i < 300; ++i) held.push_back(take(number));
  const std::size_t most = slabs();
  EXPECT_GE(most, size_classes::count / 7);
  for (std::byte* const cell : held) lists_.push(ashlar::detail::segment::size_class_of(cell), cell);
  EXPECT_EQ(slabs(), most) << "frees do not look at slabs";
  small_.flush_caches(lists_);
  EXPECT_EQ(slabs(), 0u);
  EXPECT_EQ(spans_.used_bytes(), 0u);
  EXPECT_TRUE(small_.invariant() && spans_.invariant());
}

TEST_F(small_store_test, caches_the_next_cells_of_the_batch_as_well) {
  const bool has_links = ashlar::checking_level < ashlar::checking::hardened;
  for (const std::size_t bytes : {16u, 64u, 208u, 1024u, 1280u, 8192u}) {
    const std::size_t number = size_classes::of(bytes), at_most = has_links && bytes <= 1024 ? 7 : 0;
    for (int i = 0; i < 300; ++i) {
      lists_.clear();  // treated as handed out
      const std::byte* last = take(number);
      std::size_t cells = 0;
      bool is_at_the_end = false;
      lists_.for_each(number, [&](void* cell) {
        EXPECT_FALSE(ashlar::detail::is_sampled(cell)) << "a sampled address is counted where it enters a free list";
        EXPECT_FALSE(is_at_the_end) << "cells come in order, except the first of the batch, which is the last";
        is_at_the_end = cell < last;
        last = static_cast<std::byte*>(cell);
        ++cells;
      });
      EXPECT_LE(cells, at_most);
    }
  }
  lists_.clear();
  EXPECT_TRUE(small_.invariant());
}

TEST_F(small_store_test, takes_back_many_cells_of_a_word_at_once) {
  const std::size_t number = size_classes::of(96);
  std::vector<std::byte*> held;
  for (int i = 0; i < 500; ++i) held.push_back(take(number));
  const std::size_t bytes = small_.free_bytes();
  ashlar::detail::span_header& slab = ashlar::detail::segment::slab_of(held[0]);
  std::map<std::size_t, std::uint64_t> words;
  for (std::byte* const cell : held) words[slab.index_of(cell) / 64] |= std::uint64_t{1} << slab.index_of(cell) % 64;
  std::size_t given = 0;
  small_.flush_caches(lists_);  // so that only these cells keep the slab
  for (const auto& [word, cells] : words) {
    EXPECT_EQ(slabs(), 1u);
    given += small_.give_mask(slab, word, cells);
    EXPECT_TRUE(small_.invariant());
  }
  EXPECT_EQ(given, 500 * size_classes::bytes_of(number));
  EXPECT_GE(bytes + given, small_.free_bytes());
  EXPECT_EQ(slabs(), 0u);
}

TEST_F(small_store_test, a_sweep_returns_cells_in_any_order) {
  std::vector<std::byte*> held;
  for (const std::size_t bytes : {16u, 96u, 1024u, 1280u})
    for (int i = 0; i < 3000; ++i) held.push_back(take(size_classes::of(bytes)));
  std::sort(held.begin(), held.end(), [](std::byte* a, std::byte* b) {
    const auto mixed = [](std::byte* p) { return ashlar::detail::address_of(p) / 16 * 0x9E37'79B1u; };
    return mixed(a) < mixed(b);
  });
  for (std::size_t i = 0; i < held.size(); ++i) {
    lists_.push(ashlar::detail::segment::size_class_of(held[i]), held[i]);
    if (i % 1000 != 0) continue;
    small_.sweep(lists_);
    EXPECT_TRUE(small_.invariant());
  }
  small_.flush_caches(lists_);
  EXPECT_EQ(slabs(), 0u);
  EXPECT_EQ(small_.free_bytes(), 0u);
}

TEST_F(small_store_test, a_sweep_reports_a_cell_that_was_freed_twice) {
  if (ashlar::checking_level == ashlar::checking::hardened) GTEST_SKIP() << "no free lists";
  const std::size_t number = size_classes::of(64);
  std::vector<std::byte*> held;
  for (int i = 0; i < 200; ++i) held.push_back(take(number));
  for (std::byte* const cell : {held[10], held[11], held[10]}) lists_.push(number, cell);
  EXPECT_DEATH(small_.sweep(lists_), "freed a block that is free");
  lists_.clear();
  lists_.push(number, held[10]);
  small_.sweep(lists_);
  lists_.push(number, held[150]);
  lists_.push(number, held[10]);
  EXPECT_DEATH(small_.sweep(lists_), "freed a block that is free") << "after cells of another word";
  lists_.clear();
}

TEST_F(small_store_test, knows_which_cells_a_caller_has) {
  std::set<std::byte*> held;
  for (int i = 0; i < 1000; ++i) held.insert(take(size_classes::of(48)));
  for (auto each = held.begin(); each != held.end();) {
    lists_.push(size_classes::of(48), *each);
    each = held.erase(each);
    if (each != held.end()) ++each;
  }
  small_.flush_caches(lists_);
  std::set<std::byte*> seen;
  small_.for_each_slab([&](ashlar::detail::span_header& slab) {
    EXPECT_EQ(slab.cell_bytes, 48u);
    ashlar::detail::slab_view(slab).for_each_taken([&](std::byte* cell) { seen.insert(cell); });
  });
  EXPECT_EQ(seen, held);
  EXPECT_TRUE(small_.invariant());
}

// Each phase allocates other sizes than the one before, so that its slabs come from those of the former phase.
TEST_F(small_store_test, memory_moves_from_class_to_class) {
  std::size_t most = 0;
  for (const std::size_t bytes : {64u, 256u, 48u, 1024u, 96u}) {
    std::vector<std::byte*> held;
    for (std::size_t i = 0; i < (std::size_t{6} << 20) / bytes; ++i) held.push_back(take(size_classes::of(bytes)));
    most = std::max(most, space_.held_bytes());
    for (std::byte* const cell : held) give(size_classes::of(bytes), cell);
  }
  EXPECT_LE(most, std::size_t{8} << 20);
  EXPECT_TRUE(small_.invariant());
}

// The free cells of a class are counted by its sampled addresses, and slabs of some colours contain none.
TEST_F(small_store_test, each_class_has_samples_whichever_others_grow_with_it) {
  for (std::size_t slab = 0; slab < 16; ++slab)
    for (std::size_t number = 1; number <= 8; ++number) {
      const std::size_t cells = ashlar::detail::slice_bytes / size_classes::bytes_of(number);
      for (std::size_t i = 0; i < cells; ++i) lists_.push(0, take(number));  // the free list of no class
    }
  std::size_t bytes[9] = {};
  while (void* const cell = lists_.pop(0)) {
    const std::size_t number = ashlar::detail::segment::size_class_of(cell);
    if (ashlar::detail::is_sampled(cell)) bytes[number] += ashlar::detail::sampled_bytes_of[number];
  }
  for (std::size_t number = 1; number <= 8; ++number) {
    EXPECT_GT(bytes[number], 8 * ashlar::detail::slice_bytes) << number;
    EXPECT_LT(bytes[number], 32 * ashlar::detail::slice_bytes) << number;
  }
}

// A program with one live block of a size at a time stays on the fast path.
TEST_F(small_store_test, what_a_class_hands_out_first_is_not_sampled) {
  for (std::size_t number = 1; number <= size_classes::count; ++number)
    EXPECT_FALSE(ashlar::detail::is_sampled(take(number))) << size_classes::bytes_of(number);
}

TEST_F(small_store_test, refuses_and_continues_when_memory_is_back) {
  ASSERT_NE(take(1), nullptr);
  upstream_.fail_from(0);
  std::vector<std::byte*> held;
  while (std::byte* const cell = take(50)) held.push_back(cell);
  EXPECT_TRUE(small_.invariant() && spans_.invariant());
  EXPECT_EQ(take(50), nullptr);
  lists_.push(50, held.back());
  EXPECT_NE(take(50), nullptr);
  upstream_.fail_never();
  EXPECT_NE(take(50), nullptr);
  small_.clear();
  lists_.clear();
  spans_.clear();
  space_.release();
  EXPECT_EQ(upstream_.balance(), ashlar_test::nothing);
}

}  // namespace
