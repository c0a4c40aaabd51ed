// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a thread's directory of caches: found by number, retired with the thread, never found for another pool.
#include <array>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/detail/thread/thread_caches.hpp>

namespace {

using ashlar::detail::thread_cache_record;
using ashlar::detail::thread_caches;

struct watched : thread_cache_record {
  bool is_pool_gone = false;
  int retired = 0;

  watched() {
    pool = thread_caches::new_pool();
    cache = this;
    is_orphan = [](thread_cache_record* self) noexcept { return static_cast<watched*>(self)->is_pool_gone; };
    retire = [](thread_cache_record* self) noexcept { ++static_cast<watched*>(self)->retired; };
  }
};

TEST(thread_caches, numbers_pools_without_repetition) {
  const std::uint64_t first = thread_caches::new_pool();
  EXPECT_GT(first, 0U);
  EXPECT_GT(thread_caches::new_pool(), first);
  EXPECT_NE(first % 256, thread_caches::new_pool() % 256) << "neighbours have places of their own";
  // The high bits are the number of a page that is never released, so no other copy of the class uses it.
  const std::uint64_t page = first >> 28;
  void* const place = reinterpret_cast<void*>(static_cast<std::uintptr_t>(page * 4096));
  EXPECT_TRUE(ashlar::detail::system_calls::is_mapped(place, 1));
  std::uint64_t last = first;
  for (int i = 0; i < 1 << 20; ++i) last = thread_caches::new_pool();
  EXPECT_NE(last >> 28, page) << "the next page, when all numbers of one are used up";
}

TEST(thread_caches, finds_each_of_many_and_retires_them_with_the_thread) {
  std::array<watched, 100> records;  // more than the table holds
  std::thread([&] {
    for (watched& each : records) {
      EXPECT_EQ(thread_caches::find(each.pool), nullptr);
      EXPECT_EQ(thread_caches::find_slow(each.pool), nullptr);
      ASSERT_TRUE(thread_caches::accepts());
      thread_caches::enter(&each);
      EXPECT_EQ(thread_caches::find(each.pool), &each);
    }
    for (watched& each : records) EXPECT_EQ(thread_caches::find_slow(each.pool), &each);
    EXPECT_EQ(thread_caches::find(records.back().pool), &records.back());
  }).join();
  for (const watched& each : records) EXPECT_EQ(each.retired, 1);
  EXPECT_EQ(thread_caches::find_slow(records[0].pool), nullptr) << "another thread's";
}

TEST(thread_caches, finds_in_a_fork_without_touching_anything) {
  std::array<watched, 17> records;  // the last one replaces the first one in the table
  std::thread([&] {
    ASSERT_TRUE(thread_caches::accepts());
    for (watched& each : records) thread_caches::enter(&each);
    records[5].is_pool_gone = true;
    EXPECT_EQ(thread_caches::find(records[0].pool), nullptr);
    for (watched& each : records) EXPECT_EQ(thread_caches::find_unchanged(each.pool), &each);
    EXPECT_EQ(thread_caches::find(records[0].pool), nullptr);
    EXPECT_EQ(thread_caches::find_unchanged(thread_caches::new_pool()), nullptr);
    EXPECT_EQ(records[5].retired, 0);
  }).join();
}

TEST(thread_caches, retires_orphans_when_it_looks_around) {
  watched dead;
  watched alive;
  std::thread([&] {
    ASSERT_TRUE(thread_caches::accepts());
    thread_caches::enter(&dead);
    thread_caches::enter(&alive);
    dead.is_pool_gone = true;
    EXPECT_EQ(thread_caches::find_slow(alive.pool), &alive);
    EXPECT_EQ(dead.retired, 1);
    EXPECT_EQ(alive.retired, 0);
    EXPECT_EQ(thread_caches::find(dead.pool), nullptr);
  }).join();
  EXPECT_EQ(dead.retired, 1);
  EXPECT_EQ(alive.retired, 1);
}

TEST(thread_caches, a_thread_that_ends_accepts_no_more) {
  struct last_words {
    bool* accepted;
    ~last_words() { *accepted = thread_caches::accepts(); }
  };
  bool accepted = true;
  watched record;
  std::thread([&] {
    static thread_local last_words late{
        &accepted};  // made before the end of the directory was registered, so destroyed after it
    late.accepted = &accepted;
    ASSERT_TRUE(thread_caches::accepts());
    thread_caches::enter(&record);
  }).join();
  EXPECT_FALSE(accepted);
  EXPECT_EQ(record.retired, 1);
}

}  // namespace
