// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of calls of other threads, which bypass the thread cache of the owner.
#include <ashlar/detail/heap/owner_core.hpp>

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/segment_words.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using ashlar::detail::size_classes;
using core_type = ashlar::detail::owner_core<ashlar::page_resource>;

class owner_core_test : public ::testing::Test {
protected:
  void* take(std::size_t number) {
    void* const cell = core_.take_cell(number, lists_);
    if (cell != nullptr) ashlar::detail::mark_live(cell, size_classes::bytes_of(number));
    return cell;
  }

  core_type core_{{.retain_bytes = 0}, {}, this};
  ashlar::detail::free_lists lists_;
};

TEST_F(owner_core_test, names_the_owner_in_its_segments) {
  void* const cell = take(3);
  EXPECT_EQ(ashlar::detail::segment::heap_of(cell), this);
  core_.give_now(cell);
  EXPECT_TRUE(core_.invariant(lists_));
}

TEST_F(owner_core_test, drains_a_packet_at_every_call_under_the_lock) {
  if (!core_type::sends) GTEST_SKIP() << "nothing is sent where frees are checked";
  const std::size_t number = size_classes::of(2048);  // batches of smaller cells belong to the owner alone
  ashlar::detail::heap_batcher batch(1000);
  const auto route = [&](std::uintptr_t) -> auto& { return core_.inbox(); };
  for (int round = 0; round < 3; ++round) {
    const ashlar::detail::freed_word place = ashlar::detail::word_of_cell(take(number));
    EXPECT_EQ(batch.add(place.key, place.cells, route), ashlar::detail::batch_result::noted);
    EXPECT_TRUE(batch.flush(route));
    EXPECT_FALSE(core_.inbox().is_empty());
    if (round == 0) core_.take_in_now();
    else if (round == 1) static_cast<void>(core_.trim_excluding_cache(0));
    else core_.inbox().drain_inbox(core_.inbox().owner);
    EXPECT_TRUE(core_.inbox().is_empty() && batch.is_idle());
  }
  EXPECT_NE(core_.trim_excluding_cache(0), 0u);
  EXPECT_EQ(core_.held_bytes(), 0u);
}

TEST_F(owner_core_test, leaves_cached_cells_to_their_owner) {
  const std::size_t number = size_classes::of(2048);
  void* const cell = take(number);
  lists_.push(number, cell);
  static_cast<void>(core_.trim_excluding_cache(0));
  EXPECT_NE(core_.held_bytes(), 0u);
  EXPECT_EQ(lists_.pop(number), cell);
  core_.give_now(cell);
  static_cast<void>(core_.trim_excluding_cache(0));
  EXPECT_EQ(core_.held_bytes(), 0u);
}

TEST_F(owner_core_test, is_not_waited_for_where_somebody_is_at_it) {
  core_.give_now(take(size_classes::of(2048)));
  core_.before_fork();
  EXPECT_EQ(core_.try_trim_excluding_cache(), 0u);
  core_.after_fork();
  EXPECT_NE(core_.held_bytes(), 0u);
  static_cast<void>(core_.try_trim_excluding_cache());
  EXPECT_EQ(core_.held_bytes(), 0u);
}

TEST_F(owner_core_test, calls_back_at_each_fourth_slow_call) {
  int told = 0;
  core_.on_slow_calls(&told, [](void* count) noexcept { ++*static_cast<int*>(count); });
  for (int i = 0; i < 160; ++i) core_.give_now(take(size_classes::of(2048)));
  EXPECT_EQ(told, core_type::sends ? 40 : 0);
}

}  // namespace
