// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The names of call sites: the program's own function behind the standard library's, and the container in between.
#pragma once

#include <optional>

#include "cli/advise/call_tree.hpp"
#include "cli/advise/observer.hpp"
#include "cli/support/symbolise.hpp"
#include "cli/support/wrappers.hpp"

namespace ashlar::cli {

enum class container_kind { none, node, vector, string, deque, shared, function };

/// The request of a stack, as its program spells it.
struct site_request {
  source_place place;     ///< The innermost call that is no library's and no wrapper's; empty: all are the library's.
  std::string enclosing;  ///< The function of the symbol table around that place.
  container_kind kind = container_kind::none;
  std::string container;    ///< "std::map<…>"; empty if none was recognised.
  std::string through;      ///< The wrapper or C library function that it calls; empty: none.
  std::uint32_t depth = 0;  ///< Frames up to its own; 0: unknown.
  bool is_behind = false;   ///< It lies behind the suffix, which has wrappers and library functions alone.
  std::string element;      ///< The type of the requested objects, with template arguments; empty if unknown.
};

/// Looks names up once. Thread safety: one thread at a time.
class site_names {
public:
  /// `tree` outlives this.
  explicit site_names(const call_tree& tree) : tree_(tree) {}

  /// Effects: finds the program's wrappers of the allocator by its stacks. Before, there are none.
  void find_wrappers(const site_observer& seen);

  [[nodiscard]] const site_request& request(std::uint32_t stack);
  /// Returns: the request of a suffix of the stack. If it lies behind, it is the suffix's wrapper, if it has one.
  [[nodiscard]] site_request request(std::uint32_t stack, std::uint32_t depth);
  /// Returns: the function of the symbol table around a frame of the tree.
  [[nodiscard]] std::string function_of(std::uint64_t frame);
  /// Returns: the places of a frame, innermost first.
  [[nodiscard]] const std::vector<source_place>& places(std::uint64_t frame);
  /// Returns: as `symboliser::notes`.
  [[nodiscard]] std::vector<std::string> notes() const { return names_.notes(); }

private:
  [[nodiscard]] std::vector<const source_place*> calls_of(std::uint32_t stack, std::size_t most_frames);

  const call_tree& tree_;
  symboliser names_;
  wrapper_finder wrappers_;
  std::map<std::uint32_t, site_request> requests_;
};

}  // namespace ashlar::cli
