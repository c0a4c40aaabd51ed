// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan as something else than CSV: tables for programs, pictures and figures for people.
#pragma once

#include <string>
#include <vector>

#include <ashlar/plan/layout.hpp>
#include <ashlar/plan/problem.hpp>

namespace ashlar::cli {

/// Of each buffer, or none where ids are numbers.
using plan_names = std::vector<std::string>;

/// Returns: a C++ header with `constexpr` offsets, sizes, height and alignment in the namespace `name`, in the form
/// that `static_arena` takes; with `steps` also the births and deaths in their order, which `static_arena_guard`
/// follows. Names become constants in the namespace `buffer` inside, each the position of its buffer.
[[nodiscard]] std::string plan_as_header(const plan::problem& p, const plan::layout& l, const plan_names& names,
                                         const std::string& name, bool steps);

/// Returns: a C header with the same as `static const` table and macros, prefixed by `name`.
[[nodiscard]] std::string plan_as_c(const plan::problem& p, const plan::layout& l, const plan_names& names,
                                    const std::string& name);

/// Returns: time across, address up, one rectangle a buffer; the moment that forces the lower bound is marked.
[[nodiscard]] std::string plan_as_svg(const plan::problem& p, const plan::layout& l, const plan_names& names);

/// Returns: the picture in a page with the figures above it; names show where the pointer rests.
[[nodiscard]] std::string plan_as_html(const plan::problem& p, const plan::layout& l, const plan_names& names,
                                       const std::string& title);

/// Returns: what is known about the plan, a line each.
[[nodiscard]] std::string plan_figures(const plan::problem& p, const plan::layout& l);

}  // namespace ashlar::cli
