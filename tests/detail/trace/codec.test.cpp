// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the spelling of numbers, records, sums and headers in a trace.
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/trace/decode.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/record.hpp>
#include <ashlar/detail/trace/varint.hpp>

#include "tests/trace/model.hpp"

namespace {

using namespace ashlar::detail::trace_io;

std::vector<std::byte> varint_of(std::uint64_t value) {
  std::vector<std::byte> bytes(max_varint_bytes);
  bytes.resize(static_cast<std::size_t>(put_varint(bytes.data(), value) - bytes.data()));
  return bytes;
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int v : values) bytes.push_back(static_cast<std::byte>(v));
  return bytes;
}

TEST(varint, every_length_round_trips) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t nearby : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      const std::uint64_t value = (std::uint64_t{1} << bit) + nearby;
      const auto bytes = varint_of(value);
      byte_cursor cursor(bytes);
      EXPECT_EQ(cursor.varint(), value);
      EXPECT_TRUE(cursor.ok() && cursor.at_end());
      EXPECT_EQ(bytes.size(), value == 0 ? 1U : (static_cast<unsigned>(std::bit_width(value)) + 6U) / 7U);
    }
  }
}

TEST(varint, is_known_at_compile_time) {
  constexpr auto encoded = [] {
    std::array<std::byte, max_varint_bytes> to{};
    put_varint(to.data(), 300);
    return to;
  }();
  static_assert(encoded[0] == std::byte{0xac} && encoded[1] == std::byte{0x02});
}

TEST(varint, other_spellings_are_refused_and_failure_lasts) {
  std::vector<std::byte> largest(9, std::byte{0xff});
  largest.push_back(std::byte{0x01});
  EXPECT_EQ(byte_cursor(largest).varint(), std::numeric_limits<std::uint64_t>::max());
  auto above = largest, eleven = largest;
  above.back() = std::byte{0x02};
  eleven.back() = std::byte{0x81};
  eleven.push_back(std::byte{0x00});
  for (const auto& bytes : {bytes_of({0x80}), bytes_of({0x80, 0x00}), bytes_of({0x81, 0x80, 0x00}),
                            bytes_of({0xff, 0x00}), above, eleven}) {
    byte_cursor cursor(bytes);
    EXPECT_EQ(cursor.varint(), 0U);
    EXPECT_FALSE(cursor.ok());
    EXPECT_EQ(cursor.byte() + cursor.word(), 0U);
    EXPECT_TRUE(cursor.at_end());
  }
}

using namespace ashlar::trace;

TEST(record, odd_alignments_count_as_the_next_power_of_two) {
  EXPECT_EQ(alignment_of(alignment_code_of(3)), 4U);
  EXPECT_EQ(alignment_of(alignment_code_of(24)), 32U);
  EXPECT_EQ(alignment_of(alignment_code_of((std::uint64_t{1} << 63) + 1)), std::uint64_t{1} << 63);
}

TEST(record, each_operation_has_a_code_of_its_own) {
  for (std::size_t i = 0; i < ashlar::trace::operation_count; ++i) {
    const auto op = static_cast<operation>(i);
    EXPECT_TRUE(is_event(code_of(op))) << name(op);
    EXPECT_EQ(operation_of(code_of(op)), op);
  }
  EXPECT_EQ(code_of(operation::thread_end), opcode{10});  // as in files that older versions wrote
  EXPECT_FALSE(is_event(opcode::thread_switch));
  EXPECT_FALSE(is_event(opcode::count));
}

std::uint64_t sum_of(std::string_view text) {
  return ashlar::detail::trace_io::checksum(std::as_bytes(std::span(text.data(), text.size())));
}

TEST(checksum, agrees_with_the_reference) {
  EXPECT_EQ(sum_of(""), 0xEF46DB3751D8E999U);
  EXPECT_EQ(sum_of("a"), 0xD24EC4F1A98C6E5BU);
  EXPECT_EQ(sum_of("abc"), 0x44BC2CF5AD770999U);
  EXPECT_EQ(sum_of("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1U);
}

using ashlar_test::gave;
using ashlar_test::got;

std::size_t encoded_size(const std::vector<record>& records) {
  std::vector<std::byte> out(record_encoder::bound(records.size()));
  return record_encoder{}.encode(records, records.empty() ? 0 : records.front().time, out.data());
}

TEST(encode, a_block_freed_soon_after_takes_few_bytes) {
  std::vector<record> records;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    records.push_back(got(i * 20, 0x7f00'1234'5670, 64));
    records.push_back(gave(i * 20 + 10, 0x7f00'1234'5670));
  }
  EXPECT_LT(encoded_size(records), records.size() * 4);
}

TEST(encode, the_largest_records_fit_the_bound) {
  std::vector<record> records;
  for (std::uint64_t i = 0; i < 100; ++i)
    records.push_back({.time = i << 56,
                       .address = (i % 2 == 0) ? 1 : std::uint64_t{1} << 63,
                       .size = std::numeric_limits<std::uint64_t>::max(),
                       .stack = 0xffff'ffff,
                       .code = opcode{0},
                       .alignment_code = 65});
  EXPECT_LE(encoded_size(records), record_encoder::bound(records.size()));
}

TEST(encode, times_never_go_back) {
  const std::vector<record> records{got(100, 16), got(50, 32), got(120, 48)};
  std::vector<std::byte> out(record_encoder::bound(records.size()));
  record_encoder e;
  e.encode(records, 90, out.data());
  EXPECT_EQ(e.last_time(), 120U);
  e.encode(std::span(records).first(2), 90, out.data());
  EXPECT_EQ(e.last_time(), 100U);
}

struct encoded {
  chunk_header header;
  std::vector<std::byte> payload;
};

encoded encode(const std::vector<record>& records) {
  record_encoder e;
  encoded to{.header = {.count = static_cast<std::uint32_t>(records.size())},
             .payload = std::vector<std::byte>(record_encoder::bound(records.size()))};
  to.header.first_time = records.empty() ? 0 : records.front().time;
  to.payload.resize(e.encode(records, to.header.first_time, to.payload.data()));
  to.header.last_time = e.last_time();
  to.header.events = e.events();
  return to;
}

TEST(decode, headers_that_lie_are_refused) {
  const encoded e = encode({got(5, 16), gave(9, 16)});
  std::vector<record> back;
  for (int field = 0; field < 4; ++field) {
    chunk_header h = e.header;
    if (field == 0) ++h.count;
    if (field == 1) --h.count;
    if (field == 2) ++h.last_time;
    if (field == 3) --h.events;
    EXPECT_FALSE(decode_records(e.payload, h, back)) << field;
  }
  EXPECT_TRUE(decode_records(e.payload, e.header, back));
}

TEST(decode, steps_back_beyond_the_beginning_are_refused) {
  encoded e = encode({got(5, 16), gave(9, 16)});
  const std::size_t after_addresses = 4 + 1 + 4;  // the column of one size, the empty one of extras
  e.payload[e.payload.size() - after_addresses - 1] = std::byte{9};
  std::vector<record> back;
  EXPECT_FALSE(decode_records(e.payload, e.header, back));
}

/// Returns: the refusal of a header with other bytes from `at` on.
std::string refusal_with(std::size_t at, std::initializer_list<int> values) {
  std::array<std::byte, file_header_bytes> bytes{};
  put_header(bytes.data(), file_header{.clock = clock_kind::ticks, .process = 42, .text_bytes = 8});
  for (const int value : values) bytes[at++] = static_cast<std::byte>(value);
  const char* why = refuse_file_header(bytes.data());
  return why == nullptr ? "" : why;
}

TEST(format, foreign_files_are_refused_by_what_is_wrong_with_them) {
  EXPECT_EQ(refusal_with(0, {}), "");
  EXPECT_EQ(refusal_with(0, {'x'}), "not an ashlar trace");
  EXPECT_EQ(refusal_with(6, {'\n'}), "not an ashlar trace");
  EXPECT_EQ(refusal_with(8, {2}), "a format version this ashlar does not read");
  EXPECT_EQ(refusal_with(12, {1, 2, 3, 4}), "written by a machine of the other byte order");
  EXPECT_EQ(refusal_with(16, {2}), "the file header is damaged");
  EXPECT_EQ(refusal_with(59, {0x7f}), "the file header is damaged");
}

TEST(format, a_chunk_that_ends_before_it_begins_is_refused) {
  std::array<std::byte, chunk_header_bytes> bytes{};
  put_header(bytes.data(), chunk_header{.first_time = 2, .last_time = 1});
  chunk_header h;
  EXPECT_FALSE(get_header(bytes.data(), h));
}

}  // namespace
