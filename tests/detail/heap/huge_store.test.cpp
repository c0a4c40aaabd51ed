// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of huge blocks: spare ones, growth in place, and heaps of them beside their models while system calls fail.
#include <cstddef>
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/heap_model.hpp"
#include "tests/support/heap_session.hpp"

namespace {

using ashlar_test::counting_resource;

constexpr std::size_t page = 4096;
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t keep = 16 * mib;
constexpr std::uint32_t an_hour = 3'600'000;

/// A store with its extent map.
template <class Upstream>
struct made {
  ashlar::detail::extent_map<Upstream> space;
  ashlar::detail::huge_store<Upstream> store;

  explicit made(Upstream upstream = {}, std::size_t most = ashlar::max_size, std::size_t retain_bytes = keep,
                std::uint32_t decay_ms = an_hour)
      : space(most, upstream), store(space, retain_bytes, decay_ms) {}

  [[nodiscard]] std::byte* take(std::size_t bytes, std::size_t alignment = 16) {
    return store.take(bytes, alignment).data;
  }
  [[nodiscard]] bool invariant() const { return space.invariant() && store.invariant(); }
};

using counted = made<ashlar::resource_ref<counting_resource<>>>;
using on_pages = made<ashlar::page_resource>;

TEST(huge_store, a_freed_block_is_the_next_of_about_its_size) {
  counting_resource<> upstream;
  counted huge(upstream);
  std::byte* const p = huge.take(9 * mib);
  huge.store.give(p);
  EXPECT_TRUE(huge.space.is_spare(p) && huge.store.count() == 0 && huge.store.bytes() == 0);
  EXPECT_EQ(huge.take(8 * mib), p) << "all of which may be used";
  EXPECT_EQ(huge.store.bytes(), 9 * mib);
  EXPECT_EQ(huge.store.reused_bytes(), 9 * mib);
  huge.store.give(p);
  for (int i = 0; i < 100; ++i) huge.store.give(huge.take(9 * mib));
  EXPECT_EQ(upstream.allocations(), 1u);
  std::byte* const other = huge.take(4 * mib);
  EXPECT_NE(other, p) << "too much would be wasted";
  EXPECT_EQ(huge.store.trim(9 * mib), 0u);
  EXPECT_EQ(huge.store.trim(9 * mib - 1), 9 * mib);
  EXPECT_TRUE(huge.space.held_bytes() == 4 * mib && huge.invariant());
}

TEST(huge_store, what_was_spare_for_an_epoch_goes_back) {
  counting_resource<> upstream;
  counted huge(upstream, ashlar::max_size, keep, 0);
  std::byte* const rare = huge.take(11 * mib);
  std::byte* const often = huge.take(5 * mib);
  huge.store.give(rare);
  for (int i = 0; i < 3; ++i) {
    huge.store.give(i == 0 ? often : huge.take(5 * mib));
    EXPECT_EQ(huge.space.spare_bytes(), 5 * mib) << "each free ends an epoch";
  }
  huge.store.age();
  huge.store.age();
  EXPECT_TRUE(huge.space.spare_bytes() == 0 && huge.space.held_bytes() == 0 && huge.invariant());
}

TEST(huge_store, spare_blocks_go_back_before_one_is_refused) {
  counting_resource<> upstream;
  counted huge(upstream, 24 * mib + 4096);  // and the table of six windows
  huge.store.give(huge.take(16 * mib));
  EXPECT_NE(huge.take(24 * mib), nullptr);
  EXPECT_EQ(huge.take(1), nullptr);
  EXPECT_TRUE(huge.invariant() && upstream.peak().bytes <= 24 * mib + 4096);
}

#if defined(__linux__)
// Within a limit that the sum of the block and a copy would exceed.
TEST(huge_store, a_heap_grows_a_block_without_copying_it) {
  ashlar::local_heap<> heap({.max_bytes = 48 * mib});
  auto* const p = static_cast<std::byte*>(heap.allocate(24 * mib));
  p[0] = p[24 * mib - 1] = std::byte{1};
  auto* const q = static_cast<std::byte*>(heap.try_reallocate(p, 40 * mib));
  ASSERT_NE(q, nullptr);
  EXPECT_TRUE(q[0] == std::byte{1} && q[24 * mib - 1] == std::byte{1} && q[40 * mib - 1] == std::byte{0});
  constexpr std::size_t watched = ashlar::detail::keeps_canaries ? page : 0;  // a page for the canary behind the block
  EXPECT_EQ(heap.held_bytes(), 40 * mib + watched);
  EXPECT_TRUE(heap.try_expand(q, 40 * mib, 5 * mib, 16) && heap.usable_size(q) == 5 * mib);
  EXPECT_TRUE(heap.try_shrink(q, 5 * mib, 5 * mib, 16));
  EXPECT_FALSE(heap.try_shrink(q, 5 * mib, 6 * mib, 16));
  heap.deallocate(q, 5 * mib);
  EXPECT_TRUE(heap.owns(q) && heap.invariant());
  EXPECT_EQ(heap.trim(), 5 * mib + watched);
  EXPECT_EQ(heap.held_bytes(), 0u);
}
#endif

TEST(huge_store, keeps_every_byte_after_any_refusal_of_the_system) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    std::make_unique<ashlar_test::heap_session>(
        ashlar_test::decisions(seed), ashlar_test::walk_bounds{.most_blocks = 12, .largest = 12 * mib, .is_huge = true})
        ->run(ashlar_test::is_slow ? 2500 : 10'000);
}

}  // namespace
