// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many bytes are live at once: the bound that no layout can beat, and the section that forces it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/model.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// Bytes needed at the worst section, and which section that is.
struct load_bound {
  std::uint64_t height = 0;
  std::uint32_t section = 0;
};

/// Returns: the bytes occupied in each section. Complexity: O(pieces + sections).
[[nodiscard]] inline std::vector<std::uint64_t> section_loads(const model& m) {
  std::vector<std::uint64_t> load(m.sections + std::size_t{1}, 0);
  for (const piece& p : m.pieces) {
    load[p.first] += p.high - p.low;
    load[p.last] -= p.high - p.low;  // wraps; the running sum below does not
  }
  for (std::uint32_t s = 1; s < m.sections; ++s) load[s] += load[s - 1];
  load.resize(m.sections);
  return load;
}

namespace detail {

[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t power_of_two) noexcept {
  return (n + power_of_two - 1) & ~(power_of_two - 1);
}

[[nodiscard]] inline bool starts_at_offset(const model& m) noexcept {
  return std::all_of(m.pieces.begin(), m.pieces.end(), [](const piece& p) { return p.low == 0; });
}

[[nodiscard]] inline std::uint64_t common_alignment(const model& m) noexcept {
  std::uint64_t common = m.items.empty() ? 1 : ~std::uint64_t{0};
  for (const item& i : m.items) common = std::min(common, i.alignment);
  return common;
}

/// With every offset a multiple of `unit`, each buffer but the highest is padded to the unit.
/// Expects: every piece starts at the offset of its item; a window that does not may use another's padding.
[[nodiscard]] inline load_bound padded_load(const model& m, std::uint64_t unit) {
  model padded = m;
  std::uint64_t most = 0;
  for (piece& p : padded.pieces) {
    most = std::max(most, round_up(p.high, unit) - p.high);
    p.high = round_up(p.high, unit);
  }
  load_bound best;
  const std::vector<std::uint64_t> load = section_loads(padded);
  for (std::uint32_t s = 0; s < m.sections; ++s)
    if (load[s] > best.height) best = {load[s], s};
  best.height -= std::min(best.height, most);
  return best;
}

}  // namespace detail

/// Returns: the load bound, with padding where all alignments have a power of two in common. No less than the size of
/// any item, though windows may hide part of it in every section.
[[nodiscard]] inline load_bound load_bound_of(const model& m) {
  load_bound best;
  const std::vector<std::uint64_t> load = section_loads(m);
  for (std::uint32_t s = 0; s < m.sections; ++s)
    if (load[s] > best.height) best = {load[s], s};
  for (std::size_t i = 0; i < m.items.size(); ++i)
    if (m.items[i].size > best.height) best = {m.items[i].size, m.begin(i) == m.end(i) ? 0 : m.begin(i)->first};
  const std::uint64_t unit = detail::common_alignment(m);
  if (unit == 1 || !detail::starts_at_offset(m)) return best;
  const load_bound padded = detail::padded_load(m, unit);
  return padded.height > best.height ? padded : best;
}

/// Returns: the items live in a section. Complexity: O(pieces).
[[nodiscard]] inline std::vector<std::uint32_t> live_in(const model& m, std::uint32_t section) {
  std::vector<std::uint32_t> live;
  for (std::uint32_t i = 0; i < m.items.size(); ++i)
    if (std::any_of(m.begin(i), m.end(i), [&](const piece& p) { return p.first <= section && section < p.last; }))
      live.push_back(i);
  return live;
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
