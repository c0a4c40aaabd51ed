// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of blocks that no cell can hold: the list of large ones with its notes, and the count of a pool.
#include <cstddef>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/slab/large_blocks.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::detail::large_block;
using ashlar::detail::large_blocks;

// Bytes in front of a block and behind it.
constexpr std::size_t canary_bytes =
    (ashlar_test::is_checked ? 8 : 0) + (ashlar::checking_level >= ashlar::checking::hardened ? 16 : 0);

struct held_block {
  std::unique_ptr<std::byte[]> memory;
  std::size_t bytes = 0;
  std::byte* p = nullptr;
};

/// A list of `count` blocks of different sizes, filled by their caller.
class held_blocks {
public:
  explicit held_blocks(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) add(96 + i * 8);
  }

  ~held_blocks() {
    for (held_block& each : held)
      ashlar::detail::mark_live(each.memory.get(), large_blocks::extent_of(each.bytes, 8).bytes);
  }

  void remove(std::size_t i) { list.remove(held[i].p, held[i].bytes, &list); }

  std::vector<held_block> held;
  large_blocks list;

private:
  void add(std::size_t bytes) {
    held.push_back({std::make_unique<std::byte[]>(large_blocks::extent_of(bytes, 8).bytes), bytes});
    held_block& made = held.back();
    made.p = static_cast<std::byte*>(list.add(made.memory.get(), bytes, 8, &list));
    EXPECT_EQ(large_blocks::whole_of(made.p, 8), made.memory.get());
    std::memset(made.p, 0xff, bytes);  // all of it belongs to the caller
  }
};

// Overwrites each byte past the end of a block, up to the end of its note. No damaged link is followed, whichever call
// comes first.
class large_blocks_written_over : public ::testing::Test {
protected:
  void SetUp() override {
    if (ashlar::detail::always_marked) GTEST_SKIP() << "the tool sees the write itself";
  }

  // Verifies the report of `step` after a byte was overwritten, for each from `first` to `last`, counted from the end
  // of block 1. `step` frees block 1, frees its neighbour in the list, or releases all. `named`: where the report
  // points, counted from the start of block 1.
  template <class Step>
  static void expect_reports(std::ptrdiff_t first, std::ptrdiff_t last, ashlar::fault kind,
                             std::optional<std::ptrdiff_t> named, Step step) {
    for (std::ptrdiff_t at = first; at <= last; ++at) {
      held_blocks all(3);
      std::byte* const start = all.held[1].p;
      start[static_cast<std::ptrdiff_t>(all.held[1].bytes) + at] ^= std::byte{0x10};
      const std::optional<ashlar::violation> seen = ashlar_test::caught_in([&] { step(all); });
      ASSERT_TRUE(seen.has_value()) << at;
      EXPECT_EQ(seen->kind, kind) << at;
      if (named) EXPECT_EQ(static_cast<const std::byte*>(seen->pointer) - start, *named) << at;
      if (named == bytes + behind)
        EXPECT_STREQ(seen->what,
                     "bytes past the end of a large block were written to, over its record, which is at this "
                     "pointer");
    }
  }

  static constexpr std::ptrdiff_t bytes = 104;  // of block 1
  static constexpr std::ptrdiff_t behind = static_cast<std::ptrdiff_t>(canary_bytes) % 16;
  static constexpr std::ptrdiff_t end = behind + static_cast<std::ptrdiff_t>(sizeof(large_block)) - 1;
};

TEST_F(large_blocks_written_over, a_block_is_reported_as_it_goes) {
  expect_reports(0, end, ashlar::fault::overflow, 0, [](held_blocks& all) { all.remove(1); });
}

TEST_F(large_blocks_written_over, a_neighbour_is_not_unlinked) {
  for (const std::size_t neighbour : {0u, 2u})
    expect_reports(behind, end, ashlar::fault::overflow, bytes + behind,  // of the note
                   [neighbour](held_blocks& all) { all.remove(neighbour); });
}

TEST_F(large_blocks_written_over, the_end_of_all_is_where_it_is_reported_at_the_latest) {
  expect_reports(0, end, ashlar::fault::overflow, std::nullopt, [](held_blocks& all) {
    while (all.list.remove_first(&all.list).start != nullptr) {
    }
  });
}

TEST_F(large_blocks_written_over, bytes_before_a_block_are_watched_at_hardened) {
  if (ashlar::checking_level < ashlar::checking::hardened) GTEST_SKIP() << "watched there alone";
  expect_reports(-16 - bytes, -1 - bytes, ashlar::fault::underflow, std::nullopt,
                 [](held_blocks& all) { all.remove(1); });
}

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
