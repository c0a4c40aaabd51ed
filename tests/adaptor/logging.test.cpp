// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the logging adaptor: the line of each call, and the sinks of lines.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/adaptor/log_sink.hpp>
#include <ashlar/adaptor/logging.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/adaptor/roomy.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::function_log;
using ashlar::logging;
using ashlar::new_delete_resource;
using ashlar::resource_ref;
using ashlar_test::counting_resource;

// An empty sink costs no byte; two members of one empty type need two addresses.
static_assert(sizeof(logging<new_delete_resource>) == 1 && std::is_empty_v<logging<new_delete_resource>>);
static_assert(sizeof(logging<resource_ref<ashlar::buffer_resource>>) == sizeof(void*));
static_assert(!ashlar::thread_safe_resource<logging<new_delete_resource, function_log>>);

void append(std::string_view line, void* to) noexcept { static_cast<std::string*>(to)->append(line); }

// Returns: the lines since the last call, with their addresses replaced.
std::string lines_of(std::string& text) {
  std::istringstream in(text);
  std::string all;
  for (std::string line; std::getline(in, line);) all += ashlar_test::first_line_of(line) + "\n";
  text.clear();
  return all;
}

TEST(logging, every_call_has_its_line) {
  std::string text;
  logging<ashlar_test::roomy, function_log> r(function_log(&append, &text));
  void* p = r.allocate(24, 8);
  EXPECT_TRUE(r.try_expand(p, 24, 48, 8));
  EXPECT_FALSE(r.try_expand(p, 48, 4800, 8));
  r.deallocate(p, 48, 8);
  p = r.try_allocate(5, 1);
  r.deallocate(p);
  EXPECT_EQ(r.try_allocate(5000, 1), nullptr);
  p = r.allocate_at_least(24, 8).data;
  EXPECT_EQ(lines_of(text), "allocate 24 8 = 0x*\n"
                            "try_expand 0x* 24 48 8 = true\n"
                            "try_expand 0x* 48 4800 8 = false\n"
                            "deallocate 0x* 48 8\n"
                            "try_allocate 5 1 = 0x*\n"
                            "deallocate 0x*\n"
                            "try_allocate 5000 1 = null\n"
                            "allocate_at_least 24 8 = 0x* 1000\n");
  r.deallocate(p, 24, 8);
}

TEST(logging, owns_release_and_prefault_have_theirs) {
  std::string text;
  ashlar::inline_buffer<256> buffer;
  using ref = resource_ref<ashlar::buffer_resource>;
  logging<ref, function_log> r(function_log(&append, &text), ref(buffer));
  EXPECT_FALSE(r.owns(&text));
  r.release();
  logging<ashlar::page_resource, function_log> pages(function_log(&append, &text));
  void* const page = pages.allocate(4096, 4096);
  pages.prefault(page, 4096);
  pages.deallocate(page, 4096, 4096);
  EXPECT_EQ(lines_of(text), "owns 0x* = false\nrelease\nallocate 4096 4096 = 0x*\nprefault 0x* 4096\n"
                            "deallocate 0x* 4096 4096\n");
}

#if defined(__cpp_exceptions)
TEST(logging, an_exception_leaves_a_line_and_passes) {
  std::string text;
  counting_resource<> upstream;
  logging<resource_ref<counting_resource<>>, function_log> r(function_log(&append, &text), upstream);
  upstream.fail_at(0);
  EXPECT_THROW(static_cast<void>(r.allocate(24, 8)), ashlar_test::injected_failure);
  EXPECT_EQ(text, "allocate 24 8 = threw\n");
}
#endif

static_assert(std::is_empty_v<ashlar::error_log>);

// Returns: the output of a log with this name to a pipe.
std::string sent(std::string_view line, std::string_view name = {}) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  ashlar::descriptor_log(ends[1], name).write(line);
  std::array<char, 1024> got{};
  const auto count = ::read(ends[0], got.data(), got.size());
  for (const int end : ends) ::close(end);
  return std::string(got.data(), static_cast<std::size_t>(count));
}

TEST(log_sink, a_descriptor_gets_whole_lines_with_its_name_in_front) {
  EXPECT_EQ(sent("plain\n"), "plain\n");
  EXPECT_EQ(sent("named\n", "pool"), "pool named\n");
  ashlar::descriptor_log(-1).write("lost, and no harm done\n");
  const std::string line = sent("a line\n", std::string(600, 'n'));
  EXPECT_EQ(line.size(), ashlar::panic_line::capacity);
  EXPECT_TRUE(line.starts_with("nnn") && line.ends_with("n a line\n")) << "the end of a long name is lost";
}

TEST(log_sink, the_error_stream_gets_lines) {
  ::testing::internal::CaptureStderr();
  ashlar::error_log::write("to the error stream\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "to the error stream\n");
}

}  // namespace
