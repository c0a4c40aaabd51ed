// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page of advice: what it shows, and the page as one self-contained file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ashlar/study/summary.hpp>

#include "cli/html/charts.hpp"
#include "cli/html/page.hpp"

namespace ashlar::cli {

/// Sentences of a site; the page holds them for the first sites alone.
struct page_detail {
  std::string evidence;
  std::string advice;
  std::string gain;  ///< With its levels in capitals.
  std::string amounts;
  std::vector<std::string> chain;  ///< Calls, innermost first.
};

struct page_site {
  static constexpr std::size_t lifetime_classes = 11;  ///< Below 100 ns, then decades, then 100 s and more.

  std::string function;
  std::string file;         ///< Its name, or the module's.
  std::int64_t line = 0;    ///< Less than 0: the offset in the module, negated; 0: neither is known.
  std::string distinction;  ///< "← main (a.cpp:7)": from sites of the same function and line; empty: there are none.
  std::string container;    ///< "std::map or std::set"; empty if none is known.
  std::string remedy;       ///< Its name; "nothing".
  std::string words;        ///< The remedy for people.
  std::string rule;
  double estimate_ns = 0;
  study::amount allocated, peak, never_freed;
  std::uint64_t at_program_peak = 0;  ///< Bytes.
  std::uint64_t median_bytes = 0;
  std::uint64_t median_life_ns = 0;  ///< Of the freed ones, to a quarter of an octave; 0 if there are none.
  std::uint64_t temporary = 0;       ///< Objects.
  std::array<std::uint64_t, lifetime_classes> lifetimes{};
  page_detail detail;
};

/// A site that may keep pages.
struct page_pins {
  std::size_t site = 0;
  std::uint64_t kept = 0;    ///< Pages that its live objects would lie on.
  std::uint64_t needed = 0;  ///< Pages that its objects would fill.
  double long_lived = 0;     ///< Share of its objects.
};

/// A site whose objects are alive at the end.
struct page_leftover {
  std::size_t site = 0;
  std::vector<std::uint64_t> live;  ///< Bytes over time, in `page_timeline::shape_bins` parts.
  std::string words;
};

struct page_timeline {
  static constexpr std::size_t shape_bins = 32;

  std::uint64_t bin_ns = 1;
  std::vector<std::uint64_t> bytes;  ///< Live at the moment of each bin.
  std::vector<std::uint64_t> ends;   ///< Of the traces, in nanoseconds.
  /// The live bytes of the sites with the most of them; the rest is what is missing to `bytes`.
  std::vector<std::pair<std::size_t, std::vector<std::uint64_t>>> layers;
};

struct page_lanes {
  struct thread {
    std::string name;
    std::vector<std::uint64_t> counts;  ///< Allocations in each bin.
  };
  struct span {
    std::string thread;  ///< The name of its lane.
    std::string name;
    std::uint64_t spans = 0;
    std::uint64_t total_ns = 0;
    std::vector<std::uint64_t> covered_ns;
  };

  std::uint64_t bin_ns = 1;
  std::vector<thread> threads;
  std::vector<span> spans;
  std::string note;  ///< On what is left out.
};

/// A call in the tree of calls, outermost first; a parent stands before its callees. Amounts are its own.
struct page_call {
  std::uint32_t parent = 0;  ///< Of the root: itself.
  std::string name;
  study::amount allocated = {}, temporary = {}, never_freed = {};
};

struct page_calls {
  using change = std::pair<std::uint32_t, std::int64_t>;  ///< Call, and bytes more than in the bin before.

  std::vector<page_call> calls;              ///< The first is the root.
  std::vector<std::vector<change>> changes;  ///< Of each bin of the timeline.
};

/// A remedy of the verdict.
struct page_proposal {
  std::string site;
  std::string remedy;  ///< Its name.
  std::string advice;
  std::string gain;  ///< With its levels in capitals.
};

/// A group of the plan of routes.
struct page_group {
  std::string name;
  std::string resource;  ///< "a pool of cells of 96 B".
  std::string sites;     ///< The titles of some, and the number of the others.
  std::string effect;    ///< Measured; empty: it has none of its own.
  bool stays = true;     ///< The measurement leaves it in the plan.
  std::uint64_t objects = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t budget_bytes = 0;
};

struct advice_page {
  std::string program;
  std::vector<std::string> warnings;
  std::string headline;          ///< In a sentence: a measured verdict first, if there is one.
  std::string use;               ///< Further lines of a measured verdict.
  std::string measured;          ///< The lines of its remedies; empty: nothing was measured.
  std::vector<bar_row> effects;  ///< Measured remedies: time by the time of the program as it is.
  std::string summary;           ///< The sites with a remedy, unless that is the headline.
  std::vector<page_proposal> proposals;
  std::vector<std::string> no_code;  ///< Remedies without a change of code.
  std::string plan_note;             ///< In sentences; empty: nothing is to be told of a plan.
  std::vector<page_group> plan;
  std::string order;  ///< Of the sites, in sentences.
  std::vector<fact_tile> facts;
  std::vector<std::string> ending;  ///< Memory at the end, in sentences.
  double pair_ns = 0;
  double program_ns = 0;  ///< 0: unknown.
  std::vector<page_site> sites;
  page_timeline timeline;
  page_lanes lanes;
  page_calls calls;
  std::vector<page_pins> pins;
  std::vector<page_leftover> leftovers;
};

/// The sites on a page; those behind are counted alone.
inline constexpr std::size_t most_page_sites = 20'000;

/// Returns: the data of the page as JSON that may stand in a script element.
[[nodiscard]] std::string advice_page_data(const advice_page& page);

/// Returns: the page. It loads nothing, and is at most 2 MB long.
[[nodiscard]] std::string html_advice(const advice_page& page);

[[nodiscard]] std::string_view advice_style() noexcept;
[[nodiscard]] std::string_view advice_script() noexcept;

}  // namespace ashlar::cli
