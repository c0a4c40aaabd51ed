// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the trace log: the events that the reader gets back, and the effects of a full disk.
#include <ashlar/adaptor/trace_log.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/trace/reader.hpp>
#include <ashlar/trace/sink.hpp>

namespace {

using ashlar::trace::operation;
using reader = ashlar::trace::reader<ashlar::trace::raw_codec>;
template <class Sink>
using log_to = ashlar::trace_log<ashlar::trace::raw_codec, Sink>;

TEST(trace_log, writes_what_the_reader_reads) {
  std::vector<std::byte> bytes;
  log_to<ashlar::trace::memory_sink> log{ashlar::trace::memory_sink(bytes), {.command_line = {"a", "b"}}};
  alignas(64) std::array<std::byte, 64> block{};
  const std::array<const void*, 2> frames{&bytes, &log};
  log.allocated(&block, 24, 8, frames);
  log.mark(7);
  log.resized(&block, 48, 8, {});
  log.freed(&block, 48, 8, frames);
  log.allocated(nullptr, 1000, 64, {});
  ASSERT_TRUE(log.close());
  reader r(bytes);
  EXPECT_EQ(r.info().command_line.size(), 2U);
  EXPECT_NE(r.info().start_unix_ns, 0U);
  std::vector<ashlar::trace::event> events;
  while (const auto e = r.next()) events.push_back(*e);
  EXPECT_FALSE(r.error().has_value());
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[0].op, operation::new_);
  EXPECT_EQ(events[0].size, 24U);
  EXPECT_EQ(events[0].object, 1U);
  EXPECT_EQ(events[0].alignment, 0U);
  EXPECT_EQ(r.stacks()[events[0].stack].size(), 2U);
  EXPECT_EQ(events[1].op, operation::mark);
  EXPECT_EQ(events[2].op, operation::realloc_);
  EXPECT_EQ(events[2].old_object, 1U);
  EXPECT_EQ(events[3].object, 2U);
  EXPECT_EQ(events[3].stack, events[0].stack) << "each stack is written once";
  EXPECT_EQ(r.modules().empty(), !ashlar::detail::has_modules) << "there are stacks to read";
  EXPECT_EQ(events[4].object, 0U) << "it failed";
  EXPECT_EQ(events[4].alignment, 64U);
}

// Accepts a fixed number of bytes.
struct small_disk {
  std::size_t left;
  bool write(std::span<const std::byte> bytes) {
    if (bytes.size() > left) return false;
    left -= bytes.size();
    return true;
  }
};

TEST(trace_log, what_cannot_be_written_is_counted_and_the_program_goes_on) {
  log_to<small_disk> log{small_disk{200}, {.command_line = {}, .chunk_records = 4}};
  int block = 0;
  for (int i = 0; i < 100; ++i) log.allocated(&block, 4, 4, {});
  EXPECT_GT(log.lost(), 0U);
  EXPECT_FALSE(log.close());
  ASSERT_TRUE(log.error().has_value());
  EXPECT_EQ(log.error()->message, "cannot be written");
}

// Has no memory for its second write, which is that of the first stack.
struct short_of_memory {
  std::vector<std::byte>* bytes;
  int writes = 0;
  bool write(std::span<const std::byte> more) {
    if (++writes == 2) ashlar::detail::throw_bad_alloc(more.size(), 1);
    bytes->insert(bytes->end(), more.begin(), more.end());
    return true;
  }
};

TEST(trace_log, a_stack_that_could_not_be_written_is_written_the_next_time) {
  if constexpr (ASHLAR_HAS_EXCEPTIONS == 0) GTEST_SKIP() << "want of memory ends the process";
  std::vector<std::byte> bytes;
  log_to<short_of_memory> log{short_of_memory{&bytes}};
  const std::array<const void*, 2> frames{&bytes, &log};
  log.allocated(&bytes, 24, 8, frames);
  EXPECT_EQ(log.lost(), 1U);
  log.allocated(&bytes, 25, 8, frames);
  EXPECT_FALSE(log.close()) << "one is missing";
  reader r(bytes);
  const auto only = r.next();
  ASSERT_TRUE(only.has_value());
  EXPECT_EQ(only->size, 25U);
  EXPECT_EQ(r.stacks()[only->stack].size(), 2U);
  EXPECT_FALSE(r.next().has_value());
}

// A sink with memory of a heap that is traced to the same log.
struct traced_sink {
  std::function<void()>* at_write;
  bool write(std::span<const std::byte>) {
    if (*at_write) (*at_write)();
    return true;
  }
};

TEST(trace_log, what_the_writer_asks_of_a_traced_heap_is_left_out) {
  std::function<void()> at_write;
  ashlar::trace_log<ashlar::trace::raw_codec, traced_sink, ashlar::spin_lock> log{
      traced_sink{&at_write}, {.command_line = {}, .chunk_records = 4}};
  int calls = 0;
  at_write = [&] {
    ++calls;
    log.allocated(&calls, 4, 4, {});
    log.freed(&calls, 4, 4, {});
  };
  for (int i = 0; i < 100; ++i) log.mark(1);
  EXPECT_TRUE(log.close());
  EXPECT_GT(calls, 20);
  EXPECT_EQ(log.lost(), 0U);
}

TEST(trace_log, a_file_that_cannot_be_made_is_an_error_and_no_exception) {
  ashlar::trace_log<> log("/nowhere/at/all");
  log.mark(1);
  EXPECT_FALSE(log.close());
}

}  // namespace
