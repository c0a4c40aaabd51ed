// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the sites of each call of free, and judges together those that it cannot tell apart.

#include <algorithm>
#include <cstddef>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "cli/advise/common_remedy.hpp"
#include "cli/advise/words.hpp"

namespace ashlar::cli {

namespace {

/// All blocks of a container are of one allocator, whichever call frees them.
bool has_container(const advised_site& s) { return s.request.kind != container_kind::none; }

/// A call of free, by the program's line and the library's functions in between, as these differ for containers that
/// one line destroys.
struct free_call {
  std::string place;   ///< As text; empty: it is none of the program's.
  std::string alone;   ///< Its identity.
  std::string called;  ///< The same, with the name of the call of its function.
};

free_call free_call_of(std::uint32_t death, const call_tree& tree, site_names& names) {
  free_call found;
  std::string path;
  for (const std::uint64_t frame : tree.frames(death))
    for (const source_place& place : names.places(frame)) {
      path += place.line == 0 ? fmt::format("{} {}\n", place.whole, frame) : place.whole + place.str() + "\n";
      if (is_library_place(place)) continue;
      if (!found.place.empty()) return found.called = path, found;
      found.place = place.str();
      found.alone = found.called = path;
    }
  return found;
}

/// The sites whose blocks a call frees.
struct freed_sites {
  std::string place;
  std::map<std::size_t, std::uint64_t> objects;  ///< By index of the site.
};

using free_calls = std::map<std::string, freed_sites>;

class frees_joiner {
public:
  frees_joiner(std::vector<advised_site>& sites, const site_observer& seen, const advice_limits& limits)
      : sites_(sites), seen_(seen), limits_(limits), joined_(sites.size()) {}

  void find_calls(const call_tree& tree, site_names& names) {
    std::unordered_map<std::uint32_t, std::size_t> site_of;
    for (std::size_t i = 0; i < sites_.size(); ++i) site_of[sites_[i].node] = i;
    std::map<std::uint32_t, free_call> known;  // by stack of death
    seen_.for_each_end([&](std::uint32_t birth, std::uint32_t death, std::uint64_t objects) {
      const auto levels = tree.levels(birth);
      const auto node = std::ranges::find_if(levels, [&](std::uint32_t n) { return site_of.contains(n); });
      if (node == levels.end() || death == 0) return;
      const auto [call, is_new] = known.try_emplace(death);
      if (is_new) call->second = free_call_of(death, tree, names);
      if (call->second.place.empty()) return;
      for (const auto& [calls, identity] :
           {std::pair(&alone_, &call->second.alone), {&called_, &call->second.called}}) {
        freed_sites& freed = (*calls)[*identity];
        freed.place = call->second.place;
        freed.objects[site_of[*node]] += objects;
      }
    });
  }

  void join(const owner_finder& owner_of) {
    for (const auto& [identity, freed] : called_) {
      const auto one = std::ranges::find_if(freed.objects, [&](auto& of) { return !has_container(sites_[of.first]); });
      if (one == freed.objects.end()) continue;
      for (const auto& [site, objects] : freed.objects) joined_.join(site, one->first);
    }
    std::map<std::size_t, std::vector<std::size_t>> together;
    for (std::size_t i = 0; i < sites_.size(); ++i) together[joined_.root(i)].push_back(i);
    for (const auto& [root, all] : together)
      if (all.size() > 1) decide(all, owner_of);
    for (std::size_t i = 0; i < sites_.size(); ++i) tell_callers(i);
  }

private:
  /// Returns: whether one of the two may stay as it is while the other changes. A call that frees blocks of a site
  /// without a container therefore joins all of its sites.
  [[nodiscard]] bool are_apart(std::size_t a, std::size_t b) const {
    return a != b && !(has_container(sites_[a]) && has_container(sites_[b]));
  }

  /// Returns: whether the remedies of all are one.
  [[nodiscard]] bool agree(const site_list& all) const {
    const advised_site& first = *all.front();
    if (first.rule->proposes == remedy::arena && !arena_serves_all(all, limits_)) return false;
    return std::ranges::all_of(all, [&](const advised_site* s) {
      if (s->rule != first.rule) return false;
      if (first.rule->proposes == remedy::pool)
        return s->features->pool().cell_bytes == first.features->pool().cell_bytes && !has_container(*s);
      return s->owner == first.owner;
    });
  }

  void decide(const std::vector<std::size_t>& numbers, const owner_finder& owner_of) {
    site_list all;
    for (const std::size_t i : numbers) all.push_back(&sites_[i]);
    if (std::ranges::none_of(all, [](auto* s) { return facts_of(s->rule->proposes).changes_free; })) return;
    for (advised_site* s : all)
      if (s->owner.empty()) std::tie(s->owner, s->owner_share) = owner_of(s->node);
    const common_remedy found = agree(all) ? common_remedy{} : remedy_for_all(all, seen_.program(), limits_);
    for (const std::size_t i : numbers) tell(i, found);
  }

  /// What is never freed but for a few stays a leak, or a decision. A site that has no remedy alone gets that of all:
  /// its blocks too go where the call frees them.
  void tell(std::size_t site, const common_remedy& found) {
    advised_site& s = sites_[site];
    const bool serves_all = found.rule != nullptr && facts_of(found.rule->proposes).changes_free;
    if (s.rule->proposes == remedy::nothing ? !serves_all : !facts_of(s.rule->proposes).changes_free) return;
    const std::string shared = shared_text(site, called_);
    const std::string for_all = shared + ": this remedy is for all of them";
    if (found.rule == nullptr || s.rule->proposes == remedy::region) s.evidence += "; " + for_all;
    else take_remedy(s, found, found.rule->proposes == remedy::nothing ? shared : for_all, limits_);
  }

  void tell_callers(std::size_t site) {
    advised_site& s = sites_[site];
    if (!facts_of(s.rule->proposes).changes_free || !shared_text(site, called_).empty()) return;
    if (const std::string shared = shared_text(site, alone_); !shared.empty())
      s.evidence += "; " + shared + " where others call it: change the callers that free these";
  }

  /// Returns: which call frees the site's blocks and others, and whose; empty: none does.
  [[nodiscard]] std::string shared_text(std::size_t site, const free_calls& calls) const {
    std::map<std::size_t, std::uint64_t> others;
    std::pair<std::uint64_t, std::string> most;
    for (const auto& [identity, freed] : calls) {
      const auto own = freed.objects.find(site);
      if (own == freed.objects.end()) continue;
      const std::size_t before = others.size();
      for (const auto& [other, objects] : freed.objects)
        if (are_apart(site, other)) others[other] += objects;
      if (others.size() != before) most = std::max(most, {own->second, freed.place});
    }
    return others.empty() ? "" : most.second + " frees blocks of " + names_of(others) + " too";
  }

  [[nodiscard]] std::string names_of(const std::map<std::size_t, std::uint64_t>& others) const {
    const auto main = std::ranges::max_element(others, {}, [](const auto& o) { return o.second; });
    const source_place& place = sites_[main->first].request.place;
    const std::string name = place.function.empty() ? "the library" : place.str();
    return others.size() == 1 ? name : name + " and " + counted(others.size() - 1, "more site");
  }

  std::vector<advised_site>& sites_;
  const site_observer& seen_;
  const advice_limits& limits_;
  joined_sites joined_;
  free_calls alone_, called_;
};

}  // namespace

void join_shared_frees(std::vector<advised_site>& sites, const call_tree& tree, const site_observer& seen,
                       site_names& names, const owner_finder& owner_of, const advice_limits& limits) {
  if (std::ranges::none_of(sites, [](const advised_site& s) { return facts_of(s.rule->proposes).changes_free; }))
    return;
  frees_joiner joiner(sites, seen, limits);
  joiner.find_calls(tree, names);
  joiner.join(owner_of);
}

}  // namespace ashlar::cli
