// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the sinks of log lines.
#include <ashlar/adaptor/log_sink.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/platform.hpp>

namespace {

static_assert(std::is_empty_v<ashlar::error_log>);

TEST(log_sink, a_descriptor_gets_whole_lines_with_its_name_in_front) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ashlar::descriptor_log(ends[1]).write("plain\n");
  ashlar::descriptor_log(ends[1], "pool").write("named\n");
  std::array<char, 64> got{};
  const auto count = ::read(ends[0], got.data(), got.size());
  EXPECT_EQ(std::string_view(got.data(), static_cast<std::size_t>(count)), "plain\npool named\n");
  ::close(ends[0]);
  ::close(ends[1]);
  ashlar::descriptor_log(-1).write("lost, and no harm done\n");
}

TEST(log_sink, the_end_of_a_long_name_is_lost_and_the_line_stays_whole) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const std::string name(600, 'n');
  ashlar::descriptor_log(ends[1], name).write("a line\n");
  std::array<char, 1024> got{};
  const auto count = ::read(ends[0], got.data(), got.size());
  const std::string_view line(got.data(), static_cast<std::size_t>(count));
  EXPECT_EQ(line.size(), ashlar::detail::panic_line::capacity);
  EXPECT_TRUE(line.starts_with("nnn") && line.ends_with("n a line\n"));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(log_sink, a_function_gets_lines_and_its_context) {
  std::string got;
  const ashlar::function_log sink(
      [](std::string_view line, void* to) noexcept { static_cast<std::string*>(to)->append(line); }, &got);
  sink.write("a\n");
  sink.write("b\n");
  EXPECT_EQ(got, "a\nb\n");
}

TEST(log_sink, the_error_stream_gets_lines) {
  ::testing::internal::CaptureStderr();
  ashlar::error_log::write("to the error stream\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "to the error stream\n");
}

}  // namespace
