// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts the features of every candidate call site from the events of one trace after the other.
#pragma once

#include <ashlar/base/event.hpp>
#include <ashlar/study/summary.hpp>

#include "cli/advise/call_tree.hpp"
#include "cli/advise/features.hpp"
#include "cli/advise/history.hpp"
#include "cli/advise/live_objects.hpp"

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

/// The whole program, over all traces.
struct program_features {
  std::uint64_t events = 0;
  std::uint64_t traces = 0;
  std::uint64_t duration_ns = 0;  ///< As recorded: mostly the recorder's.
  study::amount allocated;
  study::amount never_freed;
  study::amount peak;              ///< Summed over the traces.
  study::amount at_last_birth;     ///< Alive after the last allocation, which frees alone follow; summed likewise.
  std::uint64_t largest_peak = 0;  ///< Bytes, of one trace.
  std::uint64_t freed = 0;
  std::uint64_t freed_by_others = 0;
  std::uint64_t mapped_blocks = 0;  ///< Of 128 KiB and more, which glibc maps at first.
  std::uint64_t mapped_bytes = 0;
  std::uint64_t without_stack = 0;  ///< Objects.
  std::uint32_t threads = 0;        ///< The most in a trace.
};

/// Complexity: O(1) an event, times `call_tree::most_levels`; the first death of each pair of stacks of birth and death
/// compares them. Memory: O(live objects + call sites + pairs).
class site_observer {
public:
  /// `tree` is finished and outlives this, as does `history`, to which all objects are told unless it is null.
  explicit site_observer(const call_tree& tree, live_history* history = nullptr);

  /// `ids` leads the trace's stacks to the stacks of the tree; it outlives the trace.
  void begin_trace(const call_tree::stack_ids& ids);
  void add(const trace::event& e);
  void end_trace();

  /// Returns: the features of a node of the tree.
  [[nodiscard]] const site_features& of(std::uint32_t node) const noexcept { return sites_[node]; }
  [[nodiscard]] phase_features phases_of(std::uint32_t node) const { return phases_.of(node); }
  [[nodiscard]] const program_features& program() const noexcept { return program_; }
  /// Effects: calls `f(birth, death, objects)` for each pair of stacks of the tree, 0 for none, of births and deaths.
  template <class F>
  void for_each_end(F&& f) const {
    for (const auto& [stacks, end] : ends_)
      f(static_cast<std::uint32_t>(stacks >> 32), static_cast<std::uint32_t>(stacks), end.objects);
  }
  /// Returns: the objects that a stack of the tree allocated.
  [[nodiscard]] std::uint64_t objects_of(std::uint32_t stack) const noexcept { return by_stack_[stack].objects; }
  [[nodiscard]] const study::amount& allocated_of(std::uint32_t stack) const noexcept { return by_stack_[stack]; }

private:
  static constexpr std::uint32_t none = live_objects::none;

  struct thread_state {
    std::uint32_t youngest = none;
    std::uint32_t last_born = none;  ///< The object of the last allocation, while it lives.
    bool just_allocated = false;     ///< The last event was an allocation.
  };

  /// The facts of a death.
  struct death_facts {
    std::uint32_t thread = 0;
    std::uint32_t stack = 0;
    bool grew = false;
    bool temporary = false;
    bool lifo_thread = false;
    bool lifo_site = false;
  };

  /// What the objects of one stack of birth and one of death have in common.
  struct common_end {
    owner_calls calls;  ///< In the function that holds them.
    std::uint64_t objects = 0;
    std::uint64_t owned = 0, foreign = 0;  ///< In this trace, without growth: freed by their thread, or another.
  };

  std::uint32_t born(const trace::event& e, std::uint32_t stack);
  void count_birth(site_features& site, const trace::event& e, std::uint32_t thread);
  void allocate(const trace::event& e);
  void release(std::uint32_t slot, const trace::event& e, std::uint32_t successor);
  void die(std::uint32_t slot, const death_facts& how);
  void count_death(site_features& site, const live_object& o, const death_facts& how);
  void end_chain(const live_object& o);
  void unlink(std::uint32_t slot);
  void live_changed();
  void see_last_birth();
  void end_births(site_features& site) const;
  void end_owners();
  [[nodiscard]] bool is_growth(const live_object& from, std::uint32_t successor) const;
  [[nodiscard]] common_end& end_of(std::uint32_t birth, std::uint32_t death);
  [[nodiscard]] std::uint32_t& site_youngest(const live_object& o);
  [[nodiscard]] thread_state& thread_of(std::uint32_t id);
  [[nodiscard]] std::uint32_t stack_of(const trace::event& e) const;

  const call_tree& tree_;
  live_history* history_;
  const call_tree::stack_ids* ids_ = nullptr;
  std::vector<site_features> sites_;
  std::vector<study::amount> by_stack_;
  program_features program_;
  phase_observer phases_;
  std::unordered_map<std::uint64_t, common_end> ends_;  // by birth and death stack

  // Of the current trace.
  live_objects objects_;
  std::vector<thread_state> threads_;
  std::unordered_map<std::uint64_t, std::uint32_t> youngest_;  // by return address and thread
  study::amount live_, peak_;
  std::uint64_t allocated_bytes_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t peak_version_ = 0;
  std::uint64_t births_ = 0;
  std::uint64_t birth_version_ = 0;  // as in `site_features`
  study::amount live_at_birth_;
};

}  // namespace ashlar::cli
