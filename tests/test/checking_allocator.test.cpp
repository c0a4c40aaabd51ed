// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the checking allocator and its fancy pointer: traits, identity, and each mistake of a container caught.
#include <cstddef>
#include <cstring>
#include <deque>
#include <forward_list>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/test/checking_allocator.hpp>
#include <ashlar/test/fancy_ptr.hpp>
#include <ashlar/test/ledger.hpp>

#include "tests/test/flawed_array.hpp"

namespace {

using ashlar::test::checking_allocator;
using ashlar::test::checking_allocator_options;
using ashlar::test::fancy_ptr;
using ashlar::test::ledger;
using ashlar::test::problem_kind;
using ashlar_test::flaw;
using ashlar_test::flawed_array;

template <class T>
using hardest = checking_allocator<T>;
constexpr checking_allocator_options all_propagate{
    .propagate_on_copy_assignment = true, .propagate_on_move_assignment = true, .propagate_on_swap = true};
template <class T>
using propagating = checking_allocator<T, all_propagate>;
template <class T>
using alike = checking_allocator<T, checking_allocator_options{.always_equal = true}>;
template <class T>
using fresh = checking_allocator<T, checking_allocator_options{.fresh_on_copy = true}>;
template <class T>
using strict = checking_allocator<T, checking_allocator_options{.default_constructible = false}>;
template <class T>
using fancy = checking_allocator<T, checking_allocator_options{.fancy_pointer = true}>;

using traits = std::allocator_traits<hardest<int>>;
using propagating_traits = std::allocator_traits<propagating<int>>;
static_assert(!traits::propagate_on_container_copy_assignment::value && !traits::propagate_on_container_swap::value);
static_assert(!traits::propagate_on_container_move_assignment::value && !traits::is_always_equal::value);
static_assert(propagating_traits::propagate_on_container_copy_assignment::value);
static_assert(propagating_traits::propagate_on_container_move_assignment::value);
static_assert(propagating_traits::propagate_on_container_swap::value);
static_assert(std::allocator_traits<alike<int>>::is_always_equal::value);
static_assert(std::is_same_v<propagating_traits::rebind_alloc<long>, propagating<long>>);
static_assert(std::is_same_v<traits::pointer, int*>);
static_assert(std::is_same_v<std::allocator_traits<fancy<int>>::pointer, fancy_ptr<int>>);
static_assert(std::is_same_v<std::allocator_traits<fancy<int>>::const_void_pointer, fancy_ptr<const void>>);
static_assert(std::is_default_constructible_v<hardest<int>> && !std::is_default_constructible_v<strict<int>>);
static_assert(std::is_nothrow_constructible_v<hardest<long>, const hardest<int>&>);
static_assert(noexcept(std::declval<hardest<int>&>().deallocate(nullptr, 1)));

TEST(checking_allocator, copies_are_equal_and_others_are_not) {
  ledger book;
  const hardest<int> a(book);
  const hardest<int> b(book);
  const hardest<int> copy = a;
  const hardest<long> rebound(a);
  EXPECT_TRUE(a == copy && a == rebound && hardest<int>(rebound) == a);
  EXPECT_FALSE(a == b || b == rebound);
  ledger other;
  EXPECT_FALSE(hardest<int>(other) == hardest<int>(book));
  EXPECT_TRUE(alike<int>(book) == alike<int>(book));
}

TEST(checking_allocator, a_copied_container_gets_the_same_or_a_fresh_identity) {
  ledger book;
  const hardest<int> a(book);
  EXPECT_TRUE(traits::select_on_container_copy_construction(a) == a);
  const fresh<int> b(book);
  EXPECT_FALSE(std::allocator_traits<fresh<int>>::select_on_container_copy_construction(b) == b);
  const std::vector<int, fresh<int>> original(3, 7, b);
  const auto copy = original;
  EXPECT_FALSE(copy.get_allocator() == b);
  EXPECT_EQ(book.balance(b.identity()).bytes, 3 * sizeof(int));
  EXPECT_EQ(book.balance(copy.get_allocator().identity()).bytes, 3 * sizeof(int));
}

TEST(checking_allocator, allocates_as_the_type_is_aligned) {
  struct alignas(128) wide {
    char bytes[128];
  };
  ledger book;
  hardest<wide> a(book);
  for (const std::size_t n : {0u, 1u, 3u}) {
    wide* const p = a.allocate(n);
    EXPECT_TRUE(ashlar::is_aligned(p, 128));
    EXPECT_EQ(book.balance().bytes, n * 128);
    a.deallocate(p, n);
  }
}

TEST(checking_allocator, an_overflowing_array_is_bad_array_new_length) {
#if defined(__cpp_exceptions)
  ledger book;
  hardest<long long> a(book);
  for (const std::size_t n : {a.max_size() + 1, std::numeric_limits<std::size_t>::max() / 8 + 2, ashlar::max_size})
    EXPECT_THROW(static_cast<void>(a.allocate(n)), std::bad_array_new_length);
  EXPECT_THROW(static_cast<void>(a.allocate(a.max_size())), std::bad_alloc);
  EXPECT_EQ(book.allocations(), 0u);
#endif
}

/// Returns: the ledger's reports on an array with a flaw that is made, moved to from an unequal one, and swapped.
template <template <class> class A, flaw Flaw>
std::vector<problem_kind> problems_of() {
  std::vector<problem_kind> kinds;
  ledger book;
  {
    using array = flawed_array<int, A<int>, Flaw>;
    array a(3, 1, A<int>(book));
    array b(4, 2, A<int>(book));
    const A<int> shared(book);
    array c(5, 3, shared);
    array d(6, 4, shared);
    a = std::move(b);
    c.swap(d);
    EXPECT_EQ(a[3], 2);
    EXPECT_EQ(c[5], 4);
  }
  for (const auto& each : book.finish())
    if (kinds.empty() || kinds.back() != each.kind) kinds.push_back(each.kind);
  return kinds;
}

using kinds = std::vector<problem_kind>;

TEST(checking_allocator, passes_a_container_without_flaws) {
  EXPECT_EQ((problems_of<hardest, flaw::none>()), kinds{});
  EXPECT_EQ((problems_of<propagating, flaw::none>()), kinds{});
  EXPECT_EQ((problems_of<fresh, flaw::none>()), kinds{});
  EXPECT_EQ((problems_of<strict, flaw::none>()), kinds{});
  EXPECT_EQ((problems_of<alike, flaw::none>()), kinds{});
  EXPECT_EQ((problems_of<fancy, flaw::none>()), kinds{});
}

TEST(checking_allocator, catches_each_flaw) {
  EXPECT_EQ((problems_of<hardest, flaw::steals>()), kinds{problem_kind::cross_free});
  EXPECT_EQ((problems_of<alike, flaw::steals>()), kinds{});  // stealing is right if all are equal
  EXPECT_EQ((problems_of<hardest, flaw::forgets_n>()), kinds{problem_kind::wrong_count});
  EXPECT_EQ((problems_of<hardest, flaw::other_type>()), kinds{problem_kind::wrong_alignment});
  EXPECT_EQ((problems_of<hardest, flaw::frees_twice>()), kinds{problem_kind::double_free});
  EXPECT_EQ((problems_of<hardest, flaw::frees_the_middle>()), (kinds{problem_kind::interior_free, problem_kind::leak}));
  EXPECT_EQ((problems_of<hardest, flaw::leaks>()), kinds{problem_kind::leak});
  EXPECT_EQ((problems_of<hardest, flaw::overruns>()), kinds{problem_kind::overrun});
}

TEST(checking_allocator, catches_a_swap_that_forgets_the_allocators) {
  ledger book;
  {
    using array = flawed_array<int, propagating<int>, flaw::swaps_memory_only>;
    array a(3, 1, book);
    array b(3, 2, book);
    a.swap(b);
  }
  const auto told = book.finish();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].kind, problem_kind::cross_free);
  EXPECT_NE(told[0].allocated.allocator, told[0].freed.allocator);
}

template <class Container>
void use(Container c) {
  for (int i = 0; i < 40; ++i) c.insert(c.end(), static_cast<typename Container::value_type>(i));
  Container copy = c;
  Container moved = std::move(c);
  copy = moved;
  moved.clear();
  moved = std::move(copy);
  EXPECT_FALSE(moved.empty());
}

TEST(checking_allocator, holds_fancy_pointers_in_standard_containers) {
  ledger book;
  {
    use(std::vector<int, fancy<int>>(book));
    std::unordered_set<int, std::hash<int>, std::equal_to<>, fancy<int>> numbers{fancy<int>(book)};
    std::forward_list<int, fancy<int>> list{fancy<int>(book)};
    for (int i = 0; i < 40; ++i) numbers.insert(i), list.push_front(i);
    EXPECT_EQ(numbers.size(), 40u);
    EXPECT_EQ(list.front(), 39);
#if defined(_LIBCPP_VERSION)  // libstdc++ 12 assumes plain pointers in these
    use(std::list<int, fancy<int>>(fancy<int>(book)));
    use(std::set<int, std::less<>, fancy<int>>(fancy<int>(book)));
#else  // and libc++ 19 in this one
    use(std::deque<int, fancy<int>>(fancy<int>(book)));
#endif
  }
  EXPECT_TRUE(book.finish().empty());
}

TEST(checking_allocator, serves_default_constructed_containers_in_the_default_ledger) {
  ledger book;
  const ashlar::test::default_ledger scope(book);
  {
    std::map<int, int, std::less<>, hardest<std::pair<const int, int>>> index;
    index[3] = 4;
    const std::list<int, hardest<int>> numbers(10, 1);
    EXPECT_GE(book.balance().blocks, 11u);
  }
  EXPECT_TRUE(book.finish().empty());
}

static_assert(!std::is_convertible_v<int*, fancy_ptr<int>> && !std::is_convertible_v<fancy_ptr<int>, int*>);
static_assert(std::is_same_v<std::pointer_traits<fancy_ptr<int>>::rebind<long>, fancy_ptr<long>>);
static_assert(std::random_access_iterator<fancy_ptr<int>>);

TEST(fancy_ptr, shows_a_copy_byte_by_byte) {
  int target = 7;
  const fancy_ptr<int> p(&target);
  fancy_ptr<int> copy;
  std::memcpy(static_cast<void*>(&copy), static_cast<const void*>(&p), sizeof p);
  EXPECT_NE(copy.get(), &target);
  EXPECT_EQ(fancy_ptr<int>(p).get(), &target);
}

}  // namespace
