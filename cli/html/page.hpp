// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages of one self-contained file each, in light and dark, which a script of their own draws from JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace ashlar::cli {

struct candidate_figures;
struct replay_figures;
struct replayed_trace;
struct report_data;

/// The style and the script of a page, which embed.cmake compiles in.
struct page_assets {
  std::string_view style, script;
};
[[nodiscard]] page_assets advice_assets() noexcept;
[[nodiscard]] page_assets diff_assets() noexcept;
[[nodiscard]] page_assets report_assets() noexcept;

/// Returns: the text with the special characters of HTML escaped, and U+FFFD for bytes that are not UTF-8.
[[nodiscard]] std::string escaped(std::string_view text);

/// Returns: the report of a trace and of its replay; without a replay (both null) of the trace only.
[[nodiscard]] std::string html_report(const replay_figures* figures, const replayed_trace* replayed,
                                      const report_data& data);

/// Returns: the page of a comparison. `page`: "diff", what `diff --json` writes, and "calls", of `diff_calls`.
[[nodiscard]] std::string html_diff(nlohmann::json page);

/// The sites on a page; those behind are counted alone.
inline constexpr std::size_t most_page_sites = 20'000;

/// Returns: what the table of a page has of a site, from its record in `advise --json`.
[[nodiscard]] nlohmann::json page_row(const nlohmann::json& site);

/// Returns: a digit of base 36 for each part, by its share of the greatest; "0" is none at all.
[[nodiscard]] std::string shape_of(const std::vector<std::uint64_t>& parts);

/// Returns: the page of advice, at most 2 MB long. `page` has what advise/page.cpp gives it, with texts of any length:
/// in "sites" a `page_row` each, and in "details" texts of the first ones, their calls last, each before its line of
/// source.
[[nodiscard]] std::string html_advice(const nlohmann::json& page);

}  // namespace ashlar::cli
