// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of calls of other threads, which bypass the thread cache of the owner.
#include <ashlar/detail/heap/owner_core.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/remote_free/parcel.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using ashlar::detail::size_classes;
using core_type = ashlar::detail::owner_core<ashlar::detail::heap_core<ashlar::page_resource>>;

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

// Effects: sends cells of one class in one parcel.
void send(core_type& to, const std::vector<void*>& cells, std::size_t bytes) {
  ashlar::detail::open_parcel<> open;
  for (void* const cell : cells) {
    ashlar::detail::mark_free(cell, bytes);
    if (!open.try_add(cell)) open.begin_carrier(cell, bytes);
  }
  to.receive(open.close(), cells.size() * bytes);
}

TEST_F(owner_core_test, settles_a_parcel_in_calls_of_other_threads) {
  if (!core_type::sends) GTEST_SKIP() << "nothing is sent where frees are checked";
  core_type core({}, {}, this);
  const std::size_t number = size_classes::of(2048);
  ashlar::detail::free_lists lists;
  for (int round = 0; round < 2; ++round) {
    void* const cell = core.take_cell(number, lists);
    ashlar::detail::mark_live(cell, 2048);
    send(core, {cell}, 2048);
    EXPECT_TRUE(core.has_arrivals());
    if (round == 0) core.take_in_now();
    else static_cast<void>(core.trim_excluding_cache(0));
    EXPECT_FALSE(core.has_arrivals());
  }
  EXPECT_NE(core.trim_excluding_cache(0) + 1, 0u);
  EXPECT_EQ(core.held_bytes(), 0u);
}

TEST_F(owner_core_test, hands_out_what_has_arrived_before_anything_else) {
  if (!core_type::sends) GTEST_SKIP() << "nothing is sent where frees are checked";
  core_type core({}, {}, this);
  ashlar::detail::free_lists lists;
  const std::size_t bytes = 96, number = size_classes::of(bytes);
  std::vector<void*> cells;
  const auto take = [&] {
    void* cell = lists.pop(number);
    if (cell == nullptr) cell = core.take_cell(number, lists);
    ashlar::detail::mark_live(cell, bytes);
    return cell;
  };
  for (int i = 0; i < 500; ++i) cells.push_back(take());
  while (!lists.is_empty(number)) static_cast<void>(take());
  send(core, cells, bytes);
  std::vector<void*> again;
  for (int i = 0; i < 500; ++i) again.push_back(take());
  EXPECT_FALSE(core.has_arrivals());
  std::sort(cells.begin(), cells.end());
  std::sort(again.begin(), again.end());
  EXPECT_EQ(again, cells);
  EXPECT_TRUE(core.invariant(lists));
}

TEST_F(owner_core_test, takes_a_parcel_back_at_once_where_much_waits) {
  if (!core_type::sends) GTEST_SKIP() << "nothing is sent where frees are checked";
  void* const cell = take(size_classes::of(512));  // of a heap that retains nothing
  send(core_, {cell}, 512);
  EXPECT_FALSE(core_.has_arrivals());
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
