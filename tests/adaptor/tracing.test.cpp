// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the tracing adaptor: the reader finds every block again, over pools, releases, failures and threads.
#include <ashlar/adaptor/tracing.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/trace_log.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/trace/reader.hpp>

#include "tests/adaptor/roomy.hpp"
#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::new_delete_resource;
using ashlar::resource_ref;
using ashlar::tracing;
using ashlar::trace::memory_sink;
using ashlar_test::counting_resource;
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
  std::vector<std::pair<void*, std::size_t>> held;
  std::mt19937 random(1);
  std::size_t live_bytes = 0;
  for (int step = 0; step < 3000; ++step) {
    if (held.empty() || random() % 8 < 5) {
      const std::size_t size = 1 + random() % 64;
      held.emplace_back(pool.allocate(size, 8), size);
      live_bytes += size;
    } else {
      std::swap(held[random() % held.size()], held.back());
      pool.deallocate(held.back().first, held.back().second, 8);
      live_bytes -= held.back().second;
      held.pop_back();
    }
  }
  ASSERT_TRUE(log.close());
  const summary s = read(bytes);
  EXPECT_EQ(s.allocations + s.frees, 3000U);
  EXPECT_EQ(s.live, held.size());
  EXPECT_EQ(s.live_bytes, live_bytes);
  EXPECT_EQ(s.lost + s.unknown + s.failures, 0U);
  for (const auto& [p, size] : held) pool.deallocate(p, size, 8);
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
  std::vector<std::thread> team;
  for (int t = 0; t < 3; ++t)
    team.emplace_back([&r] {
      for (int i = 0; i < 2000; ++i) r.deallocate(r.allocate(32, 8), 32, 8);
    });
  for (std::thread& each : team) each.join();
  ASSERT_TRUE(log.close());
  const summary s = read(bytes);
  EXPECT_EQ(s.allocations, 6000U);
  EXPECT_EQ(s.frees, 6000U);
  EXPECT_EQ(s.lost + s.unknown + s.live, 0U);
  EXPECT_EQ(s.threads, 3U);
}

}  // namespace
