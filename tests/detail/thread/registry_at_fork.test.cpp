// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that a child can use pools while the parent's other threads change the registry of slabs.
#include <ashlar/detail/thread/fork_safe_lock.hpp>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/support/child.hpp"
#include "tests/support/deadline.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar_test::child_does;

bool allocates(auto& pool) {
  std::vector<void*> cells(200);
  for (void*& each : cells) each = pool.allocate();
  for (void* const each : cells) pool.deallocate(each);
  return pool.live() == 0;
}

// Makes and destroys pools of one slab each.
class restless {
public:
  ~restless() {
    stop_ = true;
    thread_.join();
  }

private:
  void work() const {
    while (!stop_.load(std::memory_order_relaxed)) {
      ashlar::block_pool<ashlar::new_delete_resource> own({.cell_bytes = 64, .slab_bytes = 4096, .retain_slabs = 0});
      for (int i = 0; i < 50; ++i) own.deallocate(own.allocate());
    }
  }

  std::atomic<bool> stop_ = false;
  std::thread thread_{[this] { work(); }};
};

TEST(registry_at_fork, a_child_uses_shared_pools_and_its_own) {
  const ashlar_test::deadline hang;
  ashlar::shared_block_pool shared({.cell_bytes = 4000});
  ashlar::block_pool own({.cell_bytes = 4000});
  shared.deallocate(shared.allocate());
  const restless other;
  for (std::size_t round = 0; round < ashlar_test::stress_rounds(300); ++round)
    ASSERT_TRUE(child_does([&] { return allocates(shared) && allocates(own); })) << "in round " << round;
}

TEST(registry_at_fork, a_fork_waits_for_the_holder_of_the_registry) {
  if constexpr (ashlar::checking_level < ashlar::checking::checked) GTEST_SKIP() << "level fast has no registry";
  const ashlar_test::deadline hang;
  ashlar::detail::registry_at_fork::enter();
  std::atomic<bool> held = false;
  std::atomic<bool> released = false;
  std::thread holder([&] {
    ashlar::detail::process_slabs.lock();
    held = true;
    ::usleep(50'000);
    released = true;
    ashlar::detail::process_slabs.unlock();
  });
  while (!held) std::this_thread::yield();
  EXPECT_TRUE(child_does([&] { return released && ashlar::detail::process_slabs.find(&held).owner == nullptr; }));
  holder.join();
  EXPECT_EQ(ashlar::detail::process_slabs.find(&held).owner, nullptr);
}

}  // namespace
