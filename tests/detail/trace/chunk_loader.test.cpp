// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of loading one chunk.
#include <ashlar/detail/trace/chunk_loader.hpp>

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/trace/model.hpp"

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;

/// Inverts every bit: a codec whose use shows.
struct inverter {
  static constexpr codec_id id = static_cast<codec_id>(200);
  static std::size_t bound(std::size_t n) noexcept { return n; }
  std::size_t pack(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
    std::transform(from.begin(), from.end(), to.begin(), [](std::byte b) { return ~b; });
    return from.size();
  }
  bool unpack(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
    return from.size() == to.size() && pack(from, to) != 0;
  }
};

struct loaded {
  std::vector<std::byte> chunk;
  chunk_entry entry;
};

loaded packed_by_inverter() {
  const std::vector<std::byte> payload(10, std::byte{0x0f});
  loaded l{.chunk = std::vector<std::byte>(chunk_bound<inverter>(10)), .entry = {}};
  inverter codec;
  pack_chunk(codec, {}, payload, l.chunk.data());
  EXPECT_TRUE(get_header(l.chunk.data(), l.entry.header));
  return l;
}

TEST(chunk_loader, asks_the_codec_that_packed) {
  const loaded l = packed_by_inverter();
  byte_source source(l.chunk);
  chunk_loader<inverter> loader;
  ASSERT_EQ(loader.load(source, l.entry), nullptr);
  EXPECT_EQ(loader.payload()[9], std::byte{0x0f});
}

TEST(chunk_loader, says_what_is_wrong) {
  loaded l = packed_by_inverter();
  byte_source source(l.chunk);
  EXPECT_STREQ(chunk_loader<>().load(source, l.entry), "a chunk is compressed by a method unknown to this program");
  chunk_entry wrong = l.entry;
  wrong.header.raw_bytes = 11;
  EXPECT_STREQ(chunk_loader<inverter>().load(source, wrong), "a chunk cannot be decompressed");
  l.chunk.back() ^= std::byte{1};
  EXPECT_STREQ(chunk_loader<inverter>().load(source, l.entry), "a chunk's payload is damaged");
  byte_source cut(std::span(l.chunk).first(l.chunk.size() - 1));
  EXPECT_STREQ(chunk_loader<inverter>().load(cut, l.entry), "cannot be read");
}

}  // namespace
