// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a site does between two marks: each time the same, or not.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <ashlar/base/event.hpp>

namespace ashlar::cli {

/// The phases of a site: from one mark to the next.
struct phase_features {
  std::uint64_t opening = 0;     ///< The numbers of the marks around its first phase.
  std::uint64_t closing = 0;     ///<
  std::uint64_t phases = 0;      ///< That it took part in.
  std::uint64_t of_program = 0;  ///< Between marks of these numbers, over all traces.
  std::uint64_t objects = 0;     ///< Born in them.
  std::uint64_t signature = 0;   ///< Of the first one.
  bool all_alike = false;        ///< Between the same marks, with the same sizes, births and deaths, and none was left.
};

/// Follows the phases of all sites. Complexity: O(1) an event; without marks nothing is kept. Memory: O(sites + marks).
/// A phase of more than `most_objects` is like no other.
class phase_observer {
public:
  static constexpr std::uint64_t most_objects = std::uint64_t{1} << 16;

  /// `sites`: how many there are.
  explicit phase_observer(std::size_t sites) : site_count_(sites) {}

  void begin_trace();
  void mark(std::uint64_t number);
  /// `sites`: of the object's stack, the return address first.
  void born(std::span<const std::uint32_t> sites, const trace::event& e);
  void died(std::span<const std::uint32_t> sites, std::uint64_t object);
  void end_trace();

  /// Returns: the phases of a site, of all traces that have ended.
  [[nodiscard]] phase_features of(std::uint32_t site) const;

private:
  /// A site in its current phase.
  struct state {
    std::size_t phase = 0;  ///< Marks so far; 0: none is open.
    std::uint64_t signature = 0;
    std::uint64_t births = 0;
    std::uint64_t live = 0;
    bool is_unlike = false;  ///< An object of before died, or there were too many.
    phase_features all = {};
  };

  [[nodiscard]] state& current(std::uint32_t site);
  void close(state& s) const;

  std::size_t site_count_;
  std::vector<state> states_;  // empty before the first mark
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> phases_;
  std::vector<std::uint64_t> marks_;     // of the current trace
  std::vector<std::uint32_t> birth_of_;  // of the objects of this phase: their number at the return address
  std::uint64_t first_object_ = 0;
  std::uint64_t last_object_ = 0;
};

}  // namespace ashlar::cli
