// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses the call sites, the source lines of requests, or the shortest suffixes of their call chains that decide the
// verdict, and gives each a title of its own.
#pragma once

#include <functional>

#include "cli/advise/rules.hpp"
#include "cli/rounds/effect.hpp"

namespace ashlar::cli {

/// What a measurement of the program tells about a site.
struct site_trial {
  std::optional<finding> found = {};     ///< The verdict on its group; nothing: it was not tried.
  std::string text;                      ///< The effect of its group; empty: nothing was measured of it.
  double log_ratio = 0;                  ///< Unless nothing was tried.
  std::vector<std::size_t> groups = {};  ///< Groups of the plan that were measured together; empty: nothing was tried.
};

/// The pool of a container that several sites allocate for.
struct shared_pool {
  std::size_t sites = 0;  ///< 0: the site is alone.
  bool has_several_threads = false;
};

/// A call site with its verdict.
struct advised_site {
  std::uint32_t node = 0;                     ///< With the most objects.
  std::vector<std::uint32_t> others = {};     ///< Of the same line, if it has several calls or callers.
  const site_features* features = nullptr;    ///< Of all.
  std::shared_ptr<site_features> added = {};  ///< These, if there are several.
  const advice_rule* rule = nullptr;
  std::string evidence;
  forecast expected;                  ///< Of the remedy, for all sites that have it together.
  std::vector<refuted_rule> refuted;  ///< That fire, and whose remedies were dropped.
  site_request request;
  source_place caller;  ///< The call that decides, if that is not the request; empty: it is.
  std::string mark;     ///< Tells it from sites of the same request and caller; empty: there are none.
  std::string owner;
  double owner_share = 0;
  shared_pool pool;
  phase_features phases;
  double estimate = 0;  ///< Nanoseconds, of the calls that the remedy touches.
  site_trial trial;
  std::size_t line = 0;         ///< The number of its source line.
  bool has_route = false;       ///< A group of the plan has it, or calls of some of its callers.
  std::size_t more_places = 0;  ///< In the program that reach this site, beside `request.place` and its caller.

  /// Returns: the nodes, no two of which have an object in common.
  [[nodiscard]] std::vector<std::uint32_t> nodes() const {
    std::vector<std::uint32_t> all = {node};
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }
};

/// Returns: what the rules ask about a site.
[[nodiscard]] inline site_facts facts_of_site(const advised_site& s, const program_features& program,
                                              const advice_limits& limits) {
  return {*s.features, program, limits, s.request, s.owner, s.owner_share, s.phases};
}

/// What a remedy is: a row of the table in words.cpp, which a remedy without a row does not let compile.
struct remedy_facts {
  std::string_view name;         ///< In the files.
  std::string_view words;        ///< On the page.
  bool is_scoped = false;        ///< It is in the function that owns the objects: objects of its callers are others.
  bool is_of_allocator = false;  ///< It chooses where memory comes from. A pool does too, but serves every caller.
  bool is_placement = false;     ///< Another resource has each of the blocks: no trace shows the gain.
  bool may_be_routed = false;    ///< A plan of routes may have it without code.
  bool changes_free = true;      ///< Reserved space is freed as before, and a plan of routes needs no code.
  std::string (*advice)(const advised_site&, const advice_limits&) = nullptr;  ///< An instruction, without an end.
  std::string (*gain)(const advised_site&, const advice_limits&) = nullptr;    ///< Of the simulation; may be empty.
};

[[nodiscard]] const remedy_facts& facts_of(remedy r) noexcept;

/// Returns: the sites with a remedy, the greatest estimate first, then those without, likewise. Each object belongs to
/// one site at most, and each source line has one site, unless its callers need other remedies: then one a remedy.
/// Complexity: O(nodes), the names of those that are not too small, and for each container type its sites by their
/// owners.
[[nodiscard]] std::vector<advised_site> choose_sites(const call_tree& tree, const site_observer& seen,
                                                     site_names& names, const advice_limits& limits);

/// Returns: "Token::Token (simplecpp.cpp:774)", or the offset of an unnamed site, and what tells it from others.
[[nodiscard]] std::string site_title(const advised_site& s, const call_tree& tree);

/// Returns: the caller and the mark of the title; empty if the request has no equal.
[[nodiscard]] std::string site_distinction(const advised_site& s);

/// Returns: "at prog+0x1234", of a return address.
[[nodiscard]] std::string address_mark(std::uint64_t frame, const call_tree& tree);

/// Returns: for each list the fewest of its marks that no other list has all of, in their order and one line; empty if
/// there are none. The number is not always the least: the mark that fewest others share is taken first.
[[nodiscard]] std::vector<std::string> distinctions(const std::vector<std::vector<std::string>>& marks);

/// Effects: sites with equal titles are shown with all template arguments, if these differ, else get marks of their
/// own: callers, functions between program and malloc, or return addresses. Expects: no site has a mark.
void mark_equal_titles(std::vector<advised_site>& sites, const call_tree& tree, site_names& names);

/// Returns: whether the function is on the stack with most objects of the site.
using stack_test = std::function<bool(const advised_site& site, const std::string& function)>;

/// Effects: sites of one container whose remedies differ get one: an arena that serves all, else a pool, else nothing.
void join_containers(std::vector<advised_site>& sites, const program_features& program, const advice_limits& limits,
                     const stack_test& is_on_stack);

/// Returns: the function that holds most objects of a site from birth to death, and its share of the deaths.
using owner_finder = std::function<std::pair<std::string, double>(const advised_site& site)>;

/// Effects: a site whose remedy changes how its blocks are freed keeps it if no other site's blocks are freed by the
/// same call, or if these have the same remedy; else all of them, also those without one alone, get one that serves
/// all, or none. Its evidence names them. Two calls are the same if they stand in one line, and so do the calls of
/// their functions. Complexity: O(pairs of stacks of birth and death), and the names of stacks of death.
void join_shared_frees(std::vector<advised_site>& sites, const call_tree& tree, const site_observer& seen,
                       site_names& names, const owner_finder& owner_of, const advice_limits& limits);

}  // namespace ashlar::cli
