// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the event and its operations.
#include <ashlar/base/event.hpp>

#include <gtest/gtest.h>

namespace {

using namespace ashlar::trace;

TEST(event, every_operation_allocates_or_releases_or_is_a_note) {
  for (std::size_t i = 0; i < operation_count; ++i) {
    const auto op = static_cast<operation>(i);
    const bool note = op >= operation::mark;
    EXPECT_EQ(int{is_allocation(op)} + int{is_release(op)} + int{note}, 1) << name(op);
  }
}

TEST(event, names_are_what_a_programmer_writes) {
  EXPECT_EQ(name(operation::malloc_), "malloc");
  EXPECT_EQ(name(operation::new_array_), "new[]");
  EXPECT_EQ(name(operation::delete_array_), "delete[]");
  EXPECT_EQ(name(operation::thread_end), "thread_end");
  EXPECT_EQ(name(operation::span_begin), "span_begin");
  EXPECT_EQ(name(operation::span_end), "span_end");
  EXPECT_EQ(name(operation::thread_name), "thread_name");
  EXPECT_EQ(name(static_cast<operation>(operation_count)), "unknown");
}

TEST(event, equality_sees_every_field) {
  const event e{.time_ns = 1,
                .thread = 2,
                .op = operation::realloc_,
                .size = 3,
                .alignment = 4,
                .object = 5,
                .old_object = 6,
                .stack = 7};
  event other = e;
  EXPECT_EQ(e, other);
  other.old_object = 0;
  EXPECT_NE(e, other);
}

}  // namespace
