// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call sites of traces against those of earlier ones, which may be of another build: new, gone, with more or fewer.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/report/data.hpp"

namespace ashlar::cli {

/// A call site on two sides, with all its callers.
struct site_change {
  std::string before, after;  ///< "function (file:line)"; empty: it is not there.
  study::site_summary was, is;

  /// Returns: "new", "gone", "more" or "fewer", by its bytes, else its objects, else bytes never freed; empty if all of
  /// these are equal.
  [[nodiscard]] std::string_view word() const noexcept;
};

/// The traces of one side, added up.
struct diff_side {
  std::vector<std::string> traces;
  std::vector<std::string> notes;  ///< About them, each behind the name of its trace.
  std::string damage;              ///< Of the first that is not whole, so that figures are too low; empty: none.
  study::amount allocated, live;
  study::amount peak;  ///< The greatest of a single trace.
  std::map<std::string, study::site_summary> by_place;

  /// Returns: "a.trace", or "a.trace, b.trace".
  [[nodiscard]] std::string title() const;
};

/// How much a figure of the whole may grow.
struct growth_limit {
  std::string figure;  ///< Of a program, as in `ashlar budget`.
  std::string growth;  ///< "5%", or "1000".
  std::uint64_t was = 0, is = 0, most = 0;

  [[nodiscard]] bool is_kept() const noexcept { return is <= most; }
};

struct trace_diff {
  diff_side before, after;
  std::vector<site_change> changes;  ///< The greatest difference in bytes first.
  std::size_t equal = 0;             ///< Sites.
  std::vector<growth_limit> limits;
};

/// Effects: fills `changes` and `equal`. Sites are those of one function and file whose lines have all moved by as
/// much; what is left is matched by function, in the order of the lines.
void compare_sites(trace_diff& diff);

/// Returns: the mistake in "FIGURE=GROWTH"; empty if there is none.
[[nodiscard]] std::string check_growth(const std::string& text);

/// Returns: the limits on the figures of both sides. Expects: texts without a mistake.
[[nodiscard]] std::vector<growth_limit> growth_limits(const std::vector<std::string>& texts, const trace_diff& diff);

/// The stacks of both sides as one tree of functions, without their lines, which move between builds.
class diff_calls {
public:
  void add(std::span<const program_stack> stacks, bool is_after);

  /// Returns: the heaviest calls, each behind its caller; the others are their unnamed callees. Six figures each:
  /// objects, bytes and bytes never freed of its own, before and after.
  [[nodiscard]] nlohmann::json to_json() const;

private:
  struct call {
    std::uint32_t parent = 0;  ///< Of the root: itself.
    const std::string* name = nullptr;
    std::array<std::uint64_t, 6> own{};
  };

  /// Returns: the one copy of the name.
  const std::string* kept_name(const std::string& name) { return &*names_.insert(name).first; }
  std::uint32_t callee(std::uint32_t caller, const std::string* name);
  [[nodiscard]] std::vector<double> weights() const;

  std::unordered_set<std::string> names_;
  std::vector<call> calls_ = {{0, kept_name("all"), {}}};
  std::map<std::pair<std::uint32_t, const std::string*>, std::uint32_t> by_name_;
};

[[nodiscard]] std::string diff_text(const trace_diff& diff);
[[nodiscard]] nlohmann::json diff_json(const trace_diff& diff);

}  // namespace ashlar::cli
