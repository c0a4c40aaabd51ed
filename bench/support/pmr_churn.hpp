// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The workloads of engines on a heap, as loops over any resource: batches, churn of mixed sizes, frames, components.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include "keep.hpp"

namespace bench {

struct sized_block {
  void* data = nullptr;
  std::size_t bytes = 0;
};

// The workloads and one window of each, about 50,000 allocations and their frees. Sizes and orders are drawn in
// advance, so that the loops do nothing else.
class pmr_churn {
public:
  static constexpr std::array<std::string_view, 7> names{"lifo", "fifo",  "random",   "mixed",
                                                         "log",  "frame", "component"};

  explicit pmr_churn(std::string_view name) : name_(name), batch_(1000), order_(batch_.size()), places_(1 << 16) {
    std::mt19937 random(42);
    live_.resize(name == "component" ? 10'000 : 4096);
    for (std::uint32_t& place : places_) place = random() % static_cast<std::uint32_t>(live_.size());
    draw_sizes(random);
    std::iota(order_.begin(), order_.end(), 0U);
    if (name == "lifo") std::reverse(order_.begin(), order_.end());
    if (name == "random") std::shuffle(order_.begin(), order_.end(), random);
  }

  // Returns: the number of blocks allocated and freed.
  template <class Peer>
  std::size_t run_window(Peer& peer) {
    if (name_ == "frame") return run_frames(peer);
    if (name_ == "mixed" || name_ == "log" || name_ == "component") return run_replacing(peer);
    return run_batches(peer);
  }

  template <class Peer>
  void finish(Peer& peer) {
    for (sized_block& each : live_)
      if (each.data != nullptr) peer.deallocate(each.data, each.bytes);
  }

private:
  static constexpr std::size_t batches_per_window = 50;
  static constexpr std::size_t frame_blocks = 2000;

  void draw_sizes(std::mt19937& random) {
    constexpr std::array<std::size_t, 4> components{32, 48, 96, 160};
    std::uniform_real_distribution<double> exponent(4, 15);
    sizes_.resize(places_.size());
    for (std::size_t& bytes : sizes_) {
      if (name_ == "log") bytes = static_cast<std::size_t>(std::exp2(exponent(random)));
      else if (name_ == "component") bytes = components[random() % components.size()];
      else bytes = 16 + random() % 241;
    }
  }

  template <class Peer>
  static void* use(Peer& peer, std::size_t bytes) {
    void* const p = peer.allocate(bytes);
    *static_cast<std::uint64_t*>(p) = bytes;  // as any caller does
    return p;
  }

  template <class Peer>
  std::size_t run_batches(Peer& peer) {
    for (std::size_t round = 0; round < batches_per_window; ++round) {
      for (void*& p : batch_) p = use(peer, 64);
      for (const std::uint32_t i : order_) peer.deallocate(batch_[i], 64);
      escape(batch_.data());
    }
    return batches_per_window * batch_.size();
  }

  // At each place in turn: frees the block there and allocates another.
  template <class Peer>
  std::size_t run_replacing(Peer& peer) {
    shift_ = (shift_ + 7919) % sizes_.size();
    for (std::size_t i = 0; i < places_.size(); ++i) {
      sized_block& block = live_[places_[i]];
      if (block.data != nullptr) peer.deallocate(block.data, block.bytes);
      block.bytes = sizes_[(i + shift_) % sizes_.size()];
      block.data = use(peer, block.bytes);
    }
    return places_.size();
  }

  template <class Peer>
  std::size_t run_frames(Peer& peer) {
    constexpr std::size_t frames = 25;
    for (std::size_t frame = 0; frame < frames; ++frame) {
      for (std::size_t i = 0; i < frame_blocks; ++i) {
        live_[i].bytes = sizes_[i + frame];
        live_[i].data = use(peer, live_[i].bytes);
      }
      for (std::size_t i = 0; i < frame_blocks; ++i) {
        peer.deallocate(live_[i].data, live_[i].bytes);
        live_[i].data = nullptr;
      }
    }
    return frames * frame_blocks;
  }

  std::string_view name_;
  std::vector<void*> batch_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> places_;
  std::vector<std::size_t> sizes_;
  std::vector<sized_block> live_;
  std::size_t shift_ = 0;
};

}  // namespace bench
