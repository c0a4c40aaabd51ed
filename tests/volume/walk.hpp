// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A walk of a hundred megabytes through a resource: blocks of all sizes, freed at random, with their contents compared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/stamped_block.hpp"
#include "tests/support/stress.hpp"
#include "tests/volume/growing_memory.hpp"

namespace ashlar_test {

/// Blocks with a stamp in each page, so that a page that went away too early shows.
class volume_walk {
public:
  volume_walk(growing_memory& through, const growing_traits& traits, std::size_t bytes)
      : memory_(through), traits_(traits), most_bytes_(bytes / traits.share) {}
  volume_walk(const volume_walk&) = delete;
  volume_walk& operator=(const volume_walk&) = delete;
  ~volume_walk() { free_down_to(0); }

  /// Effects: allocates blocks until they have all bytes, or memory is refused.
  void fill() {
    while (live_bytes_ < most_bytes_ && add(next_bytes())) {
    }
    EXPECT_TRUE(memory_.invariant());
  }

  /// Effects: frees blocks at random until they have at most `bytes`.
  void free_down_to(std::size_t bytes) {
    while (!blocks_.empty() && live_bytes_ > bytes) free(traits_.any_order ? any() : blocks_.size() - 1);
    EXPECT_TRUE(memory_.invariant());
  }

  [[nodiscard]] std::size_t live_bytes() const { return live_bytes_; }

private:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t alignment = 8;

  [[nodiscard]] std::size_t below(std::size_t end) { return random_() % end; }
  [[nodiscard]] std::size_t any() { return below(blocks_.size()); }

  [[nodiscard]] std::size_t next_bytes() {
    if (traits_.larger_one_of == 0) return traits_.small_bytes;
    if (below(10 * traits_.larger_one_of) == 0) return 1 + below(std::size_t{12} << 20);
    if (below(traits_.larger_one_of) == 0) return 1 + below(std::size_t{256} << 10);
    return 1 + below(traits_.small_bytes);
  }

  bool add(std::size_t bytes) {
    void* const p = memory_.try_allocate(bytes, alignment);
    if (p == nullptr) return false;
    const stamped_block made{p, bytes, ++stamp_};
    each_page(made, [](const stamped_block& part) { part.write(); });
    blocks_.push_back(made);
    live_bytes_ += bytes;
    return true;
  }

  void free(std::size_t index) {
    std::swap(blocks_[index], blocks_.back());
    const stamped_block leaving = blocks_.back();
    blocks_.pop_back();
    bool is_intact = true;
    each_page(leaving, [&](const stamped_block& part) { is_intact = is_intact && part.is_intact(); });
    ASSERT_TRUE(is_intact) << leaving.bytes << " bytes at " << leaving.p;
    live_bytes_ -= leaving.bytes;
    memory_.deallocate(leaving.p, leaving.bytes, alignment);
  }

  template <class F>
  static void each_page(const stamped_block& of, F f) {
    for (std::size_t at = 0; at < of.bytes; at += page)
      f(stamped_block{static_cast<std::byte*>(of.p) + at, std::min(page, of.bytes - at), of.stamp});
  }

  growing_memory& memory_;
  growing_traits traits_;
  std::size_t most_bytes_;
  std::size_t live_bytes_ = 0;
  std::uint64_t stamp_ = 0;
  std::vector<stamped_block> blocks_;
  std::minstd_rand random_;
};

}  // namespace ashlar_test
