// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that participants run once at the end of their thread, for early, late and too late entries.
#include <ashlar/detail/thread/thread_end.hpp>

#include <string>
#include <thread>

#include <pthread.h>

#include <gtest/gtest.h>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::thread_end;
using ashlar::detail::thread_end_participant;

// Appends its name to a log at the end of its thread.
struct noting : thread_end_participant {
  char name;
  std::string* log;

  noting(char called, std::string* to) : name(called), log(to) {
    at_end = [](thread_end_participant* self) noexcept {
      const auto& me = *static_cast<noting*>(self);
      *me.log += me.name;
    };
  }
};

// Destroyed after the participants have run, if made before the first of them entered.
struct enters_at_end {
  noting* joining = nullptr;
  bool* was_taken = nullptr;
  ~enters_at_end() {
    if (joining != nullptr) *was_taken = thread_end::enter(*joining);
  }
};

TEST(thread_end, refuses_what_comes_after_the_end) {
  std::string log;
  noting a('a', &log), late('z', &log);
  bool was_taken = true;
  std::thread([&] {
    thread_local enters_at_end last;
    last.joining = &late;
    last.was_taken = &was_taken;
    EXPECT_TRUE(thread_end::enter(a));
  }).join();
  EXPECT_FALSE(was_taken);
  EXPECT_EQ(log, "a");
}

TEST(thread_end, takes_what_first_comes_from_a_thread_local_destructor) {
  std::string log;
  noting late('z', &log);
  bool was_taken = false;
  std::thread([&] {
    thread_local enters_at_end last;
    last.joining = &late;
    last.was_taken = &was_taken;
  }).join();
  EXPECT_TRUE(was_taken);
  EXPECT_EQ(log, "z");
}

TEST(thread_end, takes_what_first_comes_from_a_key) {
  if constexpr (ashlar_test::has_asan) GTEST_SKIP() << "the C library leaks its note of a destructor that never runs";
  static std::string log;
  static noting late('z', &log);
  pthread_key_t key;
  ASSERT_EQ(::pthread_key_create(&key, [](void*) { EXPECT_TRUE(thread_end::enter(late)); }), 0);
  std::thread([&] { ASSERT_EQ(::pthread_setspecific(key, &log), 0); }).join();
  EXPECT_EQ(log, "z");
  ::pthread_key_delete(key);
}

}  // namespace
