// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the table behind a slot_map, on objects that are only pointers.
#include <ashlar/detail/slots/handle_table.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::slot_handle;
using ashlar_test::counting_resource;
using ashlar_test::nothing;
using table_type = ashlar::detail::handle_table<int>;

constexpr std::size_t entry_bytes = sizeof(void*) + 8;

class handle_table : public ::testing::Test {
protected:
  counting_resource<> upstream_;
  table_type table_{table_type::most_slots, 1};
  int object_ = 0;

  ~handle_table() override { table_.release(upstream_); }

  slot_handle<int> add(table_type& table) {
    table.make_room(upstream_);
    return table.publish(table.take(), &object_);
  }
  static void remove(table_type& table, slot_handle<int> h) {
    table.withdraw(h.index());
    table.recycle(h.index());
  }
  [[nodiscard]] static bool adds_up(const table_type& table) {
    return table.invariant([](const int* p) { return p != nullptr; });
  }
};

TEST_F(handle_table, a_slot_goes_round) {
  const auto first = add(table_);
  EXPECT_EQ(table_.find(first), &object_);
  EXPECT_EQ(table_.handle_of(first.index()), first);
  EXPECT_EQ(table_.live(), 1u);
  remove(table_, first);
  EXPECT_EQ(table_.find(first), nullptr);
  const auto second = add(table_);
  EXPECT_EQ(second.index(), first.index());
  EXPECT_EQ(second.generation(), first.generation() + 1);
  EXPECT_EQ(table_.find(first), nullptr);
  EXPECT_TRUE(adds_up(table_));
}

TEST_F(handle_table, a_slot_that_is_put_back_keeps_its_generation) {
  table_.make_room(upstream_);
  const std::uint32_t index = table_.take();
  table_.put_back(index);
  EXPECT_TRUE(adds_up(table_));
  EXPECT_EQ(add(table_), (slot_handle<int>{index, 1}));
}

TEST_F(handle_table, doubles_and_keeps_what_it_knows) {
  std::vector<slot_handle<int>> handles;
  for (int i = 0; i < 5000; ++i) handles.push_back(add(table_));
  for (const auto h : handles) ASSERT_EQ(table_.find(h), &object_);
  EXPECT_EQ(upstream_.allocations(), 6u);  // 256, 512 … 8192
  EXPECT_EQ(upstream_.balance().bytes, 8192 * entry_bytes);
  EXPECT_TRUE(adds_up(table_));
}

TEST_F(handle_table, retires_a_slot_after_its_last_generation) {
  table_type table(table_type::most_slots, 0xFFFFFFFE);
  const auto a = add(table);
  remove(table, a);
  const auto b = add(table);
  EXPECT_EQ(b, (slot_handle<int>{a.index(), 0xFFFFFFFF}));
  remove(table, b);
  EXPECT_EQ(table.retired(), 1u);
  EXPECT_TRUE(adds_up(table));
  const auto c = add(table);
  EXPECT_NE(c.index(), a.index());
  for (const std::uint32_t generation : {0u, 1u, 0xFFFFFFFEu, 0xFFFFFFFFu})
    EXPECT_EQ(table.find({a.index(), generation}), nullptr);
  EXPECT_TRUE(adds_up(table));
  table.release(upstream_);
}

TEST_F(handle_table, finds_nothing_where_nothing_is) {
  EXPECT_EQ(table_.find({}), nullptr);
  EXPECT_EQ(table_.find({0, 1}), nullptr);
  const auto h = add(table_);
  EXPECT_EQ(table_.find({}), nullptr);
  EXPECT_EQ(table_.find({h.index() + 1, 1}), nullptr);
  EXPECT_EQ(table_.find({table_type::none, 1}), nullptr);
}

TEST_F(handle_table, is_bounded) {
  table_type table(3, 1);
  for (int i = 0; i < 3; ++i) static_cast<void>(add(table));
  EXPECT_FALSE(table.try_make_room(upstream_));
#if defined(__cpp_exceptions)
  EXPECT_THROW(table.make_room(upstream_), std::bad_alloc);
  EXPECT_THROW(table.reserve(upstream_, 4), std::bad_alloc);
#endif
  EXPECT_TRUE(adds_up(table));
  remove(table, {1, 1});
  EXPECT_EQ(add(table), (slot_handle<int>{1, 2}));
  table.release(upstream_);
  EXPECT_EQ(upstream_.balance(), nothing);
}

TEST_F(handle_table, refuses_as_the_upstream_does_and_continues_after_it) {
  upstream_.fail_from(0);
  EXPECT_FALSE(table_.try_make_room(upstream_));
#if defined(__cpp_exceptions)
  EXPECT_THROW(table_.make_room(upstream_), std::bad_alloc);
  EXPECT_THROW(table_.reserve(upstream_, table_type::most_slots), std::bad_alloc);
#endif
  upstream_.fail_never();
  table_.reserve(upstream_, 1000);
  upstream_.fail_from(0);
  for (int i = 0; i < 1000; ++i) static_cast<void>(add(table_));
  EXPECT_FALSE(table_.try_make_room(upstream_));
  EXPECT_TRUE(adds_up(table_));
  upstream_.fail_never();
}

TEST_F(handle_table, refuses_the_generation_of_a_default_handle) {
  ASHLAR_EXPECT_DEATH(table_type(1, 0),
                      "ashlar: precondition: first_generation is 0, the generation of a default handle");
}

}  // namespace
