// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the call sites of one container, and judges them together.
//
//     for (...) list.push_back(i);                         dies in one batch: an arena, alone
//     for (...) list.push_back(i), list.pop_front();       comes and goes: in an arena it would pile up

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include <fmt/format.h>

#include "cli/advise/common_remedy.hpp"
#include "cli/advise/words.hpp"

namespace ashlar::cli {

namespace {

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
        if (!facts_of(alike[i]->rule->proposes).is_scoped && is_on_stack_(*alike[i], owner)) joined.join(i, first);
    return joined;
  }

  /// Different remedies agree if none of them chooses where the memory comes from.
  [[nodiscard]] bool agree(const site_list& container) const {
    const auto is_alike = [&](const advised_site* s) { return s->rule == container.front()->rule; };
    if (std::ranges::all_of(container, is_alike))
      return container.front()->rule->proposes != remedy::arena || arena_serves_all(container, limits_);
    return std::ranges::none_of(container,
                                [](const advised_site* s) { return facts_of(s->rule->proposes).is_of_allocator; });
  }

  void decide(const site_list& container) const {
    const common_remedy found = remedy_for_all(container, program_, limits_);
    for (advised_site* s : container) take(*s, found, container);
  }

  void take(advised_site& s, const common_remedy& found, const site_list& container) const {
    const std::string which =
        s.request.container.empty()
            ? in_words(container.size(), "call in this function allocates this size, and is judged alone",
                       "calls in this function allocate this size, and are judged together")
            : in_words(container.size(), "call allocates", "calls allocate") + " for this " + s.request.container +
                  ", and it has one allocator";
    take_remedy(s, found, which, limits_);
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
