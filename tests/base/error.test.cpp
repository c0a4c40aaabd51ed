// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that misuse reaches the handler and ends the process, and that exhausted memory throws.
#include <ashlar/base/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/death.hpp"

namespace {

using ashlar::fault;
using ashlar::leaked_blocks;
using ashlar::violation;

constexpr std::array faults = {fault::precondition, fault::double_free,   fault::invalid_free, fault::misaligned_free,
                               fault::wrong_pool,   fault::size_mismatch, fault::corrupt_link, fault::overflow,
                               fault::underflow,    fault::bad_marker,    fault::out_of_order, fault::leak};

std::string printed(const violation& v) {
  ::testing::internal::CaptureStderr();
  ashlar::violation::print(v);
  return ::testing::internal::GetCapturedStderr();
}

TEST(error, every_fault_has_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (const fault each : faults) names.insert(ashlar::name_of(each));
  EXPECT_EQ(names.size(), faults.size());
  EXPECT_FALSE(names.contains("fault"));
  EXPECT_EQ(ashlar::name_of(fault::double_free), "double_free");
  EXPECT_EQ(ashlar::name_of(fault::corrupt_link), "corrupt_link");
}

TEST(error, a_violation_prints_the_fields_that_are_set) {
  EXPECT_EQ(printed({}), "ashlar: precondition: \n");
  EXPECT_EQ(printed({.kind = fault::leak, .what = "left blocks"}), "ashlar: leak: left blocks\n");
  EXPECT_EQ(printed({.kind = fault::double_free, .what = "freed twice", .pointer = reinterpret_cast<void*>(0xab)}),
            "ashlar: double_free: freed twice, pointer 0xab\n");
  EXPECT_EQ(printed({.kind = fault::size_mismatch,
                     .what = "other size",
                     .pointer = reinterpret_cast<void*>(0x10),
                     .resource = reinterpret_cast<void*>(0x20),
                     .owner = reinterpret_cast<void*>(0x30),
                     .size = 24,
                     .expected = 24,
                     .got = 0}),
            "ashlar: size_mismatch: other size, pointer 0x10, resource 0x20, owner 0x30, expected 24, got 0\n");
}

std::string printed(const leaked_blocks& leak) {
  ::testing::internal::CaptureStderr();
  ashlar::leaked_blocks::print(leak);
  return ::testing::internal::GetCapturedStderr();
}

TEST(error, a_leak_prints_its_counts_and_the_first_addresses) {
  leaked_blocks leak = {.resource = reinterpret_cast<void*>(0x20), .count = 3, .block_bytes = 24, .bytes = 72};
  const std::string counts =
      "ashlar: leak: blocks were live when their pool ended, resource 0x20, size 24, count 3, bytes 72";
  EXPECT_EQ(printed(leak), counts + "\n");
  const std::array<const void*, 2> first = {reinterpret_cast<void*>(0x30), reinterpret_cast<void*>(0x48)};
  leak.first = first;
  EXPECT_EQ(printed(leak), counts + ", first 0x30 0x48\n");
}

TEST(error, the_longest_leak_fits_its_line) {
  const auto* const top = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(-1));
  std::array<const void*, leaked_blocks::most_shown> first{};
  first.fill(top);
  const std::size_t most = static_cast<std::size_t>(-1);
  const std::string line =
      printed(leaked_blocks{.resource = top, .count = most, .block_bytes = most, .bytes = most, .first = first});
  EXPECT_EQ(line.back(), '\n');
  EXPECT_LT(line.size(), ashlar::panic_line::capacity);
}

std::size_t leaks_seen = 0;

TEST(error, a_leak_reaches_its_handler_and_the_program_goes_on) {
  EXPECT_EQ(ashlar::set_leak_handler([](const leaked_blocks& leak) noexcept { leaks_seen += leak.count; }),
            &ashlar::leaked_blocks::print);
  ashlar::report_leak({.count = 2});
  ashlar::report_leak({.count = 5});
  EXPECT_EQ(leaks_seen, 7u);
  EXPECT_NE(ashlar::set_leak_handler(nullptr), &ashlar::leaked_blocks::print);
  EXPECT_EQ(ashlar::set_leak_handler(nullptr), &ashlar::leaked_blocks::print);
}

void quiet(const violation&) noexcept {}
void quiet_too(const violation&) noexcept {}
void quiet_about_memory(std::size_t, std::size_t) noexcept {}

TEST(error, handlers_are_replaced_and_restored) {
  EXPECT_EQ(ashlar::set_violation_handler(&quiet), &ashlar::violation::print);
  EXPECT_EQ(ashlar::set_violation_handler(&quiet_too), &quiet);
  EXPECT_EQ(ashlar::set_violation_handler(nullptr), &quiet_too);
  EXPECT_EQ(ashlar::set_violation_handler(nullptr), &ashlar::violation::print);

  EXPECT_EQ(ashlar::set_out_of_memory_handler(&quiet_about_memory), &ashlar::print_out_of_memory);
  EXPECT_EQ(ashlar::set_out_of_memory_handler(nullptr), &quiet_about_memory);
  EXPECT_EQ(ashlar::set_out_of_memory_handler(nullptr), &ashlar::print_out_of_memory);
}

TEST(error, a_report_ends_the_process) {
  ASHLAR_EXPECT_DEATH(ashlar::report({.kind = fault::wrong_pool, .what = "freed elsewhere"}),
                      "ashlar: wrong_pool: freed elsewhere");
}

[[noreturn]] void report_to_another_handler() {
  ashlar::set_violation_handler([](const violation& v) noexcept {
    if (v.kind == fault::leak && v.what == std::string_view("w") && v.size == 1 && v.expected == 2 && v.got == 3)
      std::fputs("all fields came through\n", stderr);
  });
  ashlar::report({.kind = fault::leak, .what = "w", .size = 1, .expected = 2, .got = 3});
}

TEST(error, a_handler_that_returns_does_not_save_the_process) {
  ASHLAR_EXPECT_DEATH(report_to_another_handler(), "all fields came through");
}

#if defined(__cpp_exceptions)

TEST(error, lack_of_memory_is_thrown) {
  EXPECT_THROW(ashlar::throw_bad_alloc(8, 8), std::bad_alloc);
  EXPECT_THROW(ashlar::throw_bad_array_new_length(), std::bad_array_new_length);
}

#else

TEST(error, lack_of_memory_ends_the_process_where_exceptions_are_off) {
  ASHLAR_EXPECT_DEATH(ashlar::throw_bad_alloc(24, 8), "ashlar: out of memory: 24 bytes at alignment 8");
  ASHLAR_EXPECT_DEATH(ashlar::throw_bad_array_new_length(),
                      "ashlar: out of memory: " + std::to_string(static_cast<std::size_t>(-1)) +
                          " bytes at alignment 1");
}

TEST(error, lack_of_memory_reaches_the_handler_where_exceptions_are_off) {
  ashlar::set_out_of_memory_handler([](std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes == 24 && alignment == 8) std::fputs("handled\n", stderr);
  });
  ASHLAR_EXPECT_DEATH(ashlar::throw_bad_alloc(24, 8), "handled");
  ashlar::set_out_of_memory_handler(nullptr);
}

#endif

}  // namespace
