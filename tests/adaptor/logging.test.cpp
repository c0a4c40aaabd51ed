// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the logging adaptor: each call's line, and a parser that rebuilds the live blocks from the lines.
#include <ashlar/adaptor/logging.hpp>

#include <cstddef>
#include <map>
#include <memory_resource>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/log_sink.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/adaptor/refinements.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::error_log;
using ashlar::function_log;
using ashlar::logging;
using ashlar::new_delete_resource;
using ashlar::resource_ref;
using ashlar_test::counting_resource;

template <class... R>
constexpr bool forwards_exactly =
    ((ashlar_test::has_refinements_of<logging<R>, R> && ashlar_test::has_sizeless_refinements_of<logging<R>, R> &&
      ashlar::detail::divisible_resource<logging<R>> == ashlar::detail::divisible_resource<R> &&
      ashlar::thread_safe_resource<logging<R>> == ashlar::thread_safe_resource<R>) &&
     ...);
static_assert(forwards_exactly<new_delete_resource, ashlar::null_resource, ashlar::page_resource,
                               resource_ref<ashlar::buffer_resource>, resource_ref<std::pmr::memory_resource>,
                               ashlar_test::throwing_only<>, ashlar_test::roomy, logging<new_delete_resource>>);
// An empty sink costs no byte; two members of one empty type need two addresses.
static_assert(sizeof(logging<new_delete_resource>) == 1 && std::is_empty_v<logging<new_delete_resource>>);
static_assert(sizeof(logging<resource_ref<ashlar::buffer_resource>>) == sizeof(void*));
static_assert(!ashlar::thread_safe_resource<logging<new_delete_resource, function_log>>);

// Discards lines, for the conformance suite.
struct nowhere {
  static constexpr bool is_thread_safe = true;
  static void write(std::string_view) noexcept {}
};

struct logged_operator_new : ashlar_test::conformance_defaults {
  static constexpr bool exhaustible = false;
  logging<new_delete_resource, nowhere> resource;
};

struct logged_upstream : ashlar_test::conformance_defaults {
  static constexpr bool reuses = false;
  counting_resource<> upstream;
  logging<resource_ref<counting_resource<>>, nowhere> resource{upstream};
};

struct logged_buffer : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 64;
  static constexpr bool bounded = true;
  static constexpr bool any_order = false;
  ashlar::inline_buffer<64 * 1024> buffer;
  logging<resource_ref<ashlar::buffer_resource>, nowhere> resource{resource_ref<ashlar::buffer_resource>(buffer)};
};

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

TEST(logging, what_is_live_can_be_read_from_the_lines) {
  std::string text;
  logging<new_delete_resource, function_log> r(function_log(&append, &text));
  std::map<void*, std::size_t> oracle;
  std::mt19937 random(1);
  for (int step = 0; step < 500; ++step) {
    if (oracle.empty() || random() % 2 == 0) {
      const std::size_t bytes = random() % 100;
      oracle.emplace(r.allocate(bytes, 8), bytes);
    } else {
      r.deallocate(oracle.begin()->first, oracle.begin()->second, 8);
      oracle.erase(oracle.begin());
    }
  }
  std::map<std::string, std::size_t> read;
  std::istringstream in(text);
  for (std::string call, at, is; in >> call;) {
    std::size_t bytes = 0;
    std::size_t alignment = 0;
    if (call == "allocate") {
      in >> bytes >> alignment >> is >> at;
      EXPECT_TRUE(read.emplace(at, bytes).second) << "handed out again before it came back";
    } else {
      in >> at >> bytes >> alignment;
      EXPECT_EQ(read.erase(at), 1U);
    }
  }
  EXPECT_EQ(read.size(), oracle.size());
  for (const auto& [p, bytes] : oracle) r.deallocate(p, bytes, 8);
}

}  // namespace

namespace ashlar_test {
using logged_resources = ::testing::Types<logged_operator_new, logged_upstream, logged_buffer>;
const bool tested = conforms("logging", logged_resources{});
}  // namespace ashlar_test
