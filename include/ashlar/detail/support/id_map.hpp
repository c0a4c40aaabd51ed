// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A hash map from object ids to small values: the state of live objects in studies of a trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Open addressing with linear probing. Erasing moves later entries back, so there are no tombstones, and memory is
/// proportional to the largest number of entries at once.
///
/// Invariant: every entry is reachable from its home without crossing an empty place. The key 0 means empty.
template <class T>
class id_map {
public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Effects: prefetches the place of `id`.
  void expect(std::uint64_t id) const noexcept {
    if (size_ != 0) ASHLAR_FETCH_TO_WRITE(&places_[home(id)]);
  }

  /// Returns: the value of `id`, or null. Valid until the next insert or erase. Expects: `id != 0`.
  [[nodiscard]] T* find(std::uint64_t id) noexcept {
    if (size_ == 0) return nullptr;
    place& p = places_[probe(id)];
    return p.id == id ? &p.value : nullptr;
  }

  /// Returns: false, without a change, if `id` is present. Expects: `id != 0`.
  bool insert(std::uint64_t id, T value) {
    if ((size_ + 1) * 4 > places_.size() * 3) grow();
    place& p = places_[probe(id)];
    if (p.id == id) return false;
    p = place{id, std::move(value)};
    ++size_;
    return true;
  }

  /// Returns: whether `id` was present.
  bool erase(std::uint64_t id) noexcept {
    if (size_ == 0) return false;
    std::size_t hole = probe(id);
    if (places_[hole].id != id) return false;
    close(hole);
    --size_;
    return true;
  }

  /// Effects: calls `f(id, value)` for each entry, in no order.
  template <class F>
  void for_each(F&& f) const {
    for (const place& p : places_)
      if (p.id != 0) f(p.id, p.value);
  }

private:
  struct place {
    std::uint64_t id = 0;
    T value{};
  };

  // Fibonacci hashing: consecutive ids, which recorders produce, get distant and evenly spread homes.
  [[nodiscard]] std::size_t home(std::uint64_t id) const noexcept {
    return static_cast<std::size_t>((id * 0x9E3779B97F4A7C15u) >> 32) & (places_.size() - 1);
  }
  [[nodiscard]] std::size_t next(std::size_t i) const noexcept { return (i + 1) & (places_.size() - 1); }

  [[nodiscard]] std::size_t probe(std::uint64_t id) const noexcept {
    std::size_t i = home(id);
    while (places_[i].id != 0 && places_[i].id != id) i = next(i);
    return i;
  }

  void close(std::size_t hole) noexcept {
    const std::size_t mask = places_.size() - 1;
    for (std::size_t i = next(hole); places_[i].id != 0; i = next(i)) {
      // An entry may move back into the hole only if its home is not between the two.
      if (((i - home(places_[i].id)) & mask) < ((i - hole) & mask)) continue;
      places_[hole] = std::move(places_[i]);
      hole = i;
    }
    places_[hole] = place{};
  }

  void grow() {
    std::vector<place> old(places_.empty() ? 64 : places_.size() * 2);
    old.swap(places_);
    for (place& p : old)
      if (p.id != 0) places_[probe(p.id)] = std::move(p);
  }

  std::vector<place> places_;
  std::size_t size_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
