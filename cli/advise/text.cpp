// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Advice as a page of 100 columns: three sentences for each site.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "cli/advise/advice.hpp"
#include "cli/advise/proposal.hpp"
#include "cli/advise/words.hpp"
#include "cli/preload/settings.hpp"
#include "cli/support/table.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t unchanged_shown = 3;
constexpr std::uint64_t many_bytes = std::uint64_t{16} << 20;

std::string paragraph(const std::string& text, const std::string& indent) {
  return hanging(indent, text, page_width) + "\n";
}

/// What is alive when frees alone follow is what the program goes on with after its peak. A plan may make more of it.
std::string after_peak_text(const advice& a) {
  const program_features& p = a.features;
  if (p.traces == 0 || (a.plan.groups.empty() && p.at_last_birth.bytes * 2 > p.peak.bytes)) return "";
  std::uint64_t live = 0, held = 0;
  for (const route_group& group : a.plan.groups) {
    live += group.evidence.value("live_bytes_after_peak", std::uint64_t{0});
    held += group.evidence.value("held_bytes_after_peak", std::uint64_t{0});
  }
  std::string text = fmt::format("Memory after the peak: {} of its {} are alive after the last allocation",
                                 in_bytes(p.at_last_birth.bytes / p.traces), in_bytes(p.peak.bytes / p.traces));
  if (a.plan.groups.empty()) return text + ".";
  return text + fmt::format("; {} of them in the groups of the plan, which hold at most {} for them (SIMULATED).",
                            in_bytes(live / p.traces), in_bytes(held / p.traces));
}

std::string heading(const advice& a) {
  const program_features& p = a.features;
  std::string text = shorten(a.program.empty() ? a.traces.front() : a.program, page_width) + "\n";
  text += paragraph(
      fmt::format("{}{}: {} of {}, at most {} alive at once, {}, {}.",
                  p.traces == 1 ? "" : counted(p.traces, "trace") + ", ", in_words(p.events, "event"),
                  in_words(p.allocated.objects, "allocation"), in_bytes(p.allocated.bytes), in_bytes(p.largest_peak),
                  counted(p.threads, "thread"),
                  a.resident_peak == 0 ? "its resident peak unknown" : in_bytes(a.resident_peak) + " resident at most"),
      "");
  if (a.own) text += paragraph(own_allocator_text(*a.own), "");
  if (!a.choice.empty()) text += paragraph(a.choice, "");
  if (const std::string after = after_peak_text(a); !after.empty()) text += paragraph(after, "");
  for (const std::string& warning : a.warnings) text += paragraph(warning, "");
  return text;
}

}  // namespace

std::string malloc_remedy(const advice& a) {
  const program_features& p = a.features;
  const double run_ns = static_cast<double>(p.allocated.objects) * a.limits.pair_ns / static_cast<double>(p.traces);
  const std::string share =
      a.limits.program_ns > 0 ? fmt::format(", {} of the program", percent(run_ns, a.limits.program_ns)) : "";
  return fmt::format(
      "another malloc: ESTIMATE: its calls take about {} a run{}, at {:.0f} ns a malloc and free; placement "
      "may add to that or take away. A trace does not decide it: 'ashlar replay {}' names the fastest "
      "for these calls, 'ashlar advise {} --measure run --only mallocs' measures the program under each.",
      human_time(run_ns), share, a.limits.pair_ns, a.traces.front(), a.traces.front());
}

std::string page_remedy(const advice& a) {
  const program_features& p = a.features;
  if (a.own)
    return fmt::format(
        "page policy: undecided: {} at malloc's peak are a small part of the program's memory; to measure: "
        "the program with GLIBC_TUNABLES=glibc.malloc.hugetlb=1.",
        in_bytes(p.largest_peak));
  if (p.largest_peak < many_bytes)
    return fmt::format("page policy: change nothing: {} at the peak are {}.", in_bytes(p.largest_peak),
                       in_words(p.largest_peak / advice_page_bytes + 1, "page"));
  const std::string mapped = p.mapped_blocks == 0
                                 ? ""
                                 : fmt::format(", and {} of 128 KiB or more ({}) may be mapped again and again",
                                               in_words(p.mapped_blocks, "block"), in_bytes(p.mapped_bytes));
  return fmt::format("page policy: SIMULATED: at least {} touched for the first time{}. A trace shows no "
                     "fault; to measure: the program with GLIBC_TUNABLES=glibc.malloc.hugetlb=1, or 'ashlar run "
                     "--option huge_pages=1 -- PROG', and with populate=1.",
                     in_words(p.largest_peak / advice_page_bytes, "page is", "pages are"), mapped);
}

namespace {

std::string sizes_text(const site_features& f) {
  if (f.sizes.distinct() == 1) return in_bytes(f.sizes.max()) + " each";
  return fmt::format("{} to {}, half up to {}", in_bytes(f.sizes.quantile(0)), in_bytes(f.sizes.max()),
                     in_bytes(f.sizes.quantile(0.5)));
}

}  // namespace

namespace {

std::string through_text(const advised_site& s) {
  return s.request.through.empty() ? "" : ", through " + s.request.through;
}

}  // namespace

std::string amounts_text(const advised_site& s, const advice& a) {
  const site_features& f = *s.features;
  const std::string container = s.request.container.empty() ? "" : ", for " + s.request.container;
  return fmt::format("{} of the allocations, {}{}{}; at most {} alive, {}, and {} of the program's peak.",
                     part_of(f.allocated.objects, a.features.allocated.objects), sizes_text(f), container,
                     through_text(s), in_words(f.peak_objects), in_bytes(f.peak_bytes),
                     part_of(f.at_program_peak.bytes, a.features.peak.bytes));
}

namespace {

/// Titles are not cut, since their ends tell them apart; a word that is wider than the page is.
std::string title_text(const std::string& head, const advised_site& s, const call_tree& tree) {
  const std::string more = s.more_places == 0 ? "" : " and " + counted(s.more_places, "more place");
  return paragraph(site_title(s, tree) + more, head);
}

std::string site_text(std::size_t rank, const advised_site& s, const advice& a, const call_tree& tree) {
  std::string text = "\n" + title_text(fmt::format("{:>3}  ", rank), s, tree);
  text += paragraph(amounts_text(s, a), "     ");
  text += paragraph(capital(s.evidence) + ".", "     ");
  return text + paragraph(fmt::format("-> {}. {}.", proposal_text(s, a), gain_text(s, a)), "     ");
}

std::string unchanged_site_text(const advised_site& s, const advice& a, const call_tree& tree) {
  const std::string verdict = standing_of(s) == standing::no_gain ? capital(proposal_text(s, a)) + ". " : "";
  const std::string text = fmt::format("{} of the allocations{}; {}. {}{}.",
                                       part_of(s.features->allocated.objects, a.features.allocated.objects),
                                       through_text(s), s.evidence, verdict, gain_text(s, a));
  return title_text("     ", s, tree) + paragraph(text, "       ");
}

/// Those that were measured as no gain come first, at most `top`, then the busiest of the others. `sites`: unchanged.
std::string unchanged_text(std::span<const advised_site> sites, const advice& a, const call_tree& tree,
                           std::size_t top) {
  if (sites.empty()) return "";
  const auto measured = static_cast<std::size_t>(
      std::ranges::count_if(sites, [](const advised_site& s) { return standing_of(s) == standing::no_gain; }));
  const auto rest = sites.subspan(measured);
  const std::string number = (sites.size() == a.sites.size() ? "" : "the other ") + in_words(sites.size());
  std::string text = a.own ? fmt::format("\nNo remedy at {} of them, as far as a small part tells; ", number)
                           : fmt::format("\nChange nothing at {} of them; ", number);
  text += measured == 0 ? "the busiest:\n" : "first those whose remedy was measured:\n";
  for (const advised_site& s : sites.first(std::min(measured, top))) text += unchanged_site_text(s, a, tree);
  for (const advised_site& s : rest.first(std::min(rest.size(), unchanged_shown)))
    text += unchanged_site_text(s, a, tree);
  return text;
}

}  // namespace

std::string advice_text(const advice& a, const call_tree& tree, std::size_t top) {
  std::string text = a.measurement.text.empty() ? "" : a.measurement.text + "\n";
  text += heading(a);
  if (a.features.allocated.objects == 0) return text + "\nNo allocation was recorded: there is nothing to advise.\n";
  if (a.measurement.text.empty())
    text += "\nWithout a change of code\n" + paragraph(malloc_remedy(a), "  - ") + paragraph(page_remedy(a), "  - ");
  const auto first =
      static_cast<std::size_t>(std::find_if(a.sites.begin(), a.sites.end(), is_unchanged) - a.sites.begin());
  text += "\n" + paragraph("By call site: " + proposals_text(a, ""), "");
  if (!a.order.empty()) text += paragraph(a.order, "");
  for (std::size_t i = 0; i < std::min(first, top); ++i) text += site_text(i + 1, a.sites[i], a, tree);
  if (first > top) text += fmt::format("\n     and {} more behind them; --top shows them\n", in_words(first - top));
  return text + unchanged_text(std::span(a.sites).subspan(first), a, tree, top);
}

namespace {

std::string effect_of(const stack_counts& counts) {
  if (counts.without == counts.allocations)
    return "No allocation has a call stack, so there are no call sites to advise on";
  return fmt::format("{} of {} {}, and cannot be advised on", grouped(counts.without),
                     counted(counts.allocations, "allocation"),
                     counts.without == 1 ? "has no call stack" : "have no call stacks");
}

std::string cause_of(const stack_counts& counts) {
  if (counts.unasked.size() == 1)
    return counts.unasked.front() + " was recorded without stacks; `ashlar record --stacks 16` has them";
  if (!counts.unasked.empty())
    return counted(counts.unasked.size(), "trace was", "traces were") +
           " recorded without stacks; `ashlar record --stacks 16` has them";
  if (counts.is_table_full)
    return fmt::format("a recorder keeps {}, and the program has more",
                       counted(recorder::max_stacks, "different stack"));
  return "the recorder could not unwind the program there: before its start, or over a C library without an unwinder";
}

}  // namespace

std::string missing_stacks(const stack_counts& counts) {
  if (counts.without * 100 <= counts.allocations) return "";
  return effect_of(counts) + ": " + cause_of(counts) + ".";
}

}  // namespace ashlar::cli
