// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes as operations on any resource, beside an oracle: the ordered map of live blocks and their contents.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>

#include "fuzz/support.hpp"

namespace ashlar_fuzz {

/// Calls of `R` and of each of its refinements. `may_refuse()`: whether a refusal is no fault of `R`.
template <class R, class MayRefuse>
class resource_session {
public:
  resource_session(input& bytes, R& r, unreliable& upstream, MayRefuse may_refuse)
      : bytes_(bytes), r_(r), upstream_(upstream), may_refuse_(may_refuse) {}

  void run() {
    while (!bytes_.empty()) step(bytes_.next());
    check();
    while (!live_.empty()) free_at(0);
  }

private:
  struct entry {
    std::size_t bytes, alignment;
    std::uint8_t stamp;
  };
  using map = std::map<std::uint8_t*, entry>;

  void step(std::uint8_t operation) {
    switch (operation % 8) {
      case 0:
      case 1: allocate(bytes_.size(9), 1); break;
      case 2: allocate(bytes_.size(5), std::size_t{1} << (bytes_.next() % 10)); break;
      case 3: free_at(bytes_.next()); break;
      case 4: expand(bytes_.next(), bytes_.size(7)); break;
      case 5: upstream_.dry = bytes_.next() % 4 == 0; break;
      case 6: check(); break;
      case 7: free_many(bytes_.next()); break;
      default: break;
    }
  }

  void allocate(std::size_t bytes, std::size_t alignment) {
    auto* const p = static_cast<std::uint8_t*>(ashlar::try_allocate_from(r_, bytes, alignment));
    expect(p != nullptr || may_refuse_());
    if (p == nullptr) return;
    expect(ashlar::is_aligned(p, alignment));
    if constexpr (ashlar::owning_resource<R>) expect(r_.owns(p));
    const auto above = live_.lower_bound(p);
    expect(above == live_.end() || above->first >= p + std::max(bytes, std::size_t{1}));
    expect(above == live_.begin() || end_of(*std::prev(above)) <= p);
    hold(p, {bytes, alignment, ++stamp_});
  }

  void hold(std::uint8_t* p, const entry& what) {
    std::memset(p, what.stamp, what.bytes);
    live_[p] = what;
  }

  void free_at(std::size_t index) {
    if (live_.empty()) return;
    const auto leaving = std::next(live_.begin(), static_cast<std::ptrdiff_t>(index % live_.size()));
    expect(is_intact(*leaving));
    const auto [p, what] = *leaving;
    live_.erase(leaving);
    r_.deallocate(p, what.bytes, what.alignment);
  }

  void free_many(std::size_t from) {
    for (std::size_t count = live_.size() / 2; count != 0; --count) free_at(from + count);
  }

  void expand(std::size_t index, std::size_t wanted) {
    if constexpr (ashlar::expanding_resource<R>) {
      if (live_.empty()) return;
      const auto it = std::next(live_.begin(), static_cast<std::ptrdiff_t>(index % live_.size()));
      auto& [p, what] = *it;
      if (!r_.try_expand(p, what.bytes, wanted, what.alignment)) return expect(is_intact(*it));
      what.bytes = std::min(what.bytes, wanted);
      expect(is_intact(*it));
      expect(std::next(it) == live_.end() || p + wanted <= std::next(it)->first);
      hold(p, {wanted, what.alignment, what.stamp});
    }
  }

  void check() const {
    if constexpr (requires { r_.invariant(); }) expect(r_.invariant());
    expect(std::all_of(live_.begin(), live_.end(), &is_intact));
  }

  [[nodiscard]] static std::uint8_t* end_of(const map::value_type& each) {
    return each.first + std::max(each.second.bytes, std::size_t{1});
  }
  [[nodiscard]] static bool is_intact(const map::value_type& each) {
    return std::all_of(each.first, each.first + each.second.bytes,
                       [&](std::uint8_t byte) { return byte == each.second.stamp; });
  }

  input& bytes_;
  R& r_;
  unreliable& upstream_;
  MayRefuse may_refuse_;
  map live_;
  std::uint8_t stamp_ = 0;
};

/// Effects: runs the operations of `bytes` on `r`, and gives all blocks back.
template <class R, class MayRefuse>
void use_resource(input& bytes, R& r, unreliable& upstream, MayRefuse may_refuse) {
  resource_session<R, MayRefuse>(bytes, r, upstream, may_refuse).run();
}

}  // namespace ashlar_fuzz
