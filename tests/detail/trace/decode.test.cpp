// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the decoder: it returns the encoded records, and safely refuses all other input.
#include <ashlar/detail/trace/decode.hpp>

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/trace/model.hpp"

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;
using ashlar_test::gave;
using ashlar_test::got;

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

std::vector<record> random_records(std::uint64_t seed, std::size_t n) {
  std::mt19937_64 random(seed);
  std::vector<record> records;
  std::uint64_t time = random() % 1000;
  for (std::size_t i = 0; i < n; ++i) {
    record r{.time = time += random() % 3 == 0 ? random() >> 30 : random() % 100,
             .code = static_cast<opcode>(random() % 16)};
    if (has_address(r.code)) r.address = random() % 4 == 0 ? random() : 0x5500'0000'0000 + random() % 50 * 16;
    if (random() % 2 == 0) r.size = random() % 5 == 0 ? random() : random() % 300;
    if (random() % 8 == 0) r.alignment_code = static_cast<std::uint8_t>(1 + random() % 65);
    if (random() % 3 == 0) r.stack = static_cast<std::uint32_t>(random() >> (32 + random() % 32));
    records.push_back(r);
  }
  return records;
}

TEST(decode, random_records_round_trip) {
  std::vector<record> back;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const auto records = random_records(seed, seed * 7 % 500);
    const encoded e = encode(records);
    ASSERT_TRUE(decode_records(e.payload, e.header, back)) << seed;
    ASSERT_EQ(back, records) << seed;
  }
}

TEST(decode, the_largest_chunk_round_trips) {
  const auto records = random_records(1, max_chunk_records);
  const encoded e = encode(records);
  std::vector<record> back;
  ASSERT_TRUE(decode_records(e.payload, e.header, back));
  EXPECT_EQ(back, records);
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

TEST(decode, cut_payloads_are_refused) {
  const encoded e = encode(random_records(3, 100));
  std::vector<record> back;
  for (std::size_t n = 0; n < e.payload.size(); ++n)
    EXPECT_FALSE(decode_records(std::span(e.payload).first(n), e.header, back)) << n;
}

TEST(decode, damaged_payloads_never_do_harm) {
  const encoded e = encode(random_records(4, 60));
  std::vector<record> back;
  for (std::size_t i = 0; i < e.payload.size(); ++i) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      auto damaged = e.payload;
      damaged[i] ^= static_cast<std::byte>(flip);
      const bool sound = decode_records(damaged, e.header, back);
      EXPECT_TRUE(!sound || back.size() == e.header.count);
    }
  }
}

TEST(decode, steps_back_beyond_the_beginning_are_refused) {
  encoded e = encode({got(5, 16), gave(9, 16)});
  const std::size_t after_addresses = 4 + 1 + 4;  // the column of one size, the empty one of extras
  e.payload[e.payload.size() - after_addresses - 1] = std::byte{9};
  std::vector<record> back;
  EXPECT_FALSE(decode_records(e.payload, e.header, back));
}

}  // namespace
