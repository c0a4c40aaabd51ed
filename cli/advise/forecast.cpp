// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of simulations, one for each remedy, and the one judgement of all.
#include "cli/advise/rules.hpp"

#include <fmt/format.h>

#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

constexpr std::uint64_t most_pool_cell = 32 * 1024;
constexpr std::uint64_t malloc_header = 8;  ///< Of each block, at least.
constexpr std::uint64_t chunk_bytes = counted_arena_model::chunk_bytes;

std::uint64_t less(std::uint64_t a, std::uint64_t b) { return a - std::min(a, b); }

/// All objects, without malloc, in the bytes that they have.
forecast of_all(const site_facts& s) {
  const site_features& f = s.f;
  return {.objects = f.allocated.objects,
          .served = f.allocated.objects,
          .calls = f.allocated.objects,
          .alive = f.peak_objects,
          .live_bytes = f.peak_bytes,
          .held_bytes = f.peak_bytes};
}

forecast of_nothing(const site_facts&) { return {}; }

/// Each container that is alive at the program's peak has the reserved bytes at least; one of them may be growing then,
/// and be two blocks.
forecast of_reserve(const site_facts& s) {
  const study::amount& at_peak = s.f.at_program_peak;
  forecast expected = of_all(s);
  expected.calls = s.f.growth.steps;
  expected.live_bytes = at_peak.bytes;
  expected.held_bytes = std::max(at_peak.bytes, less(at_peak.objects, s.program.traces) * reserved_bytes(s.f.growth));
  expected.spare_bytes = chunk_bytes * s.program.traces;
  return expected;
}

/// One block a thread, which stays.
forecast of_kept_object(const site_facts& s) {
  const std::uint64_t threads = s.f.births.several ? s.program.threads : 1;
  forecast expected = of_all(s);
  expected.calls = less(s.f.allocated.objects, threads);
  expected.held_bytes = std::max(s.f.peak_bytes, threads * s.f.sizes.quantile(0.99));
  expected.spare_bytes = threads * chunk_bytes;
  return expected;
}

forecast of_handover(const site_facts& s) {
  forecast expected = of_all(s);
  expected.calls = s.f.freed_by_others;
  return expected;
}

forecast of_chunks(const site_facts& s) {
  const counted_arena_model& arena = s.f.arena;
  return {.objects = s.f.allocated.objects,
          .served = arena.served(),
          .calls = less(arena.served(), arena.peak_chunks()),
          .alive = s.f.peak_objects,
          .live_bytes = arena.peak_live_bytes(),
          .held_bytes = arena.peak_held_bytes(),
          .spare_bytes = chunk_bytes};
}

/// An arena holds all of an average batch, also objects that die before its end.
forecast of_batches(const site_facts& s) {
  const forecast chunks = of_chunks(s);
  forecast batch = chunks;
  batch.live_bytes = s.f.peak_bytes;
  batch.held_bytes = s.f.allocated.bytes / std::max<std::uint64_t>(s.f.batches.epochs, 1);
  return batch.held_by_live() > chunks.held_by_live() ? batch : chunks;
}

forecast of_pool(const site_facts& s) {
  forecast expected = of_all(s);
  expected.pool = s.f.pool();
  expected.calls = less(s.f.allocated.objects, expected.pool.slabs);
  expected.held_bytes = expected.pool.held_bytes;
  expected.spare_bytes = pool_model::slab_bytes;
  return expected;
}

forecast of_own_pages(const site_facts& s) { return pool_obstacle(s).empty() ? of_pool(s) : of_chunks(s); }

struct simulation {
  forecast (*run)(const site_facts&) = nullptr;
  bool has_own_memory = false;  ///< A chunk or a slab at least, for these objects alone.
};

constexpr detail::enum_table<remedy, simulation> simulations = {
    simulation{of_nothing},          // nothing
    simulation{of_all},              // inline_buffer
    simulation{of_reserve},          // reserve
    simulation{of_kept_object},      // keep_object
    simulation{of_handover},         // hand_over: a heap of the thread
    simulation{of_chunks},           // scratch: the arena of the thread
    simulation{of_batches, true},    // arena
    simulation{of_all},              // static_plan
    simulation{of_chunks, true},     // counted_arena
    simulation{of_chunks, true},     // region
    simulation{of_own_pages, true},  // segregate
    simulation{of_pool, true},       // pool
};

bool is_never_freed(const site_facts& s) {
  return share(s.f.never_freed.objects, s.f.allocated.objects) >= s.limits["never_freed.share"];
}

/// Objects that are never freed use no cell or chunk again: waste stays.
double most_held(const advice_rule& rule, const site_facts& s) {
  const double most = rule.held ? s.limits[*rule.held] : threshold_limits::ratio;
  return is_never_freed(s) ? std::min(most, s.limits["never_freed.held"]) : most;
}

std::string would_hold(const advice_rule& rule, const forecast& expected) {
  const char* const what = expected.pool.slabs != 0               ? "a pool"
                           : rule.proposes == remedy::reserve     ? "with that reserved, they"
                           : rule.proposes == remedy::keep_object ? "one block a thread"
                                                                  : "an arena";
  return fmt::format("{} would hold {} for {}", what, in_bytes(expected.held_bytes), in_bytes(expected.live_bytes));
}

std::string few_alive(std::uint64_t alive) { return fmt::format("at most {} alive", alive == 1 ? "1 is" : "2 are"); }

std::string why_few(std::uint64_t alive) {
  return few_alive(alive) + " at once: no memory of their own would hold more than a page";
}

/// Returns: whether malloc would hold less.
bool adds_bytes(const forecast& expected) {
  return expected.held_bytes > expected.live_bytes + expected.spare_bytes + malloc_header * expected.alive;
}

/// What stands against a pool; `reason` is the end of a sentence.
struct obstacle {
  bool (*stands)(const site_facts&) = nullptr;
  const char* reason = "";
};

/// pool_allocator takes arrays from operator new. `new T` has one size, and what a standard container of nodes
/// allocates in several is its table.
bool are_arrays(const site_facts& s) {
  const auto requests_of = [&](trace::operation op) { return s.f.requests[static_cast<std::size_t>(op)]; };
  const bool has_sizes = s.f.sizes.distinct() > 1 && !s.is_joined;
  return s.request.kind == container_kind::vector || s.request.kind == container_kind::deque ||
         (s.request.kind == container_kind::node && (has_sizes || s.request.element.ends_with("_Hash_node_base*"))) ||
         requests_of(trace::operation::new_array_) != 0 ||
         (has_sizes && requests_of(trace::operation::new_) == s.f.allocated.objects);
}

constexpr std::array pool_obstacles = {
    obstacle{[](const site_facts& s) { return s.request.kind == container_kind::string; },
             "strings are as long as their text, so no cell fits all of them"},
    obstacle{
        [](const site_facts& s) { return static_cast<double>(s.f.sizes.distinct()) > s.limits["few_sizes.sizes"]; },
        "too many sizes for one pool"},
    obstacle{[](const site_facts& s) { return s.f.sizes.max() > most_pool_cell; }, "blocks too large for a pool"},
    obstacle{[](const site_facts& s) { return s.f.alignment > most_cell_alignment; },
             "an alignment that no pool's cells have"},
    obstacle{[](const site_facts& s) { return s.request.kind == container_kind::function; },
             "std::function takes no allocator"},
    obstacle{are_arrays, "they are arrays, which no pool of objects serves"},
};

}  // namespace

forecast forecast_of(remedy proposed, const site_facts& s) { return simulations[proposed].run(s); }

std::uint64_t reserved_bytes(const growth_features& growth) { return growth.final_bytes.quantile(0.9); }

bool are_few(const site_features& f) noexcept { return f.peak_objects <= 2; }

std::string few_text(const site_features& f) { return few_alive(f.peak_objects); }

bool takes_cells(const site_facts& s) {
  return s.request.kind != container_kind::string && s.request.kind != container_kind::function && !are_arrays(s);
}

bool pool_holds_little(const site_features& f, const advice_limits& limits) {
  return f.pool().held_by_live(f.peak_bytes) <= limits["few_sizes.held"];
}

std::string pool_obstacle(const site_facts& s) {
  if (are_few(s.f)) return why_few(s.f.peak_objects);
  const auto* const found = std::ranges::find_if(pool_obstacles, [&](const obstacle& o) { return o.stands(s); });
  if (found != pool_obstacles.end()) return found->reason;
  if (pool_holds_little(s.f, s.limits)) return "";
  return would_hold(rule_named("few_sizes"), of_pool(s));
}

std::string refutation(const advice_rule& rule, const site_facts& s) {
  if (rule.proposes == remedy::pool)
    if (std::string reason = pool_obstacle(s); !reason.empty()) return reason;
  return refutation(rule, s, forecast_of(rule.proposes, s));
}

std::string refutation(const advice_rule& rule, const site_facts& s, const forecast& expected) {
  if (rule.proposes == remedy::nothing) return "";
  if (simulations[rule.proposes].has_own_memory && expected.alive <= 2) return why_few(expected.alive);
  if (share(expected.served, expected.objects) < s.limits["arena.served"])
    return fmt::format("an arena would serve {} of them: blocks above {} are left where they are",
                       part_of(expected.served, expected.objects), in_bytes(counted_arena_model::largest_bytes));
  if (expected.held_by_live() > most_held(rule, s)) return would_hold(rule, expected);
  if (adds_bytes(expected) && saves_few_calls(expected.calls, s.program, s.limits))
    return would_hold(rule, expected) + ", and save too few calls to matter";
  return "";
}

}  // namespace ashlar::cli
