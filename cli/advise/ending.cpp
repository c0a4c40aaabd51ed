// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory at the end of a trace, in words: how much, from where, since when.
#include <algorithm>

#include <fmt/format.h>

#include "cli/advise/picture.hpp"
#include "cli/advise/words.hpp"

namespace ashlar::cli {

namespace {

enum class growth { none, early, middle, late };

/// Returns: when the live bytes grew to the live bytes of the end, by the quarters of the run.
growth growth_of(const std::vector<std::uint64_t>& live, std::uint64_t at_end) {
  if (live.size() < 4) return growth::none;
  const auto end = static_cast<double>(at_end);
  if (static_cast<double>(live[live.size() / 4]) >= 0.95 * end) return growth::early;
  return static_cast<double>(live[live.size() * 3 / 4]) <= 0.9 * end ? growth::late : growth::middle;
}

std::string since_words(growth g) {
  switch (g) {
    case growth::none: return "";
    case growth::early: return "; as much was alive after a quarter of the run: kept, not growing";
    case growth::middle: return "; it grew until the last quarter of the run";
    case growth::late: return "; it still grew in the last quarter of the run";
  }
  return "";
}

std::string leftover_words(const page_site& s, growth g) {
  const std::string some =
      s.never_freed.objects == s.allocated.objects
          ? "none is ever freed"
          : fmt::format("{} of {} are left, the others were freed", part_of(s.never_freed.objects, s.allocated.objects),
                        in_words(s.allocated.objects));
  return some + since_words(g);
}

std::string few_sites(const std::vector<page_site>& sites, const std::vector<page_leftover>& leftovers,
                      std::uint64_t all) {
  std::uint64_t sum = 0;
  std::size_t count = 0;
  while (count < leftovers.size() && sum * 5 < all * 4) sum += sites[leftovers[count++].site].never_freed.bytes;
  if (count == 0) return "";
  const page_site& first = sites[leftovers.front().site];
  if (count == 1) return fmt::format("{} of it is from one site, {}.", part_of(sum, all), first.function);
  return fmt::format("{} of it is from {}; the largest is {}.", part_of(sum, all), counted(count, "site"),
                     first.function);
}

}  // namespace

std::vector<std::string> ending_words(const advice& a, bool cut_short, std::vector<page_leftover>& leftovers,
                                      const std::vector<page_site>& sites) {
  const program_features& p = a.features;
  std::uint64_t early = 0, late = 0;
  for (page_leftover& left : leftovers) {
    const page_site& site = sites[left.site];
    const growth g = p.traces > 1 ? growth::none : growth_of(left.live, site.never_freed.bytes);
    left.words = leftover_words(site, g);
    if (g == growth::early) early += site.never_freed.bytes;
    if (g == growth::late) late += site.never_freed.bytes;
  }
  if (p.never_freed.objects == 0) return {"Every recorded object was freed."};
  std::vector<std::string> words = {
      fmt::format("When the recording ends, {} in {} alive: {} of the peak, {} of all that was allocated.",
                  in_bytes(p.never_freed.bytes), in_words(p.never_freed.objects, "object is", "objects are"),
                  part_of(p.never_freed.bytes, p.peak.bytes), part_of(p.never_freed.bytes, p.allocated.bytes))};
  if (const std::string few = few_sites(sites, leftovers, p.never_freed.bytes); !few.empty()) words.push_back(few);
  if (early != 0)
    words.push_back(
        fmt::format("{} is of sites that did not grow after the first quarter of the run.", in_bytes(early)));
  if (late != 0) words.push_back(fmt::format("{} is of sites that still grew in the last quarter.", in_bytes(late)));
  if (cut_short) words.push_back("The trace ends before its program: what is alive here may have been freed later.");
  return words;
}

}  // namespace ashlar::cli
