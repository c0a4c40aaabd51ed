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

/// In the function that owns it; an object of its callers is another one.
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
  if (r.kind == container_kind::node || r.kind == container_kind::deque) return r.container + " of " + r.element;
  const bool is_one_type = r.kind == container_kind::none && s.features->sizes.distinct() == 1 && !r.enclosing.empty();
  return is_one_type ? fmt::format("{} B in {}", s.features->sizes.max(), r.enclosing) : "";
}

using site_list = std::vector<advised_site*>;

class container_joiner {
public:
  container_joiner(const program_features& program, const advice_limits& limits, const stack_test& is_on_stack)
      : program_(program), limits_(limits), is_on_stack_(is_on_stack) {}

  void join(const site_list& alike) {
    std::vector<std::size_t> first(alike.size());  // of the container, so far
    std::iota(first.begin(), first.end(), std::size_t{0});
    for (std::size_t i = 0; i < alike.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        if (first[i] != first[k] && may_share(*alike[i], *alike[k]))
          std::replace(first.begin(), first.end(), std::size_t{first[i]}, std::size_t{first[k]});
    for (std::size_t i = 0; i < alike.size(); ++i) {
      site_list container;
      for (std::size_t k = 0; k < alike.size(); ++k)
        if (first[k] == i) container.push_back(alike[k]);
      if (container.size() > 1 && !agree(container)) decide(container);
    }
  }

private:
  /// One function owns the objects of both, or one allocates below the owner of the other and has no scope of its own.
  [[nodiscard]] bool may_share(const advised_site& a, const advised_site& b) const {
    const auto is_below = [this](const advised_site& s, const advised_site& other) {
      return !is_scoped(s.rule->proposes) && !other.owner.empty() && is_on_stack_(s, other.owner);
    };
    return (!a.owner.empty() && a.owner == b.owner) || is_below(a, b) || is_below(b, a);
  }

  /// Remedies that leave the allocator alone agree with all.
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
      if (s != &largest) all.sizes.merge(s->features->sizes);
      all.alignment = std::max(all.alignment, s->features->alignment);
    }
    const site_facts facts{all, program_, limits_, largest.request, largest.owner, largest.owner_share, {}};
    const advice_rule& pool = rule_named("few_sizes");
    const bool is_pool = pool.fires(facts);
    const advice_rule& rule = is_pool ? pool : rule_named("none");
    const std::string evidence = is_pool ? pool.evidence(facts) : "their remedies differ, and no pool serves all";
    for (advised_site* s : container) take(*s, rule, evidence, container);
  }

  static void take(advised_site& s, const advice_rule& rule, const std::string& evidence, const site_list& container) {
    s.rule = &rule;
    s.evidence = fmt::format("{}; {} calls allocate for this {}, and it has one allocator", evidence,
                             in_words(container.size()), s.request.container.empty() ? "type" : s.request.container);
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
