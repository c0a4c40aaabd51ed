// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the end of a thread: once for each that entered, before or after the keys of others.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include <pthread.h>

#include <gtest/gtest.h>

#include <ashlar/detail/thread/process_threads.hpp>
#include <ashlar/detail/thread/thread_end.hpp>

#include "tests/support/child.hpp"

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

using ashlar::detail::late_thread_end;

void note(void* log) noexcept { *static_cast<std::string*>(log) += 'e'; }

constinit std::string* said = nullptr;  // of the thread that ends
constinit late_thread_end ends([](void* self) noexcept { note(*static_cast<std::string**>(self)); }, &said);

TEST(late_thread_end, comes_once_to_each_thread_that_has_entered) {
  std::string log;
  said = &log;
  std::thread([] {}).join();
  EXPECT_EQ(log, "");
  for (int i = 0; i != 3; ++i)
    std::thread([&] {
      EXPECT_TRUE(ends.enter());
      EXPECT_TRUE(ends.enter());
    }).join();
  EXPECT_EQ(log, "eee");
}

struct says_t {
  ~says_t() { *said += 't'; }
};

TEST(late_thread_end, comes_after_thread_local_objects_and_keys_that_are_set_again) {
  static pthread_key_t key;
  std::string log;
  said = &log;
  ASSERT_EQ(::pthread_key_create(&key,
                                 [](void* rounds) {
                                   *said += 'k';
                                   if (rounds != nullptr && static_cast<char*>(rounds)[1] != 0)
                                     ::pthread_setspecific(key, static_cast<char*>(rounds) + 1);
                                 }),
            0);
  static char two_rounds[3] = {1, 1, 0};
  std::thread([&] {
    thread_local says_t last;
    static_cast<void>(&last);
    EXPECT_TRUE(ends.enter());
    ASSERT_EQ(::pthread_setspecific(key, two_rounds), 0);
  }).join();
  ASSERT_EQ(log.size(), 4u);
  EXPECT_EQ(log.back(), 'e');
  std::sort(log.begin(), log.end());  // over musl a key destroys the thread-local objects too
  EXPECT_EQ(log, "ekkt");
  ::pthread_key_delete(key);
}

TEST(late_thread_end, does_not_come_to_the_main_thread_by_exit) {
  EXPECT_TRUE(ashlar_test::child_does([] {
    static std::string log;
    said = &log;
    static_cast<void>(ends.enter());
    static const auto look = [] { ::_exit(log.empty() ? 0 : 1); };
    struct at_exit {
      ~at_exit() { look(); }
    };
    static const at_exit last;
    std::exit(2);
    return false;
  }));
}

}  // namespace
