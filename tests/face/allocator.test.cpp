// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the allocators over a resource: the traits of each, requests, runs, and elements with the resource of their
// container.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/face/scoped_allocator.hpp>
#include <ashlar/face/shared_pooled.hpp>
#include <ashlar/face/stateless_allocator.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/face/arrays_that_overflow.hpp"
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

template <std::size_t Bytes>
void refuses_arrays_of() {
  counting_resource<> upstream;
  ashlar_test::refuses_arrays_that_overflow(counted<sized<Bytes>>(upstream));
  EXPECT_EQ(upstream.allocations(), 0u);
}

TEST(allocator, an_overflowing_array_is_bad_array_new_length_and_touches_nothing) {
  refuses_arrays_of<1>();
  refuses_arrays_of<3>();
  refuses_arrays_of<8>();
  refuses_arrays_of<24>();
  refuses_arrays_of<4096>();
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

using ashlar::process_wide_resource;
using ashlar::stateless_allocator;
using heap = ashlar::new_delete_resource;

static_assert(process_wide_resource<heap> && process_wide_resource<ashlar::page_resource>);
static_assert(process_wide_resource<ashlar::basic_page_resource<ashlar::fresh::huge>>);
static_assert(process_wide_resource<ashlar::null_resource>);
static_assert(!process_wide_resource<ashlar::block_pool<>> && !process_wide_resource<ashlar::resource_ref<heap>>);

/// The traits of an allocator. Those that it does not define are not in the table.
struct propagation {
  bool always_equal;
  bool copy;
  bool move;
  bool swap;

  constexpr bool operator==(const propagation&) const = default;
};

template <class A>
concept names_all_its_traits = requires {
  typename A::is_always_equal;
  typename A::propagate_on_container_copy_assignment;
  typename A::propagate_on_container_move_assignment;
  typename A::propagate_on_container_swap;
};

template <names_all_its_traits A>
constexpr propagation traits_of = {A::is_always_equal::value, A::propagate_on_container_copy_assignment::value,
                                   A::propagate_on_container_move_assignment::value,
                                   A::propagate_on_container_swap::value};

// Every allocator of face/ has a row (tests/face/allocators_in_table.sh verifies that). Always equal, or swapped with
// the container: otherwise a swap of unequal allocators is undefined. Empty exactly if always equal.
static_assert(traits_of<ashlar::allocator<int, heap>> == propagation{false, false, true, true});
static_assert(traits_of<ashlar::detail::shared_cell_allocator<int, ashlar::block_pool<>>> ==
              propagation{false, false, true, true});
static_assert(traits_of<ashlar::pool_allocator<int>> == propagation{true, false, false, false});
static_assert(traits_of<ashlar::pool_allocator<int, ashlar::thread_cached>> == propagation{true, false, false, false});
static_assert(traits_of<stateless_allocator<int, heap>> == propagation{true, false, false, false});

template <class A>
constexpr bool is_sound =
    std::is_empty_v<A> == traits_of<A>.always_equal && (traits_of<A>.always_equal || traits_of<A>.swap);
static_assert(is_sound<ashlar::allocator<int, heap>> && is_sound<ashlar::pool_allocator<int>>);
static_assert(is_sound<ashlar::pool_allocator<int, ashlar::spin_lock>> && is_sound<stateless_allocator<int, heap>>);

template <class T>
using on_heap = stateless_allocator<T, heap>;
static_assert(std::is_same_v<std::allocator_traits<on_heap<int>>::rebind_alloc<long>, on_heap<long>>);
static_assert(std::is_nothrow_default_constructible_v<on_heap<int>> && std::is_trivially_copyable_v<on_heap<int>>);
static_assert(noexcept(std::declval<on_heap<int>&>().deallocate(nullptr, 1)));
static_assert(sizeof(std::vector<int, on_heap<int>>) == sizeof(std::vector<int>));

TEST(stateless_allocator, allocates_from_its_resource_and_refuses_what_overflows) {
  stateless_allocator<double, ashlar::page_resource> pages;
  double* const got = pages.allocate(10);
  EXPECT_TRUE(ashlar::is_aligned(got, 4096));
  pages.deallocate(got, 10);
  const auto at_least = pages.allocate_at_least(3);
  EXPECT_GE(at_least.count, 3u);
  pages.deallocate(at_least.ptr, at_least.count);
  EXPECT_EQ(pages, (stateless_allocator<char, ashlar::page_resource>()));
  ashlar_test::refuses_arrays_that_overflow(pages);
#if defined(__cpp_exceptions)
  stateless_allocator<int, ashlar::null_resource> none;
  EXPECT_THROW(static_cast<void>(none.allocate(1)), std::bad_alloc);
#endif
}

}  // namespace
