// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs that keep their objects in an allocator of their own, of which malloc, and so a trace, sees little: known by
// their memory, and named by the program or a library that it has loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <ashlar/base/trace_tables.hpp>
#include <ashlar/study/summary.hpp>

namespace ashlar::cli {

/// What is known of an allocator: texts are empty where nothing is.
struct allocator_facts {
  std::string_view runtime;   ///< "CPython"
  std::string_view shown_by;  ///< What makes malloc get the objects: "it with PYTHONMALLOC=malloc" is to be recorded.
  bool is_inside = false;     ///< It divides blocks of malloc.
};

struct own_allocator {
  std::uint64_t malloc_bytes = 0;  ///< In malloc at its peak, with its own overhead.
  std::uint64_t memory_bytes = 0;  ///< Of the process at its peak, but for files.
  allocator_facts facts;
};

/// The peaks of one trace or, added up, of several.
struct memory_peaks {
  study::amount malloc;         ///< Live at most.
  std::uint64_t anonymous = 0;  ///< 0: unknown.
};

/// Returns: the allocator of a program whose memory is not malloc's. `program` is its file, or the first word of its
/// command line. Nothing if malloc has a good part, or little is missing, or the memory is unknown.
[[nodiscard]] std::optional<own_allocator> find_own_allocator(const memory_peaks& peaks, std::string_view program,
                                                              std::span<const trace::mapped_module> modules);

/// Returns: the sentences about it.
[[nodiscard]] std::string own_allocator_text(const own_allocator& own);

/// Returns: the same as data; null without one.
[[nodiscard]] nlohmann::json own_allocator_json(const std::optional<own_allocator>& own);

}  // namespace ashlar::cli
