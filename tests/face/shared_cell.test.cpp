// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the size of a cell for a shared object: exactly the request of the standard library, and never more than
// declared.
#include <ashlar/face/shared_pooled.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/shared_pooled.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/types_of_build.hpp"

namespace {

using ashlar::allocate_shared_pooled;
using ashlar::most_shared_cell_bytes;
using ashlar::shared_cell_alignment;
using ashlar::shared_cell_bytes;
using ashlar::shared_cell_options;

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
struct knows_itself : std::enable_shared_from_this<knows_itself> {
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
    ::testing::Types<char, std::string, empty, with_padding, knows_itself, shaped<17, 8>, shaped<100, 64>>,
    ::testing::Types<char, short, int, long long, double, long double, void*, std::string, empty, empty_and_final,
                     with_table, with_padding, knows_itself, shaped<1, 1>, shaped<3, 1>, shaped<5, 1>, shaped<7, 1>,
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

TYPED_TEST(shared_cell_of, is_in_the_pool_that_was_made_for_it) {
  ashlar_test::counting_resource<> upstream;
  ashlar::block_pool<ashlar::resource_ref<decltype(upstream)>> pool(shared_cell_options<TypeParam>(), upstream);
  const auto p = allocate_shared_pooled<TypeParam>(pool);
  EXPECT_TRUE(pool.owns(p.get()));
  EXPECT_TRUE(ashlar::detail::is_aligned(p.get(), alignof(TypeParam)));
  EXPECT_EQ(pool.live(), 1u);
}

TYPED_TEST(shared_cell_of, fits_a_pool_of_constant_size) {
  using fixed = ashlar::fixed_block_pool<most_shared_cell_bytes<TypeParam>, shared_cell_alignment<TypeParam>>;
  fixed pool;
  const auto p = allocate_shared_pooled<TypeParam>(pool);
  EXPECT_TRUE(pool.owns(p.get()));
}

TEST(shared_cell, options_ask_for_what_was_measured) {
  const ashlar::block_pool_options options = shared_cell_options<with_padding>();
  EXPECT_EQ(options.cell_bytes, shared_cell_bytes<with_padding>());
  EXPECT_EQ(options.cell_alignment, alignof(with_padding));
}

}  // namespace
