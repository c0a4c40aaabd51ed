// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the words of a trace: events, codecs, sources, stacks and modules, errors.
#include <array>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/base/event.hpp>
#include <ashlar/base/trace_source.hpp>
#include <ashlar/base/trace_tables.hpp>

namespace {

using namespace ashlar::trace;

TEST(event, every_operation_allocates_or_releases_or_is_a_note) {
  for (std::size_t i = 0; i < operation_count; ++i) {
    const auto op = static_cast<operation>(i);
    const bool note = op >= operation::mark;
    EXPECT_EQ(int{is_allocation(op)} + int{is_release(op)} + int{note}, 1) << name(op);
  }
}

TEST(event, names_are_what_a_programmer_writes) {
  EXPECT_EQ(name(operation::malloc_), "malloc");
  EXPECT_EQ(name(operation::new_array_), "new[]");
  EXPECT_EQ(name(operation::delete_array_), "delete[]");
  EXPECT_EQ(name(operation::thread_end), "thread_end");
  EXPECT_EQ(name(operation::span_begin), "span_begin");
  EXPECT_EQ(name(operation::span_end), "span_end");
  EXPECT_EQ(name(operation::thread_name), "thread_name");
  EXPECT_EQ(name(static_cast<operation>(operation_count)), "unknown");
}

struct packs_only {
  static constexpr codec_id id = codec_id::zstd;
  static std::size_t bound(std::size_t n) noexcept { return n; }
  std::size_t pack(std::span<const std::byte>, std::span<std::byte>) noexcept { return 0; }
};

static_assert(codec<raw_codec> && packer<raw_codec>);
static_assert(packer<packs_only> && !codec<packs_only>);

TEST(codec, raw_refuses_other_lengths) {
  const std::array<std::byte, 3> from{};
  std::array<std::byte, 2> less{};
  std::array<std::byte, 4> more{};
  raw_codec c;
  EXPECT_EQ(c.pack(from, less), 0U);
  EXPECT_FALSE(c.unpack(from, less));
  EXPECT_FALSE(c.unpack(from, more));
}

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

TEST(tables, stacks_are_found_by_id_and_unknown_ones_are_empty) {
  stack_table t;
  const std::array<std::uint64_t, 2> first{10, 20};
  const std::array<std::uint64_t, 1> second{30};
  EXPECT_EQ(t.add(first), 1U);
  EXPECT_EQ(t.add({}), 2U);
  EXPECT_EQ(t.add(second), 3U);
  EXPECT_EQ(t.size(), 3U);
  ASSERT_EQ(t[1].size(), 2U);
  EXPECT_EQ(t[1][1], 20U);
  EXPECT_TRUE(t[2].empty());
  EXPECT_EQ(t[3][0], 30U);
  EXPECT_TRUE(t[0].empty() && t[4].empty() && t[0xffff'ffff].empty());
}

TEST(tables, the_module_mapped_last_wins) {
  const std::array<mapped_module, 3> modules{mapped_module{.begin = 100, .end = 200, .path = "a", .build_id = ""},
                                             mapped_module{.begin = 200, .end = 300, .path = "b", .build_id = ""},
                                             mapped_module{.begin = 150, .end = 180, .path = "c", .build_id = ""}};
  EXPECT_EQ(find_module(modules, 100)->path, "a");
  EXPECT_EQ(find_module(modules, 160)->path, "c");
  EXPECT_EQ(find_module(modules, 299)->path, "b");
  EXPECT_EQ(find_module(modules, 300), nullptr);
  EXPECT_EQ(find_module({}, 0), nullptr);
}

}  // namespace
