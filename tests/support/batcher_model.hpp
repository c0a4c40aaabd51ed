// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A batcher between one freeing thread and a pool, beside an oracle: the cells that are free and not yet taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/atomics.hpp>
#include <ashlar/detail/remote_free/batcher.hpp>

namespace ashlar_test {

/// Every operation checks its results, and returns whether all were right; an unexpected cell is an error for good. It
/// does not use GoogleTest, so that fuzz targets can use it too.
template <ashlar::detail::batch_shape Shape>
class batcher_model {
public:
  using batcher_type = ashlar::detail::batcher<ashlar::detail::default_atomics, Shape>;
  using packet_type = typename batcher_type::packet_type;
  using inbox_type = typename batcher_type::inbox_type;

  static constexpr std::size_t words = 72;
  static constexpr std::size_t cells = words * 64;

  explicit batcher_model(std::size_t most_held)
      : most_held_(most_held != 0 ? most_held : 1), batcher_(inbox_, most_held) {}

  /// Effects: frees a cell unless it is free, and frees it again, which must be noticed.
  bool add(std::size_t cell) {
    if (is_away_[cell] != 0) return true;
    const ashlar::detail::batch_result result = note(cell);
    if (result == ashlar::detail::batch_result::already_noted) return false;
    if (result == ashlar::detail::batch_result::refused) return is_stuck() && check();
    await(cell);
    return note(cell) == ashlar::detail::batch_result::already_noted && check();
  }

  /// As `add`; after a refusal `by_hand_over` selects one of the two remedies, which must help: the noted frees may
  /// need more packets than exist, so that one is drained repeatedly.
  bool add_whatever_it_takes(std::size_t cell, bool by_hand_over) {
    const bool was_live = is_away_[cell] == 0;
    if (!add(cell)) return false;
    if (!was_live || is_away_[cell] != 0) return true;
    for (std::size_t tries = 0; tries <= Shape.slot_count && is_away_[cell] == 0; ++tries) {
      if (!(by_hand_over ? hand_over() : drain()) || !add(cell)) return false;
      if (by_hand_over) break;
    }
    return is_away_[cell] != 0;
  }

  bool flush() {
    const bool all = batcher_.flush();
    return (all ? batcher_.noted() == 0 : is_stuck()) && check();
  }

  bool hand_over() {
    batcher_.hand_over([this](const ashlar::detail::freed_word& word) { arrive(word); });
    return batcher_.noted() == 0 && check();
  }

  bool drain() {
    if (inbox_.is_closed()) return true;
    ashlar::detail::drain(inbox_, [this](const ashlar::detail::freed_word& word) { arrive(word); });
    return inbox_.is_empty() && check();
  }

  /// Effects: the pool ends. From now on, frees in transit to it may arrive or not.
  bool close() {
    for (packet_type* each = inbox_.close(); each != nullptr;) {
      packet_type* const next = each->next;
      each->give_back();
      each = next;
    }
    is_counted_.assign(cells, 0);
    awaited_ = 0;
    return check();
  }

  /// Effects: sends and takes everything. Returns: whether every cell has arrived once, and none is left.
  bool finish() {
    bool good = drain();
    for (std::size_t tries = 0; tries <= cells && !batcher_.flush(); ++tries) good = good && drain();
    good = good && drain() && batcher_.is_idle() && awaited_ == 0 && check();
    return good;
  }

  [[nodiscard]] bool check() const { return is_good_ && batcher_.invariant() && batcher_.noted() <= most_held_; }

  [[nodiscard]] std::size_t awaited() const { return awaited_; }
  [[nodiscard]] const batcher_type& batcher() const { return batcher_; }

private:
  static constexpr std::uintptr_t first_key = 1u << 16;

  [[nodiscard]] ashlar::detail::batch_result note(std::size_t cell) {
    return batcher_.add({first_key + cell / 64, std::uint64_t{1} << (cell % 64)});
  }

  // It may refuse only while packets are in the inbox, since only `drain` reads them here.
  [[nodiscard]] bool is_stuck() const { return !inbox_.is_empty() && !inbox_.is_closed(); }

  void await(std::size_t cell) {
    is_away_[cell] = 1;
    is_counted_[cell] = inbox_.is_closed() ? 0 : 1;
    awaited_ += is_counted_[cell];
  }

  void arrive(const ashlar::detail::freed_word& word) {
    is_good_ = is_good_ && word.cells != 0 && word.key - first_key < words;
    if (!is_good_) return;
    for (std::size_t bit = 0; bit < 64; ++bit) {
      if (((word.cells >> bit) & 1) == 0) continue;
      const std::size_t cell = (word.key - first_key) * 64 + bit;
      if (is_away_[cell] == 0) is_good_ = false;
      is_away_[cell] = 0;
      awaited_ -= is_counted_[cell];
      is_counted_[cell] = 0;
    }
  }

  inbox_type inbox_;
  std::vector<unsigned char> is_away_ = std::vector<unsigned char>(cells);
  // Freed, and the pool has not ended since.
  std::vector<unsigned char> is_counted_ = std::vector<unsigned char>(cells);
  std::size_t awaited_ = 0;
  std::size_t most_held_;
  bool is_good_ = true;
  batcher_type batcher_;
};

}  // namespace ashlar_test
