// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Remedies and gains in words. Each gain has its level in capitals: ESTIMATE, SIMULATED, MEASURED or UNTRIED.
#include <algorithm>

#include <fmt/format.h>

#include "cli/advise/advice.hpp"
#include "cli/advise/words.hpp"

namespace ashlar::cli {

namespace {

bool is_new(const site_features& f) {
  return f.requests[static_cast<std::size_t>(trace::operation::new_)] == f.allocated.objects;
}

/// Returns: the pool for the objects of the site, in the cells of its container.
pool_model pool_of(const advised_site& s) {
  const site_features& f = *s.features;
  return s.pool.cell_bytes == 0 ? f.pool() : pool_model::of(s.pool.cell_bytes, f.peak_objects);
}

std::string pool_text(const advised_site& s) {
  const site_features& f = *s.features;
  const std::string cells = fmt::format("a pool of {} cells: ", in_bytes(pool_of(s).cell_bytes));
  const bool has_one_thread = !f.has_several_threads() && !s.pool.has_several_threads;
  const std::string allocator =
      has_one_thread ? "ashlar::pool_allocator<T> (or <T, one_thread>, if no second thread ever has such nodes)"
                     : "ashlar::pool_allocator<T>";
  if (s.request.kind == container_kind::shared) return cells + "std::allocate_shared with " + allocator;
  if (s.request.kind != container_kind::none)
    return cells + fmt::format("{} as the allocator of the {}", allocator, s.request.container);
  if (is_new(f))
    return cells + (has_one_thread ? "ashlar::object_pool<T>, or operator new of the class on a block_pool"
                                   : "operator new of the class on a shared_block_pool");
  return cells + (has_one_thread ? "ashlar::block_pool" : "ashlar::shared_block_pool");
}

std::string arena_note(const site_features& f) {
  return f.sizes.max() > counted_arena_model::largest_bytes
             ? fmt::format("; blocks above {} are left where they are", in_bytes(counted_arena_model::largest_bytes))
             : "";
}

std::string arena_gain(const site_features& f) {
  return fmt::format("chunks hold {} at their peak, {:.2f} times the live bytes and one chunk of {}; {} pinned{}",
                     in_bytes(f.arena.peak_held_bytes()), f.arena.held_by_live(),
                     in_bytes(counted_arena_model::chunk_bytes),
                     in_words(f.arena.pinned_chunks(), "chunk is", "chunks are"), arena_note(f));
}

std::string fewer_mallocs(std::uint64_t n) {
  return in_words(n, "malloc and its free fewer", "mallocs and their frees fewer");
}

std::string pool_gain(const advised_site& s) {
  const pool_model pool = pool_of(s);
  return fmt::format("{} {} for {} live at most, with {}", in_words(pool.slabs, "slab holds", "slabs hold"),
                     in_bytes(pool.held_bytes), in_bytes(s.features->peak_bytes), in_words(pool.holes, "free cell"));
}

bool has_pool_sizes(const site_features& f, const advice_limits& limits) {
  return static_cast<double>(f.sizes.distinct()) <= limits.pool_sizes;
}

std::string simulated(const advised_site& s, const advice_limits& limits) {
  const site_features& f = *s.features;
  switch (s.rule->proposes) {
    case remedy::nothing: return "";
    case remedy::inline_buffer:
    case remedy::static_plan:
    case remedy::keep_object: return fewer_mallocs(f.allocated.objects);
    case remedy::reserve:
      return fmt::format("{}, {} not moved", fewer_mallocs(f.growth.steps), in_bytes(f.growth.moved_bytes));
    case remedy::hand_over:
      return in_words(f.freed_by_others, "free by another thread goes", "frees by another thread go") +
             " through an inbox, without a lock";
    case remedy::segregate:
      if (has_pool_sizes(f, limits)) return pool_gain(s);
      [[fallthrough]];
    case remedy::scratch:
    case remedy::arena:
    case remedy::counted_arena:
    case remedy::region: return arena_gain(f);
    case remedy::pool: return pool_gain(s);
  }
  return "";
}

}  // namespace

std::string remedy_text(const advised_site& s, const advice_limits& limits) {
  const site_features& f = *s.features;
  switch (s.rule->proposes) {
    case remedy::nothing: return "change nothing";
    case remedy::inline_buffer:
      return fmt::format("a buffer of {} in {}: an array, a small vector, or ashlar::inline_arena",
                         in_bytes(f.peak_bytes), s.owner);
    case remedy::reserve:
      return fmt::format("reserve {} at first, the ninth tenth of the final sizes",
                         in_bytes(f.growth.final_bytes.quantile(0.9)));
    case remedy::keep_object:
      return fmt::format("keep one block of {} for all requests, outside of the loop, or ashlar::object_pool with "
                         "keep_constructed",
                         in_bytes(f.sizes.quantile(0.99)));
    case remedy::hand_over:
      return "ashlar::owner_heap where they are allocated, ashlar::remote_freer where they are freed";
    case remedy::scratch:
      return fmt::format("ashlar::scratch_arena with a marker in {}, or ashlar::stack_resource", s.owner);
    case remedy::arena: return fmt::format("ashlar::arena in {}, released after each batch", s.owner);
    case remedy::counted_arena:
      return "an arena of counted chunks, each free again when its last block is: the plan of -o may route it; where "
             "one function could own a batch, ashlar::arena in that function";
    case remedy::static_plan:
      return fmt::format(
          "offsets computed in advance, for the phase: 'ashlar plan --from-trace TRACE --between {} {}', "
          "and ashlar::static_arena_guard over them",
          s.phases.opening, s.phases.closing);
    case remedy::region:
      return "if they are a leak, free them: that comes first; if they are kept on purpose, an arena of their own that "
             "is never freed";
    case remedy::segregate:
      return has_pool_sizes(f, limits) ? "pages of their own: " + pool_text(s)
                                       : "pages of their own: an ashlar::arena or heap";
    case remedy::pool: return pool_text(s);
  }
  return "";
}

std::string gain_text(const advised_site& s, const advice& a) {
  const auto runs = static_cast<double>(std::max<std::uint64_t>(a.features.traces, 1));
  std::string text = fmt::format("ESTIMATE: {} a run", human_time(s.estimate / runs));
  if (a.limits.program_ns > 0) text += ", " + percent(s.estimate / runs, a.limits.program_ns) + " of the program";
  const std::string model = simulated(s, a.limits);
  if (!model.empty()) text += ". SIMULATED: " + model;
  if (s.trial.text.empty()) return text;
  return text + (s.trial.found == trial_result::none ? ". UNTRIED: " : ". MEASURED: ") + s.trial.text;
}

}  // namespace ashlar::cli
