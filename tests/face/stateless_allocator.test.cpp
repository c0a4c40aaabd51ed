// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the allocator without data, and the table of the traits of every allocator in face/.
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/face/shared_pooled.hpp>
#include <ashlar/face/stateless_allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"

namespace {

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
static_assert(traits_of<ashlar::detail::measuring_allocator<int, int>> == propagation{false, false, true, true});
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
using traits = std::allocator_traits<on_heap<int>>;
static_assert(std::is_same_v<traits::rebind_alloc<long>, on_heap<long>>);
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
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(pages.allocate(std::numeric_limits<std::size_t>::max() / 4)),
               std::bad_array_new_length);
  stateless_allocator<int, ashlar::null_resource> none;
  EXPECT_THROW(static_cast<void>(none.allocate(1)), std::bad_alloc);
#endif
}

}  // namespace
