// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the encoder: the sizes of its columns, and its bound of the payload.
#include <ashlar/detail/trace/encode.hpp>

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/trace/model.hpp"

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;
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

TEST(encode, events_are_distinguished_from_helpers) {
  const std::vector<record> records{got(1, 16),
                                    {.time = 2, .stack = 5, .code = opcode::thread_switch},
                                    {.time = 3, .address = 16, .code = opcode::realloc_begin},
                                    gave(4, 16)};
  std::vector<std::byte> out(record_encoder::bound(records.size()));
  record_encoder e;
  e.encode(records, 0, out.data());
  EXPECT_EQ(e.events(), 2U);
}

}  // namespace
