// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of shared pointers with object and counts in one cell of a pool, and of the size of that cell.
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/shared_pooled.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::allocate_shared_pooled;
using ashlar::block_pool;
using ashlar::one_thread;
using ashlar::resource_ref;
using ashlar::shared_block_pool;
using ashlar::shared_cell_options;
using ashlar::thread_cached;
using ashlar::with_shared_pool;
using ashlar_test::counting_resource;

struct base {
  virtual ~base() = default;
};
struct knows_itself : base, std::enable_shared_from_this<knows_itself> {
  explicit knows_itself(std::string text) : said(std::move(text)) {}
  std::string said;
};

TEST(shared_pooled, bases_members_and_the_object_itself_share_the_cell) {
  block_pool<> pool(shared_cell_options<knows_itself>());
  std::shared_ptr<const knows_itself> p = allocate_shared_pooled<const knows_itself>(pool, "a");
  const std::shared_ptr<const base> as_base = p;
  const std::shared_ptr<const std::string> member(p, &p->said);
  const auto self = p->shared_from_this();
  EXPECT_EQ(p.use_count(), 4);
  p.reset();
  EXPECT_EQ(*member, "a");
  EXPECT_EQ(pool.live(), 1u);
}

TEST(shared_pooled, is_over_any_resource) {
  block_pool<> pool(shared_cell_options<int>());
  ashlar::synchronized<block_pool<>, std::mutex> locked(shared_cell_options<int>());
  counting_resource<> upstream;
  const std::vector<std::shared_ptr<int>> all = {
      allocate_shared_pooled<int>(pool, 1), allocate_shared_pooled<int>(resource_ref(pool), 2),
      allocate_shared_pooled<int>(locked, 3), allocate_shared_pooled<int>(upstream, 4),
      allocate_shared_pooled<int>(ashlar::new_delete_resource(), 5)};
  EXPECT_EQ(pool.live(), 2u);
  EXPECT_EQ(upstream.balance().blocks, 1u);
}

// Objects and counts of the process-wide pools.
struct of_process {
  explicit of_process(int n) : number(n) {}
  std::array<char, 1001> rest = {};
  int number;
};

template <class T, class Lock>
std::size_t live_of() {
  std::size_t live = 0;
  with_shared_pool<T, Lock>([&](auto& pool) { live = pool.live(); });
  return live;
}

template <class Lock>
class shared_pooled_with : public ::testing::Test {};

using locks = ashlar_test::types_of_build<::testing::Types<one_thread, thread_cached>,
                                          ::testing::Types<one_thread, ashlar::spin_lock, std::mutex, thread_cached>>;
TYPED_TEST_SUITE(shared_pooled_with, locks);

TYPED_TEST(shared_pooled_with, needs_no_pool_object) {
  std::weak_ptr<of_process> weak;
  {
    const auto a = allocate_shared_pooled<of_process, TypeParam>(3);
    const auto b = allocate_shared_pooled<const of_process, TypeParam>(4);
    EXPECT_EQ(a->number * 10 + b->number, 34);
    EXPECT_EQ((live_of<of_process, TypeParam>()), 2u);
    weak = a;
  }
  EXPECT_EQ((live_of<of_process, TypeParam>()), 1u);
  weak.reset();
  EXPECT_EQ((live_of<of_process, TypeParam>()), 0u);
}

TYPED_TEST(shared_pooled_with, reserves_before_the_first_object) {
  struct rare {
    std::array<char, 1234> bytes = {};
  };
  std::size_t capacity = 0;
  with_shared_pool<rare, TypeParam>([](auto& pool) { pool.reserve(1000); });
  with_shared_pool<rare, TypeParam>([&](auto& pool) { capacity = pool.capacity(); });
  EXPECT_GE(capacity, 1000u);
  std::vector<std::shared_ptr<rare>> all(900);
  for (auto& each : all) each = allocate_shared_pooled<rare, TypeParam>();
  with_shared_pool<rare, TypeParam>([&](auto& pool) { EXPECT_EQ(pool.capacity(), capacity); });
}

template <class T>
void visit_the_pool_of() {
  const std::size_t before = live_of<T, thread_cached>();
  const auto p = allocate_shared_pooled<T>();
  EXPECT_EQ((live_of<T, thread_cached>()), before + 1);
}

TEST(shared_pooled, the_pool_of_any_type_can_be_visited) {
  struct empty_and_final final {};
  struct alignas(64) empty_and_aligned {};
  struct alignas(64) aligned {
    char c = 0;
  };
  visit_the_pool_of<char>();
  visit_the_pool_of<double>();
  visit_the_pool_of<long long>();
  visit_the_pool_of<long double>();
  visit_the_pool_of<int base::*>();
  visit_the_pool_of<empty_and_final>();
  visit_the_pool_of<empty_and_aligned>();
  visit_the_pool_of<aligned>();
  visit_the_pool_of<std::string>();
}

// A first argument that is a resource is the pool, unless a lock is named.
struct takes_a_pool {
  explicit takes_a_pool(block_pool<>& given) : pool(&given) {}
  block_pool<>* pool;
};

TEST(shared_pooled, a_constructor_may_take_a_resource) {
  block_pool<> given({.cell_bytes = 8});
  block_pool<> pool(shared_cell_options<takes_a_pool>());
  EXPECT_EQ(allocate_shared_pooled<takes_a_pool>(pool, given)->pool, &given);
  EXPECT_EQ((allocate_shared_pooled<takes_a_pool, thread_cached>(given)->pool), &given);
}

TEST(shared_pooled, a_pool_whose_cells_are_too_small_is_reported) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  block_pool<> pool({.cell_bytes = 16});
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(allocate_shared_pooled<std::string>(pool)),
                           "ashlar: precondition: made a shared object in a pool whose cells cannot hold it and its "
                           "counts");
}

using ashlar::most_shared_cell_bytes;
using ashlar::shared_cell_alignment;
using ashlar::shared_cell_bytes;

struct empty {};
struct empty_and_final final {};
struct with_table {
  virtual ~with_table() = default;
  char c = 0;
};
struct with_padding : with_table {
  double d = 0;
  char last = 0;
};
struct shares_itself : std::enable_shared_from_this<shares_itself> {
  int n = 0;
};
template <std::size_t Bytes, std::size_t Alignment>
struct alignas(Alignment) shaped {
  std::array<char, Bytes> bytes = {};
};
template <std::size_t Alignment>
struct alignas(Alignment) empty_at {};

template <class T>
class shared_cell_of : public ::testing::Test {};

using shared_types = ashlar_test::types_of_build<
    ::testing::Types<char, std::string, empty, with_padding, shares_itself, shaped<17, 8>, shaped<100, 64>>,
    ::testing::Types<char, short, int, long long, double, long double, void*, std::string, empty, empty_and_final,
                     with_table, with_padding, shares_itself, shaped<1, 1>, shaped<3, 1>, shaped<5, 1>, shaped<7, 1>,
                     shaped<9, 1>, shaped<6, 2>, shaped<20, 4>, shaped<17, 8>, shaped<16, 16>, shaped<17, 16>,
                     shaped<48, 16>, shaped<1, 32>, shaped<100, 64>, shaped<1, 4096>, shaped<100'000, 1>, empty_at<8>,
                     empty_at<64>>>;
TYPED_TEST_SUITE(shared_cell_of, shared_types);

TYPED_TEST(shared_cell_of, is_what_the_standard_library_asks_for) {
  ashlar_test::counting_resource<> upstream;
  const auto p = allocate_shared_pooled<TypeParam>(upstream);
  EXPECT_EQ(upstream.balance().blocks, 1u);
  const std::size_t asked = upstream.balance().bytes;
  EXPECT_GE(shared_cell_bytes<TypeParam>(), asked);
  // A library may let an object without bytes share those of its allocator.
  if (!std::is_empty_v<TypeParam>) EXPECT_EQ(shared_cell_bytes<TypeParam>(), asked);
  EXPECT_LE(shared_cell_bytes<TypeParam>(), most_shared_cell_bytes<TypeParam>);
  EXPECT_EQ(shared_cell_bytes<TypeParam>() % shared_cell_alignment<TypeParam>, 0u);
}

// Of a size chosen at run time, and of a constant one.
TYPED_TEST(shared_cell_of, is_in_the_pool_that_was_made_for_it) {
  const auto serves = [](auto& pool) {
    const auto p = allocate_shared_pooled<TypeParam>(pool);
    EXPECT_TRUE(pool.owns(p.get()));
    EXPECT_TRUE(ashlar::is_aligned(p.get(), alignof(TypeParam)));
    EXPECT_EQ(pool.live(), 1u);
  };
  ashlar_test::counting_resource<> upstream;
  ashlar::block_pool<ashlar::resource_ref<decltype(upstream)>> pool(shared_cell_options<TypeParam>(), upstream);
  serves(pool);
  ashlar::fixed_block_pool<most_shared_cell_bytes<TypeParam>, shared_cell_alignment<TypeParam>> fixed;
  serves(fixed);
}

TEST(shared_cell, options_ask_for_what_was_measured) {
  const ashlar::block_pool_options options = shared_cell_options<with_padding>();
  EXPECT_EQ(options.cell_bytes, shared_cell_bytes<with_padding>());
  EXPECT_EQ(options.cell_alignment, alignof(with_padding));
}

}  // namespace
