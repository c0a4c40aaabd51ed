// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the slot_map: handles that stay stale forever, objects that never move and end exactly once.
#include <ashlar/face/slot_map.hpp>

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::slot_handle;
using ashlar::slot_map;
using ashlar_test::counting_resource;
using ashlar_test::nothing;
using counted = ashlar::resource_ref<counting_resource<>>;

static_assert(std::is_same_v<slot_map<int>::handle, slot_handle<int>>);
static_assert(noexcept(std::declval<slot_map<int>&>().try_emplace(1)));
static_assert(!noexcept(std::declval<slot_map<std::string>&>().try_emplace("may throw")));
static_assert(std::is_same_v<decltype(std::declval<const slot_map<int>&>().get({})), const int*>);

// Counts itself; each must begin and end once.
struct counted_object {
  static inline int alive = 0;
  explicit counted_object(int v) : value(v) { ++alive; }
  counted_object(const counted_object&) = delete;
  ~counted_object() {
    --alive;
    value = -1;
  }
  int value;
};

TEST(slot_map, a_default_handle_is_never_valid) {
  slot_map<int> map;
  EXPECT_EQ(map.get({}), nullptr);
  const auto h = map.emplace(1);
  EXPECT_EQ(map.get({}), nullptr);
  EXPECT_FALSE(map.erase({}));
  map.erase(h);
  EXPECT_EQ(map.get({}), nullptr);
}

TEST(slot_map, a_handle_of_another_map_is_stale_where_handles_are_checked) {
  slot_map<int> map;
  slot_map<int> other;
  const auto own = map.emplace(1);
  const auto foreign = other.emplace(2);
  EXPECT_EQ(own.index(), foreign.index());
  EXPECT_EQ(map.contains(foreign), !ashlar::detail::maps_differ);
  if constexpr (ashlar::detail::maps_differ) {
    EXPECT_EQ(map.get(foreign), nullptr);
    EXPECT_FALSE(map.erase(foreign));
    ASHLAR_EXPECT_DEATH(static_cast<void>(map[foreign]),
                        "ashlar: precondition: asked a slot_map for an object by a stale handle");
  }
  EXPECT_TRUE(map.contains(own));
}

TEST(slot_map, with_a_first_generation_gives_the_same_handles_each_time) {
  for (int i = 0; i < 2; ++i) {
    slot_map<int> map({.first_generation = 1});
    EXPECT_EQ(map.emplace(1), (slot_handle<int>{0, 1}));
  }
  ASHLAR_EXPECT_DEATH(slot_map<int>({.first_generation = 0}),
                      "ashlar: precondition: first_generation is 0, the generation of a default handle");
}

TEST(slot_map, a_slot_is_retired_after_its_last_generation) {
  counting_resource<> upstream;
  {
    slot_map<int, counted> map({.first_generation = 0xFFFFFFFD}, upstream);
    std::vector<slot_handle<int>> stale;
    for (int i = 0; i < 3 * 500; ++i) {
      stale.push_back(map.emplace(i));
      map.erase(stale.back());
    }
    EXPECT_EQ(map.retired(), 500u);
    EXPECT_TRUE(map.invariant());
    const auto live = map.emplace(1);
    for (const auto h : stale) {
      ASSERT_FALSE(map.contains(h));
      ASSERT_NE(h, live);
      ASSERT_FALSE(map.contains({h.index(), 0}));
    }
    map.reserve(1000);
    EXPECT_EQ(map.max_size(), slot_map<int>().max_size() - 500);
  }
  EXPECT_EQ(upstream.balance(), nothing);
}

TEST(slot_map, objects_stay_where_they_are) {
  slot_map<int> map;
  const auto first = map.emplace(1);
  const int* const at = map.get(first);
  std::vector<slot_handle<int>> others;
  for (int i = 0; i < 100'000; ++i) others.push_back(map.emplace(i));
  for (std::size_t i = 0; i < others.size(); i += 2) map.erase(others[i]);
  map.shrink_to_fit();
  EXPECT_EQ(map.get(first), at);
  EXPECT_EQ(*at, 1);
}

// Against a map of the standard library, with all handles that ever existed.
TEST(slot_map, behaves_as_its_model_in_a_random_walk) {
  std::mt19937 random(7);
  slot_map<counted_object> map({.first_generation = 0xFFFFFFF0});
  std::unordered_map<slot_handle<counted_object>, int> model;
  std::vector<slot_handle<counted_object>> all;
  for (int step = 0; step < 20'000; ++step) {
    if (all.empty() || random() % 9 < 5) {
      const auto h = map.emplace(step);
      ASSERT_TRUE(model.emplace(h, step).second);
      all.push_back(h);
    } else {
      const auto h = all[random() % all.size()];
      ASSERT_EQ(map.erase(h), model.erase(h) == 1);
    }
    const auto asked = all[random() % all.size()];
    const auto known = model.find(asked);
    const counted_object* const found = map.get(asked);
    ASSERT_EQ(found != nullptr, known != model.end());
    if (found != nullptr) ASSERT_EQ(found->value, known->second);
    ASSERT_EQ(map.size(), model.size());
    if (step % 500 == 0) ASSERT_TRUE(map.invariant());
  }
  EXPECT_EQ(counted_object::alive, static_cast<int>(model.size()));
  map.clear();
  EXPECT_EQ(counted_object::alive, 0);
  for (const auto h : all) ASSERT_FALSE(map.contains(h));
  EXPECT_TRUE(map.invariant() && map.empty());
}

TEST(slot_map, visits_each_object_once_by_address) {
  slot_map<int> map;
  std::vector<slot_handle<int>> handles;
  for (int i = 0; i < 10'000; ++i) handles.push_back(map.emplace(i));
  for (std::size_t i = 0; i < handles.size(); i += 3) map.erase(handles[i]);
  std::vector<const int*> seen;
  map.for_each_live([&](int& each) { seen.push_back(&each); });
  EXPECT_EQ(seen.size(), map.size());
  for (std::size_t i = 1; i < seen.size(); ++i) ASSERT_LT(seen[i - 1], seen[i]);
  map.for_each_live([](int& each) { each = -each; });
  EXPECT_EQ(map[handles[1]], -1);
  EXPECT_TRUE(map.invariant());
}

TEST(slot_map, visits_handles_while_they_are_erased_and_made) {
  slot_map<int> map;
  for (int i = 0; i < 1000; ++i) static_cast<void>(map.emplace(i));
  map.for_each_handle([&](slot_handle<int> h, int& each) {
    EXPECT_EQ(map.get(h), &each);
    if (each % 2 == 0) map.erase(h);
    else if (each > 0 && each < 10) static_cast<void>(map.emplace(-1));
  });
  int odd = 0;
  map.for_each_handle([&](slot_handle<int>, int& each) { odd += each > 0 ? 1 : 0; });
  EXPECT_EQ(odd, 500);
  EXPECT_EQ(map.size(), 505u);
  EXPECT_TRUE(map.invariant());
}

TEST(slot_map, starts_with_little) {
  counting_resource<> upstream;
  ashlar::slot_map<std::array<char, 64>, counted> few({}, upstream);
  static_cast<void>(few.emplace());
  EXPECT_LE(upstream.balance().bytes, 1024u + 512u) << "a slab and a table";
}

TEST(slot_map, takes_any_object) {
  struct alignas(256) wide {
    int value;
  };
  slot_map<wide> wides;
  slot_map<char> chars;
  slot_map<std::unique_ptr<int>> owners;
  struct large {
    char bytes[100'000];
  };
  slot_map<large> larges;
  for (int i = 0; i < 100; ++i) {
    const auto h = wides.emplace(wide{i});
    EXPECT_TRUE(ashlar::is_aligned(wides.get(h), 256));
    EXPECT_EQ(chars[chars.emplace('x')], 'x');
    EXPECT_EQ(*owners[owners.emplace(std::make_unique<int>(i))], i);
    larges[larges.emplace()].bytes[99'999] = 'x';
  }
  EXPECT_TRUE(wides.invariant() && chars.invariant() && owners.invariant() && larges.invariant());
}

}  // namespace
