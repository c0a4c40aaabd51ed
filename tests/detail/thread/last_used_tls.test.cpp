// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a thread's cache of its last owner: it finds that owner's data, and nothing after the owner's end.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/detail/thread/thread_directory.hpp>
#include <ashlar/os/system_calls.hpp>

#include "tests/support/build.hpp"
#include "tests/support/latch.hpp"

namespace {

struct owner {};
struct thing {};
using latest = ashlar::detail::last_used_tls<owner, thing>;

// As in a library, where one call finds both words.
TEST(last_used_tls, finds_the_same_in_words_that_stand_together) {
  using together = ashlar::detail::last_used_tls<owner, thing, true>;
  const owner first, second;
  thing one;
  const together::place here = together::remember(&first, &one);
  EXPECT_TRUE(together::of(&first) == &one && together::found() == &one && together::of(&second) == nullptr);
  EXPECT_EQ(static_cast<const void*>(here.library.found), static_cast<const void*>(here.library.owner + 1));
  std::thread([&] { EXPECT_EQ(together::found(), nullptr); }).join();
  together::forget(here, &first, &one);
  EXPECT_TRUE(together::of(&first) == nullptr && together::found() == nullptr);
}

// As in a program with a static library that is compiled as code of a shared one.
TEST(last_used_tls, finds_it_in_code_of_both_kinds) {
  using program = ashlar::detail::last_used_tls<owner, thing, false>;
  using library = ashlar::detail::last_used_tls<owner, thing, true>;
  const owner first;
  thing one;
  const program::place by_program = program::remember(&first, &one);
  EXPECT_TRUE(program::of(&first) == &one && library::of(&first) == &one && library::found() == &one);
  EXPECT_TRUE(program::is_here(by_program) && !program::is_here({}));
  std::thread([&] { EXPECT_FALSE(program::is_here(by_program)); }).join();
  program::forget(by_program, &first, &one);
  EXPECT_TRUE(program::found() == nullptr && library::found() == nullptr);
  const library::place by_library = library::remember(&first, &one);
  EXPECT_TRUE(program::of(&first) == &one && library::of(&first) == &one && program::found() == &one);
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
