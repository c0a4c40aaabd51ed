// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lanes for the threads of a trace: as many as the threads that lived at once, so thousands of short threads need few.
#pragma once

#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/id_map.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A thread keeps its lane from its first operation to its end; then the next new thread gets the lane. Lane 0 is never
/// reused: it is the thread that started the replay.
///
/// Memory: O(threads), ended ones included, because later operations may refer to them.
class lane_table {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// Returns: the thread's lane. An ended thread with late frees borrows a lane for one operation.
  [[nodiscard]] std::uint32_t lane_of(std::uint32_t thread) {
    const std::uint64_t key = std::uint64_t{thread} + 1;  // 0 is not a key
    if (const std::uint32_t* lane = lanes_.find(key)) return *lane;
    const bool has_ended = ended_.find(key) != nullptr;
    if (free_.empty()) free_.push_back(count_++);
    const std::uint32_t lane = free_.back();
    if (has_ended) return lane;
    free_.pop_back();
    lanes_.insert(key, lane);
    return lane;
  }

  /// Returns: the lane that becomes free, or `none`.
  std::uint32_t end(std::uint32_t thread) {
    const std::uint64_t key = std::uint64_t{thread} + 1;
    const std::uint32_t* found = lanes_.find(key);
    if (found == nullptr || *found == 0) return none;
    const std::uint32_t lane = *found;
    free_.push_back(lane);
    lanes_.erase(key);
    ended_.insert(key, true);
    return lane;
  }

  /// Returns: the number of lanes.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  /// Returns: the number of threads that passed a lane on.
  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_.size(); }

private:
  id_map<std::uint32_t> lanes_;
  id_map<bool> ended_;
  std::vector<std::uint32_t> free_;
  std::uint32_t count_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
