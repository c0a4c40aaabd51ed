// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the conversion of addresses to objects.
#include <ashlar/detail/trace/resolver.hpp>

#include <gtest/gtest.h>

#include "tests/trace/model.hpp"

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;
using ashlar_test::gave;
using ashlar_test::got;

record began(std::uint64_t address) { return {.address = address, .code = opcode::realloc_begin}; }
record regot(std::uint64_t address) { return {.address = address, .size = 9, .code = code_of(operation::realloc_)}; }

TEST(resolver, an_address_used_again_is_another_object) {
  resolver r;
  stream_state s;
  EXPECT_EQ(r.apply(got(0, 16), 0, s)->object, 1U);
  EXPECT_EQ(r.apply(gave(0, 16), 0, s)->object, 1U);
  EXPECT_EQ(r.apply(got(0, 16), 0, s)->object, 2U);
  EXPECT_EQ(r.counts().live, 1U);
  EXPECT_EQ(r.counts().events, 3U);
}

TEST(resolver, a_realloc_is_one_event_with_two_objects) {
  resolver r;
  stream_state s;
  EXPECT_EQ(r.apply(got(0, 16), 0, s)->object, 1U);
  EXPECT_FALSE(r.apply(began(16), 0, s));
  const auto e = r.apply(regot(16), 5, s);
  EXPECT_EQ(e->old_object, 1U);
  EXPECT_EQ(e->object, 2U);
  EXPECT_EQ(e->time_ns, 5U);
  EXPECT_EQ(r.apply(gave(0, 16), 0, s)->object, 2U);
}

TEST(resolver, another_thread_may_get_the_old_block_while_realloc_goes_on) {
  resolver r;
  stream_state one{.thread = 1};
  stream_state two{.thread = 2};
  EXPECT_EQ(r.apply(got(0, 16), 0, one)->object, 1U);
  EXPECT_FALSE(r.apply(began(16), 0, one));
  EXPECT_FALSE(r.contradicts(got(0, 16)));
  EXPECT_EQ(r.apply(got(0, 16), 0, two)->object, 2U);
  EXPECT_EQ(r.apply(regot(32), 0, one)->old_object, 1U);
  EXPECT_EQ(r.counts().live, 2U);
}

TEST(resolver, a_realloc_that_failed_leaves_the_old_object) {
  resolver r;
  stream_state s;
  EXPECT_TRUE(r.apply(got(0, 16), 0, s));
  EXPECT_FALSE(r.apply(began(16), 0, s));
  const auto e = r.apply(regot(0), 0, s);
  EXPECT_EQ(e->object, 0U);
  EXPECT_EQ(e->old_object, 1U);
  EXPECT_EQ(r.apply(gave(0, 16), 0, s)->object, 1U);
}

TEST(resolver, unknown_objects_are_counted) {
  resolver r;
  stream_state s;
  EXPECT_TRUE(r.contradicts(gave(0, 48)));
  EXPECT_EQ(r.apply(gave(0, 48), 0, s)->object, 0U);
  EXPECT_EQ(r.apply(gave(0, 0), 0, s)->object, 0U);
  EXPECT_EQ(r.counts().unknown_releases, 2U);
}

TEST(resolver, a_lost_release_is_made_up_for_the_thread_that_allocated) {
  resolver r;
  stream_state one{.thread = 7};
  stream_state two{.thread = 9};
  EXPECT_TRUE(r.apply(got(0, 64), 0, one));
  EXPECT_TRUE(r.apply(got(0, 16), 0, two));
  EXPECT_TRUE(r.contradicts(got(0, 16)));
  const event lost = r.release_lost(16, 77);
  EXPECT_EQ(lost, (event{.time_ns = 77, .thread = 1, .op = operation::free_, .object = 2, .slot = 1}));
  EXPECT_EQ(r.counts().lost_releases, 1U);
  EXPECT_FALSE(r.contradicts(got(0, 16)));
}

TEST(resolver, thread_numbers_are_dense_in_order_of_appearance) {
  resolver r;
  stream_state s{.thread = 0x8000'0000};
  EXPECT_EQ(r.apply(got(0, 16), 0, s)->thread, 0U);
  EXPECT_FALSE(r.apply({.stack = 3, .code = opcode::thread_switch}, 0, s));
  EXPECT_EQ(r.apply(got(0, 32), 0, s)->thread, 1U);
  EXPECT_FALSE(r.apply({.stack = 0x8000'0000, .code = opcode::thread_switch}, 0, s));
  EXPECT_EQ(r.apply(gave(0, 32), 0, s)->thread, 0U);
}

TEST(resolver, failed_calls_have_no_object) {
  resolver r;
  stream_state s;
  EXPECT_FALSE(r.contradicts(got(0, 0)));
  EXPECT_EQ(r.apply(got(0, 0), 0, s)->object, 0U);
  EXPECT_EQ(r.counts().live, 0U);
}

}  // namespace
