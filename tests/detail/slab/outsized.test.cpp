// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that a pool counts the blocks that no cell can hold, and reports cells that serve nothing, once.
#include <ashlar/detail/slab/large_blocks.hpp>

#include <cstddef>
#include <list>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::new_delete_resource;

/// The reports while it lives.
class outsized_reports {
public:
  outsized_reports() : before_(ashlar::set_outsized_handler(&add)) { seen_.clear(); }
  outsized_reports(const outsized_reports&) = delete;
  outsized_reports& operator=(const outsized_reports&) = delete;
  ~outsized_reports() { ashlar::set_outsized_handler(before_); }

  [[nodiscard]] static const std::vector<ashlar::outsized_blocks>& seen() { return seen_; }

private:
  static void add(const ashlar::outsized_blocks& blocks) noexcept { seen_.push_back(blocks); }

  static inline std::vector<ashlar::outsized_blocks> seen_;
  ashlar::outsized_blocks::handler before_;
};

template <class Pool>
class outsized : public ::testing::Test {
protected:
  outsized_reports reports_;
  Pool pool_{ashlar::block_pool_options{.cell_bytes = 16}};
};

using pools = ::testing::Types<ashlar::block_pool<new_delete_resource>, ashlar::shared_block_pool<new_delete_resource>>;
TYPED_TEST_SUITE(outsized, pools);

TYPED_TEST(outsized, nodes_that_no_cell_can_hold_are_counted_and_reported_once) {
  struct element {
    std::byte bytes[40];
  };
  std::list<element, ashlar::allocator<element, TypeParam>> elements(this->pool_);
  for (int i = 0; i < 1000; ++i) elements.emplace_back();
  EXPECT_GE(this->pool_.outsized_blocks(), 1000u);
  const auto& seen = outsized_reports::seen();
  ASSERT_EQ(seen.size(), ashlar_test::is_checked ? 1u : 0u);
  if (seen.empty()) return;
  EXPECT_EQ(seen[0].resource, &this->pool_);
  EXPECT_EQ(seen[0].count, ashlar::outsized_blocks::first_reported);
  EXPECT_EQ(seen[0].cell_bytes, 16u);
  EXPECT_GE(seen[0].bytes, sizeof(element));
}

TYPED_TEST(outsized, a_pool_whose_cells_serve_is_not_reported) {
  void* const cell = this->pool_.allocate();
  for (int i = 0; i < 100; ++i) this->pool_.deallocate(this->pool_.allocate(17, 8), 17, 8);
  EXPECT_EQ(this->pool_.outsized_blocks(), 100u);
  EXPECT_TRUE(outsized_reports::seen().empty());
  this->pool_.deallocate(cell);
}

TYPED_TEST(outsized, each_call_counts_and_cells_do_not) {
  this->pool_.deallocate(this->pool_.allocate(16, 8), 16, 8);
  EXPECT_EQ(this->pool_.outsized_blocks(), 0u);
  this->pool_.deallocate(this->pool_.allocate(8, 32), 8, 32);
  this->pool_.deallocate(this->pool_.try_allocate(100, 8), 100, 8);
  const auto got = this->pool_.allocate_at_least(100, 8);
  this->pool_.deallocate(got.data, got.size, 8);
  EXPECT_EQ(this->pool_.outsized_blocks(), 3u);
}

}  // namespace
