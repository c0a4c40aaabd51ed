// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of remedies, and gains in words. Each gain has its level in capitals: ESTIMATE, SIMULATED or MEASURED.
#include <fmt/format.h>

#include "cli/advise/advice.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

bool is_new(const site_features& f) {
  return f.requests[static_cast<std::size_t>(trace::operation::new_)] == f.allocated.objects;
}

std::string pool_text(const advised_site& s) {
  const site_features& f = *s.features;
  const std::string cells = fmt::format("a pool of {} cells: ", in_bytes(s.expected.pool.cell_bytes));
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
  const pool_model& pool = s.expected.pool;
  const std::string all = s.pool.sites == 0 ? "" : " of " + counted(s.pool.sites, "site");
  return fmt::format("{} {} for {} live at most{}, with {}", in_words(pool.slabs, "slab holds", "slabs hold"),
                     in_bytes(pool.held_bytes), in_bytes(s.expected.live_bytes), all,
                     in_words(pool.holes, "free cell"));
}

/// Pages of their own come from a pool where one pool has all sizes.
bool has_pool(const advised_site& s) { return s.expected.pool.slabs != 0; }

std::string segregate_gain(const advised_site& s, const advice_limits&) {
  return has_pool(s) ? pool_gain(s) : arena_gain(*s.features);
}

std::string all_calls(const advised_site& s, const advice_limits&) {
  return fewer_mallocs(s.features->allocated.objects);
}
std::string of_arena(const advised_site& s, const advice_limits&) { return arena_gain(*s.features); }
std::string of_pool(const advised_site& s, const advice_limits&) { return pool_gain(s); }
std::string nothing_simulated(const advised_site&, const advice_limits&) { return ""; }

std::string inline_advice(const advised_site& s, const advice_limits&) {
  // What several threads have at once is no size of a buffer.
  const std::string size = s.features->births.several ? "" : " of " + in_bytes(s.features->peak_bytes);
  return fmt::format("a buffer{} in {}: an array, a small vector, or ashlar::inline_arena", size, s.owner);
}

std::string reserve_advice(const advised_site& s, const advice_limits&) {
  return fmt::format("reserve {} at first, the ninth tenth of the final sizes",
                     in_bytes(reserved_bytes(s.features->growth)));
}

std::string reserve_gain(const advised_site& s, const advice_limits&) {
  const growth_features& g = s.features->growth;
  return fmt::format("{}, {} not moved, {} more at the peak", fewer_mallocs(g.steps), in_bytes(g.moved_bytes),
                     in_bytes(s.expected.added_bytes()));
}

std::string keep_advice(const advised_site& s, const advice_limits&) {
  return fmt::format("keep one block of {} for all requests, outside of the loop, or ashlar::object_pool with "
                     "keep_constructed",
                     in_bytes(s.features->sizes.quantile(0.99)));
}

std::string hand_over_gain(const advised_site& s, const advice_limits&) {
  return in_words(s.features->freed_by_others, "free by another thread goes", "frees by another thread go") +
         " through an inbox, without a lock";
}

std::string phase_advice(const advised_site& s, const advice_limits&) {
  return fmt::format("offsets computed in advance, for the phase: 'ashlar plan --from-trace TRACE --between {} {}', "
                     "and ashlar::static_arena_guard over them",
                     s.phases.opening, s.phases.closing);
}

std::string no_advice(const advised_site&, const advice_limits&) { return "change nothing"; }

std::string hand_over_advice(const advised_site&, const advice_limits&) {
  return "ashlar::owner_heap where they are allocated, ashlar::remote_freer where they are freed";
}

std::string scratch_advice(const advised_site& s, const advice_limits&) {
  return fmt::format("ashlar::scratch_arena with a marker in {}, or ashlar::stack_resource", s.owner);
}

std::string arena_advice(const advised_site& s, const advice_limits&) {
  return fmt::format("ashlar::arena in {}, released after each batch", s.owner);
}

std::string counted_arena_advice(const advised_site&, const advice_limits&) {
  return "an arena of counted chunks, each free again when its last block is: the plan of -o may route it; where one "
         "function could own a batch, ashlar::arena in that function";
}

std::string region_advice(const advised_site&, const advice_limits&) {
  return "if they are a leak, free them: that comes first; if they are kept on purpose, an arena of their own that is "
         "never freed";
}

std::string segregate_advice(const advised_site& s, const advice_limits&) {
  return "pages of their own: " + (has_pool(s) ? pool_text(s) : "an ashlar::arena or heap");
}

std::string pool_advice(const advised_site& s, const advice_limits&) { return pool_text(s); }

/// The members of `remedy_facts`.
namespace is {
constexpr unsigned scoped = 1, of_allocator = 2, placement = 4, routed = 8, freed_as_before = 16;
constexpr unsigned own_memory = of_allocator | placement;
}  // namespace is

using remedy_words = std::string (*)(const advised_site&, const advice_limits&);

constexpr remedy_facts facts(std::string_view name, std::string_view words, unsigned what, remedy_words advice,
                             remedy_words gain) {
  return {name,
          words,
          (what & is::scoped) != 0,
          (what & is::of_allocator) != 0,
          (what & is::placement) != 0,
          (what & is::routed) != 0,
          (what & is::freed_as_before) == 0,
          advice,
          gain};
}

constexpr detail::enum_table<remedy, remedy_facts> remedies = {
    facts("nothing", "change nothing", is::freed_as_before, no_advice, nothing_simulated),
    facts("inline_buffer", "inline buffer", is::scoped | is::of_allocator, inline_advice, all_calls),
    facts("reserve", "reserve", is::freed_as_before, reserve_advice, reserve_gain),
    facts("keep_object", "keep the object", is::of_allocator, keep_advice, all_calls),
    facts("hand_over", "hand over", is::own_memory, hand_over_advice, hand_over_gain),
    facts("scratch", "scratch", is::scoped | is::own_memory, scratch_advice, of_arena),
    facts("arena", "arena", is::scoped | is::own_memory | is::routed, arena_advice, of_arena),
    facts("static_plan", "static plan", is::placement, phase_advice, all_calls),
    facts("counted_arena", "counted arena", is::own_memory | is::routed | is::freed_as_before, counted_arena_advice,
          of_arena),
    facts("region", "region", is::own_memory | is::routed, region_advice, of_arena),
    facts("segregate", "segregate", is::own_memory | is::routed, segregate_advice, segregate_gain),
    facts("pool", "pool", is::placement | is::routed, pool_advice, of_pool),
};

}  // namespace

const remedy_facts& facts_of(remedy r) noexcept { return remedies[r]; }

std::string remedy_text(const advised_site& s, const advice_limits& limits) {
  return facts_of(s.rule->proposes).advice(s, limits);
}

std::string gain_text(const advised_site& s, const advice& a) {
  const auto runs = static_cast<double>(std::max<std::uint64_t>(a.features.traces, 1));
  std::string text = fmt::format("ESTIMATE: {} a run", human_time(s.estimate / runs));
  if (a.limits.program_ns > 0) text += ", " + percent(s.estimate / runs, a.limits.program_ns) + " of the program";
  const std::string model = facts_of(s.rule->proposes).gain(s, a.limits);
  if (!model.empty()) text += ". SIMULATED: " + model;
  if (s.trial.text.empty()) return text;
  return text + ". MEASURED: " + s.trial.text;
}

}  // namespace ashlar::cli
