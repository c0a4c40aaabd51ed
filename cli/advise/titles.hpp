// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Titles of call sites, each of which is one site's alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/advise/sites.hpp"

namespace ashlar::cli {

/// Returns: "Token::Token (simplecpp.cpp:774)", or the offset of an unnamed site, and what tells it from others.
[[nodiscard]] std::string site_title(const advised_site& s, const call_tree& tree);

/// Returns: the caller and the mark of the title; empty if the request has no equal.
[[nodiscard]] std::string site_distinction(const advised_site& s);

/// Returns: "at prog+0x1234", of a return address.
[[nodiscard]] std::string address_mark(std::uint64_t frame, const call_tree& tree);

/// Effects: sites with equal titles get a mark of their own: a caller, the library's function between program and
/// malloc, or the return address. Expects: no site has a mark.
void mark_equal_titles(std::vector<advised_site>& sites, const call_tree& tree, site_names& names);

}  // namespace ashlar::cli
