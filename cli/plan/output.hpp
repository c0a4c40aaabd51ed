// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan in other forms than CSV: tables for programs, pictures and figures for people; and the names in them.
#pragma once

#include <string>

#include <ashlar/base/layout.hpp>
#include <ashlar/base/problem.hpp>

namespace ashlar::cli {

/// One for each buffer, or none if ids are numbers.
using plan_names = std::vector<std::string>;

/// Returns: the buffer's name, or its id if the file had numbers.
[[nodiscard]] std::string name_of(const plan::problem& p, const plan_names& names, std::size_t at);

/// Returns: whether the word is a keyword of C or C++ or a predefined macro of a compiler.
[[nodiscard]] bool is_taken_word(const std::string& word);

/// Returns: `name` as an identifier of C and C++: a run of other characters than letters and digits becomes one `_`; a
/// leading digit gets one before it, a taken word one after it. Empty if `name` has no letter or digit.
[[nodiscard]] std::string identifier_of(const std::string& name);

/// Throws: `std::runtime_error` with the names that have no identifier, or the same one.
void check_identifiers(const std::vector<std::string>& names);

/// Returns: a C++ header with `constexpr` offsets, sizes, height and alignment in the namespace `name`, in the form
/// that `static_arena` takes; with `steps` also the births and deaths in their order, for `static_arena_guard`. Names
/// become constants in the nested namespace `buffer`, each the index of its buffer.
[[nodiscard]] std::string plan_as_header(const plan::problem& p, const plan::layout& l, const plan_names& names,
                                         const std::string& name, bool steps);

/// Returns: a C header with the same contents as a `static const` table and macros, prefixed by `name`.
[[nodiscard]] std::string plan_as_c(const plan::problem& p, const plan::layout& l, const plan_names& names,
                                    const std::string& name);

/// Returns: a picture with time across and addresses upwards, and the moment of the lower bound marked.
[[nodiscard]] std::string plan_as_svg(const plan::problem& p, const plan::layout& l, const plan_names& names);

/// Returns: the picture in a page with the figures above it; a name is shown under the pointer.
[[nodiscard]] std::string plan_as_html(const plan::problem& p, const plan::layout& l, const plan_names& names,
                                       const std::string& title);

/// Returns: the figures of the plan, one line for each.
[[nodiscard]] std::string plan_figures(const plan::problem& p, const plan::layout& l);

/// Bytes at the peak.
struct heap_peaks {
  std::uint64_t malloc = 0;        ///< Taken from the system by the malloc under this command.
  std::uint64_t malloc_start = 0;  ///< Of them those for the first byte; 0: malloc had no memory of its own to measure.
  std::uint64_t tlsf = 0;          ///< Spanned by a two-level segregated fit heap.
};

/// Effects: replays the births and deaths of `p` as calls of malloc (or aligned_alloc) and free in an arena of its
/// own; and of `tlsf_resource`. Throws: `std::runtime_error` if one of them has no memory left.
[[nodiscard]] heap_peaks measure_heaps(const plan::problem& p);

/// Returns: the height of the plan beside its bound and the heaps, one line for each.
[[nodiscard]] std::string compare_with_heaps(const plan::layout& l, const heap_peaks& peaks);

}  // namespace ashlar::cli
