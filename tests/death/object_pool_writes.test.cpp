// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that level hardened reports writes to dead pooled objects and beside live ones, by the end of the pool.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/ref_pool.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/pool_traits.hpp"

namespace {

using ashlar::any_thread;
using ashlar::construct_on_acquire;
using ashlar::fault;
using ashlar::one_thread;
using ashlar::throw_when_exhausted;
using ashlar_test::caught_in;

struct plain {
  std::uint64_t bytes[6] = {};
};
struct destroyed : plain {
  ~destroyed() { bytes[0] = 0; }
};
struct tiny final {
  unsigned char byte = 0;
};
struct counts_itself final : plain {
  std::uint32_t count = 0;
};
struct alignas(64) aligned : plain {};
struct padded {
  std::uint64_t number = 0;
  std::uint32_t more = 0;  // leaves room for a count beside it
};

/// A pool of objects as used by the tests.
template <class T, std::size_t Capacity, class Threads>
struct acquired
    : ashlar::object_pool<T,
                          ashlar_test::object_traits<Capacity, construct_on_acquire, throw_when_exhausted, Threads>> {
  acquired() = default;
  explicit acquired(std::size_t capacity) : acquired::object_pool(capacity) {}
  void* take() { return this->acquire(); }
  void give(void* p) { this->release(static_cast<T*>(p)); }
};
template <class T, class Threads>
struct in_a_block : acquired<T, ashlar::dynamic_capacity, Threads> {
  in_a_block() : acquired<T, ashlar::dynamic_capacity, Threads>(100) {}
};
template <class Pool, class Threads>
struct counted : Pool {
  using type = typename Pool::value_type;
  void* take() { return this->make().release(); }
  void give(void* p) { ashlar::drop_reference<Threads>(static_cast<type*>(p)); }
};
template <class T, class Threads>
using in_refs = counted<ashlar::ref_pool<T, Threads>, Threads>;
template <class T, class Threads>
using in_intrusives = counted<
    ashlar::intrusive_pool<T, ashlar_test::intrusive_traits<construct_on_acquire, throw_when_exhausted, Threads>>,
    Threads>;
using counting_member =
    ashlar::intrusive_pool<counts_itself,
                           ashlar_test::intrusive_traits<construct_on_acquire, throw_when_exhausted, one_thread,
                                                         ashlar::count::in_member<&counts_itself::count>>>;
struct in_own_count : counting_member {
  void* take() { return this->make().release(); }
  void give(void* p) { static_cast<void>(pointer::adopt(static_cast<counts_itself*>(p))); }
};

/// Pools that keep their objects constructed.
template <std::size_t Capacity, class Threads>
struct kept
    : ashlar::object_pool<
          destroyed, ashlar_test::object_traits<Capacity, ashlar::keep_constructed<>, throw_when_exhausted, Threads>> {
  void* take() { return this->acquire(); }
  void give(void* p) { this->release(static_cast<destroyed*>(p)); }
};
using kept_counted =
    counted<ashlar::intrusive_pool<destroyed, ashlar_test::intrusive_traits<ashlar::keep_constructed<>>>, one_thread>;

template <class Pool>
class object_pool_writes : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "dead slots are poisoned at hardened";
  }
};
using kinds = ::testing::Types<
    acquired<plain, 100, one_thread>, acquired<destroyed, 100, one_thread>, acquired<tiny, 100, one_thread>,
    acquired<plain, 100, any_thread<>>, in_a_block<plain, one_thread>, in_a_block<destroyed, any_thread<>>,
    acquired<plain, ashlar::growing, one_thread>, acquired<destroyed, ashlar::growing, any_thread<>>,
    in_refs<plain, one_thread>, in_refs<destroyed, one_thread>, in_refs<tiny, one_thread>, in_refs<plain, any_thread<>>,
    in_refs<destroyed, any_thread<>>, in_intrusives<plain, one_thread>, in_intrusives<destroyed, any_thread<>>>;
TYPED_TEST_SUITE(object_pool_writes, kinds);

template <class Pool>
class writes_beside : public object_pool_writes<Pool> {};
using watched_kinds =
    ::testing::Types<acquired<plain, 100, one_thread>, acquired<destroyed, 100, one_thread>,
                     acquired<tiny, 100, one_thread>, acquired<aligned, 100, one_thread>,
                     acquired<plain, 100, any_thread<>>, in_a_block<plain, one_thread>, in_a_block<aligned, one_thread>,
                     in_a_block<destroyed, any_thread<>>, acquired<plain, ashlar::growing, one_thread>,
                     acquired<aligned, ashlar::growing, one_thread>, acquired<destroyed, ashlar::growing, any_thread<>>,
                     in_refs<plain, one_thread>, in_refs<destroyed, one_thread>, in_refs<tiny, one_thread>,
                     in_refs<padded, one_thread>, in_refs<plain, any_thread<>>, in_refs<destroyed, any_thread<>>,
                     in_intrusives<aligned, one_thread>, in_intrusives<destroyed, any_thread<>>, in_own_count,
                     kept<100, one_thread>, kept<100, any_thread<>>, kept<ashlar::growing, one_thread>, kept_counted>;
TYPED_TEST_SUITE(writes_beside, watched_kinds);

// Hidden from tools, and from the compiler's knowledge of the memory.
void write_beside(void* object, std::ptrdiff_t at, std::size_t count) {
  volatile unsigned char* const bytes = static_cast<unsigned char*>(object) + at;
  ashlar::detail::mark_readable(static_cast<unsigned char*>(object) + at, count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(bytes[i] ^ 1);
}
void write_to(void* dead, std::size_t at) { write_beside(dead, static_cast<std::ptrdiff_t>(at), 1); }

template <class Pool>
std::vector<std::size_t> places() {
  constexpr std::size_t last = sizeof(typename Pool::value_type) - 1;
  return {0, last / 2, last};
}

// Returns: a pool that a jump out of its end leaves behind, with three live objects.
template <class Pool>
struct used_pool {
  Pool& pool = *new Pool;
  void* const before = pool.take();
  void* const middle = pool.take();
  void* const behind = pool.take();
};

TYPED_TEST(object_pool_writes, to_a_dead_object_are_seen_when_its_slot_is_used_again) {
  for (const std::size_t at : places<TypeParam>()) {
    used_pool<TypeParam> used;
    used.pool.give(used.middle);
    write_to(used.middle, at);
    const auto seen = caught_in([&] { static_cast<void>(used.pool.take()); });
    ASSERT_TRUE(seen.has_value()) << at;
    EXPECT_EQ(seen->kind, fault::corrupt_link);
    EXPECT_STREQ(seen->what, "a free block was written to");
    EXPECT_EQ(seen->pointer, used.middle);
    EXPECT_EQ(seen->resource, &used.pool);
  }
}

TYPED_TEST(object_pool_writes, to_a_dead_object_are_seen_at_the_end_of_the_pool) {
  for (const std::size_t at : places<TypeParam>()) {
    used_pool<TypeParam> used;
    used.pool.give(used.middle);
    used.pool.give(used.behind);
    write_to(used.middle, at);
    const auto seen = caught_in([&] { delete &used.pool; });
    ASSERT_TRUE(seen.has_value()) << at;
    EXPECT_EQ(seen->kind, fault::corrupt_link);
    EXPECT_EQ(seen->pointer, used.middle);
  }
}

template <class Pool>
constexpr std::ptrdiff_t object_bytes = sizeof(typename Pool::value_type);

template <class Pool>
void expect_overflow(const std::optional<ashlar::violation>& seen, const void* object) {
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::overflow);
  EXPECT_STREQ(seen->what, "bytes past the end of a block were written to");
  EXPECT_EQ(seen->pointer, object);
  EXPECT_EQ(seen->expected, sizeof(typename Pool::value_type));
  EXPECT_GT(seen->got, sizeof(typename Pool::value_type));
}

void expect_underflow(const std::optional<ashlar::violation>& seen, const void* object) {
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::underflow);
  EXPECT_STREQ(seen->what, "bytes before a block were written to");
  EXPECT_EQ(seen->pointer, object);
}

TYPED_TEST(writes_beside, behind_an_object_are_seen_at_its_release) {
  for (const std::size_t count : {1u, 8u}) {
    used_pool<TypeParam> used;
    write_beside(used.middle, object_bytes<TypeParam>, count);
    expect_overflow<TypeParam>(caught_in([&] { used.pool.give(used.middle); }), used.middle);
  }
}

TYPED_TEST(writes_beside, before_an_object_are_seen_at_its_release) {
  for (const std::ptrdiff_t count : {1, 8}) {
    for (const bool is_first : {false, true}) {
      used_pool<TypeParam> used;
      void* const object = is_first ? used.before : used.middle;
      write_beside(object, -count, static_cast<std::size_t>(count));
      expect_underflow(caught_in([&] { used.pool.give(object); }), object);
    }
  }
}

// The counts of slots lie in front of the first object of a slab.
TEST(writes_beside_counts, before_the_first_object_hit_no_count) {
  if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "slots have guards at hardened";
  used_pool<in_refs<padded, one_thread>> used;
  auto first = ashlar::ref_ptr<padded>::adopt(static_cast<padded*>(used.before));
  write_beside(used.before, -16, 16);
  EXPECT_EQ(first.use_count(), 1u);
  expect_underflow(caught_in([&] { used.pool.give(first.release()); }), used.before);
}

TEST(object_pool_writes_kept, a_kept_object_is_handed_out_as_it_is) {
  ashlar::object_pool<plain, ashlar_test::object_traits<10, ashlar::keep_constructed<>>> pool;
  plain* const kept = pool.acquire();
  pool.release(kept);
  write_to(kept, 24);
  EXPECT_NE(pool.acquire()->bytes[3], 0u);
}

TEST(object_pool_writes_own_count, a_second_release_of_a_dead_object_with_its_own_count_is_seen) {
  if (!ashlar::detail::keeps_canaries) GTEST_SKIP();
  in_own_count pool;
  void* const object = pool.take();
  pool.give(object);
  const auto seen = caught_in([&] { pool.give(object); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::double_free);
}

}  // namespace
