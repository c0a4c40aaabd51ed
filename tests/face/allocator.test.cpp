// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the allocator over a resource: its traits, its requests, and elements with the resource of their container.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/scoped_allocator.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar_test::counting_resource;

template <class T>
using counted = ashlar::allocator<T, counting_resource<>>;
using pool_type = ashlar::block_pool<ashlar::resource_ref<counting_resource<>>>;
template <class T>
using in_pool = ashlar::allocator<T, pool_type>;
using traits = std::allocator_traits<counted<int>>;

// The documented rows.
static_assert(std::is_same_v<traits::is_always_equal, std::false_type>);
static_assert(std::is_same_v<traits::propagate_on_container_move_assignment, std::true_type>);
static_assert(std::is_same_v<traits::propagate_on_container_swap, std::true_type>);
static_assert(std::is_same_v<traits::propagate_on_container_copy_assignment, std::false_type>);
static_assert(std::is_same_v<traits::rebind_alloc<long>, counted<long>>);
static_assert(std::is_same_v<traits::size_type, std::size_t> && std::is_same_v<traits::pointer, int*>);
static_assert(sizeof(counted<int>) == sizeof(void*) && !std::is_default_constructible_v<counted<int>>);
static_assert(std::is_nothrow_copy_constructible_v<counted<int>> && std::is_nothrow_copy_assignable_v<counted<int>>);
static_assert(std::is_nothrow_constructible_v<counted<long>, counted<int>>);
static_assert(!std::is_convertible_v<ashlar::new_delete_resource&, counted<int>>);
static_assert(noexcept(std::declval<counted<int>&>().deallocate(nullptr, 1)));

// Can be named, and queried for its traits, before the element is complete.
struct node {
  using children = std::vector<node, counted<node>>;
  static_assert(!std::allocator_traits<counted<node>>::is_always_equal::value);
  node* next = nullptr;
};

TEST(allocator, equal_iff_the_resources_are) {
  counting_resource<> first;
  counting_resource<> second;
  EXPECT_TRUE(counted<int>(first) == counted<long>(first));
  EXPECT_TRUE(counted<int>(first) != counted<int>(second));
  ashlar::new_delete_resource here;
  ashlar::new_delete_resource there;
  using from_new = ashlar::allocator<int, ashlar::new_delete_resource>;
  EXPECT_TRUE(from_new(here) == from_new(there));  // stateless resources are equal
}

template <std::size_t Bytes>
struct sized {
  char bytes[Bytes];
};

// Compared with arithmetic of twice the width.
template <std::size_t Bytes>
void overflows_at_the_boundary() {
  counting_resource<> upstream;
  counted<sized<Bytes>> numbers(upstream);
  constexpr std::size_t top = std::numeric_limits<std::size_t>::max();
  for (const std::size_t boundary : {top / Bytes, ashlar::max_block_bytes / Bytes, top, top / 2})
    for (int off = -2; off <= 2; ++off) {
      const std::size_t n = boundary + static_cast<std::size_t>(off);
      if (n <= 2) continue;  // wrapped
#if defined(__cpp_exceptions)
      const long double exact = static_cast<long double>(n) * static_cast<long double>(Bytes);
      if (exact > static_cast<long double>(ashlar::max_block_bytes))
        EXPECT_THROW(static_cast<void>(numbers.allocate(n)), std::bad_array_new_length) << n << " of " << Bytes;
      else EXPECT_THROW(static_cast<void>(numbers.allocate(n)), std::bad_alloc) << n << " of " << Bytes;
#endif
    }
  EXPECT_EQ(upstream.allocations(), 0u);
  EXPECT_EQ(numbers.max_size(), ashlar::max_block_bytes / Bytes);
}

TEST(allocator, an_overflowing_array_is_bad_array_new_length_and_touches_nothing) {
  overflows_at_the_boundary<1>();
  overflows_at_the_boundary<3>();
  overflows_at_the_boundary<8>();
  overflows_at_the_boundary<24>();
  overflows_at_the_boundary<4096>();
}

TEST(allocator, at_least_is_the_whole_cell_if_its_slack_is_not_watched) {
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = 64}, upstream);
  in_pool<int> numbers(pool);
  for (const std::size_t given_back : {std::size_t{5}, std::size_t{11}, std::size_t{16}}) {
    const ashlar::allocation_result<int*> got = numbers.allocate_at_least(5);
    EXPECT_EQ(got.count, ashlar::checking_level == ashlar::checking::hardened ? 5u : 16u);
    std::fill_n(got.ptr, got.count, 7);
    EXPECT_EQ(pool.live(), 1u);
    numbers.deallocate(got.ptr, std::min(given_back, got.count));
    EXPECT_EQ(pool.live(), 0u);
  }
  const auto large = numbers.allocate_at_least(17);  // from the upstream, which does not tell
  EXPECT_EQ(large.count, 17u);
  numbers.deallocate(large.ptr, large.count);
}

TEST(allocator, at_least_overflows_as_allocate_does) {
#if defined(__cpp_exceptions)
  counting_resource<> upstream;
  counted<int> numbers(upstream);
  EXPECT_THROW(static_cast<void>(numbers.allocate_at_least(numbers.max_size() + 1)), std::bad_array_new_length);
  EXPECT_THROW(static_cast<void>(numbers.allocate_at_least(ashlar::max_size)), std::bad_array_new_length);
#endif
}

TEST(allocator, holds_incomplete_elements) {
  counting_resource<> upstream;
  node::children nodes{counted<node>(upstream)};
  nodes.resize(10);
  EXPECT_EQ(nodes.size(), 10u);
}

struct four_words {
  std::uint64_t words[4];
};

TEST(allocator, arrays_of_a_pools_own_cells_are_runs) {
  static_assert(ashlar::run_resource<pool_type> && !ashlar::run_resource<counting_resource<>>);
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = sizeof(four_words), .slab_bytes = 64 * 1024}, upstream);
  pool.reserve(4000);  // two slabs: words come from one, runs from the other
  const std::size_t before = upstream.allocations();
  {
    std::vector<four_words, in_pool<four_words>> values(pool);
    for (std::uint64_t i = 0; i < 64; ++i) values.push_back({{i, i, i, i}});
    EXPECT_GE(pool.live(), values.capacity());
    for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(values[i].words[3], i);
    EXPECT_EQ(upstream.allocations(), before + (ashlar_test::is_checked ? 1 : 0));  // where runs start, if checked
    values.resize(1000);                                                            // longer than any run
    EXPECT_EQ(pool.live(), 0u);
  }
  const auto some = in_pool<four_words>(pool).allocate_at_least(5);
  EXPECT_GE(some.count, 5u);
  in_pool<four_words>(pool).deallocate(some.ptr, some.count);
  EXPECT_EQ(pool.live(), 0u);
  EXPECT_TRUE(pool.invariant());
}

TEST(allocator, arrays_of_anything_else_are_blocks) {
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = 16}, upstream);
  std::vector<four_words, in_pool<four_words>> values(10, four_words{}, pool);
  EXPECT_EQ(pool.live(), 0u);
  EXPECT_EQ(upstream.balance().bytes, 10 * sizeof(four_words));
}

using arena = ashlar::arena<>;
using text = std::basic_string<char, std::char_traits<char>, ashlar::allocator<char, arena>>;
using lines = std::vector<text, ashlar::scoped_allocator<text, arena>>;
using files = std::map<text, lines, std::less<>, ashlar::scoped_allocator<std::pair<const text, lines>, arena>>;

constexpr const char* longer = "longer than the buffer inside a string, so that it needs memory";

TEST(scoped_allocator, reaches_every_depth) {
  arena memory;
  files all(memory);
  all[text(longer, memory)].emplace_back(longer);
  all.try_emplace(text("second", memory)).first->second.emplace_back(longer);
  for (const auto& [name, content] : all) {
    EXPECT_EQ(&name.get_allocator().resource(), &memory);
    EXPECT_EQ(&content.get_allocator().outer_allocator().resource(), &memory);
    EXPECT_EQ(&content.front().get_allocator().resource(), &memory);
  }
}

TEST(scoped_allocator, keeps_elements_of_another_resource_out) {
  arena memory, other;
  lines all(memory);
  text stranger(longer, other);
  all.push_back(stranger);
  all.push_back(std::move(stranger));
  for (const text& each : all) EXPECT_EQ(&each.get_allocator().resource(), &memory);
  lines copy(all, ashlar::scoped_allocator<text, arena>(other));
  for (const text& each : copy) EXPECT_EQ(&each.get_allocator().resource(), &other);
}

}  // namespace
