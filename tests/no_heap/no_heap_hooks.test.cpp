// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of no_heap_scope with the hooks: detected calls, callbacks, permitted calls, and other threads.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <malloc.h>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/os/no_heap_scope.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"
#include "tests/support/operator_forms.hpp"

namespace {

using ashlar::allow_heap_scope;
using ashlar::no_heap_scope;
using heap_use = no_heap_scope::use;

constexpr bool sanitizer_tells = ashlar_test::has_asan || ashlar_test::has_tsan;

// Prevents the compiler from removing the call.
template <class T>
T hidden(T value) {
  volatile T kept = value;
  return kept;
}

struct noted {
  std::size_t count = 0;
  std::string_view function;
  std::size_t bytes = 0;
  const void* caller = nullptr;

  static void use(const heap_use& what, void* context) noexcept {
    auto& self = *static_cast<noted*>(context);
    ++self.count;
    self.function = what.function;
    self.bytes = what.bytes;
    self.caller = what.caller;
  }
};

// Returns: the notes during `f`, which returns a block for `end` to free.
template <class F, class End = decltype(&std::free)>
noted noted_in(const F& f, End end = &std::free) {
  noted seen;
  {
    const no_heap_scope scope(&noted::use, &seen);
    end(hidden(f()));
  }
  return seen;
}

void expect_seen(const noted& seen, std::string_view function, std::size_t bytes) {
  EXPECT_EQ(seen.count, 1u) << function;
  EXPECT_EQ(seen.function, sanitizer_tells ? "malloc or new" : function);
  EXPECT_EQ(seen.bytes, bytes) << function;
  EXPECT_EQ(seen.caller == nullptr, sanitizer_tells) << function;
}

TEST(no_heap_hooks, work_and_say_so) { EXPECT_TRUE(ashlar::no_heap_scope::hooks_work()); }

TEST(no_heap_hooks, see_each_function_of_the_c_library) {
  expect_seen(noted_in([] { return std::malloc(24); }), "malloc", 24);
  expect_seen(noted_in([] { return std::calloc(3, 8); }), "calloc", 24);
  void* const old = std::malloc(10);
  expect_seen(noted_in([&] { return std::realloc(old, 5000); }), "realloc", 5000);
  expect_seen(noted_in([] { return ::strdup("as the C library asks"); }), "malloc", 22);
}

// ThreadSanitizer reports none of the first three, and another size of the last.
TEST(no_heap_hooks, see_the_rarer_functions_of_the_c_library) {
  if (ashlar_test::has_tsan) GTEST_SKIP() << "the sanitizer does not tell";
  expect_seen(noted_in([] { return std::aligned_alloc(64, 128); }), "aligned_alloc", 128);
  expect_seen(noted_in([] { return ::memalign(64, 100); }), "memalign", 100);
  void* const old = std::malloc(10);
  expect_seen(noted_in([&] { return ::reallocarray(old, 50, 100); }), sanitizer_tells ? "realloc" : "reallocarray",
              5000);
  expect_seen(noted_in([] {
                void* p = nullptr;
                EXPECT_EQ(::posix_memalign(&p, 256, 100), 0);
                EXPECT_TRUE(ashlar::is_aligned(p, 256));
                return p;
              }),
              "posix_memalign", 100);
}

TEST(no_heap_hooks, see_each_operator_new) {
  ashlar_test::for_each_pair_of_forms([](const auto& made_by, const auto& ended_by) {
    SCOPED_TRACE(made_by.name);
    constexpr std::align_val_t wide{128};
    expect_seen(noted_in([&] { return made_by.make(256, wide); }, [&](void* p) { ended_by.unmake(p, 256, wide); }),
                made_by.is_array ? "operator new[]" : "operator new", 256);
  });
  EXPECT_TRUE(noted_in([] { return new std::array<char, 99>; }, [](auto* p) { delete p; }).count == 1);
}

TEST(no_heap_hooks, fail_as_the_c_library_does) {
  if (sanitizer_tells) GTEST_SKIP() << "the sanitizer's own functions";
  const std::size_t absurd = hidden(std::numeric_limits<std::size_t>::max() / 2 + 2);
  errno = 0;
  EXPECT_EQ(std::malloc(absurd), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(::reallocarray(nullptr, absurd, 4), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(std::calloc(absurd, 4), nullptr);
  void* untouched = &errno;
  errno = 7;
  EXPECT_EQ(::posix_memalign(&untouched, 24, 100), EINVAL);
  EXPECT_EQ(::posix_memalign(&untouched, 64, absurd), ENOMEM);
  EXPECT_EQ(untouched, &errno);
  EXPECT_EQ(errno, 7);
  EXPECT_EQ(::operator new(absurd, std::nothrow), nullptr);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(::operator new(absurd)), std::bad_alloc);
  static int left = 0;
  left = 2;
  std::set_new_handler([] {
    if (--left == 0) throw std::bad_alloc();
  });
  EXPECT_EQ(::operator new(absurd, std::nothrow), nullptr);
  EXPECT_EQ(left, 0);
  std::set_new_handler(nullptr);
#endif
}

TEST(no_heap_hooks, see_nothing_where_nothing_is_used) {
  std::vector<int> kept(100);
  auto old = std::make_unique<int>(1);
  const no_heap_scope quiet;
  for (int& each : kept) each = 1;
  kept.resize(50);
  old.reset();  // frees are not reported
  std::pmr::monotonic_buffer_resource arena(kept.data(), 200, std::pmr::null_memory_resource());
  std::pmr::vector<int> inside(10, 1, &arena);
  EXPECT_EQ(quiet.uses(), 0u);
}

// Each string is made on the default heap, and then copied or moved into the arena: no profile of the arena shows it.
TEST(no_heap_hooks, see_the_temporaries_of_pmr_strings) {
  std::array<std::byte, 4096> memory;
  std::pmr::monotonic_buffer_resource arena(memory.data(), memory.size(), std::pmr::null_memory_resource());
  constexpr const char* text = "too long for the small string optimisation of anybody";
  std::pmr::vector<std::pmr::string> trapped(&arena);
  trapped.reserve(8);
  no_heap_scope scope(&no_heap_scope::count_use);
  trapped.push_back(std::pmr::string(text));
  EXPECT_EQ(scope.uses(), 1u);
  trapped.emplace_back(text);  // made in place
  EXPECT_EQ(scope.uses(), 1u);
  trapped.insert(trapped.begin(), text);  // a temporary again
  const std::size_t before = scope.uses();
  trapped.push_back(std::pmr::string(text, &arena));
  EXPECT_EQ(scope.uses(), before);
}

TEST(no_heap_hooks, the_innermost_handler_is_called_and_all_outer_scopes_count) {
  noted outer_seen;
  noted inner_seen;
  const no_heap_scope outer(&noted::use, &outer_seen);
  std::free(hidden(std::malloc(1)));
  {
    const no_heap_scope inner(&noted::use, &inner_seen);
    std::free(hidden(std::malloc(2)));
    std::free(hidden(std::malloc(3)));
    EXPECT_EQ(inner.uses(), 2u);
  }
  std::free(hidden(std::malloc(4)));
  EXPECT_EQ(inner_seen.count, 2u);
  EXPECT_EQ(outer_seen.count, 2u);
  EXPECT_EQ(outer_seen.bytes, 4u);
  EXPECT_EQ(outer.uses(), 4u);
}

TEST(no_heap_hooks, what_is_allowed_is_not_reported) {
  const no_heap_scope quiet;
  {
    const allow_heap_scope allowed;
    std::free(hidden(std::malloc(1)));
    no_heap_scope again(&no_heap_scope::count_use);
    std::free(hidden(std::malloc(1)));
    EXPECT_EQ(again.uses(), 1u);
  }
  EXPECT_EQ(quiet.uses(), 0u);
}

TEST(no_heap_hooks, a_handler_may_use_the_heap_itself) {
  std::vector<std::string> log;
  const auto note = [](const heap_use& use, void* context) noexcept {
    static_cast<std::vector<std::string>*>(context)->push_back(std::string(use.function) + std::string(100, '!'));
  };
  const no_heap_scope scope(+note, &log);
  for (int i = 0; i < 10; ++i) std::free(hidden(std::malloc(1)));
  EXPECT_EQ(log.size(), 10u);
  EXPECT_EQ(scope.uses(), 10u);
}

TEST(no_heap_hooks, other_threads_are_left_alone) {
  std::atomic<bool> is_scoped = false;
  std::atomic<int> made = 0;
  std::thread other([&] {
    while (!is_scoped) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) {
      std::free(hidden(std::malloc(16)));
      ++made;
    }
    no_heap_scope own(&no_heap_scope::count_use);
    std::free(hidden(std::malloc(16)));
    EXPECT_EQ(own.uses(), 1u);
  });
  {
    const no_heap_scope quiet;
    is_scoped = true;
    while (made < 1000) std::this_thread::yield();
    EXPECT_EQ(quiet.uses(), 0u);
  }
  other.join();
}

TEST(no_heap_hooks_death, a_use_aborts_by_default) {
  const auto use = [] {
    const no_heap_scope quiet;
    delete hidden(new int(1));
  };
  ASHLAR_EXPECT_DEATH(use(), sanitizer_tells
                                 ? "ashlar: heap use: malloc or new of 4 bytes in a no_heap_scope"
                                 : "ashlar: heap use: operator new of 4 bytes in a no_heap_scope, caller 0x*");
}

TEST(no_heap_hooks_death, scopes_end_in_reverse) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "checked from level 1 on";
  const auto wrong = [] {
    alignas(no_heap_scope) static std::byte first[sizeof(no_heap_scope)];
    auto* const outer = ::new (static_cast<void*>(first)) no_heap_scope(&no_heap_scope::count_use);
    const no_heap_scope inner(&no_heap_scope::count_use);
    outer->~no_heap_scope();
  };
  ASHLAR_EXPECT_DEATH(wrong(), "ashlar: precondition: ended a no_heap_scope inside another, or in another thread");
}

}  // namespace
