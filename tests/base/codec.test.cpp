// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the codec concept and of the raw codec.
#include <ashlar/base/trace_source.hpp>

#include <array>

#include <gtest/gtest.h>

namespace {

using namespace ashlar::trace;

struct packs_only {
  static constexpr codec_id id = codec_id::zstd;
  static std::size_t bound(std::size_t n) noexcept { return n; }
  std::size_t pack(std::span<const std::byte>, std::span<std::byte>) noexcept { return 0; }
};

static_assert(codec<raw_codec> && packer<raw_codec>);
static_assert(packer<packs_only> && !codec<packs_only>);

TEST(codec, raw_stores_as_it_is) {
  const std::array<std::byte, 3> from{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 3> to{};
  raw_codec c;
  EXPECT_EQ(c.bound(3), 3U);
  EXPECT_EQ(c.pack(from, to), 3U);
  EXPECT_EQ(from, to);
  EXPECT_TRUE(c.unpack(from, to));
}

TEST(codec, raw_refuses_other_lengths) {
  const std::array<std::byte, 3> from{};
  std::array<std::byte, 2> less{};
  std::array<std::byte, 4> more{};
  raw_codec c;
  EXPECT_EQ(c.pack(from, less), 0U);
  EXPECT_FALSE(c.unpack(from, less));
  EXPECT_FALSE(c.unpack(from, more));
}

}  // namespace
