// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frees of a pool, for the models of packets and batchers: cells, an inbox, a lock, and the promise that each cell
// arrives as often as it was freed.
#pragma once

#include <checker.hpp>
#include <cstddef>
#include <cstdint>

#include <ashlar/detail/remote_free/batcher.hpp>

namespace models {

using ashlar::detail::batch_result;
using ashlar::detail::batch_shape;
using ashlar::detail::freed_word;

template <batch_shape Shape>
using batcher = ashlar::detail::batcher<checker::atomics, Shape>;

/// The smallest shape that exercises a whole batcher: each displaced word is a packet, and there is one packet.
inline constexpr batch_shape one_packet{.packets = 1, .words = 1, .slot_count = 2};
inline constexpr std::size_t no_limit = 100;

struct cell {
  checker::atomics::plain<int> content = 0;
  int arrived = 0;  // changed by the draining thread only; read once all threads have ended
};

template <class Batcher>
class pool {
public:
  static constexpr std::size_t cell_count = 8;

  // Two cells for each word; words 0, 1 and 2 share one slot of a batcher with two, word 3 has the other slot.
  [[nodiscard]] static constexpr std::uintptr_t key_of(std::size_t index) {
    switch (index / 2) {
      case 0: return 0x1001;
      case 1: return 0x1003;
      case 2: return 0x1006;
      default: return 0x1002;
    }
  }
  [[nodiscard]] static std::uint64_t bit_of(std::size_t index) { return std::uint64_t{1} << (index % 2); }

  /// Effects: uses a cell for the last time and frees it. Returns: false if the batcher refused it.
  bool free(Batcher& batch, std::size_t index, int content) {
    cells[index].content = content;
    const batch_result said = batch.add({key_of(index), bit_of(index)});
    checker::check(said != batch_result::already_noted, "no free is taken for a double free");
    return said == batch_result::noted;
  }

  /// Effects: frees a cell; if the batcher refuses, drains everything under the lock, as a pool does.
  void free_or_drain(Batcher& batch, std::size_t index, int content) {
    if (free(batch, index, content)) return;
    lock.lock();
    take_in_with(batch);
    arrive(index);
    lock.unlock();
  }

  /// Effects: drains the inbox, and takes the noted frees of `batch` back.
  void flush_caches(Batcher& batch) {
    lock.lock();
    take_in_with(batch);
    lock.unlock();
  }

  // For the owner, or under the lock.
  void drain_inbox() {
    drain(inbox, [&](const freed_word& word) { arrive(word); });
  }
  void take_in_with(Batcher& batch) {
    drain_inbox();
    batch.hand_over([&](const freed_word& word) { arrive(word); });
  }

  void arrive(const freed_word& word) {
    checker::check(word.cells != 0 && word.cells < 4, "only cells arrive");
    const std::size_t first = first_of(word.key);
    if ((word.cells & 1) != 0) arrive(first);
    if ((word.cells & 2) != 0) arrive(first + 1);
  }
  /// The owner may hand the cell out again, so it writes to it.
  void arrive(std::size_t index) {
    cells[index].content = cells[index].content + 100;
    checker::check(++cells[index].arrived <= 2, "no cell arrives again and again");
  }

  /// Expects: all threads have ended.
  template <class... Indices>
  void check_arrived(int times, Indices... indices) const {
    (checker::check(cells[indices].arrived == times, "each cell arrives as often as it was freed"), ...);
  }

  typename Batcher::inbox_type inbox;
  checker::mutex lock;
  cell cells[cell_count];

private:
  [[nodiscard]] static std::size_t first_of(std::uintptr_t key) {
    switch (key) {
      case key_of(0): return 0;
      case key_of(2): return 2;
      case key_of(4): return 4;
      default: checker::check(key == key_of(6), "only keys of words arrive"); return 6;
    }
  }
};

}  // namespace models
