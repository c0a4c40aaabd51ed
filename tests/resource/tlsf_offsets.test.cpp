// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the allocator over offsets: against an interval map, at its limits, and without available records.
#include <ashlar/resource/tlsf_offsets.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/fail_each_allocation.hpp"

namespace {

using ashlar::tlsf_handle;
using ashlar::tlsf_offsets;
using ashlar_test::counting_resource;

template <class Offset>
class tlsf_offset_types : public ::testing::Test {};
using offset_types = ::testing::Types<std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(tlsf_offset_types, offset_types);

// Live blocks by offset. A new block must not overlap them; all other offsets must be free.
template <class Offset>
class interval_map {
public:
  struct entry {
    Offset size;
    tlsf_handle handle;
  };

  explicit interval_map(tlsf_offsets<Offset>& heap) : heap_(heap) {}

  [[nodiscard]] bool allocate(Offset size, Offset alignment, Offset granule) {
    const Offset most = heap_.largest_free();
    const auto got = heap_.try_allocate(size, alignment);
    EXPECT_TRUE(got || size > most || alignment > granule);
    if (!got) return false;
    const Offset has = heap_.size_of(got.handle);
    EXPECT_TRUE(got.offset % std::max(alignment, granule) == 0 && has >= size && has % granule == 0);
    EXPECT_LE(got.offset + std::uint64_t{has}, heap_.size());
    const auto above = blocks_.lower_bound(got.offset);
    EXPECT_TRUE(above == blocks_.end() || above->first >= got.offset + has);
    EXPECT_TRUE(above == blocks_.begin() || std::prev(above)->first + std::prev(above)->second.size <= got.offset);
    EXPECT_EQ(heap_.offset_of(got.handle), got.offset);
    blocks_[got.offset] = {has, got.handle};
    return true;
  }

  void free(std::size_t index) {
    const auto at = find(index);
    if (index % 2 == 0) heap_.deallocate(at->second.handle);
    else heap_.deallocate({at->first, at->second.handle});
    blocks_.erase(at);
  }

  void resize(std::size_t index, Offset size) {
    const auto at = find(index);
    const auto above = std::next(at);
    const std::uint64_t end = above == blocks_.end() ? heap_.size() : above->first;
    const bool fits = heap_.try_expand(at->second.handle, size);
    EXPECT_EQ(fits, at->first + std::uint64_t{size} <= end);
    EXPECT_EQ(heap_.offset_of(at->second.handle), at->first);
    at->second.size = heap_.size_of(at->second.handle);
    EXPECT_LE(at->first + std::uint64_t{at->second.size}, end);
  }

  void check() const {
    ASSERT_TRUE(heap_.invariant());
    std::size_t live = 0, free = 0;
    std::uint64_t used = 0, end = heap_.size();
    heap_.for_each_block([&](Offset offset, Offset size, bool is_free) {
      ASSERT_EQ(offset + std::uint64_t{size}, end);
      end = offset;
      ++(is_free ? free : live);
      used += is_free ? 0 : size;
      const auto at = blocks_.find(offset);
      ASSERT_EQ(at != blocks_.end() && at->second.size == size, !is_free);
    });
    const auto report = heap_.report_storage();
    EXPECT_TRUE(live == blocks_.size() && live == heap_.live() && live == report.live_blocks);
    EXPECT_TRUE(used == heap_.used() && used == report.used && report.free == heap_.size() - used);
    if (end == 0) EXPECT_EQ(free, report.free_blocks);
  }

  [[nodiscard]] std::size_t size() const { return blocks_.size(); }

private:
  using map = std::map<Offset, entry>;
  [[nodiscard]] typename map::iterator find(std::size_t index) {
    return std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(index % blocks_.size()));
  }

  tlsf_offsets<Offset>& heap_;
  map blocks_;
};

template <class Offset>
void walk_at_random(unsigned seed, int steps) {
  std::mt19937 random(seed);
  const auto granule = static_cast<Offset>(1u << (seed % 3 * 2));
  tlsf_offsets<Offset> heap(static_cast<Offset>(4000 + seed * 100), {.granule = static_cast<std::size_t>(granule)});
  interval_map<Offset> blocks(heap);
  const auto size = [&] { return static_cast<Offset>(random() % (1u << (random() % 10))); };
  for (int step = 0; step < steps; ++step) {
    const auto what = random() % 8;
    if (blocks.size() == 0 || what < 4)
      static_cast<void>(blocks.allocate(size(), static_cast<Offset>(1u << (random() % 3 * 3)), granule));
    else if (what < 7) blocks.free(random());
    else blocks.resize(random(), size());
    if (step % 100 == 99) EXPECT_TRUE(heap.try_extend(static_cast<Offset>(heap.size() + random() % 300)));
    blocks.check();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", step " << step;
  }
  while (blocks.size() != 0) blocks.free(0);
  EXPECT_EQ(heap.largest_free(), heap.size());
}

TYPED_TEST(tlsf_offset_types, agrees_with_an_interval_map_in_random_walks) {
  for (unsigned seed = 1; seed <= (ashlar_test::is_slow ? 3u : 12u); ++seed)
    walk_at_random<TypeParam>(seed, ashlar_test::is_slow ? 200 : 500);
}

TYPED_TEST(tlsf_offset_types, hands_out_the_whole_of_the_largest_range) {
  constexpr TypeParam most = tlsf_offsets<TypeParam>::most_size;
  tlsf_offsets<TypeParam> heap(most);
  EXPECT_EQ(heap.largest_free(), most);
  const auto all = heap.try_allocate(most);
  ASSERT_TRUE(all && all.offset == 0);
  EXPECT_FALSE(heap.try_allocate(0));
  EXPECT_TRUE(heap.invariant());
  EXPECT_TRUE(heap.try_expand(all.handle, 1));
  const auto high = heap.try_allocate(1, static_cast<TypeParam>(most / 2 + 1));
  ASSERT_TRUE(high);
  EXPECT_EQ(high.offset, static_cast<TypeParam>(most / 2 + 1));
  EXPECT_FALSE(heap.try_allocate(most));
  EXPECT_FALSE(heap.try_expand(all.handle, std::numeric_limits<TypeParam>::max()));
  heap.release();
  EXPECT_TRUE(heap.try_allocate(most));
}

TEST(tlsf_offsets, asks_for_no_records_before_the_first_block) {
  counting_resource<> upstream;
  tlsf_offsets<std::uint32_t, ashlar::resource_ref<counting_resource<>>> heap(1u << 30, {}, upstream);
  EXPECT_EQ(upstream.allocations(), 0u);
  EXPECT_EQ(heap.report_storage().free_blocks, 1u);
  std::vector<tlsf_handle> handles;
  for (int i = 0; i < 1000; ++i) handles.push_back(heap.allocate(1000, 256).handle);
  EXPECT_LE(upstream.allocations(), 6u);  // gaps are blocks too
  EXPECT_LE(upstream.balance().bytes,
            64 * 63 * sizeof(ashlar::detail::tlsf_nodes_in_chunks<std::uint32_t, ashlar::new_delete_resource>::node));
  for (const tlsf_handle each : handles) heap.deallocate(each);
  EXPECT_EQ(heap.live(), 0u);
  heap.release();
  EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
}

TEST(tlsf_offsets, a_bounded_number_of_blocks_is_refused_and_recovers) {
  tlsf_offsets<> heap(1u << 20, {.max_count = 10});
  std::vector<tlsf_handle> handles;
  while (const auto got = heap.try_allocate(100)) handles.push_back(got.handle);
  EXPECT_EQ(handles.size(), 9u);  // and a free one
  for (int again = 0; again < 1000; ++again) EXPECT_FALSE(heap.try_allocate(100));
  EXPECT_FALSE(heap.try_expand(handles[0], 50));  // the rest would be a block
  EXPECT_TRUE(heap.invariant());
  heap.deallocate(handles[3]);
  EXPECT_TRUE(heap.try_allocate(100));
  EXPECT_TRUE(heap.try_allocate((1u << 20) - 900));  // the rest, whole: no record is needed
  EXPECT_TRUE(heap.invariant());
}

TEST(tlsf_offsets, survives_an_upstream_that_fails_at_any_call) {
  using heap_type = tlsf_offsets<std::uint64_t, ashlar::resource_ref<counting_resource<>>>;
  const auto make = [](counting_resource<>& upstream) { return heap_type(1u << 20, {}, upstream); };
  ashlar_test::fail_each_allocation(make, [](heap_type& heap) {
    std::vector<tlsf_handle> handles;
    bool got_all = true;
    for (std::uint64_t i = 0; i < 300 && got_all; ++i) {
      const auto got = heap.try_allocate(i * 3, std::uint64_t{1} << (i % 9));
      got_all = bool{got};
      if (got) handles.push_back(got.handle);
    }
    for (const tlsf_handle each : handles) heap.deallocate(each);
    return got_all;
  });
  if constexpr (ashlar_test::has_exceptions)
    ashlar_test::fail_each_allocation(make, [](heap_type& heap) {
      heap.deallocate(heap.allocate(10));
      heap.reserve(500);
    });
}

TEST(tlsf_offsets, reserved_records_serve_without_the_upstream) {
  counting_resource<> upstream;
  tlsf_offsets<std::uint32_t, ashlar::resource_ref<counting_resource<>>> heap(1u << 20, {}, upstream);
  heap.reserve(1000);
  upstream.fail_from(0);
  for (int i = 0; i < 999; ++i) ASSERT_TRUE(heap.try_allocate(100));
}

TEST(tlsf_offsets, an_empty_range_has_nothing_until_it_is_extended) {
  tlsf_offsets<> file(0, {.granule = 4096});
  EXPECT_FALSE(file.try_allocate(0));
  EXPECT_TRUE(file.invariant());
  EXPECT_TRUE(file.try_extend(10'000));
  EXPECT_EQ(file.size(), 8192u);
  const auto first = file.try_allocate(4096), second = file.try_allocate(1);
  EXPECT_TRUE(first && second && !file.try_allocate(1));
  EXPECT_TRUE(file.try_extend(16384));
  EXPECT_TRUE(file.try_expand(second.handle, 12288));
  EXPECT_EQ(file.used(), 16384u);
  EXPECT_TRUE(file.invariant());
}

TEST(tlsf_offsets, absurd_requests_are_refused) {
  tlsf_offsets<> heap(1u << 20);
  for (std::uint32_t less = 0; less <= 64; ++less) {
    EXPECT_FALSE(heap.try_allocate(std::numeric_limits<std::uint32_t>::max() - less));
    EXPECT_FALSE(heap.try_allocate((1u << 20) + 1 + less, 1u << 31));
  }
  EXPECT_FALSE(heap.try_allocate(1, 1u << 31));
  EXPECT_TRUE(heap.invariant());
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(heap.allocate(1u << 21)), std::bad_alloc);
#endif
}

TEST(tlsf_offsets_death, wrong_arguments_end_the_process) {
  tlsf_offsets<> heap(4096);
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(heap.try_allocate(1, 24)),
                           "ashlar: precondition: alignment is not a power of two");
  ASHLAR_EXPECT_LAST_WORDS(tlsf_offsets<>(4096, {.granule = 3}),
                           "ashlar: precondition: granule is not a power of two, or is larger than a range");
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(heap.try_extend(1)),
                           "ashlar: precondition: extended a range to less than its size, or beyond its offsets");
}

TEST(tlsf_offsets_death, wrong_handles_are_named) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "checked from level 1 on";
  tlsf_offsets<> heap(4096);
  const auto a = heap.allocate(10), b = heap.allocate(10), c = heap.allocate(10);
  heap.deallocate(b);
  ASHLAR_EXPECT_LAST_WORDS(heap.deallocate(b),
                           "ashlar: double_free: used a handle whose block is free, resource 0x*, size 1");
  ASHLAR_EXPECT_LAST_WORDS(heap.deallocate({c.offset, a.handle}),
                           "ashlar: invalid_free: freed a range with the handle of another, resource 0x*");
  ASHLAR_EXPECT_LAST_WORDS(
      static_cast<void>(heap.try_expand(tlsf_handle::none, 1)),
      "ashlar: invalid_free: used a handle that is not of this range, resource 0x*, size 4294967295");
}

}  // namespace
