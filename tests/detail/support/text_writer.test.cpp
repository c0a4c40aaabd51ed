// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that text arrives complete and in order, and the format of numbers.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <ashlar/detail/support/text_writer.hpp>

namespace {

// Returns: the output of `write(writer)`.
template <class F>
std::string written(F write) {
  std::string all;
  auto out = [&](std::string_view piece) { all += piece; };
  ashlar::detail::text_writer writer(out);
  write(writer);
  writer.flush();
  return all;
}

TEST(text_writer, hands_text_over_in_order_and_in_pieces) {
  std::string all, expected;
  std::size_t pieces = 0;
  auto out = [&](std::string_view piece) {
    ASSERT_FALSE(piece.empty());
    ASSERT_LE(piece.size(), 512u);
    all += piece, ++pieces;
  };
  ashlar::detail::text_writer writer(out);
  for (std::size_t length : {0u, 1u, 511u, 512u, 513u, 3000u}) {
    const std::string words(length, static_cast<char>('a' + length % 26));
    writer.text(words).text("");
    expected += words;
  }
  EXPECT_EQ(all.size() % 512, 0u);
  writer.flush();
  writer.flush();
  EXPECT_EQ(all, expected);
  EXPECT_EQ(pieces, expected.size() / 512 + 1);
}

TEST(text_writer, writes_numbers_as_they_are) {
  EXPECT_EQ(written([](auto& w) { w.number(0).text(" ").number(-7).text(" ").number(std::uint8_t{200}); }), "0 -7 200");
  EXPECT_EQ(written([](auto& w) {
              w.number(std::numeric_limits<std::uint64_t>::max());
              w.text(" ").number(std::numeric_limits<std::int64_t>::min());
            }),
            "18446744073709551615 -9223372036854775808");
  EXPECT_EQ(written([](auto& w) { w.hex(0xbeef).text(" ").address(reinterpret_cast<void*>(4096)); }), "beef 0x1000");
  EXPECT_EQ(written([](auto& w) { w.grouped(0).text(" ").grouped(999).text(" ").grouped(1000); }), "0 999 1,000");
  EXPECT_EQ(written([](auto& w) { w.grouped(123'456).text(" ").grouped(1'000'070); }), "123,456 1,000,070");
  const auto counted = [](std::uint64_t n) { return written([&](auto& w) { w.counted(n, "block"); }); };
  EXPECT_EQ(counted(0) + ", " + counted(1) + ", " + counted(2000), "0 blocks, 1 block, 2,000 blocks");
}

TEST(text_writer, writes_sizes_in_three_figures) {
  const auto size = [](std::uint64_t bytes) { return written([&](auto& w) { w.size(bytes); }); };
  EXPECT_EQ(size(0), "0 B");
  EXPECT_EQ(size(999), "999 B");
  EXPECT_EQ(size(1000), "0.98 KiB");
  EXPECT_EQ(size(1024), "1.00 KiB");
  EXPECT_EQ(size(1536), "1.50 KiB");
  EXPECT_EQ(size(10'239), "10.0 KiB") << "rounded, and one figure less behind the point";
  EXPECT_EQ(size(102'400), "100 KiB");
  EXPECT_EQ(size(1'023'000), "999 KiB");
  EXPECT_EQ(size(1'024'000), "0.98 MiB");
  EXPECT_EQ(size(std::uint64_t{5} << 40), "5.00 TiB");
  EXPECT_EQ(size(std::numeric_limits<std::uint64_t>::max()), "16384 PiB");
}

TEST(text_writer, writes_parts_of_a_hundred) {
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return written([&](auto& w) { w.percentage(part, whole); });
  };
  EXPECT_EQ(share(0, 0), "0 %");
  EXPECT_EQ(share(0, 5), "0 %");
  EXPECT_EQ(share(1, 100'000), "0.0 %");
  EXPECT_EQ(share(1, 40), "2.5 %");
  EXPECT_EQ(share(999, 10'000), "10 %");
  EXPECT_EQ(share(1, 2), "50 %");
  EXPECT_EQ(share(7, 7), "100 %");
  EXPECT_EQ(share(std::uint64_t{1} << 63, ~std::uint64_t{0}), "50 %");
}

}  // namespace
