// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the locking adaptor: threads that share a bounded pool.
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::block_pool;
using ashlar::resource_ref;
using ashlar::synchronized;
using ashlar_test::counting_resource;

// An empty resource adds nothing to the lock, and an empty lock has no size.
static_assert(sizeof(synchronized<ashlar::new_delete_resource>) ==
              sizeof(ashlar::detail::fork_safe_lock<ashlar::spin_lock>));
static_assert(sizeof(synchronized<resource_ref<block_pool<>>, ashlar::null_lock>) == sizeof(void*));

TEST(synchronized, threads_share_a_bounded_pool_and_its_bound_is_exact) {
  constexpr std::size_t bound = 8;
  synchronized<block_pool<>> tickets(ashlar::block_pool_options{.cell_bytes = 64, .max_count = bound});
  std::atomic<std::size_t> held = 0;
  std::atomic<std::size_t> refused = 0;
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t)
    team.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        std::vector<void*> mine;
        for (int n = 0; n < 5; ++n) {
          void* const ticket = tickets.try_allocate(64, 8);
          if (ticket == nullptr) {
            ++refused;
            break;
          }
          EXPECT_LE(++held, bound);
          mine.push_back(ticket);
        }
        held -= mine.size();
        for (void* ticket : mine) tickets.deallocate(ticket, 64, 8);
      }
    });
  for (std::thread& each : team) each.join();
  EXPECT_EQ(tickets.with_upstream([](auto& pool) { return pool.live(); }), 0U);
  std::vector<void*> all;
  while (void* const ticket = tickets.try_allocate(64, 8)) all.push_back(ticket);
  EXPECT_EQ(all.size(), bound);
  for (void* ticket : all) tickets.deallocate(ticket, 64, 8);
}

}  // namespace
