// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the call sites of one container, and judges them together.
//
//     for (...) list.push_back(i);                         dies in one batch: an arena, alone
//     for (...) list.push_back(i), list.pop_front();       comes and goes: in an arena it would pile up
#include "cli/advise/containers.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "cli/advise/words.hpp"

namespace ashlar::cli {

namespace {

/// The remedy is in the function that owns the objects; those of its callers are of another container.
bool is_scoped(remedy r) { return r == remedy::inline_buffer || r == remedy::scratch || r == remedy::arena; }

/// Chooses where memory comes from. A pool does too, but serves every caller.
bool is_of_allocator(remedy r) {
  return is_scoped(r) || r == remedy::counted_arena || r == remedy::region || r == remedy::keep_object ||
         r == remedy::segregate || r == remedy::hand_over;
}

/// Returns: what the sites of one container have in common; empty: the site is none of a container with many blocks.
std::string kind_of(const advised_site& s) {
  const site_request& r = s.request;
  if (s.rule->name == "small") return "";
  const bool is_container = r.kind == container_kind::node || r.kind == container_kind::deque;
  if (is_container && !r.element.empty()) return r.container + " of " + r.element;
  const bool is_one_type =
      (is_container || r.kind == container_kind::none) && s.features->sizes.distinct() == 1 && !r.enclosing.empty();
  return is_one_type ? fmt::format("{} B in {}", s.features->sizes.max(), r.enclosing) : "";
}

using site_list = std::vector<advised_site*>;

/// Sites that are joined step by step.
class joined_sites {
public:
  explicit joined_sites(std::size_t sites) : parents_(sites) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }
  /// Returns: one of the sites that this one is joined with, the same for all.
  [[nodiscard]] std::size_t root(std::size_t site) {
    for (; parents_[site] != site; site = parents_[site]) parents_[site] = parents_[parents_[site]];
    return site;
  }
  void join(std::size_t a, std::size_t b) { parents_[root(a)] = root(b); }

private:
  std::vector<std::size_t> parents_;
};

class container_joiner {
public:
  container_joiner(const program_features& program, const advice_limits& limits, const stack_test& is_on_stack)
      : program_(program), limits_(limits), is_on_stack_(is_on_stack) {}

  void join(const site_list& alike) {
    joined_sites joined = joined_by_owner(alike);
    std::map<std::size_t, site_list> containers;
    for (std::size_t i = 0; i < alike.size(); ++i) containers[joined.root(i)].push_back(alike[i]);
    for (const auto& [root, container] : containers)
      if (container.size() > 1 && !agree(container)) decide(container);
  }

private:
  /// One function owns the objects of both, or one allocates below the owner of the other and has no scope of its own.
  [[nodiscard]] joined_sites joined_by_owner(const site_list& alike) const {
    joined_sites joined(alike.size());
    std::map<std::string, std::size_t> owners;
    for (std::size_t i = 0; i < alike.size(); ++i)
      if (!alike[i]->owner.empty()) joined.join(i, owners.emplace(alike[i]->owner, i).first->second);
    for (const auto& [owner, first] : owners)
      for (std::size_t i = 0; i < alike.size(); ++i)
        if (!is_scoped(alike[i]->rule->proposes) && is_on_stack_(*alike[i], owner)) joined.join(i, first);
    return joined;
  }

  /// Different remedies agree if none of them chooses where the memory comes from.
  [[nodiscard]] bool agree(const site_list& container) const {
    const auto is_alike = [&](const advised_site* s) { return s->rule == container.front()->rule; };
    if (std::ranges::all_of(container, is_alike))
      return container.front()->rule->proposes != remedy::arena || serves_all(container);
    return std::ranges::none_of(container, [](const advised_site* s) { return is_of_allocator(s->rule->proposes); });
  }

  /// Returns: whether an arena in their owner, emptied as often as the rarest of them, holds little more than the live
  /// objects and a chunk.
  [[nodiscard]] bool serves_all(const site_list& container) const {
    std::uint64_t bytes = 0, peak_bytes = 0, batches = ~std::uint64_t{0};
    for (const advised_site* s : container) {
      const site_features& f = *s->features;
      if (s->owner != container.front()->owner || s->owner_share < limits_.owner_share || f.freed_by_others != 0)
        return false;
      bytes += f.allocated.bytes;
      peak_bytes += f.peak_bytes;
      batches = std::min(batches, f.batches.epochs);
    }
    return arena_held_by_live(bytes, batches, peak_bytes) <= limits_.arena_held;
  }

  void decide(const site_list& container) {
    const auto arena = std::ranges::find_if(container, [](auto* s) { return s->rule->proposes == remedy::arena; });
    if (arena != container.end() && serves_all(container)) {
      for (advised_site* s : container) take(*s, *(*arena)->rule, (*arena)->evidence, container);
      return;
    }
    const advised_site& largest =
        **std::ranges::max_element(container, {}, [](const advised_site* s) { return s->features->peak_objects; });
    site_features all = *largest.features;
    for (const advised_site* s : container) {
      if (s == &largest) continue;
      all.sizes.merge(s->features->sizes);
      all.alignment = std::max(all.alignment, s->features->alignment);
      all.births.add(s->features->births);
      all.freed_by_others += s->features->freed_by_others;
    }
    const site_facts facts{all, program_, limits_, largest.request, largest.owner, largest.owner_share, {}};
    const advice_rule& pool = rule_named("few_sizes");
    const bool is_pool = pool.fires(facts);
    const advice_rule& rule = is_pool ? pool : rule_named("none");
    const std::string evidence = is_pool ? pool.evidence(facts) : "neither one arena nor one pool serves all";
    for (advised_site* s : container) {
      take(*s, rule, evidence, container);
      if (is_pool) s->pool = {all.pool().cell_bytes, all.has_several_threads()};
    }
  }

  void take(advised_site& s, const advice_rule& rule, const std::string& evidence, const site_list& container) const {
    s.rule = &rule;
    s.estimate = touched_ns(*s.features, rule, limits_);
    const std::string which =
        s.request.container.empty()
            ? in_words(container.size(), "call in this function allocates this size, and is judged alone",
                       "calls in this function allocate this size, and are judged together")
            : in_words(container.size(), "call allocates", "calls allocate") + " for this " + s.request.container +
                  ", and it has one allocator";
    s.evidence = evidence + "; " + which;
  }

  const program_features& program_;
  const advice_limits& limits_;
  const stack_test& is_on_stack_;
};

}  // namespace

void join_containers(std::vector<advised_site>& sites, const program_features& program, const advice_limits& limits,
                     const stack_test& is_on_stack) {
  std::map<std::string, site_list> by_kind;
  for (advised_site& s : sites)
    if (std::string kind = kind_of(s); !kind.empty()) by_kind[std::move(kind)].push_back(&s);
  container_joiner joiner(program, limits, is_on_stack);
  for (const auto& [kind, alike] : by_kind)
    if (alike.size() > 1) joiner.join(alike);
}

}  // namespace ashlar::cli
