// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lanes for the threads of a trace: as many as ever lived at once, so that thousands of short threads need few.
#pragma once

#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/study/id_map.hpp>

namespace ashlar::inline ASHLAR_ABI::study {

/// A thread keeps its lane from its first operation to its end; then the lane is the next newcomer's.
class lane_table {
public:
  [[nodiscard]] std::uint32_t lane_of(std::uint32_t thread) {
    const std::uint64_t key = std::uint64_t{thread} + 1;  // 0 is no key
    if (const std::uint32_t* lane = lanes_.find(key)) return *lane;
    const std::uint32_t lane = free_.empty() ? count_++ : free_.back();
    if (!free_.empty()) free_.pop_back();
    lanes_.insert(key, lane);
    return lane;
  }

  void end(std::uint32_t thread) {
    const std::uint64_t key = std::uint64_t{thread} + 1;
    const std::uint32_t* lane = lanes_.find(key);
    if (lane == nullptr) return;
    free_.push_back(*lane);
    lanes_.erase(key);
  }

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

private:
  id_map<std::uint32_t> lanes_;
  std::vector<std::uint32_t> free_;
  std::uint32_t count_ = 0;
};

}  // namespace ashlar::inline ASHLAR_ABI::study
