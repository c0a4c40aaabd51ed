// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of exhausted memory under heaps and pools: each system call refused in turn, address spaces from 32 MB to 600
// MB.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/block_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"
#include "tests/support/faulty_calls.hpp"
#include "tests/support/pattern.hpp"
#include "tests/support/resident.hpp"

namespace {

using ashlar::block_pool;
using ashlar::local_heap;
using ashlar_test::address_space_bytes;
using ashlar_test::has_pattern;
using ashlar_test::write_pattern;

constexpr std::size_t mib = std::size_t{1} << 20;

struct in_this_test {};
using calls = ashlar_test::faulty_calls<in_this_test>;
using faulty_heap = local_heap<ashlar_test::faulty_pages<in_this_test>>;

// Blocks of all kinds are allocated, resized and freed; live ones keep their contents. Returns: whether all succeeded.
[[nodiscard]] bool comes_grows_and_goes(faulty_heap& heap) {
  constexpr std::size_t sizes[] = {48, 1000, 20'000, 1'900'000, 3'000'000, 4'200'000, 3'500'000, 4'300'000, 4'400'000};
  bool all = true;
  std::vector<void*> held;
  for (std::uint32_t i = 0; i < std::size(sizes); ++i) {
    held.push_back(heap.try_allocate(sizes[i], i % 4 == 3 ? 2 * mib : 16));
    all = all && held[i] != nullptr;
    if (held[i] != nullptr) write_pattern(held[i], 40, i);
  }
  for (std::uint32_t i = 0; i < std::size(sizes); ++i) {
    if (held[i] == nullptr) continue;
    void* const grown = heap.try_reallocate(held[i], i % 2 == 0 ? sizes[i] + 5000 : sizes[i] / 3);
    all = all && grown != nullptr;
    if (grown != nullptr) held[i] = grown;
    EXPECT_TRUE(has_pattern(held[i], 40, i));
    if (i % 2 == 0) static_cast<void>(heap.trim());
    EXPECT_TRUE(has_pattern(held[i], 40, i));
  }
  for (void* const p : held) heap.deallocate(p);
  static_cast<void>(heap.trim());
  EXPECT_TRUE(heap.invariant());
  return all;
}

// Returns: whether call `k` of a kind is beyond the last.
[[nodiscard]] bool survives(ashlar::detail::failure_plan& plan, std::size_t k, bool and_all_after, bool may_cost) {
  const std::size_t refused = calls::faults.refusals;
  bool was_refused = false;
  {
    faulty_heap heap;
    and_all_after ? plan.fail_from(k) : plan.fail_at(k);
    const bool all = comes_grows_and_goes(heap);
    was_refused = calls::faults.refusals != refused;
    EXPECT_TRUE(all || (may_cost && was_refused)) << k;
    EXPECT_GE(calls::faults.mapped_bytes, heap.held_bytes());
    calls::faults.fail_never();
    EXPECT_TRUE(comes_grows_and_goes(heap)) << "not usable after call " << k;
    and_all_after ? plan.fail_from(k) : plan.fail_at(k);  // its end, too
  }
  calls::faults.fail_never();
  EXPECT_EQ(calls::faults.mapped_bytes, 0u) << "call " << k;
  calls::faults.give_back_lost();
  return !was_refused;
}

// A refused mapping gives null. A refused unmapping costs address space, and a block if a mapping had to be aligned; a
// refused decommit costs only memory; blocks that the system cannot grow or move are copied.
TEST(heap_oom, every_refused_call_leaves_it_usable) {
  calls::faults = {};
  struct kind {
    ashlar::detail::failure_plan& plan;
    bool may_cost;
  };
  for (const kind& each :
       {kind{calls::faults.maps, true}, kind{calls::faults.unmaps, true}, kind{calls::faults.discards, false},
        kind{calls::faults.grows, false}, kind{calls::faults.moves, false}})
    for (const bool and_all_after : {false, true}) {
      std::size_t k = 0;
      while (!survives(each.plan, k, and_all_after, each.may_cost) && k < 1000 && !::testing::Test::HasFailure()) ++k;
      EXPECT_LT(k, 1000u);
    }
  EXPECT_GT(calls::faults.refusals, 20u);
}

// Memory without a successful decommit is not zero.
TEST(heap_oom, contents_that_stay_are_not_taken_for_zero) {
  if (!ashlar_test::has_exceptions) GTEST_SKIP() << "a zeroed block that is not there is the end";
  calls::faults = {};
  faulty_heap heap;
  for (const bool refused : {true, false}) {
    if (refused) calls::faults.discards.fail_from(0);
    std::vector<void*> held;
    for (int i = 0; i < 40; ++i) held.push_back(heap.allocate(70'000)), std::memset(held.back(), 0xAB, 70'000);
    for (std::size_t i = 0; i < held.size(); i += 2) heap.deallocate(held[i]);
    static_cast<void>(heap.trim());
    for (std::size_t i = 0; i < held.size(); i += 2) {
      held[i] = heap.allocate_zeroed(70'000);
      const auto* const bytes = static_cast<const unsigned char*>(held[i]);
      for (std::size_t at = 0; at < 70'000; at += 100) ASSERT_EQ(bytes[at], 0u);
    }
    calls::faults.fail_never();
    for (void* const p : held) heap.deallocate(p);
  }
}

// Blocks of one size, linked to each other: no other memory holds them.
template <class R>
class chain {
public:
  chain(R& from, std::size_t bytes) : from_(from), bytes_(bytes) {}

  /// Effects: takes blocks until there are none. Returns: their number.
  std::size_t fill() {
    while (void* const p = from_.try_allocate(bytes_, 16)) first_ = ::new (p) link{first_}, ++count_;
    return count_;
  }

  /// Effects: frees every second block.
  void thin_out() {
    for (link* at = first_; at != nullptr && at->next != nullptr; at = at->next) {
      from_.deallocate(std::exchange(at->next, at->next->next), bytes_, 16);
      --count_;
    }
  }

private:
  struct link {
    link* next;
  };
  R& from_;
  std::size_t bytes_;
  link* first_ = nullptr;
  std::size_t count_ = 0;
};

// In a child with `limit` further bytes of address space: at least `least_eighths` of it in blocks of one size; then
// null for each request; after frees of every second block as many again; after `release` all again.
template <class R, class... Options>
[[nodiscard]] bool lives_within(std::size_t limit, std::size_t bytes, std::size_t least_eighths, Options... options) {
  const rlimit most{address_space_bytes() + limit, address_space_bytes() + limit};
  if (::setrlimit(RLIMIT_AS, &most) != 0) return false;
  R from(options...);
  chain blocks(from, bytes);
  const std::size_t full = blocks.fill();
  for (int again = 0; again < 1000; ++again)
    if (from.try_allocate(bytes, 16) != nullptr) return false;
  if constexpr (requires { from.live(); })
    if (from.live() != full || !from.invariant()) return false;
  blocks.thin_out();
  const bool again = blocks.fill() == full && from.invariant();
  from.release();
  return again && chain(from, bytes).fill() >= full - full / 100 && full * bytes >= limit / 8 * least_eighths;
}

constexpr bool has_small_space = !ashlar_test::has_asan && !ashlar_test::has_tsan;

TEST(pool_oom, lives_within_a_small_address_space) {
  if (!has_small_space) GTEST_SKIP() << "the sanitizer needs it all";
  constexpr std::size_t cell = std::size_t{16} * 1024;
  for (const std::size_t limit : {32 * mib, 64 * mib, 128 * mib, 300 * mib})
    EXPECT_TRUE(ashlar_test::child_does([&] {
      return lives_within<block_pool<>>(limit, cell, 1, ashlar::block_pool_options{.cell_bytes = cell});
    })) << limit;
}

TEST(heap_oom, lives_within_a_small_address_space) {
  if (!has_small_space || sizeof(void*) == 4) GTEST_SKIP() << "the sanitizer needs it all";
  // Without the heads of segments, which are larger at `hardened`, and without the rounding to slices.
  constexpr std::size_t least_eighths = ashlar_test::is_hardened ? 4 : 5;
  struct limited {
    std::size_t limit, bytes;
  };
  for (const limited& each : {limited{32, 48}, limited{64, 1000}, limited{128, 20'000}, limited{300, 200'000},
                              limited{600, 200'000}, limited{600, 5'000'000}, limited{64, 5'000'000}})
    EXPECT_TRUE(ashlar_test::child_does([&] {
      return lives_within<local_heap<>>(each.limit * 1'000'000, each.bytes, least_eighths);
    })) << each.limit
        << ' ' << each.bytes;
}

}  // namespace
