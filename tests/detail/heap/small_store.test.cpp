// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of slabs behind a thread cache: each size class, sweeps, and the return of empty slabs.
#include <algorithm>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/huge_store.hpp>
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

}  // namespace
