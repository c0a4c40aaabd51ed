// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the intrusive list against std::list.
#include <ashlar/detail/support/list.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <list>
#include <random>

#include <gtest/gtest.h>

namespace {

struct member : ashlar::detail::list_node<member> {};
using members = ashlar::detail::list<member>;

void expect_same(const members& list, const std::list<member*>& model) {
  ASSERT_TRUE(list.invariant());
  ASSERT_EQ(list.empty(), model.empty());
  ASSERT_EQ(list.front(), model.empty() ? nullptr : model.front());
  ASSERT_EQ(list.back(), model.empty() ? nullptr : model.back());
  const member* at = list.front();
  for (const member* expected : model) {
    ASSERT_EQ(at, expected);
    at = at->next;
  }
  ASSERT_EQ(at, nullptr);
}

TEST(list, behaves_as_a_list) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    std::array<member, 20> all;
    members list;
    std::list<member*> model;
    for (int step = 0; step < 1000; ++step) {
      member* const chosen = &all[random() % all.size()];
      const auto found = std::ranges::find(model, chosen);
      if (found != model.end()) {
        list.erase(chosen);
        model.erase(found);
        ASSERT_EQ(chosen->next, nullptr);
        ASSERT_EQ(chosen->previous, nullptr);
      } else if (random() % 2 == 0) {
        list.push_front(chosen);
        model.push_front(chosen);
      } else {
        list.push_back(chosen);
        model.push_back(chosen);
      }
      ASSERT_NO_FATAL_FAILURE(expect_same(list, model));
    }
  }
}

TEST(list, the_invariant_sees_a_broken_link) {
  std::array<member, 3> all;
  members list;
  for (member& each : all) list.push_back(&each);
  ASSERT_TRUE(list.invariant());
  all[1].previous = nullptr;
  EXPECT_FALSE(list.invariant());
  all[1].previous = &all[0];
  all[1].next = nullptr;
  EXPECT_FALSE(list.invariant());
}

constexpr bool works_at_compile_time() {
  member a;
  member b;
  members list;
  list.push_back(&b);
  list.push_front(&a);
  const bool ordered = list.front() == &a && list.back() == &b && list.invariant();
  list.erase(&a);
  list.erase(&b);
  return ordered && list.empty();
}
static_assert(works_at_compile_time());

}  // namespace
