// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes as operations on a pool of small slabs, beside an oracle: the ordered map of live cells and their contents.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>

#include <ashlar/base/resource.hpp>
#include <ashlar/resource/block_pool.hpp>

#include "fuzz/support.hpp"

namespace {

using ashlar_fuzz::expect;
using ashlar_fuzz::input;
using ashlar_fuzz::unreliable;

class session {
public:
  explicit session(input bytes)
      : bytes_(bytes), cell_bytes_(1u + bytes_.next()), bound_(bytes_.next() * 8u),
        pool_({.cell_bytes = cell_bytes_,
               .cell_alignment = std::size_t{1} << (bytes_.next() % 8),
               .slab_bytes = std::size_t{1024} << (bytes_.next() % 4),
               .max_count = bound_,
               .retain_slabs = bytes_.next() % 4u},
              upstream_) {}

  void run() {
    while (!bytes_.empty()) step(bytes_.next());
    check();
    if (bound_ % 16 == 0)
      while (!live_.empty()) free_at(0);
    pool_.release();
    expect(upstream_.held == 0 && pool_.live() == 0);
  }

private:
  void step(std::uint8_t operation) {
    switch (operation % 8) {
      case 0: allocate(1); break;
      case 1: allocate(bytes_.next()); break;
      case 2: free_at(bytes_.next()); break;
      case 3: free_many(bytes_.next()); break;
      case 4: shrink(); break;
      case 5: upstream_.dry = bytes_.next() % 4 == 0; break;
      case 6: check(); break;
      case 7: reserve(bytes_.next()); break;
      default: break;
    }
    expect(pool_.live() == live_.size() && pool_.live() <= bound_);
  }

  void allocate(std::size_t count) {
    for (; count != 0; --count) {
      auto* const cell = static_cast<std::uint8_t*>(pool_.try_allocate());
      expect(cell != nullptr || upstream_.dry || live_.size() == bound_);
      if (cell == nullptr) return;
      const auto above = live_.lower_bound(cell);
      expect(above == live_.end() || above->first >= cell + cell_bytes_);
      expect(above == live_.begin() || std::prev(above)->first + cell_bytes_ <= cell);
      expect(pool_.owns(cell) && pool_.owns(cell + cell_bytes_ - 1));
      std::memset(cell, ++stamp_, cell_bytes_);
      live_[cell] = stamp_;
    }
  }

  void free_at(std::size_t index) {
    if (live_.empty()) return;
    const auto leaving = std::next(live_.begin(), static_cast<std::ptrdiff_t>(index % live_.size()));
    expect(is_intact(leaving->first, leaving->second));
    pool_.deallocate(leaving->first);
    live_.erase(leaving);
  }

  void free_many(std::size_t from) {
    for (std::size_t count = live_.size() / 2; count != 0; --count) free_at(from);
  }

  void shrink() {
    const std::size_t before = upstream_.held;
    const std::size_t given = pool_.trim();
    expect(given == before - upstream_.held);
  }

  void reserve(std::size_t cells) {
    if (upstream_.dry || cells > bound_) return;  // would throw
    pool_.reserve(cells);
    expect(pool_.capacity() >= cells);
  }

  void check() {
    expect(pool_.invariant());
    auto next = live_.begin();
    pool_.for_each_live([&](void* cell) {
      expect(next != live_.end() && next->first == cell && is_intact(next->first, next->second));
      ++next;
    });
    expect(next == live_.end());
  }

  [[nodiscard]] bool is_intact(const std::uint8_t* cell, std::uint8_t stamp) const {
    return std::all_of(cell, cell + cell_bytes_, [stamp](std::uint8_t byte) { return byte == stamp; });
  }

  input bytes_;
  std::size_t cell_bytes_;
  std::size_t bound_;
  unreliable upstream_;
  ashlar::block_pool<ashlar::resource_ref<unreliable>> pool_;
  std::map<std::uint8_t*, std::uint8_t> live_;
  std::uint8_t stamp_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  session(input(data, size)).run();
  return 0;
}
