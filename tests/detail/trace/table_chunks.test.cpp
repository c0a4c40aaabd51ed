// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the payloads of tables.
#include <ashlar/detail/trace/table_chunks.hpp>

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;

std::vector<std::byte> stacks_payload(std::uint64_t first_id) {
  std::vector<std::byte> payload(200);
  const std::array<std::uint64_t, 3> frames{0x5555'0000, 0x7fff'0000'0000, 0};
  std::byte* to = put_stack(put_varint(payload.data(), first_id), frames);
  to = put_stack(to, std::span(frames).first(1));
  payload.resize(static_cast<std::size_t>(to - payload.data()));
  return payload;
}

TEST(table_chunks, stacks_round_trip) {
  stack_table t;
  ASSERT_TRUE(get_stacks(stacks_payload(1), 2, t));
  EXPECT_EQ(t.size(), 2U);
  EXPECT_EQ(t[1][1], 0x7fff'0000'0000U);
  EXPECT_EQ(t[1][2], 0U);
  EXPECT_EQ(t[2].size(), 1U);
}

TEST(table_chunks, gaps_in_stack_ids_are_refused) {
  stack_table t;
  EXPECT_FALSE(get_stacks(stacks_payload(2), 2, t));
}

TEST(table_chunks, cut_or_overfull_stacks_are_refused) {
  const auto payload = stacks_payload(1);
  for (std::size_t n = 0; n < payload.size(); ++n) {
    stack_table t;
    EXPECT_FALSE(get_stacks(std::span(payload).first(n), 2, t)) << n;
  }
  stack_table t;
  EXPECT_FALSE(get_stacks(payload, 1, t));
}

TEST(table_chunks, a_stack_of_a_billion_frames_is_refused_before_any_memory_is_asked_for) {
  std::vector<std::byte> payload(20);
  put_varint(put_varint(payload.data(), 1), 1'000'000'000);
  stack_table t;
  EXPECT_FALSE(get_stacks(payload, 1, t));
}

TEST(table_chunks, modules_round_trip) {
  std::vector<std::byte> payload(module_bound(6, 4));
  std::byte* const end =
      put_module(payload.data(), {.begin = 0x1000, .end = 0x3000, .bias = 0, .path = "/bin/x", .build_id = "00ff"});
  payload.resize(static_cast<std::size_t>(end - payload.data()));
  std::vector<mapped_module> modules;
  ASSERT_TRUE(get_modules(payload, 1, modules));
  EXPECT_EQ(modules[0], (mapped_module{0x1000, 0x3000, 0, "/bin/x", "00ff"}));
  for (std::size_t n = 0; n < payload.size(); ++n) EXPECT_FALSE(get_modules(std::span(payload).first(n), 1, modules));
  EXPECT_FALSE(get_modules(payload, 2, modules));
}

}  // namespace
