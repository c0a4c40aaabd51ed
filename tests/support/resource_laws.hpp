// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The laws that every resource obeys, each as a function of a subject (see conformance.hpp).
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <limits>
#include <new>
#include <random>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/bits.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/live_blocks.hpp"

namespace ashlar_test {

template <class R>
[[nodiscard]] bool invariant_of(const R& r) {
  if constexpr (requires {
                  { r.invariant() } -> std::same_as<bool>;
                })
    return r.invariant();
  return true;
}

/// Returns: the live memory of the subject's upstream, if it has one that counts.
template <class Subject>
[[nodiscard]] holdings upstream_balance(const Subject& subject) {
  if constexpr (requires { subject.upstream.balance(); }) return subject.upstream.balance();
  return nothing;
}

/// Whether this build survives a refusal by `R`.
template <class R>
inline constexpr bool may_refuse = has_exceptions || ashlar::try_resource<R>;

template <class Subject>
void aligns_blocks(Subject& subject) {
  live_blocks blocks(subject.resource);
  for (std::size_t alignment = 1; alignment <= Subject::max_alignment; alignment *= 2)
    for (const std::size_t bytes : {std::size_t{1}, Subject::largest / 2 + 1, Subject::largest}) {
      ASSERT_TRUE(blocks.try_allocate(bytes, alignment)) << bytes << " at " << alignment;
      ASSERT_TRUE(invariant_of(subject.resource));
      if (blocks.size() > 8) blocks.free_all();
    }
}

template <class Subject>
void keeps_empty_blocks_apart(Subject& subject) {
  live_blocks blocks(subject.resource);
  for (int round = 0; round < 8; ++round) {
    ASSERT_TRUE(blocks.try_allocate(0, 1));
    ASSERT_TRUE(blocks.try_allocate(1, 1));
  }
  ASSERT_TRUE(invariant_of(subject.resource));
}

// A random walk: mostly half full, with every size and alignment, and each step checked.
template <class Subject>
void keeps_blocks_apart(Subject& subject, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const auto alignments = static_cast<std::size_t>(std::countr_zero(Subject::max_alignment)) + 1;
  live_blocks blocks(subject.resource);
  std::size_t allocated = 0;
  constexpr std::size_t steps = cases_of_build(Subject::churn_steps / 2, Subject::churn_steps);
  for (std::size_t step = 0; step < steps; ++step) {
    if (blocks.size() == 0 || (blocks.size() < Subject::most_live && below(2) == 0)) {
      const bool got = blocks.try_allocate(below(Subject::largest + 1), std::size_t{1} << below(alignments));
      ASSERT_TRUE(got || Subject::bounded);
      allocated += got ? 1 : 0;
    } else {
      blocks.free(Subject::any_order ? below(blocks.size()) : blocks.size() - 1);
    }
    ASSERT_TRUE(invariant_of(subject.resource)) << "step " << step;
  }
  EXPECT_GT(allocated, Subject::bounded ? 0 : steps / 4);
  EXPECT_TRUE(blocks.all_intact());
}

template <class Subject>
void equals_itself(Subject& a, Subject& b) {
  EXPECT_TRUE(a.resource == a.resource);
  EXPECT_FALSE(a.resource != a.resource);
  EXPECT_EQ(a.resource == b.resource, b.resource == a.resource);
  if (!(a.resource == b.resource)) return;
  void* const p = a.resource.allocate(Subject::largest, 1);
  b.resource.deallocate(p, Subject::largest, 1);  // the meaning of equality
}

template <class R>
void expect_refused(R& r, std::size_t bytes, std::size_t alignment) {
  if constexpr (ashlar::try_resource<R>) EXPECT_EQ(r.try_allocate(bytes, alignment), nullptr) << bytes;
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(r.allocate(bytes, alignment)), std::bad_alloc) << bytes;
#endif
}

// Requests above PTRDIFF_MAX are refused by rule; those just below it since no machine has as much.
template <class Subject>
void refuses_absurd_sizes(Subject& subject) {
  auto& r = subject.resource;
  live_blocks blocks(r);
  ASSERT_TRUE(blocks.try_allocate(Subject::largest, 1));
  const holdings before = upstream_balance(subject);
  constexpr std::size_t most = ashlar::detail::max_block_bytes;
  for (std::size_t alignment = 1; alignment <= Subject::max_alignment; alignment *= 4) {
    for (std::size_t less = 0; less <= 64; ++less) {
      expect_refused(r, std::numeric_limits<std::size_t>::max() - less, alignment);
      expect_refused(r, most + 1 + less, alignment);
      if (!huge_requests_abort || requires { subject.upstream.balance(); }) expect_refused(r, most - less, alignment);
    }
    expect_refused(r, most, alignment);
  }
  EXPECT_EQ(upstream_balance(subject), before);
  EXPECT_TRUE(invariant_of(r));
  EXPECT_TRUE(blocks.all_intact());
  EXPECT_TRUE(blocks.try_allocate(Subject::largest, 1));
}

template <class Subject>
void refuses_bad_alignments(Subject& subject) {
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, std::size_t{4095}})
    for (const std::size_t bytes : {std::size_t{1}, Subject::largest})
      ASHLAR_EXPECT_DEATH(static_cast<void>(subject.resource.allocate(bytes, alignment)),
                          "ashlar: precondition: alignment is not a power of two");
}

template <class Subject>
void set_upstream_failing(Subject& subject, bool failing) {
  if constexpr (requires { subject.upstream.fail_from(0); })
    failing ? subject.upstream.fail_from(0) : subject.upstream.fail_never();
}

/// Returns: whether the resource refused within a number of allocations.
template <class R>
[[nodiscard]] bool exhaust(live_blocks<R>& blocks, std::size_t bytes) {
  for (int left = 200'000; left != 0; --left)
    if (!blocks.try_allocate(bytes, 1)) return true;
  return false;
}

// Fill, fail a thousand times, free one block, and continue (a bounded resource); or wait for the upstream to recover.
template <class Subject>
void recovers_from_exhaustion(Subject& subject) {
  auto& r = subject.resource;
  live_blocks blocks(r);
  ASSERT_TRUE(blocks.try_allocate(Subject::largest, 1));
  set_upstream_failing(subject, true);
  ASSERT_TRUE(exhaust(blocks, Subject::largest));
  const holdings before = upstream_balance(subject);
  for (int again = 0; again < 1000; ++again) expect_refused(r, Subject::largest, 1);
  EXPECT_EQ(upstream_balance(subject), before);
  EXPECT_TRUE(invariant_of(r));
  EXPECT_TRUE(blocks.all_intact());
  if (Subject::reuses) blocks.free(blocks.size() - 1);
  if (!Subject::reuses) set_upstream_failing(subject, false);
  if (Subject::reuses || !Subject::bounded) EXPECT_TRUE(blocks.try_allocate(Subject::largest, 1));
  EXPECT_TRUE(invariant_of(r));
  set_upstream_failing(subject, false);
}

}  // namespace ashlar_test
