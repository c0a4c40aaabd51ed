// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the two headers.
#include <ashlar/detail/trace/format.hpp>

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;

std::array<std::byte, file_header_bytes> file_bytes() {
  std::array<std::byte, file_header_bytes> to{};
  put_header(to.data(), file_header{.clock = clock_kind::ticks,
                                    .pointer_bytes = 8,
                                    .process = 42,
                                    .page_bytes = 4096,
                                    .write_error = 28,
                                    .start_ns = 5,
                                    .start_unix_ns = 6,
                                    .stack_depth = 7,
                                    .text_bytes = 8});
  return to;
}

TEST(format, file_header_round_trips) {
  const auto bytes = file_bytes();
  ASSERT_EQ(refuse_file_header(bytes.data()), nullptr);
  const file_header h = get_file_header(bytes.data());
  EXPECT_EQ(h.clock, clock_kind::ticks);
  EXPECT_EQ(h.pointer_bytes, 8);
  EXPECT_EQ(h.process, 42U);
  EXPECT_EQ(h.page_bytes, 4096U);
  EXPECT_EQ(h.write_error, 28U);
  EXPECT_EQ(h.start_ns, 5U);
  EXPECT_EQ(h.start_unix_ns, 6U);
  EXPECT_EQ(h.stack_depth, 7U);
  EXPECT_EQ(h.text_bytes, 8U);
}

std::string refusal_with(std::size_t at, int value) {
  auto bytes = file_bytes();
  bytes[at] = static_cast<std::byte>(value);
  const char* why = refuse_file_header(bytes.data());
  return why == nullptr ? "" : why;
}

TEST(format, foreign_files_are_refused_by_what_is_wrong_with_them) {
  EXPECT_EQ(refusal_with(0, 'x'), "not an ashlar trace");
  EXPECT_EQ(refusal_with(6, '\n'), "not an ashlar trace");
  EXPECT_EQ(refusal_with(8, 2), "a format version this ashlar does not read");
  EXPECT_EQ(refusal_with(16, 2), "the file header is damaged");
  EXPECT_EQ(refusal_with(59, 0x7f), "the file header is damaged");
}

TEST(format, the_other_byte_order_is_named) {
  auto bytes = file_bytes();
  for (int i = 0; i < 4; ++i) bytes[static_cast<std::size_t>(12 + i)] = static_cast<std::byte>(i + 1);
  EXPECT_STREQ(refuse_file_header(bytes.data()), "written by a machine of the other byte order");
}

TEST(format, chunk_header_round_trips) {
  std::array<std::byte, chunk_header_bytes> bytes{};
  put_header(bytes.data(), chunk_header{.kind = chunk_kind::stacks,
                                        .codec = codec_id::zstd,
                                        .stream = 1,
                                        .sequence = 2,
                                        .count = 3,
                                        .raw_bytes = 4,
                                        .stored_bytes = 5,
                                        .events = 2,
                                        .first_time = 6,
                                        .last_time = 7,
                                        .sync_ticks = 8,
                                        .sync_ns = 9,
                                        .payload_sum = 10});
  chunk_header h;
  ASSERT_TRUE(get_header(bytes.data(), h));
  EXPECT_EQ(h.kind, chunk_kind::stacks);
  EXPECT_EQ(h.codec, codec_id::zstd);
  EXPECT_EQ(h.stream + h.sequence * 10 + h.count * 100 + h.raw_bytes * 1000 + h.stored_bytes * 10000, 54321U);
  EXPECT_EQ(h.events, 2U);
  EXPECT_EQ(h.first_time + h.last_time + h.sync_ticks + h.sync_ns + h.payload_sum, 40U);
}

TEST(format, every_flipped_bit_of_a_chunk_header_shows) {
  std::array<std::byte, chunk_header_bytes> bytes{};
  put_header(bytes.data(), chunk_header{.stream = 3, .count = 9, .last_time = 100});
  chunk_header h;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(get_header(bytes.data(), h)) << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
}

TEST(format, a_chunk_that_ends_before_it_begins_is_refused) {
  std::array<std::byte, chunk_header_bytes> bytes{};
  put_header(bytes.data(), chunk_header{.first_time = 2, .last_time = 1});
  chunk_header h;
  EXPECT_FALSE(get_header(bytes.data(), h));
}

}  // namespace
