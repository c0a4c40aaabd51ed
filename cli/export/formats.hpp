// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The formats of `ashlar export`: one function each, from a profile to the bytes of the file.
#pragma once

#include <string>

#include "cli/export/profile.hpp"

namespace ashlar::cli {

/// The options that a format has use for.
struct export_request {
  std::string trace = {};              ///< The file, for a format of single events.
  bool prefix = false;                 ///< Only its part before the damage is read.
  const stack_value* value = nullptr;  ///< The one that a viewer shows first; of a format that has one, that one.
  bool by_site = false;                ///< A table has a row for each site, not for each stack.
};

/// pprof's protocol buffer, compressed where the command has zlib.
[[nodiscard]] std::string pprof_file(const stack_profile& profile, const export_request& request);
/// Returns: the functions of a stack as one text, "outermost;…;innermost". No name has a ';'.
[[nodiscard]] std::string folded_stack(const stack_profile& profile, const profile_stack& stack);
/// Returns: the text without control characters and with U+FFFD for bytes that are not UTF-8.
[[nodiscard]] std::string clean_text(const std::string& text);

/// Returns: the text in quotes of JSON.
[[nodiscard]] std::string json_text(const std::string& text);

/// Lines of a folded stack and its value.
[[nodiscard]] std::string folded_file(const stack_profile& profile, const export_request& request);
[[nodiscard]] std::string speedscope_file(const stack_profile& profile, const export_request& request);
/// What valgrind's dh_view shows.
[[nodiscard]] std::string dhat_file(const stack_profile& profile, const export_request& request);
[[nodiscard]] std::string heaptrack_file(const stack_profile& profile, const export_request& request);
/// Live bytes over time, spans and marks.
[[nodiscard]] std::string perfetto_file(const stack_profile& profile, const export_request& request);
[[nodiscard]] std::string jsonl_file(const stack_profile& profile, const export_request& request);
[[nodiscard]] std::string csv_file(const stack_profile& profile, const export_request& request);
[[nodiscard]] std::string parquet_file(const stack_profile& profile, const export_request& request);

}  // namespace ashlar::cli
