// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the sites of one container, and those of one call of free, and judges them together.
//
//     for (...) list.push_back(i);                         dies in one batch: an arena, alone
//     for (...) list.push_back(i), list.pop_front();       comes and goes: in an arena it would pile up
#include "cli/advise/sites.hpp"

#include <numeric>

#include <fmt/format.h>

#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

using site_list = std::vector<advised_site*>;

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

struct common_remedy {
  const advice_rule* rule = nullptr;
  std::string evidence;
  forecast expected;
  shared_pool pool;
};

site_features in_one_pool(const site_list& sites, const advised_site& largest) {
  site_features all = *largest.features;
  for (const advised_site* s : sites)
    if (s != &largest) all.merge(*s->features);
  return all;
}

/// Returns: whether an arena in their owner, emptied as often as the rarest of them, holds little more than the live
/// objects and a chunk. Expects: there are sites.
bool arena_serves_all(const site_list& sites, const program_features& program, const advice_limits& limits) {
  std::uint64_t batches = ~std::uint64_t{0};
  forecast all{.spare_bytes = counted_arena_model::chunk_bytes};
  for (const advised_site* s : sites) {
    const site_features& f = *s->features;
    if (s->owner != sites.front()->owner || s->owner_share < limits["owner.share"] || f.freed_by_others != 0)
      return false;
    const forecast own = forecast_of(remedy::arena, facts_of_site(*s, program, limits));
    all.objects += own.objects;
    all.served += own.served;
    all.calls += own.calls;
    all.alive += own.alive;
    all.live_bytes += f.peak_bytes;
    all.held_bytes += f.allocated.bytes;
    batches = std::min(batches, f.batches.epochs);
  }
  if (batches == 0) return false;
  all.held_bytes /= batches;
  const site_facts facts = facts_of_site(*sites.front(), program, limits);
  return refutation(rule_named("batch_in_function"), facts, all).empty();
}

bool may_have_pool(const site_list& sites, const program_features& program, const advice_limits& limits) {
  return std::ranges::all_of(sites,
                             [&](const advised_site* s) { return takes_cells(facts_of_site(*s, program, limits)); });
}

/// Returns: the arena of one of them where it serves all, else a pool, else nothing. Expects: there are sites.
common_remedy remedy_for_all(const site_list& sites, const program_features& program, const advice_limits& limits) {
  const auto arena = std::ranges::find_if(sites, [](auto* s) { return s->rule->proposes == remedy::arena; });
  if (arena != sites.end() && arena_serves_all(sites, program, limits))
    return {(*arena)->rule, (*arena)->evidence, {}, {}};
  const advised_site& largest =
      **std::ranges::max_element(sites, {}, [](const advised_site* s) { return s->features->peak_objects; });
  const site_features all = in_one_pool(sites, largest);
  const site_facts facts{all, program, limits, largest.request, largest.owner, largest.owner_share, {}, true};
  const advice_rule& pool = rule_named("few_sizes");
  if (!pool.fires(facts) || !may_have_pool(sites, program, limits) || !refutation(pool, facts).empty())
    return {&rule_named("none"), "neither one arena nor one pool serves all", {}, {}};
  return {&pool, pool.evidence(facts), forecast_of(remedy::pool, facts), {sites.size(), all.has_several_threads()}};
}

/// Effects: `s` gets the remedy. `why` ends its evidence. A few blocks go into the pool of others, which is no remedy
/// of theirs.
void take_remedy(advised_site& s, const common_remedy& found, const std::string& why, const program_features& program,
                 const advice_limits& limits) {
  const bool has_pool = found.pool.sites != 0;
  const bool goes_along = has_pool && are_few(*s.features);
  s.rule = goes_along ? &rule_named("none") : found.rule;
  s.expected =
      has_pool && !goes_along ? found.expected : forecast_of(s.rule->proposes, facts_of_site(s, program, limits));
  s.estimate = touched_ns(*s.features, *s.rule, limits);
  s.evidence =
      (goes_along ? few_text(*s.features) + " at once, in the pool of the others" : found.evidence) + "; " + why;
  if (has_pool && !goes_along) s.pool = found.pool;
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
      return container.front()->rule->proposes != remedy::arena || arena_serves_all(container, program_, limits_);
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
    take_remedy(s, found, which, program_, limits_);
  }

  const program_features& program_;
  const advice_limits& limits_;
  const stack_test& is_on_stack_;
};

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
    for (std::size_t i = 0; i < sites_.size(); ++i)
      for (const std::uint32_t node : sites_[i].nodes()) site_of[node] = i;
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

  [[nodiscard]] bool agree(const site_list& all) const {
    const advised_site& first = *all.front();
    if (first.rule->proposes == remedy::arena && !arena_serves_all(all, seen_.program(), limits_)) return false;
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
      if (s->owner.empty()) std::tie(s->owner, s->owner_share) = owner_of(*s);
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
    else take_remedy(s, found, found.rule->proposes == remedy::nothing ? shared : for_all, seen_.program(), limits_);
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

void join_containers(std::vector<advised_site>& sites, const program_features& program, const advice_limits& limits,
                     const stack_test& is_on_stack) {
  std::map<std::string, site_list> by_kind;
  for (advised_site& s : sites)
    if (std::string kind = kind_of(s); !kind.empty()) by_kind[std::move(kind)].push_back(&s);
  container_joiner joiner(program, limits, is_on_stack);
  for (const auto& [kind, alike] : by_kind)
    if (alike.size() > 1) joiner.join(alike);
}

void join_shared_frees(std::vector<advised_site>& sites, const call_tree& tree, const site_observer& seen,
                       site_names& names, const owner_finder& owner_of, const advice_limits& limits) {
  if (std::ranges::none_of(sites, [](const advised_site& s) { return facts_of(s.rule->proposes).changes_free; }))
    return;
  frees_joiner joiner(sites, seen, limits);
  joiner.find_calls(tree, names);
  joiner.join(owner_of);
}

}  // namespace ashlar::cli
