// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of packing: a payload that shrinks is stored packed, all others raw.
#include <ashlar/detail/trace/pack_chunk.hpp>

#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;

/// Pretends to pack any payload to a given number of zero bytes.
struct pretender {
  static constexpr codec_id id = codec_id::zstd;
  std::size_t result = 0;
  static std::size_t bound(std::size_t n) noexcept { return n + 10; }
  std::size_t pack(std::span<const std::byte>, std::span<std::byte>) noexcept { return result; }
};

chunk_header header_after_packing_to(std::size_t result) {
  const std::vector<std::byte> payload(100, std::byte{1});
  std::vector<std::byte> out(chunk_bound<pretender>(payload.size()));
  pretender p{result};
  const auto chunk = pack_chunk(p, {.count = 3}, payload, out.data());
  chunk_header h;
  EXPECT_TRUE(get_header(chunk.data(), h));
  EXPECT_EQ(chunk.size(), chunk_header_bytes + h.stored_bytes);
  EXPECT_EQ(h.payload_sum, checksum(chunk.subspan(chunk_header_bytes)));
  EXPECT_EQ(h.raw_bytes, 100U);
  EXPECT_EQ(h.count, 3U);
  return h;
}

TEST(pack_chunk, what_gets_smaller_is_stored_packed) {
  const chunk_header h = header_after_packing_to(40);
  EXPECT_EQ(h.codec, codec_id::zstd);
  EXPECT_EQ(h.stored_bytes, 40U);
}

TEST(pack_chunk, what_fails_or_grows_is_stored_raw) {
  for (const std::size_t result : {0U, 101U, 110U}) {
    const chunk_header h = header_after_packing_to(result);
    EXPECT_EQ(h.codec, codec_id::raw);
    EXPECT_EQ(h.stored_bytes, 100U);
  }
}

}  // namespace
