// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Judges source lines, and splits one only where the remedy of the whole does not serve its callers.
#include "cli/advise/sites.hpp"

#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "cli/preload/status.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t named_sites = 64;

using site_nodes = std::vector<std::uint32_t>;

class chooser {
public:
  chooser(const call_tree& tree, const site_observer& seen, site_names& names, const advice_limits& limits)
      : tree_(tree), seen_(seen), names_(names), limits_(limits), for_parts_(limits.for_any_amount()),
        best_stack_(tree.nodes().size()) {
    for (std::uint32_t stack = 1; stack <= tree.stack_count(); ++stack)
      for (const std::uint32_t node : tree.levels(stack))
        if (best_stack_[node] == 0 || seen.objects_of(stack) > seen.objects_of(best_stack_[node]))
          best_stack_[node] = stack;
  }

  [[nodiscard]] std::vector<advised_site> all() {
    std::vector<advised_site> sites;
    const std::vector<site_nodes> all_lines = lines();
    for (std::size_t i = 0; i < all_lines.size(); ++i)
      for (advised_site& site : one_a_remedy(split(all_lines[i]))) {
        site.line = i;
        sites.push_back(std::move(site));
      }
    join_containers(sites, seen_.program(), limits_, [this](const advised_site& s, const std::string& function) {
      return is_on_stack(s.node, function);
    });
    join_shared_frees(sites, tree_, seen_, names_, [this](const advised_site& s) { return owner_of(s); }, limits_);
    fold_alike(sites);
    return sites;
  }

  /// Effects: counts the places in the program that reach each of the first sites.
  void count_places(std::vector<advised_site>& sites) {
    std::map<std::uint32_t, std::set<std::string>*> places_of;
    std::vector<std::set<std::string>> places(std::min(sites.size(), named_sites));
    for (std::size_t i = 0; i < places.size(); ++i)
      for (const std::uint32_t node : sites[i].nodes()) places_of[node] = &places[i];
    for (std::uint32_t stack = 1; stack <= tree_.stack_count(); ++stack)
      for (const std::uint32_t node : tree_.levels(stack))
        if (const auto at = places_of.find(node); at != places_of.end() && seen_.objects_of(stack) != 0)
          at->second->insert(names_.request(stack).place.str());
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t more_callers = sites[i].caller.function.empty() ? 0 : sites[i].others.size();
      sites[i].more_places = places[i].size() - std::min<std::size_t>(places[i].size(), 1) + more_callers;
    }
  }

private:
  /// Returns: the nodes of each source line with a request of the program. Where the innermost call is a library's or
  /// a wrapper's, the lines are its callers'.
  std::vector<site_nodes> lines() {
    std::vector<site_nodes> all;
    for (std::uint32_t node = 0; node < tree_.nodes().size(); ++node)
      if (tree_.nodes()[node].parent == site_node::none) add_lines(node, all);
    return all;
  }

  void add_lines(std::uint32_t node, std::vector<site_nodes>& all) {
    if (seen_.of(node).allocated.objects == 0) return;
    const site_request r = names_.request(best_stack_[node], tree_.nodes()[node].depth);
    if (r.is_behind && !tree_.callers(node).empty()) {
      for (const std::uint32_t caller : tree_.callers(node)) add_lines(caller, all);
      return;
    }
    std::string line = r.place.line == 0 ? std::to_string(node) : r.place.whole + r.place.str();
    for (const std::string& part : {r.container, r.element, r.through}) line += "\n" + part;
    const auto [at, is_new] = lines_.try_emplace(std::move(line), all.size());
    if (is_new) all.emplace_back();
    all[at->second].push_back(node);
  }

  /// `rule`: null: the one that the table chooses.
  advised_site verdict(const site_nodes& nodes, const advice_rule* rule = nullptr) {
    advised_site site = site_of(nodes);
    const site_features& f = *site.features;
    site.request = names_.request(best_stack_[site.node], tree_.nodes()[site.node].depth);
    site.caller = caller_of(site.node, site.request.place);
    if (!is_too_small(f, seen_.program(), limits_)) std::tie(site.owner, site.owner_share) = owner_of(site);
    const site_facts facts = facts_of_site(site, seen_.program(), limits_);
    rule_choice choice = rule == nullptr
                             ? choose_rule(facts)
                             : rule_choice{rule, rule->evidence(facts), forecast_of(rule->proposes, facts), {}};
    site.rule = choice.rule;
    site.evidence = std::move(choice.evidence) + hidden_owner_text(site);
    site.expected = choice.expected;
    site.refuted = std::move(choice.refuted);
    site.estimate = touched_ns(f, *site.rule, limits_);
    return site;
  }

  advised_site site_of(site_nodes nodes) const {
    std::ranges::sort(nodes, [this](std::uint32_t a, std::uint32_t b) {
      return std::pair(seen_.of(b).allocated.objects, a) < std::pair(seen_.of(a).allocated.objects, b);
    });
    advised_site site;
    site.node = nodes.front();
    site.others.assign(nodes.begin() + 1, nodes.end());
    site.features = &seen_.of(site.node);
    site.phases = seen_.phases_of(site.node);
    if (site.others.empty()) return site;
    site.added = std::make_shared<site_features>(*site.features);
    for (const std::uint32_t node : site.others) {
      site.added->merge(seen_.of(node));
      add_phases(site.phases, seen_.phases_of(node));
    }
    site.features = site.added.get();
    return site;
  }

  /// Effects: adds the objects of the same phases; others differ.
  static void add_phases(phase_features& to, const phase_features& more) {
    const bool is_same = more.opening == to.opening && more.closing == to.closing && more.phases == to.phases;
    to.all_alike = to.all_alike && is_same && more.all_alike;
    if (is_same) to.objects += more.objects;
  }

  /// Rules that ask for an owner stand before those of the others.
  std::string hidden_owner_text(const advised_site& s) const {
    const site_features& f = *s.features;
    const bool may_miss_owner = s.rule >= &rule_named("fixed_phase") && s.owner_share < limits_["owner.share"];
    if (!may_miss_owner || share(f.hidden_owner, f.freed) <= 1 - limits_["owner.share"]) return "";
    const std::size_t more = tree_.cut_at() < 64 ? 64 : recorder::max_stack_depth;
    return fmt::format("; stacks are cut at {}, so that a function may hold them unseen{}",
                       counted(tree_.cut_at(), "frame"),
                       tree_.cut_at() < more ? fmt::format(": record with --stacks {}", more) : "");
  }

  /// Returns: the place of the suffix's last frame, unless the request lies there or behind it.
  source_place caller_of(std::uint32_t node, const source_place& request) {
    const std::uint32_t depth = tree_.nodes()[node].depth;
    if (depth == 1) return {};
    const auto frames = tree_.frames(best_stack_[node]).first(depth);
    const auto has_request = [&](std::uint64_t frame) {
      return std::ranges::any_of(names_.places(frame), [&](const source_place& p) { return p.str() == request.str(); });
    };
    const auto at = std::ranges::find_if(frames, has_request);
    if (at == frames.end() || at + 1 == frames.end()) return {};
    const std::vector<source_place>& calls = names_.places(frames.back());
    const auto own = std::ranges::find_if_not(calls, is_library_place);
    return own == calls.end() ? calls.front() : *own;
  }

  /// The function that most deaths were under, as the birth was.
  std::pair<std::string, double> owner_of(const advised_site& site) {
    const site_features& f = *site.features;
    std::map<std::string, std::uint64_t> by_function;
    std::uint64_t all = f.without_owner;
    for (const auto& [calls, objects] : f.owners) {
      by_function[owner_function(calls, best_stack_[site.node])] += objects;
      all += objects;
    }
    const auto most = std::max_element(by_function.begin(), by_function.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == by_function.end() || all == 0) return {};
    return {most->first, static_cast<double>(most->second) / static_cast<double>(all)};
  }

  /// Returns: the innermost function around both calls, inlined or not, or its first caller that is not the library's.
  std::string owner_function(const owner_calls& calls, std::uint32_t stack) {
    const auto frames = tree_.frames(stack);
    std::span<const source_place> around = functions_around(calls);
    for (auto at = std::find(frames.begin(), frames.end(), calls.birth);; ++at) {
      const auto own = std::ranges::find_if_not(around, is_library_place);
      if (own != around.end()) {
        const bool is_outermost = own + 1 == around.end() && at != frames.end() && at + 1 != frames.end();
        return is_outermost && names_.function_of(at[1]).starts_with("__libc_start") ? "main" : own->function;
      }
      if (at == frames.end() || at + 1 == frames.end()) return names_.function_of(calls.birth);
      around = names_.places(at[1]);
    }
  }

  /// Returns: the functions around both calls, innermost first: the places of the birth's frame from the first one on
  /// that the death shares, of which the calls around are the same.
  std::span<const source_place> functions_around(const owner_calls& calls) {
    const std::span<const source_place> birth = names_.places(calls.birth), death = names_.places(calls.death);
    std::size_t shared = 1;
    const auto is_shared = [&] {
      const source_place &a = birth[birth.size() - shared], &b = death[death.size() - shared];
      return a.line != 0 && a.str() == b.str() &&
             birth[birth.size() - shared - 1].whole == death[death.size() - shared - 1].whole;
    };
    while (shared < std::min(birth.size(), death.size()) && is_shared()) ++shared;
    return birth.last(shared);
  }

  /// A stack that `--stacks` cut may hide main, but no start of a thread stands behind it.
  bool is_on_stack(std::uint32_t node, const std::string& function) {
    const auto frames = tree_.frames(best_stack_[node]);
    const auto is_start = [&](std::uint64_t frame) { return names_.function_of(frame).starts_with("start_thread"); };
    if (function == "main") return std::ranges::none_of(frames, is_start);
    return std::ranges::any_of(frames, [&](std::uint64_t frame) {
      return std::ranges::any_of(names_.places(frame), [&](const source_place& p) { return p.function == function; });
    });
  }

  std::vector<advised_site> split(const site_nodes& nodes) {
    advised_site own = verdict(nodes);
    std::vector<advised_site> parts;
    if (!is_too_small(*own.features, seen_.program(), limits_))
      for (const std::uint32_t part : nodes.size() == 1 ? tree_.callers(nodes.front()) : nodes)
        if (seen_.of(part).allocated.objects != 0) std::ranges::move(split({part}), std::back_inserter(parts));
    if (std::ranges::any_of(parts, [&](const advised_site& part) { return needs_another(part, own); })) return parts;
    parts.clear();
    parts.push_back(std::move(own));
    return parts;
  }

  /// Returns: whether a part's remedy splits the whole: that of the whole does not serve it, and the part is worth it.
  [[nodiscard]] bool needs_another(const advised_site& part, const advised_site& whole) const {
    const remedy proposed = whole.rule->proposes;
    if (part.rule->proposes == proposed || is_too_small(*part.features, seen_.program(), limits_)) return false;
    const study::amount &some = part.features->allocated, &all = whole.features->allocated;
    if (some.objects * 20 < all.objects && some.bytes * 20 < all.bytes) return false;
    const bool has_scope = !facts_of(proposed).is_scoped || part.owner == whole.owner;
    return proposed == remedy::nothing || !has_scope ||
           !whole.rule->fires(facts_of_site(part, seen_.program(), for_parts_));
  }

  /// Sites of a line with one key are one.
  using row_key = std::tuple<std::size_t, const advice_rule*, std::string>;

  [[nodiscard]] static row_key key_of(const advised_site& s) {
    const remedy proposed = s.rule->proposes;
    return {s.line, proposed == remedy::nothing ? &rule_named("none") : s.rule,
            facts_of(proposed).is_scoped ? s.owner : ""};
  }

  /// Returns: the parts of a line, those with one remedy as one site.
  std::vector<advised_site> one_a_remedy(std::vector<advised_site> parts) {
    std::map<row_key, std::vector<advised_site>> rows;
    for (advised_site& part : parts) rows[key_of(part)].push_back(std::move(part));
    parts.clear();
    for (auto& [key, alike] : rows) {
      if (alike.size() == 1) {
        parts.push_back(std::move(alike.front()));
        continue;
      }
      site_nodes nodes;
      for (const advised_site& s : alike) std::ranges::copy(s.nodes(), std::back_inserter(nodes));
      if (advised_site all = verdict(nodes, std::get<1>(key)); holds_for(all)) parts.push_back(std::move(all));
      else std::ranges::move(alike, std::back_inserter(parts));
    }
    return parts;
  }

  /// Returns: whether the rule of the site would choose it.
  [[nodiscard]] bool holds_for(const advised_site& s) const {
    const site_facts facts = facts_of_site(s, seen_.program(), for_parts_);
    return s.rule->fires(facts) && refutation(*s.rule, facts).empty();
  }

  /// Returns: whether two sites of one rule have it together, too: one that was joined with other sites has it by them.
  [[nodiscard]] bool are_alike(const advised_site& a, const advised_site& b) {
    if (!holds_for(a) || !holds_for(b)) return true;
    site_nodes nodes;
    for (const advised_site* s : {&a, &b}) std::ranges::copy(s->nodes(), std::back_inserter(nodes));
    return holds_for(verdict(nodes, a.rule));
  }

  /// Effects: sites of a line that were joined with others, and have one remedy since, become one.
  void fold_alike(std::vector<advised_site>& sites) {
    std::map<row_key, advised_site*> known;
    for (advised_site& s : sites)
      if (const auto [at, is_new] = known.try_emplace(key_of(s), &s); !is_new && are_alike(*at->second, s))
        absorb(*at->second, s);
    std::erase_if(sites, [](const advised_site& s) { return s.features == nullptr; });
  }

  void absorb(advised_site& first, advised_site& other) const {
    if (other.features->allocated.objects > first.features->allocated.objects) std::swap(first, other);
    const auto nodes = other.nodes();
    first.others.insert(first.others.end(), nodes.begin(), nodes.end());
    auto all = std::make_shared<site_features>(*first.features);
    all->merge(*other.features);
    first.added = std::move(all);
    first.features = first.added.get();
    first.estimate = touched_ns(*first.features, *first.rule, limits_);
    other.features = nullptr;
  }

  const call_tree& tree_;
  const site_observer& seen_;
  site_names& names_;
  const advice_limits& limits_;
  const advice_limits for_parts_;
  std::vector<std::uint32_t> best_stack_;
  std::map<std::string, std::size_t> lines_;  // by place, container and wrapper
};

}  // namespace

std::vector<advised_site> choose_sites(const call_tree& tree, const site_observer& seen, site_names& names,
                                       const advice_limits& limits) {
  names.find_wrappers(seen);
  chooser choice(tree, seen, names, limits);
  std::vector<advised_site> sites = choice.all();
  const auto rank = [](const advised_site& s) {
    return std::tuple(s.rule->proposes == remedy::nothing, -s.estimate, s.node);
  };
  std::sort(sites.begin(), sites.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  choice.count_places(sites);
  return sites;
}

}  // namespace ashlar::cli
