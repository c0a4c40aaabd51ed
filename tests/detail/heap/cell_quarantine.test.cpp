// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the quarantine of cells: its limits in cells and bytes, of one and of all, and its order of chance.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/detail/heap/cell_quarantine.hpp>

namespace {

using ashlar::detail::cell_batch;
using ashlar::detail::cell_quarantine;

constexpr std::size_t largest = 32768;

class cell_quarantine_test : public ::testing::Test {
protected:
  // Puts a group at the next address. Returns: the places of those that have left.
  std::vector<std::size_t> put(std::size_t cell_bytes, std::uint64_t mask = 1) {
    std::vector<std::size_t> left;
    std::byte* const base = &addresses_[bytes_of_.size()];
    bytes_of_.push_back(ashlar::detail::count_bits(mask) * cell_bytes);
    waiting_.put({base, mask}, cell_bytes, [&](const cell_batch& each) {
      left.push_back(place_of(each));
      return bytes_of_[left.back()];
    });
    EXPECT_TRUE(is_right());
    return left;
  }

  [[nodiscard]] std::size_t place_of(const cell_batch& group) const {
    return static_cast<std::size_t>(group.base - addresses_.data());
  }
  [[nodiscard]] bool is_right() const {
    return waiting_.invariant([this](const cell_batch& each) { return bytes_of_[place_of(each)]; });
  }

  std::array<std::byte, 20000> addresses_;
  std::vector<std::size_t> bytes_of_;
  cell_quarantine waiting_;
};

TEST_F(cell_quarantine_test, has_room_for_a_number_of_cells) {
  std::size_t waiting = 0;
  for (int i = 0; i < 200; ++i) waiting += 32 - 32 * put(16, 0xffff'ffff).size();
  EXPECT_LE(waiting, cell_quarantine::most);
  EXPECT_GT(waiting, cell_quarantine::most / 2);
  EXPECT_EQ(waiting_.bytes(), waiting * 16);
}

TEST_F(cell_quarantine_test, has_room_for_a_number_of_bytes) {
  for (int i = 0; i < 2000; ++i) static_cast<void>(put(largest));
  EXPECT_LE(waiting_.bytes(), cell_quarantine::most_bytes);
  EXPECT_GT(waiting_.bytes(), cell_quarantine::most_bytes / 2);
}

TEST_F(cell_quarantine_test, shares_the_bytes_of_the_process) {
  constexpr std::size_t many = 100;
  std::list<cell_quarantine> others(many);
  const cell_batch any{addresses_.data(), 1};
  const auto leave = [](const cell_batch&) { return largest; };
  std::size_t bytes = 0;
  for (cell_quarantine& each : others) {
    for (int i = 0; i < 300; ++i) each.put(any, largest, leave);
    EXPECT_GT(each.bytes(), 0u) << "each has room of its own";
    bytes += each.bytes();
  }
  EXPECT_LE(bytes, cell_quarantine::common_bytes + many * cell_quarantine::own_bytes);
  others.clear();
  for (int i = 0; i < 300; ++i) static_cast<void>(put(largest));
  EXPECT_GT(waiting_.bytes(), cell_quarantine::most_bytes / 2) << "the end of the others gives their share back";
}

TEST_F(cell_quarantine_test, lets_each_go_once_in_an_order_of_chance) {
  constexpr std::size_t puts = 10000;
  std::map<std::size_t, std::size_t> waits;
  std::size_t least = puts, most = 0;
  for (std::size_t i = 0; i < puts; ++i)
    for (const std::size_t each : put(16)) {
      EXPECT_TRUE(waits.emplace(each, i - each).second);
      least = std::min(least, i - each);
      most = std::max(most, i - each);
    }
  EXPECT_GT(least, cell_quarantine::most / 2);
  EXPECT_GT(most, cell_quarantine::most * 3 / 2);
  std::set<std::size_t> rest;
  waiting_.clear([&](const cell_batch& each) { return rest.insert(place_of(each)).second ? std::size_t{16} : 0; });
  for (const std::size_t each : rest) EXPECT_FALSE(waits.contains(each));
  EXPECT_EQ(waits.size() + rest.size(), puts);
  EXPECT_EQ(waiting_.bytes(), 0u);
}

TEST_F(cell_quarantine_test, forgets) {
  for (int i = 0; i < 100; ++i) static_cast<void>(put(1024));
  waiting_.forget();
  EXPECT_TRUE(is_right());
  waiting_.clear([](const cell_batch&) -> std::size_t {
    ADD_FAILURE();
    return 0;
  });
}

TEST_F(cell_quarantine_test, notes_a_wrong_cell) {
  static_cast<void>(put(64));
  EXPECT_FALSE(waiting_.invariant([](const cell_batch&) { return std::size_t{0}; }));
  EXPECT_FALSE(waiting_.invariant([](const cell_batch&) { return std::size_t{128}; }));
}

}  // namespace
