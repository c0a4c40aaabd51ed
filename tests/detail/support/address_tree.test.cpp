// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the tree of addresses against std::set, and its depth for addresses in ascending order.
#include <ashlar/detail/support/address_tree.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/support/bits.hpp>

namespace {

struct region : ashlar::detail::tree_node<region> {
  char bytes[16] = {};
};
using regions = ashlar::detail::address_tree<region>;

/// Returns: the expected result of `find_at_or_below`.
region* below(const std::set<region*>& model, const void* p) {
  const auto above = model.upper_bound(const_cast<region*>(static_cast<const region*>(p)));
  return above == model.begin() ? nullptr : *std::prev(above);
}

void expect_same(const regions& tree, const std::set<region*>& model) {
  ASSERT_TRUE(tree.invariant());
  ASSERT_EQ(tree.empty(), model.empty());
  std::vector<region*> seen;
  tree.for_each([&](region& each) { seen.push_back(&each); });
  ASSERT_TRUE(std::ranges::equal(seen, model));
}

// Neighbours in an array share cache lines and so priorities: the test covers ties.
TEST(address_tree, behaves_as_an_ordered_set) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::mt19937 random(seed);
    std::vector<region> all(60);
    regions tree;
    std::set<region*> model;
    for (int step = 0; step < 1500; ++step) {
      region* const chosen = &all[random() % all.size()];
      if (model.insert(chosen).second) {
        tree.insert(chosen);
      } else {
        model.erase(chosen);
        tree.erase(chosen);
        ASSERT_EQ(chosen->left, nullptr);
        ASSERT_EQ(chosen->right, nullptr);
      }
      ASSERT_NO_FATAL_FAILURE(expect_same(tree, model));
      const region* const asked = &all[random() % all.size()];
      ASSERT_EQ(tree.find_at_or_below(asked), below(model, asked));
      const auto above = model.upper_bound(const_cast<region*>(asked));
      ASSERT_EQ(tree.find_above(asked), above == model.end() ? nullptr : *above);
      ASSERT_EQ(tree.find_at_or_below(asked->bytes + 3), below(model, asked));
    }
  }
}

TEST(address_tree, finds_nothing_below_the_lowest) {
  std::vector<region> all(3);
  regions tree;
  EXPECT_EQ(tree.find_at_or_below(&all[0]), nullptr);
  tree.insert(&all[1]);
  EXPECT_EQ(tree.find_at_or_below(&all[0]), nullptr);
  EXPECT_EQ(tree.find_at_or_below(nullptr), nullptr);
  EXPECT_EQ(tree.find_at_or_below(&all[1]), &all[1]);
  EXPECT_EQ(tree.find_at_or_below(reinterpret_cast<void*>(~std::uintptr_t{0})), &all[1]);
}

TEST(address_tree, members_may_end_while_they_are_visited) {
  regions tree;
  constexpr int count = 500;
  for (int i = 0; i < count; ++i) tree.insert(new region);
  const void* previous = nullptr;
  int ended = 0;
  tree.for_each([&](region& each) {
    EXPECT_LT(ashlar::detail::address_of(previous), ashlar::detail::address_of(&each));
    previous = &each;
    ++ended;
    each.left = each.right = &each;  // a visit that reads the links again would not end
    delete &each;
  });
  EXPECT_EQ(ended, count);
  tree.clear();
  EXPECT_TRUE(tree.empty());
}

std::size_t height(const region* root) {
  return root == nullptr ? 0 : 1 + std::max(height(root->left), height(root->right));
}

// Slabs often lie side by side. A plain search tree of n such slabs would have depth n and overflow the stack.
TEST(address_tree, stays_flat_for_addresses_in_order) {
  constexpr std::size_t count = 4096;
  for (std::size_t stride = 64; stride <= 4096; stride *= 2) {
    const std::unique_ptr<std::byte[]> memory(new std::byte[count * stride]);
    std::vector<region*> all;
    regions tree;
    for (std::size_t i = 0; i < count; ++i) tree.insert(all.emplace_back(::new (memory.get() + i * stride) region));
    std::size_t highest = 0;
    for (const region* each : all) highest = std::max(highest, height(each));
    EXPECT_LE(highest, 64u) << stride;
    EXPECT_TRUE(tree.invariant());
  }
}

TEST(address_tree, the_shape_does_not_depend_on_the_order_of_insertion) {
  struct alignas(64) line : region {};
  std::vector<line> all(200);
  std::vector<region*> order;
  for (line& each : all) order.push_back(&each);
  std::vector<ashlar::detail::tree_node<region>> shapes[2];
  std::mt19937 random(1);
  for (auto& shape : shapes) {
    regions tree;
    std::ranges::shuffle(order, random);
    for (region* each : order) tree.insert(each);
    for (const line& each : all) shape.push_back(each);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(shapes[0][i].left, shapes[1][i].left);
    ASSERT_EQ(shapes[0][i].right, shapes[1][i].right);
  }
}

TEST(address_tree, the_invariant_sees_disorder) {
  std::vector<region> all(3);
  regions tree;
  for (region& each : all) tree.insert(&each);
  ASSERT_TRUE(tree.invariant());
  for (region& each : all) std::swap(each.left, each.right);
  EXPECT_FALSE(tree.invariant());
}

}  // namespace
