// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the tracing adaptor and its log: the reader finds every block again, over pools, failures and threads.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/trace_log.hpp>
#include <ashlar/adaptor/tracing.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/trace/reader.hpp>
#include <ashlar/trace/sink.hpp>

#include "tests/adaptor/roomy.hpp"
#include "tests/support/build.hpp"
#include "tests/support/live_blocks.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::new_delete_resource;
using ashlar::resource_ref;
using ashlar::tracing;
using ashlar::trace::memory_sink;
using memory_log = ashlar::trace_log<ashlar::trace::raw_codec, memory_sink>;
using shared_log = ashlar::trace_log<ashlar::trace::raw_codec, memory_sink, ashlar::spin_lock>;

static_assert(ashlar::thread_safe_resource<tracing<new_delete_resource, shared_log>>);
static_assert(sizeof(tracing<new_delete_resource>) == sizeof(void*), "which log, and nothing else");

// The totals of a trace.
struct summary {
  std::size_t allocations = 0;
  std::size_t failures = 0;
  std::size_t frees = 0;
  std::size_t live = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t lost = 0;
  std::uint64_t unknown = 0;
  std::size_t threads = 0;
  std::size_t stacks = 0;
};

summary read(const std::vector<std::byte>& bytes) {
  ashlar::trace::reader<ashlar::trace::raw_codec> r(bytes);
  summary s;
  std::map<std::uint64_t, std::uint64_t> live;
  std::set<std::uint32_t> threads;
  while (const auto e = r.next()) {
    threads.insert(e->thread);
    if (is_release(e->op)) {
      s.frees += live.erase(e->object);
    } else if (is_allocation(e->op)) {
      live.erase(e->old_object);
      ++(e->object != 0 ? s.allocations : s.failures);
      if (e->object != 0) live.emplace(e->object, e->size);
    }
  }
  EXPECT_FALSE(r.error().has_value());
  EXPECT_TRUE(r.info().complete);
  for (const auto& [object, size] : live) s.live_bytes += size;
  s.live = live.size();
  s.lost = r.counts().lost_releases;
  s.unknown = r.counts().unknown_releases;
  s.threads = threads.size();
  s.stacks = r.stacks().size();
  return s;
}

TEST(tracing, a_pool_is_read_back) {
  std::vector<std::byte> bytes;
  memory_log log{memory_sink(bytes)};
  tracing<ashlar::block_pool<>, memory_log> pool(log, ashlar::block_pool_options{.cell_bytes = 64});
  ashlar_test::live_blocks blocks(pool);
  std::mt19937 random(1);
  for (int step = 0; step < 3000; ++step) {
    if (blocks.size() == 0 || random() % 8 < 5) blocks.allocate(1 + random() % 64, 8);
    else blocks.free(random() % blocks.size());
  }
  std::size_t live_bytes = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) live_bytes += blocks[i].bytes;
  ASSERT_TRUE(log.close());
  const summary s = read(bytes);
  EXPECT_EQ(s.allocations + s.frees, 3000U);
  EXPECT_EQ(s.live, blocks.size());
  EXPECT_EQ(s.live_bytes, live_bytes);
  EXPECT_EQ(s.lost + s.unknown + s.failures, 0U);
}

TEST(tracing, a_release_frees_in_the_trace_what_was_live) {
  std::vector<std::byte> bytes;
  memory_log log{memory_sink(bytes)};
  ashlar::inline_buffer<4096> buffer;
  using ref = resource_ref<ashlar::buffer_resource>;
  tracing<ref, memory_log> arena(log, ref(buffer));
  for (int frame = 0; frame < 3; ++frame) {
    for (int i = 0; i < 10; ++i) static_cast<void>(arena.allocate(100, 8));
    arena.release();
  }
  ASSERT_TRUE(log.close());
  const summary s = read(bytes);
  EXPECT_EQ(s.allocations, 30U);
  EXPECT_EQ(s.frees, 30U);
  EXPECT_EQ(s.live + s.lost, 0U);
}

TEST(tracing, blocks_that_grow_fail_and_free_themselves_are_in_the_trace) {
  std::vector<std::byte> bytes;
  memory_log log{memory_sink(bytes)};
  tracing<ashlar_test::roomy, memory_log, ashlar::site::return_address> r(log);
  void* const p = r.allocate(10, 8);
  EXPECT_TRUE(r.try_expand(p, 10, 500, 8));
  EXPECT_EQ(r.try_allocate(5000, 8), nullptr);
  r.deallocate(p);
  const ashlar::block b = r.allocate_at_least(20, 8);
#if defined(__cpp_exceptions)
  EXPECT_ANY_THROW(static_cast<void>(r.allocate(5000, 8)));
#endif
  ASSERT_TRUE(log.close());
  const summary s = read(bytes);
  EXPECT_EQ(s.allocations, 3U);
  EXPECT_EQ(s.failures, ashlar_test::has_exceptions ? 2U : 1U);
  EXPECT_EQ(s.live_bytes, 20U);
  EXPECT_GE(s.stacks, 3U);
  r.deallocate(b.data, 20, 8);
}

TEST(tracing, threads_share_a_log_and_no_address_comes_twice) {
  std::vector<std::byte> bytes;
  shared_log log{memory_sink(bytes)};
  tracing<new_delete_resource, shared_log> r(log);
  ashlar_test::on_threads(3, [&r](std::size_t) {
    for (int i = 0; i < 2000; ++i) r.deallocate(r.allocate(32, 8), 32, 8);
  });
  ASSERT_TRUE(log.close());
  const summary s = read(bytes);
  EXPECT_EQ(s.allocations, 6000U);
  EXPECT_EQ(s.frees, 6000U);
  EXPECT_EQ(s.lost + s.unknown + s.live, 0U);
  EXPECT_EQ(s.threads, 3U);
}

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
    if (++writes == 2) ashlar::throw_bad_alloc(more.size(), 1);
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
