// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of text: numbers and pieces in a panic, text in pieces, JSON.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <ashlar/base/platform.hpp>
#include <ashlar/detail/support/text_writer.hpp>
#include <ashlar/heap/heap_json.hpp>

#include "tests/support/death.hpp"
#include "tests/support/json.hpp"

namespace {

using ashlar::panic_line;

TEST(panic, text_past_the_end_is_cut) {
  const std::string longest(panic_line::capacity, 'x');
  EXPECT_EQ(panic_line().text(longest + "y").number(1).view(), longest);
}

TEST(panic, writes_one_line_and_aborts) {
  ASHLAR_EXPECT_DEATH(ashlar::detail::panic("ashlar: last words"), "ashlar: last words");
  ASHLAR_EXPECT_DEATH(ashlar::detail::panic(""), "");
}

TEST(panic, a_line_that_is_too_long_still_ends) {
  const std::string too_long(2 * panic_line::capacity, 'x');
  ::testing::internal::CaptureStderr();
  ashlar::detail::write_error_line(too_long);
  ashlar::detail::write_error_line("next");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), too_long.substr(0, panic_line::capacity - 1) + "\nnext\n");
}

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

template <class F>
std::string json_of(F write) {
  std::string all;
  auto out = [&](std::string_view piece) { all += piece; };
  ashlar::detail::json_writer json(out);
  write(json);
  json.finish();
  return all;
}

TEST(json_writer, puts_commas_between_values_and_nowhere_else) {
  const std::string text = json_of([](auto& json) {
    json.begin_object().member("blocks", 3).key("sizes").begin_array().value(48).value(-64).end_array();
    json.key("none").begin_array().end_array().key("empty").begin_object().end_object();
    json.key("rows")
        .begin_array()
        .begin_object()
        .member("a", true)
        .end_object()
        .begin_object()
        .end_object()
        .end_array();
    json.member("most", std::uint64_t{18446744073709551615u}).member("name", "heap").end_object();
  });
  EXPECT_EQ(text, R"({"blocks":3,"sizes":[48,-64],"none":[],"empty":{},"rows":[{"a":true},{}],)"
                  R"("most":18446744073709551615,"name":"heap"})");
  const ashlar_test::json read(text);
  EXPECT_TRUE(read.is_valid());
  EXPECT_EQ(read.number("most"), 18446744073709551615u);
  EXPECT_EQ(read.text("rows.0.a") + read.text("sizes.1") + read.text("name"), "true-64heap");
  EXPECT_EQ(read.size("rows"), 2u);
}

TEST(json_writer, a_value_may_stand_alone) {
  EXPECT_EQ(json_of([](auto& json) { json.value(7); }), "7");
  EXPECT_EQ(json_of([](auto& json) { json.value(false); }), "false");
  EXPECT_EQ(json_of([](auto& json) { json.value(std::string_view()); }), "\"\"");
}

TEST(json_writer, escapes_what_strings_may_not_hold) {
  const std::string text = json_of([](auto& json) { json.value(std::string_view("a\"b\\c\n\x1f\0/\xC3\xA9", 11)); });
  EXPECT_EQ(text, "\"a\\\"b\\\\c\\u000a\\u001f\\u0000/\xC3\xA9\"");
  EXPECT_TRUE(ashlar_test::json(text).is_valid());
}

TEST(json_writer, the_reader_of_the_tests_refuses_what_is_no_json) {
  for (const char* const text : {"", "{", "[1,]", "{\"a\"1}", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "01", "1 ", "\"\n\"",
                                 "\"\\x\"", "\"\\u12g4\"", "[1 2]", "{a:1}", "tru", "-", "[}"})
    EXPECT_FALSE(ashlar_test::json(text).is_valid()) << text;
}

}  // namespace
