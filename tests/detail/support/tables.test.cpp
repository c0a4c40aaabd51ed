// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of small containers: by enumerator, by number, and by address as a heap and as a tree.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/support/id_map.hpp>
#include <ashlar/detail/support/intrusive.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::enum_count;

enum class three { a, b2, c_3 };
enum class small : std::uint8_t { only };
struct outer {
  enum class inner : unsigned char { no, yes };
};

static_assert(enum_count<three> == 3);
static_assert(enum_count<small> == 1);
static_assert(enum_count<outer::inner> == 2);
static_assert(enum_count<ashlar::fault> == static_cast<std::size_t>(ashlar::fault::leak) + 1);

using ashlar::detail::id_map;

TEST(id_map, behaves_as_a_map_under_random_inserts_and_erases) {
  for (const unsigned shift : {0u, 20u, 40u}) {
    std::mt19937_64 random(shift);
    id_map<int> map;
    std::map<std::uint64_t, int> oracle;
    for (int i = 0; i < ashlar_test::cases_of_build(15'000, 50'000); ++i) {
      const std::uint64_t id = (1 + random() % 3000) << shift;
      if (random() % 2 == 0) EXPECT_EQ(map.insert(id, i), oracle.emplace(id, i).second);
      else EXPECT_EQ(map.erase(id), oracle.erase(id) == 1);
      EXPECT_EQ(map.size(), oracle.size());
      const std::uint64_t other = (1 + random() % 3000) << shift;
      const int* found = map.find(other);
      const auto expected = oracle.find(other);
      ASSERT_EQ(found != nullptr, expected != oracle.end());
      if (found != nullptr) {
        EXPECT_EQ(*found, expected->second);
      }
    }
    std::map<std::uint64_t, int> all;
    map.for_each([&](std::uint64_t id, int value) { all.emplace(id, value); });
    EXPECT_EQ(all, oracle);
  }
}

struct region : ashlar::detail::heap_node<region> {};
using heap = ashlar::detail::address_heap<region>;

TEST(address_heap, the_invariant_sees_a_member_below_its_parent_and_a_broken_link) {
  std::vector<region> regions(3);
  heap real;
  for (region& each : regions) real.push(&each);
  ASSERT_TRUE(real.invariant());
  std::swap(regions[0].child->previous, regions[1].sibling);
  EXPECT_FALSE(real.invariant());
}

struct leaf : ashlar::detail::tree_node<leaf> {
  char bytes[16] = {};
};
using regions = ashlar::detail::address_tree<leaf>;

/// Returns: the expected result of `find_at_or_below`.
leaf* below(const std::set<leaf*>& model, const void* p) {
  const auto above = model.upper_bound(const_cast<leaf*>(static_cast<const leaf*>(p)));
  return above == model.begin() ? nullptr : *std::prev(above);
}

void expect_same(const regions& tree, const std::set<leaf*>& model) {
  ASSERT_TRUE(tree.invariant());
  ASSERT_EQ(tree.empty(), model.empty());
  std::vector<leaf*> seen;
  tree.for_each([&](leaf& each) { seen.push_back(&each); });
  ASSERT_TRUE(std::ranges::equal(seen, model));
}

// Neighbours in an array share cache lines and so priorities: the test covers ties.
TEST(address_tree, behaves_as_an_ordered_set) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::mt19937 random(seed);
    std::vector<leaf> all(60);
    regions tree;
    std::set<leaf*> model;
    for (int step = 0; step < 1500; ++step) {
      leaf* const chosen = &all[random() % all.size()];
      if (model.insert(chosen).second) {
        tree.insert(chosen);
      } else {
        model.erase(chosen);
        tree.erase(chosen);
        ASSERT_EQ(chosen->left, nullptr);
        ASSERT_EQ(chosen->right, nullptr);
      }
      ASSERT_NO_FATAL_FAILURE(expect_same(tree, model));
      const leaf* const asked = &all[random() % all.size()];
      ASSERT_EQ(tree.find_at_or_below(asked), below(model, asked));
      const auto above = model.upper_bound(const_cast<leaf*>(asked));
      ASSERT_EQ(tree.find_above(asked), above == model.end() ? nullptr : *above);
      ASSERT_EQ(tree.find_at_or_below(asked->bytes + 3), below(model, asked));
    }
  }
}

TEST(address_tree, members_may_end_while_they_are_visited) {
  regions tree;
  constexpr int count = 500;
  for (int i = 0; i < count; ++i) tree.insert(new leaf);
  const void* previous = nullptr;
  int ended = 0;
  tree.for_each([&](leaf& each) {
    EXPECT_LT(ashlar::address_of(previous), ashlar::address_of(&each));
    previous = &each;
    ++ended;
    each.left = each.right = &each;  // a visit that reads the links again would not end
    delete &each;
  });
  EXPECT_EQ(ended, count);
  tree.clear();
  EXPECT_TRUE(tree.empty());
}

std::size_t height(const leaf* root) {
  return root == nullptr ? 0 : 1 + std::max(height(root->left), height(root->right));
}

// Slabs often lie side by side. A plain search tree of n such slabs would have depth n and overflow the stack.
TEST(address_tree, stays_flat_for_addresses_in_order) {
  constexpr std::size_t count = 4096;
  for (std::size_t stride = 64; stride <= 4096; stride *= 2) {
    const std::unique_ptr<std::byte[]> memory(new std::byte[count * stride]);
    std::vector<leaf*> all;
    regions tree;
    for (std::size_t i = 0; i < count; ++i) tree.insert(all.emplace_back(::new (memory.get() + i * stride) leaf));
    std::size_t highest = 0;
    for (const leaf* each : all) highest = std::max(highest, height(each));
    EXPECT_LE(highest, 64u) << stride;
    EXPECT_TRUE(tree.invariant());
  }
}

TEST(address_tree, the_invariant_sees_disorder) {
  std::vector<leaf> all(3);
  regions tree;
  for (leaf& each : all) tree.insert(&each);
  ASSERT_TRUE(tree.invariant());
  for (leaf& each : all) std::swap(each.left, each.right);
  EXPECT_FALSE(tree.invariant());
}

}  // namespace
