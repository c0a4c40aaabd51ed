// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the sources of a trace.
#include <ashlar/base/trace_source.hpp>

#include <array>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace {

using ashlar::trace::byte_source;

TEST(source, memory_is_read_at_any_offset_but_not_past_its_end) {
  const std::array<std::byte, 4> image{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  byte_source s(image);
  std::array<std::byte, 2> to{};
  EXPECT_TRUE(s.read(2, to));
  EXPECT_EQ(to[1], std::byte{4});
  EXPECT_FALSE(s.read(3, to));
  EXPECT_FALSE(s.read(~std::uint64_t{0}, to));
  EXPECT_EQ(s.bytes(), 4U);
}

TEST(source, a_file_is_read_again_after_a_failed_read) {
  const std::string path = testing::TempDir() + "ashlar_source_test";
  std::FILE* const f = std::fopen(path.c_str(), "wb");
  ASSERT_NE(f, nullptr);
  std::fputs("abcdef", f);
  std::fclose(f);
  byte_source s(path);
  ASSERT_EQ(s.refusal(), nullptr);
  std::array<std::byte, 3> to{};
  EXPECT_EQ(s.bytes(), 6U);
  EXPECT_FALSE(s.read(5, to));
  EXPECT_TRUE(s.read(3, to));
  EXPECT_EQ(to[0], std::byte{'d'});
  std::remove(path.c_str());
}

TEST(source, what_is_no_file_is_refused_by_name) {
  EXPECT_STREQ(byte_source(std::string("/no/such/file")).refusal(), "no such file");
  EXPECT_STREQ(byte_source(testing::TempDir()).refusal(), "is a directory");
#if defined(__linux__)
  EXPECT_STREQ(byte_source(std::string("/dev/null")).refusal(), "is not a regular file");
#endif
}

}  // namespace
