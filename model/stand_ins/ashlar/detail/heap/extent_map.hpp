// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: a table that each call reads or changes.
#pragma once

#include <cstddef>
#include <utility>

#include <checker.hpp>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/page_map.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

struct slice_run {
  std::byte* data = nullptr;
  bool is_zero = false;
};
[[nodiscard]] inline void* zeroed(const slice_run& got, std::size_t) noexcept { return got.data; }

/// It has no spare extents.
template <class Upstream>
class extent_map {
public:
  extent_map(std::size_t, Upstream upstream) : upstream_(std::move(upstream)) {}

  void enter_registry(const void*) noexcept {}

  [[nodiscard]] void* take(std::size_t bytes, std::size_t alignment, bool) noexcept {
    change(1);
    return upstream_.try_allocate(bytes, alignment);
  }
  void give(const void*) noexcept { change(-1); }
  [[nodiscard]] bool resize(const void*, std::size_t) noexcept { return change(0), true; }
  [[nodiscard]] std::byte* move(void*, std::size_t, std::size_t) noexcept { return change(0), nullptr; }
  void split(void*, std::size_t) noexcept { change(0); }
  [[nodiscard]] bool charge(std::size_t) noexcept { return change(0), true; }
  void uncharge(std::size_t) noexcept { change(0); }

  void keep(void*) noexcept { change(0); }
  [[nodiscard]] std::byte* take_spare(std::size_t, std::size_t) noexcept { return change(0), nullptr; }
  [[nodiscard]] std::size_t give_spares(std::size_t) noexcept { return change(0), 0; }
  [[nodiscard]] std::size_t spare_bytes() const noexcept { return static_cast<void>(int{extents_}), 0; }
  [[nodiscard]] bool is_spare(const void*) const noexcept { return extents_ < 0; }

  [[nodiscard]] const window* find(const void*) const noexcept { return extents_ > 0 ? &found_ : nullptr; }
  template <class F>
  void for_each(F f) const {
    if (extents_ > 0) f(found_);
  }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return static_cast<std::size_t>(int{extents_}); }
  [[nodiscard]] std::size_t table_bytes() const noexcept { return held_bytes(); }
  [[nodiscard]] std::size_t charged_bytes() const noexcept { return held_bytes(); }
  [[nodiscard]] bool invariant() const noexcept { return extents_ >= 0; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }
  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }

private:
  void change(int by) noexcept { extents_ = extents_ + by; }

  static constexpr window found_{};

  Upstream upstream_;
  checker::atomics::plain<int> extents_ = 0;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
