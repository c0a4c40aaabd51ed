// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a thread's directory and of its cache of the last owner: found is what lives, for its owner and thread
// alone.
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/detail/thread/thread_directory.hpp>
#include <ashlar/os/system_calls.hpp>

#include "tests/support/build.hpp"
#include "tests/support/latch.hpp"

namespace {

using ashlar::detail::thread_directory;
using ashlar::detail::thread_entry;

struct watched : thread_entry {
  bool is_owner_gone = false;
  int retired = 0;

  watched() {
    number = thread_directory::new_number();
    found = this;
    static constexpr functions of_watched{
        [](thread_entry* self) noexcept { return static_cast<watched*>(self)->is_owner_gone; },
        [](thread_entry* self) noexcept { ++static_cast<watched*>(self)->retired; }};
    calls = &of_watched;
  }
};

TEST(thread_directory, numbers_owners_without_repetition) {
  const std::uint64_t first = thread_directory::new_number();
  EXPECT_GT(first, 0U);
  EXPECT_GT(thread_directory::new_number(), first);
  EXPECT_NE(first % 256, thread_directory::new_number() % 256) << "neighbours have places of their own";
  // The high bits are the number of a page that is never released, so no other copy of the class uses it.
  const std::uint64_t page = first >> 28;
  void* const place = reinterpret_cast<void*>(static_cast<std::uintptr_t>(page * 4096));
  if constexpr (ASHLAR_POSIX != 0) {
    EXPECT_TRUE(ashlar::detail::system_calls::is_mapped(place, 1));
  }
  std::uint64_t last = first;
  for (int i = 0; i < 1 << 20; ++i) last = thread_directory::new_number();
  EXPECT_NE(last >> 28, page) << "the next page, when all numbers of one are used up";
}

TEST(thread_directory, finds_each_of_many_and_retires_them_with_the_thread) {
  std::array<watched, 100> records;  // more than the table holds
  std::thread([&] {
    for (watched& each : records) {
      EXPECT_EQ(thread_directory::find(each.number), nullptr);
      EXPECT_EQ(thread_directory::find_slow(each.number), nullptr);
      ASSERT_TRUE(thread_directory::accepts());
      thread_directory::enter(&each);
      EXPECT_EQ(thread_directory::find(each.number), &each);
    }
    for (watched& each : records) EXPECT_EQ(thread_directory::find_slow(each.number), &each);
    EXPECT_EQ(thread_directory::find(records.back().number), &records.back());
  }).join();
  for (const watched& each : records) EXPECT_EQ(each.retired, 1);
  EXPECT_EQ(thread_directory::find_slow(records[0].number), nullptr) << "another thread's";
}

TEST(thread_directory, finds_in_a_fork_without_touching_anything) {
  std::array<watched, 17> records;  // the last one replaces the first one in the table
  std::thread([&] {
    ASSERT_TRUE(thread_directory::accepts());
    for (watched& each : records) thread_directory::enter(&each);
    records[5].is_owner_gone = true;
    EXPECT_EQ(thread_directory::find(records[0].number), nullptr);
    for (watched& each : records) EXPECT_EQ(thread_directory::find_unchanged(each.number), &each);
    EXPECT_EQ(thread_directory::find(records[0].number), nullptr);
    EXPECT_EQ(thread_directory::find_unchanged(thread_directory::new_number()), nullptr);
    EXPECT_EQ(records[5].retired, 0);
  }).join();
}

TEST(thread_directory, retires_orphans_when_it_looks_around) {
  watched dead;
  watched alive;
  std::thread([&] {
    ASSERT_TRUE(thread_directory::accepts());
    thread_directory::enter(&dead);
    thread_directory::enter(&alive);
    dead.is_owner_gone = true;
    EXPECT_EQ(thread_directory::find_slow(alive.number), &alive);
    EXPECT_EQ(dead.retired, 1);
    EXPECT_EQ(alive.retired, 0);
    EXPECT_EQ(thread_directory::find(dead.number), nullptr);
  }).join();
  EXPECT_EQ(dead.retired, 1);
  EXPECT_EQ(alive.retired, 1);
}

TEST(thread_directory, a_thread_that_ends_accepts_no_more) {
  struct last_words {
    bool* accepted;
    ~last_words() { *accepted = thread_directory::accepts(); }
  };
  bool accepted = true;
  watched record;
  std::thread([&] {
    static thread_local last_words late{
        &accepted};  // made before the end of the directory was registered, so destroyed after it
    late.accepted = &accepted;
    ASSERT_TRUE(thread_directory::accepts());
    thread_directory::enter(&record);
  }).join();
  EXPECT_EQ(accepted, ASHLAR_WINDOWS != 0) << "the end comes before the variable's, but on Windows after it";
  EXPECT_EQ(record.retired, 1);
}

struct owner {};
struct thing {};
using latest = ashlar::detail::last_used_tls<owner, thing>;

// As in a program with a static library that is compiled as code of a shared one, where one call finds both words.
TEST(last_used_tls, finds_it_in_code_of_both_kinds) {
  using program = ashlar::detail::last_used_tls<owner, thing, false>;
  using library = ashlar::detail::last_used_tls<owner, thing, true>;
  const owner first, second;
  thing one;
  const program::place by_program = program::remember(&first, &one);
  EXPECT_TRUE(program::of(&first) == &one && library::of(&first) == &one && library::found() == &one);
  EXPECT_TRUE(program::is_here(by_program) && !program::is_here({}));
  std::thread([&] { EXPECT_FALSE(program::is_here(by_program)); }).join();
  program::forget(by_program, &first, &one);
  EXPECT_TRUE(program::found() == nullptr && library::found() == nullptr);
  const library::place by_library = library::remember(&first, &one);
  EXPECT_TRUE(program::of(&first) == &one && library::of(&first) == &one && program::found() == &one);
  EXPECT_TRUE(library::found() == &one && library::of(&second) == nullptr);
  EXPECT_EQ(static_cast<const void*>(by_library.library.found), static_cast<const void*>(by_library.library.owner + 1));
  std::thread([&] { EXPECT_EQ(library::found(), nullptr); }).join();
  library::forget(by_library, &first, &one);
  EXPECT_TRUE(program::of(&first) == nullptr && library::of(&first) == nullptr);
}

TEST(last_used_tls, forgets_only_what_is_meant) {
  const owner first, second;
  thing one, two;
  const latest::place here = latest::remember(&first, &one);
  latest::forget({}, &first, &one);
  latest::forget(here, &second, &one);
  latest::forget(here, &first, &two);
  EXPECT_TRUE(latest::of(&first) == &one && latest::found() == &one);
  latest::forget(here, &first, &one);
}

TEST(last_used_tls, forgets_in_a_thread_that_uses_another_owner_meanwhile) {
  const owner lasting;
  thing one, two;
  latest::place there;
  owner ends_again_and_again;
  std::atomic<bool> is_over = false;
  ashlar_test::latch turn(1);
  std::thread other([&] {
    there = latest::remember(&ends_again_and_again, &one);
    turn.count_down();
    do {  // as in the heaps: a miss enters the owner again
      if (latest::of(&lasting) == nullptr) static_cast<void>(latest::remember(&lasting, &two));
      ASSERT_TRUE(latest::of(&lasting) == &two && latest::found() == &two);
    } while (!is_over);
    EXPECT_EQ(latest::of(&ends_again_and_again), nullptr);
  });
  turn.wait();
  for (int i = 0; i < (ashlar_test::is_slow ? 200 : 2000); ++i) latest::forget(there, &ends_again_and_again, &one);
  is_over = true;
  other.join();
}

TEST(last_used_tls, leaves_a_place_alone_that_is_gone) {
  const owner mine;
  thing one;
  latest::place gone = latest::remember(&mine, &one);
  void* const page = ashlar::detail::system_calls::map(ashlar::detail::system_calls::page_bytes(), false);
  ASSERT_TRUE(ashlar::detail::system_calls::unmap(page, ashlar::detail::system_calls::page_bytes()));
  const latest::place here = gone;
  gone.program.owner = static_cast<decltype(gone.program.owner)>(page);
  latest::forget(gone, &mine, &one);
  EXPECT_EQ(latest::of(&mine), &one);
  latest::forget(here, &mine, &one);
}

}  // namespace
