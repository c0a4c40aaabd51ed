// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of blocks and of the concepts, and that a reference to a resource has exactly the refinements of the resource.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>

#include "tests/support/death.hpp"
#include "tests/support/skills.hpp"

namespace {

using ashlar::block;

TEST(block, contains_its_bytes_and_no_others) {
  static char memory[100];
  const block b{memory + 10, 20};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(b.contains(memory + i), i >= 10 && i < 30) << i;
  EXPECT_FALSE((block{memory, 0}).contains(memory));
  for (const block& each : {b, block{}}) {
    EXPECT_FALSE(each.contains(nullptr));
    EXPECT_FALSE(each.contains(reinterpret_cast<void*>(std::numeric_limits<std::uintptr_t>::max())));
  }
}

TEST(block, is_true_where_it_has_data_and_equal_by_data_and_size) {
  static char memory[2];
  EXPECT_TRUE(!block{} && (block{memory, 0}));
  EXPECT_EQ((block{memory, 1}), (block{memory, 1}));
  EXPECT_NE((block{memory, 1}), (block{memory, 2}));
  EXPECT_NE((block{memory, 1}), (block{memory + 1, 1}));
}

using ashlar::resource_ref;

using namespace ashlar_test;

// What a reference hands through by calls; that it may be shared or divided is a constant.
constexpr skills all = can_share - 1;

/// A resource with the refinements in `Set`. It hands out its own address and records its last call.
template <skills Set>
struct refined {
  using call = std::tuple<const char*, const void*, std::size_t, std::size_t, std::size_t>;
  mutable call last;
  int name = 0;

  void* allocate(std::size_t bytes, std::size_t alignment) {
    last = {"allocate", nullptr, bytes, alignment, 0};
    return this;
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) { last = {"deallocate", p, bytes, alignment, 0}; }
  void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires((Set & can_try) != 0)
  {
    last = {"try_allocate", nullptr, bytes, alignment, 0};
    return nullptr;
  }
  bool owns(const void* p) const noexcept
    requires((Set & can_own) != 0)
  {
    last = {"owns", p, 0, 0, 0};
    return p == this;
  }
  void release() noexcept
    requires((Set & can_release) != 0)
  {
    last = {"release", nullptr, 0, 0, 0};
  }
  void deallocate(void* p) noexcept
    requires((Set & can_describe) != 0)
  {
    last = {"deallocate unsized", p, 0, 0, 0};
  }
  bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires((Set & can_expand) != 0)
  {
    last = {"try_expand", p, bytes, new_bytes, alignment};
    return true;
  }
  void prefault(void* p, std::size_t bytes) noexcept
    requires((Set & can_prefault) != 0)
  {
    last = {"prefault", p, bytes, 0, 0};
  }
  ashlar::block allocate_at_least(std::size_t bytes, std::size_t alignment)
    requires((Set & can_at_least) != 0)
  {
    last = {"allocate_at_least", nullptr, bytes, alignment, 0};
    return {this, bytes + 7};
  }
  friend bool operator==(const refined& a, const refined& b) { return a.name == b.name; }
};

template <skills... Set>
constexpr bool refs_are_exact(std::integer_sequence<skills, Set...>) {
  return ((skills_of<refined<Set>> == Set && skills_of<resource_ref<refined<Set>>> == Set &&
           skills_of<resource_ref<resource_ref<refined<Set>>>> == Set) &&
          ...);
}
static_assert(refs_are_exact(std::make_integer_sequence<skills, all + 1>{}));

static_assert(sizeof(resource_ref<refined<all>>) == sizeof(void*));
static_assert(std::is_trivially_copyable_v<resource_ref<refined<all>>>);
static_assert(!std::is_default_constructible_v<resource_ref<refined<all>>>);
static_assert(std::is_nothrow_constructible_v<resource_ref<refined<0>>, refined<0>&>);
static_assert(!std::is_constructible_v<resource_ref<refined<0>>, refined<0>>,
              "a reference to a temporary would dangle");

static_assert(skills_of<std::pmr::memory_resource> == 0);
static_assert(skills_of<resource_ref<std::pmr::memory_resource>> == 0);

struct throws_from_try : refined<0> {
  void* try_allocate(std::size_t, std::size_t) { return nullptr; }
  bool owns(const void*) const { return true; }
  void release() {}
};
static_assert(skills_of<throws_from_try> == 0, "a refinement is noexcept or it is none");

struct says_int {
  int* allocate(std::size_t, std::size_t) { return nullptr; }
  void deallocate(void*, std::size_t, std::size_t) {}
  bool operator==(const says_int&) const = default;
};
struct not_comparable {
  void* allocate(std::size_t, std::size_t) { return nullptr; }
  void deallocate(void*, std::size_t, std::size_t) {}
};
static_assert(!ashlar::resource<says_int> && !ashlar::resource<not_comparable> && !ashlar::resource<int>);

TEST(resource_ref, hands_every_call_through_unchanged) {
  refined<all> r;
  resource_ref ref(r);
  using call = refined<all>::call;
  char block = 0;
  EXPECT_EQ(ref.allocate(24, 8), &r);
  EXPECT_EQ(r.last, call("allocate", nullptr, 24, 8, 0));
  EXPECT_EQ(ref.allocate_at_least(23, 4).size, 30u);
  EXPECT_EQ(r.last, call("allocate_at_least", nullptr, 23, 4, 0));
  EXPECT_EQ(ref.try_allocate(25, 16), nullptr);
  EXPECT_EQ(r.last, call("try_allocate", nullptr, 25, 16, 0));
  ref.deallocate(&block, 24, 8);
  EXPECT_EQ(r.last, call("deallocate", &block, 24, 8, 0));
  ref.deallocate(&block);
  EXPECT_EQ(r.last, call("deallocate unsized", &block, 0, 0, 0));
  EXPECT_TRUE(ref.owns(&r));
  EXPECT_FALSE(ref.owns(&block));
  ref.release();
  EXPECT_EQ(r.last, call("release", nullptr, 0, 0, 0));
  EXPECT_TRUE(ref.try_expand(&block, 8, 16, 4));
  EXPECT_EQ(r.last, call("try_expand", &block, 8, 16, 4));
  ref.prefault(&block, 1);
  EXPECT_EQ(r.last, call("prefault", &block, 1, 0, 0));
  EXPECT_EQ(&ref.get(), &r);
}

TEST(resource_ref, is_equal_where_the_resources_are) {
  refined<0> a;
  refined<0> same;
  refined<0> other;
  other.name = 1;
  EXPECT_EQ(resource_ref(a), resource_ref(a));
  EXPECT_EQ(resource_ref(a), resource_ref(same));
  EXPECT_NE(resource_ref(a), resource_ref(other));
}

TEST(resource_ref, a_copy_refers_to_the_same_resource) {
  refined<0> a;
  refined<0> b;
  resource_ref first(a);
  const resource_ref copy = first;
  first = resource_ref(b);
  EXPECT_EQ(&copy.get(), &a);
  EXPECT_EQ(&first.get(), &b);
}

TEST(resource, memory_of_the_standard_library_is_one) {
  resource_ref<std::pmr::memory_resource> ref(*std::pmr::new_delete_resource());
  void* const p = ref.allocate(100, 64);
  EXPECT_EQ(reinterpret_cast<std::size_t>(p) % 64, 0u);
  ref.deallocate(p, 100, 64);
}

TEST(try_allocate_from, asks_by_the_call_that_answers_null) {
  refined<can_try> says_null;
  EXPECT_EQ(ashlar::try_allocate_from(says_null, 1, 1), nullptr);
  refined<0> throws_or_gives;
  EXPECT_EQ(ashlar::try_allocate_from(throws_or_gives, 1, 1), &throws_or_gives);
}

#if defined(__cpp_exceptions)
TEST(allocate_at_least_from, is_exact_where_the_resource_does_not_tell) {
  refined<can_at_least> tells;
  refined<0> does_not;
  EXPECT_EQ(ashlar::allocate_at_least_from(tells, 24, 8).size, 31u);
  EXPECT_EQ(ashlar::allocate_at_least_from(does_not, 24, 8).size, 24u);
  EXPECT_EQ(does_not.last, decltype(does_not.last)("allocate", nullptr, 24, 8, 0));
}

TEST(allocate_upstream, hands_on_what_is_a_request_and_nothing_else) {
  refined<can_try | can_at_least> upstream;
  EXPECT_EQ(ashlar::allocate_upstream(upstream, 24, 8), &upstream);
  EXPECT_EQ(ashlar::allocate_upstream_at_least(upstream, 24, 8).size, 31u);
  upstream.last = {};
  EXPECT_EQ(ashlar::try_allocate_upstream(upstream, ashlar::max_block_bytes, 8), nullptr);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(ashlar::allocate_upstream(upstream, ashlar::max_size, 1)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(ashlar::allocate_upstream_at_least(upstream, ashlar::max_size, 1)), std::bad_alloc);
#endif
  EXPECT_EQ(upstream.last, decltype(upstream.last)()) << "it was not asked";
  const char* const line = "ashlar: precondition: alignment is not a power of two";
  ASHLAR_EXPECT_DEATH(static_cast<void>(ashlar::allocate_upstream(upstream, 24, 3)), line);
  ASHLAR_EXPECT_DEATH(static_cast<void>(ashlar::try_allocate_upstream(upstream, 24, 0)), line);
}

TEST(allocate_or_throw, never_returns_null) {
  refined<can_try> says_null;
  EXPECT_THROW(static_cast<void>(ashlar::allocate_or_throw(says_null, 1, 1)), std::bad_alloc);
}

TEST(try_allocate_from, takes_any_exception_for_a_no) {
  EXPECT_EQ(ashlar::try_allocate_from(*std::pmr::null_memory_resource(), 1, 1), nullptr);
  struct : refined<0> {
    void* allocate(std::size_t, std::size_t) { throw 7; }
  } throws_a_number;
  EXPECT_EQ(ashlar::try_allocate_from(throws_a_number, 1, 1), nullptr);
}
#endif

}  // namespace
