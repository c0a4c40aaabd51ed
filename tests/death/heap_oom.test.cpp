// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of exhausted memory under heaps and pools: address spaces from 32 MB to 600 MB.
#include <cstddef>
#include <new>
#include <utility>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/block_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"
#include "tests/support/resident.hpp"

namespace {

using ashlar::block_pool;
using ashlar::local_heap;
using ashlar_test::address_space_bytes;

constexpr std::size_t mib = std::size_t{1} << 20;

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
