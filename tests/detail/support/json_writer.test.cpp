// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the syntax of JSON: commas, nesting, escapes; and the JSON reader that other tests rely on.
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <ashlar/detail/support/json_writer.hpp>

#include "tests/support/build.hpp"
#include "tests/support/json.hpp"

namespace {

template <class F>
std::string written(F write) {
  std::string all;
  auto out = [&](std::string_view piece) { all += piece; };
  ashlar::detail::json_writer json(out);
  write(json);
  json.finish();
  return all;
}

TEST(json_writer, puts_commas_between_values_and_nowhere_else) {
  const std::string text = written([](auto& json) {
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
  EXPECT_EQ(written([](auto& json) { json.value(7); }), "7");
  EXPECT_EQ(written([](auto& json) { json.value(false); }), "false");
  EXPECT_EQ(written([](auto& json) { json.value(std::string_view()); }), "\"\"");
}

TEST(json_writer, escapes_what_strings_may_not_hold) {
  const std::string text = written([](auto& json) { json.value(std::string_view("a\"b\\c\n\x1f\0/\xC3\xA9", 11)); });
  EXPECT_EQ(text, "\"a\\\"b\\\\c\\u000a\\u001f\\u0000/\xC3\xA9\"");
  EXPECT_TRUE(ashlar_test::json(text).is_valid());
}

TEST(json_writer, the_reader_of_the_tests_refuses_what_is_no_json) {
  for (const char* const text : {"", "{", "[1,]", "{\"a\"1}", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "01", "1 ", "\"\n\"",
                                 "\"\\x\"", "\"\\u12g4\"", "[1 2]", "{a:1}", "tru", "-", "[}"})
    EXPECT_FALSE(ashlar_test::json(text).is_valid()) << text;
}

}  // namespace
