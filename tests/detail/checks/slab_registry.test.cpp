// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the registry of slabs against a sorted list, with one thread and with several.
#include <ashlar/detail/checks/slab_registry.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::cell_place;
using ashlar::detail::registered_slab;
using ashlar::detail::slab_registry;

static_assert(std::is_empty_v<ashlar::detail::slab_registration_if_checked> == !ashlar_test::is_checked);
static_assert(noexcept(ashlar::detail::process_slabs.find(nullptr)));

// A slab as pools make it: the entry, a gap, 8 cells of 24 bytes, and bytes without an owner.
struct fake_slab {
  static constexpr std::size_t cell_bytes = 24;
  registered_slab line;
  std::array<std::byte, 40> gap;
  std::array<std::byte, 8 * cell_bytes> cells;
  std::array<std::byte, 40> rest;

  void enter(slab_registry& into) {
    line.owner = this;
    line.cells = cells.data();
    line.bytes = static_cast<std::uint32_t>(cells.size());
    line.cell_bytes = cell_bytes;
    into.enter(line);
  }
};

TEST(slab_registry, knows_every_byte_of_the_cells_and_none_beside_them) {
  slab_registry registry;
  fake_slab slab;
  slab.enter(registry);
  for (const std::byte& byte : slab.cells) {
    const ashlar::detail::cell_place place = registry.find(&byte);
    EXPECT_EQ(place.owner, &slab);
    EXPECT_EQ(place.cell_bytes, fake_slab::cell_bytes);
  }
  EXPECT_EQ(registry.find(&slab).owner, nullptr);
  for (const std::byte& byte : slab.gap) EXPECT_EQ(registry.find(&byte).owner, nullptr);
  for (const std::byte& byte : slab.rest) EXPECT_EQ(registry.find(&byte).owner, nullptr);
  EXPECT_EQ(registry.find(reinterpret_cast<const void*>(ashlar::detail::max_size)).owner, nullptr);
  registry.leave(slab.line);
  EXPECT_EQ(registry.find(slab.cells.data()).owner, nullptr);
}

TEST(slab_registry, agrees_with_a_list_while_slabs_come_and_go) {
  slab_registry registry;
  std::vector<fake_slab> slabs(300);
  std::vector<bool> entered(slabs.size(), false);
  std::mt19937 random(1);
  for (int step = 0; step < 5000; ++step) {
    const std::size_t which = random() % slabs.size();
    entered[which] ? registry.leave(slabs[which].line) : slabs[which].enter(registry);
    entered[which] = !entered[which];
    const std::size_t asked = random() % slabs.size();
    const void* const expected = entered[asked] ? &slabs[asked] : nullptr;
    ASSERT_EQ(registry.find(&slabs[asked].cells[random() % slabs[asked].cells.size()]).owner, expected);
  }
  EXPECT_TRUE(registry.invariant());
}

TEST(slab_registry, serves_threads) {
  slab_registry registry;
  std::atomic<int> wrong = 0;
  const auto work = [&] {
    const auto slabs = std::make_unique<std::array<fake_slab, 20>>();
    for (int round = 0; round < 200; ++round) {
      for (fake_slab& each : *slabs) each.enter(registry);
      for (fake_slab& each : *slabs)
        if (registry.find(each.cells.data()).owner != &each) ++wrong;
      for (fake_slab& each : *slabs) registry.leave(each.line);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(registry.invariant());
}

TEST(slab_registry, no_slab_enters_while_it_is_held) {
  slab_registry registry;
  fake_slab slab;
  std::atomic<bool> entered = false;
  registry.lock();
  std::thread other([&] {
    slab.enter(registry);
    entered = true;
  });
  std::this_thread::yield();
  EXPECT_FALSE(entered);
  registry.unlock();
  other.join();
  EXPECT_EQ(registry.find(slab.cells.data()).owner, &slab);
}

}  // namespace
