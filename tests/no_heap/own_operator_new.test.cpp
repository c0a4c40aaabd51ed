// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the hooks in a program that replaces two operators of its own: all other forms call those two.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/os/no_heap_scope.hpp>

#include "tests/support/build.hpp"
#include "tests/support/operator_forms.hpp"

namespace {

// In front of each block, so that a free without a matching allocation here is detected, and the reverse.
struct alignas(std::max_align_t) head {
  std::uint64_t mark = 0x0B10C;
};

std::size_t made = 0, freed = 0, strange = 0;

}  // namespace

void* operator new(std::size_t n) {
  void* const p = std::malloc(n + sizeof(head));
  if (p == nullptr) ashlar::throw_bad_alloc(n, alignof(head));
  ++made;
  return ::new (p) head + 1;
}

// Without its sized form, which is under test.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wsized-deallocation"
#endif
void operator delete(void* p) noexcept {
  if (p == nullptr) return;
  head* const before = static_cast<head*>(p) - 1;
  strange += static_cast<std::size_t>(before->mark != head().mark);
  ++freed;
  std::free(before);
}

namespace {

template <class T>
T hidden(T value) {
  volatile T kept = value;
  return kept;
}

// Returns: the number of blocks made and freed by this program's own two operators.
template <class F>
std::array<std::size_t, 3> own_calls(const F& f) {
  const std::size_t made_before = made, freed_before = freed;
  f();
  return {made - made_before, freed - freed_before, strange};
}

using calls = std::array<std::size_t, 3>;

// A sanitizer has its own forms, which may call none of them.
TEST(own_operator_new, is_what_the_other_forms_ask_but_for_alignments_above_its_own) {
  if (ashlar_test::has_asan || ashlar_test::has_tsan) GTEST_SKIP() << "the sanitizer's own forms";
  const calls none = {0, 0, 0}, once = {1, 1, 0};
  ashlar_test::for_each_pair_of_forms([&](const auto& made_by, const auto& ended_by) {
    SCOPED_TRACE(made_by.name);
    constexpr std::align_val_t wide{128};
    EXPECT_EQ(own_calls([&] { ended_by.unmake(made_by.make(5, wide), 5, wide); }), made_by.is_aligned ? none : once);
  });
  EXPECT_EQ(own_calls([] { delete hidden(new int(1)); }), once);
  EXPECT_EQ(own_calls([] { delete[] hidden(new int[3]); }), once);
}

TEST(own_operator_new, has_its_mallocs_reported_once) {
  if (ashlar_test::has_asan || ashlar_test::has_tsan) GTEST_SKIP() << "the sanitizer's own forms";
  ashlar::no_heap_scope counted(ashlar::no_heap_scope::count_use);
  delete hidden(new int(1));
  EXPECT_EQ(counted.uses(), 1u);
  delete[] hidden(new int[3]);
  EXPECT_EQ(counted.uses(), 2u);
  ::operator delete[](hidden(::operator new[](5, std::nothrow)));
  EXPECT_EQ(counted.uses(), 3u);
}

#if defined(__cpp_exceptions)
TEST(own_operator_new, may_throw_where_null_is_asked_for) {
  if (ashlar_test::has_asan || ashlar_test::has_tsan) GTEST_SKIP() << "the sanitizer's own forms";
  const std::size_t absurd = hidden(ashlar::max_size / 2 - 100);
  EXPECT_EQ(::operator new(absurd, std::nothrow), nullptr);
  EXPECT_EQ(::operator new[](absurd, std::nothrow), nullptr);
}
#endif

}  // namespace
