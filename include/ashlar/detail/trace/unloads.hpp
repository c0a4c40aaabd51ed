// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Modules that the program has unloaded: other modules may have come to their addresses.
//
//     stack ids      1 ........ 40 | 41 ........ 70 | 71 ...
//     at 0x7f10...   plugin one    | plugin two     | plugin three
//
// A reader moves all but one of them to addresses that no program has, with the frames of their stacks, so that an
// address has one module again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/trace_tables.hpp>
#include <ashlar/detail/trace/varint.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

/// Of the first `modules` of the trace, those that begin at `begin` are in no stack after `last_stack`.
struct unload {
  std::uint32_t last_stack = 0;
  std::uint32_t modules = 0;
  std::uint64_t begin = 0;
};

/// Returns: the largest size of a payload with one unload, in bytes.
inline constexpr std::size_t unload_bound = 3 * max_varint_bytes;

constexpr std::byte* put_unload(std::byte* to, const unload& u) noexcept {
  return put_varint(put_varint(put_varint(to, u.last_stack), u.modules), u.begin);
}

[[nodiscard]] inline bool get_unloads(std::span<const std::byte> payload, std::uint32_t count,
                                      std::vector<unload>& unloads) {
  byte_cursor from(payload);
  for (std::uint32_t i = 0; i < count && from.ok(); ++i) {
    const std::uint64_t last_stack = from.varint(), modules = from.varint(), begin = from.varint();
    if (last_stack > UINT32_MAX || modules > UINT32_MAX) return false;
    unloads.push_back({static_cast<std::uint32_t>(last_stack), static_cast<std::uint32_t>(modules), begin});
  }
  return from.ok() && from.at_end();
}

/// Gives each address of a trace one module.
class module_separator {
public:
  module_separator(std::span<const unload> unloads, std::vector<trace::mapped_module>& modules)
      : modules_(modules), last_stack_(modules.size(), never), shift_(modules.size(), 0) {
    end_lives(unloads);
    find_shared_places();
  }

  /// Effects: moves modules, and the frames of their stacks.
  void apply(trace::stack_table& stacks) {
    if (shared_.empty()) return;
    trace::stack_table moved;
    std::vector<std::uint64_t> frames;
    for (std::uint32_t id = 1; id <= stacks.size(); ++id) {
      frames.assign(stacks[id].begin(), stacks[id].end());
      for (std::uint64_t& frame : frames) frame += shift_of(frame, id);
      moved.add(frames);
    }
    stacks = std::move(moved);
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      modules_[i].begin += shift_[i];
      modules_[i].end += shift_[i];
      modules_[i].bias += shift_[i];
    }
  }

private:
  static constexpr std::uint32_t never = UINT32_MAX;
  static constexpr std::uint64_t page = 4096, most_bytes = std::uint64_t{1} << 40;

  /// Addresses that several modules had, one after the other.
  struct place {
    std::uint64_t begin = 0, end = 0;
    std::vector<std::size_t> modules;
  };

  void end_lives(std::span<const unload> unloads) {
    struct sequence {
      std::vector<std::size_t> modules;
      std::size_t gone = 0;
    };
    std::map<std::uint64_t, sequence> by_begin;
    for (std::size_t i = 0; i < modules_.size(); ++i) by_begin[modules_[i].begin].modules.push_back(i);
    for (const unload& u : unloads) {
      const auto found = by_begin.find(u.begin);
      if (found == by_begin.end()) continue;
      auto& [all, gone] = found->second;
      for (; gone < all.size() && all[gone] < u.modules; ++gone) last_stack_[all[gone]] = u.last_stack;
    }
  }

  void find_shared_places() {
    std::vector<std::size_t> order(modules_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return std::tuple(modules_[a].begin, a) < std::tuple(modules_[b].begin, b);
    });
    place now;
    for (const std::size_t i : order) {
      if (modules_[i].begin >= now.end) {
        share(now);
        now = {modules_[i].begin, 0, {}};
      }
      now.end = std::max(now.end, modules_[i].end);
      now.modules.push_back(i);
    }
    share(now);
  }

  void share(place& among) {
    const auto is_same = [&](std::size_t i) {
      const trace::mapped_module &a = modules_[i], &b = modules_[among.modules.front()];
      return std::tie(a.bias, a.path, a.build_id) == std::tie(b.bias, b.path, b.build_id);
    };
    if (std::all_of(among.modules.begin(), among.modules.end(), is_same)) return;
    bool any = false;
    for (const std::size_t i : among.modules) {
      const std::uint64_t bytes = modules_[i].end - modules_[i].begin;
      if (last_stack_[i] == never || bytes > most_bytes) continue;
      shift_[i] = next_ - modules_[i].begin / page * page;
      next_ += (bytes / page + 2) * page;
      any = true;
    }
    if (any) shared_.push_back(std::move(among));
  }

  /// A stack is of the module that was unloaded first after it.
  [[nodiscard]] std::uint64_t shift_of(std::uint64_t frame, std::uint32_t stack) const {
    const auto after = std::upper_bound(shared_.begin(), shared_.end(), frame,
                                        [](std::uint64_t at, const place& p) { return at < p.begin; });
    if (after == shared_.begin() || frame >= std::prev(after)->end) return 0;
    std::uint64_t shift = 0;
    std::uint64_t soonest = std::uint64_t{never} + 1;
    for (const std::size_t i : std::prev(after)->modules) {
      const bool is_alive = modules_[i].begin <= frame && frame < modules_[i].end && last_stack_[i] >= stack;
      if (!is_alive || last_stack_[i] >= soonest) continue;
      soonest = last_stack_[i];
      shift = shift_[i];
    }
    return shift;
  }

  std::vector<trace::mapped_module>& modules_;
  std::vector<std::uint32_t> last_stack_;  // of each module
  std::vector<std::uint64_t> shift_;       // of each module, modulo 2^64
  std::vector<place> shared_;              // in ascending order
  std::uint64_t next_ = std::uint64_t{1} << 62;
};

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
