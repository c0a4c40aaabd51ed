// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the bytes behind a block, of seals, and of the registry of slabs.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/os/random_bits.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::fill_slack;
using ashlar::detail::look_at_slack;
using ashlar::detail::slack_state;

constexpr std::size_t cell_bytes = 300;
// A sample has every seventh size, so each remainder by 16.
constexpr std::size_t next_size = ashlar_test::cases_of_build(7u, 1u);
using cell_type = std::array<std::byte, cell_bytes>;

// A canary is of its address: the cell stays where it is.
struct cell_of : cell_type {
  cell_of(std::size_t bytes, std::byte contents) {
    fill(contents);
    fill_slack(data(), bytes, cell_bytes);
  }
};

TEST(slack, sees_each_byte_behind_the_request) {
  for (std::size_t bytes = 0; bytes < cell_bytes; bytes += next_size)
    for (std::size_t at = bytes; at + 1 < cell_bytes; ++at) {
      cell_of cell(bytes, std::byte{0});
      cell[at] = ~cell[at];
      const slack_state found = look_at_slack(cell.data(), bytes, cell_bytes);
      ASSERT_FALSE(found.is_intact) << bytes << ' ' << at;
      ASSERT_EQ(found.allocated, bytes);
      ASSERT_EQ(found.written_to, at + 1);
    }
}

// Sizes up to the period of the canary: sizes that differ by a multiple of it have equal canaries.
TEST(slack, tells_which_size_was_asked_for) {
  for (std::size_t bytes = 0; bytes < cell_bytes; bytes += next_size)
    for (std::size_t given = 0; given < cell_bytes; ++given) {
      if (given % ashlar::detail::canary_period == bytes % ashlar::detail::canary_period) continue;
      const cell_of cell(bytes, std::byte{0xEE});
      const slack_state found = look_at_slack(cell.data(), given, cell_bytes);
      ASSERT_FALSE(found.is_intact) << bytes << ' ' << given;
      ASSERT_EQ(found.allocated, bytes) << given;
    }
}

TEST(slack, of_a_fresh_cell_is_as_of_any_other) {
  for (std::size_t size = 0; size <= 40; ++size)
    for (std::size_t bytes = 0; bytes <= size; ++bytes) {
      cell_type cell{};
      ashlar::detail::fill_fresh_slack(cell.data(), bytes, size);
      const cell_type fresh = cell;
      fill_slack(cell.data(), bytes, size);
      for (std::size_t at = bytes; at < cell.size(); ++at) ASSERT_EQ(fresh[at], cell[at]) << bytes << ' ' << size;
    }
}

TEST(slack, intact_is_distinguished_from_a_write_to_the_bytes_before_it) {
  for (std::size_t size = 0; size <= 40; ++size)
    for (std::size_t bytes = 0; bytes <= size; ++bytes) {
      cell_type cell{};
      fill_slack(cell.data(), bytes, size);
      for (std::size_t at = 0; at < size; ++at) {
        ASSERT_TRUE(ashlar::detail::is_slack_intact(cell.data(), bytes, size));
        cell[at] ^= std::byte{0x10};
        ASSERT_EQ(ashlar::detail::is_slack_intact(cell.data(), bytes, size), at < bytes)
            << at << ' ' << bytes << ' ' << size;
        cell[at] ^= std::byte{0x10};
      }
    }
}

using ashlar::detail::seal_of;

TEST(seal, changes_with_each_bit_of_each_word) {
  const int place = 0;
  const std::uintptr_t whole = seal_of(&place, std::size_t{40'000}, &place, std::size_t{0});
  for (std::size_t bit = 0; bit < 8 * sizeof(std::size_t); ++bit) {
    const std::size_t flip = std::size_t{1} << bit;
    EXPECT_NE(whole, seal_of(&place, std::size_t{40'000} ^ flip, &place, std::size_t{0}));
    EXPECT_NE(whole, seal_of(&place, std::size_t{40'000}, &place, flip));
  }
  EXPECT_EQ(whole, seal_of(&place, std::size_t{40'000}, &place, std::size_t{0}));
}

TEST(seal, changes_with_the_order_and_the_address) {
  const int places[2] = {};
  EXPECT_NE(seal_of(places, std::size_t{1}, std::size_t{2}), seal_of(places, std::size_t{2}, std::size_t{1}));
  EXPECT_NE(seal_of(places, std::size_t{1}), seal_of(places + 1, std::size_t{1}));
}

TEST(seal, of_zeroes_is_not_zero) {
  const int place = 0;
  EXPECT_NE(seal_of(&place, std::size_t{0}, static_cast<const void*>(nullptr)), 0u);
}

using ashlar::detail::registered_slab;
using ashlar::detail::slab_registry;

static_assert(std::is_empty_v<ashlar::detail::slab_registration> == !ashlar_test::is_checked);
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
    const auto found = registry.find(&slabs[asked].cells[random() % slabs[asked].cells.size()]);
    ASSERT_TRUE(found.owner == expected && (expected == nullptr || found.cell_bytes == fake_slab::cell_bytes));
    for (const auto* const beside : {&slabs[asked].gap, &slabs[asked].rest})
      ASSERT_EQ(registry.find(&(*beside)[random() % beside->size()]).owner, nullptr);
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

}  // namespace
