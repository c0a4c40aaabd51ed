// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call stacks of all traces as a tree of return addresses, innermost first. Its nodes are the candidates for call
// sites: the suffixes of call chains at which chains part.
//
//     malloc called from A   <- B <- main      node A; nodes A<-B and A<-C, since chains part behind A;
//                            <- C <- main      no node A<-B<-main, which holds the same stacks as A<-B
//
// A return address that comes again on a stack is left out: recursion counts once, at any depth.
#pragma once

#include <map>

#include <ashlar/base/trace_tables.hpp>

namespace ashlar::cli {

/// A return address that is the same in every run of the same build.
struct site_frame {
  std::uint32_t module = 0;  ///< Index in `call_tree::modules`.
  std::uint64_t offset = 0;  ///< The address less the load bias.
};

struct site_module {
  std::string build_id;
  std::string path;
};

struct site_node {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  std::uint32_t depth = 0;  ///< Frames of the suffix.
  std::uint32_t stack = 0;  ///< One that has it.
  std::uint32_t parent = none;
  bool is_whole = true;  ///< No stack that has it has more frames there: none was left out before its last one.
};

class call_tree {
public:
  /// Deeper suffixes are no candidates; nor are those behind `most_levels` partings.
  static constexpr std::uint32_t most_depth = 16;
  static constexpr std::size_t most_levels = 6;

  /// The stacks of one trace: its ids to ids of the tree, 0 for none.
  using stack_ids = std::vector<std::uint32_t>;

  /// Effects: adds every stack of a trace, whose recorder took `most_frames`; 0: all. Expects: `finish` was not called.
  stack_ids add(const trace::stack_table& stacks, std::span<const trace::mapped_module> modules,
                std::uint32_t most_frames = 0);

  /// Effects: numbers the nodes. Complexity: O(frames of all stacks).
  void finish();

  /// Returns: the nodes of a stack, shortest suffix first; none for 0. Expects: `finish` was called.
  [[nodiscard]] std::span<const std::uint32_t> levels(std::uint32_t stack) const noexcept {
    return std::span(levels_).subspan(first_level_[stack], first_level_[stack + 1] - first_level_[stack]);
  }
  /// Returns: the frames of a stack, innermost first, as indices for `frame`; none for 0.
  [[nodiscard]] std::span<const std::uint64_t> frames(std::uint32_t stack) const noexcept { return stacks_[stack]; }
  [[nodiscard]] const site_frame& frame(std::uint64_t index) const noexcept { return frames_[index]; }
  [[nodiscard]] const std::vector<site_node>& nodes() const noexcept { return nodes_; }
  /// Returns: the nodes whose suffix is the node's and one caller more, or several.
  [[nodiscard]] const std::vector<std::uint32_t>& callers(std::uint32_t node) const noexcept { return callers_[node]; }
  [[nodiscard]] const std::vector<site_module>& modules() const noexcept { return modules_; }
  /// Returns: the number of stacks, which is the largest id.
  [[nodiscard]] std::uint32_t stack_count() const noexcept { return stacks_.size(); }
  /// Returns: whether the stack may have more frames than the recorder took; the least number of these.
  [[nodiscard]] bool is_cut(std::uint32_t stack) const noexcept { return about_[stack].is_cut; }
  [[nodiscard]] std::uint32_t cut_at() const noexcept { return cut_at_; }

private:
  struct stack_facts {
    std::uint32_t whole = ~std::uint32_t{0};  ///< The frames before the first that is left out.
    bool is_cut = false;
  };

  std::uint32_t module_of(const trace::mapped_module* module);
  std::uint32_t frame_of(std::uint64_t address, std::span<const trace::mapped_module> modules);

  std::vector<site_module> modules_;
  std::map<std::string, std::uint32_t> module_ids_;  // by build id, or by path without one
  std::vector<site_frame> frames_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> frame_ids_;
  trace::stack_table stacks_;                                     // of indices of frames
  std::vector<stack_facts> about_ = std::vector<stack_facts>(1);  // of each stack
  std::uint32_t cut_at_ = ~std::uint32_t{0};
  std::vector<site_node> nodes_;
  std::vector<std::vector<std::uint32_t>> callers_;  // of each node
  std::vector<std::uint32_t> levels_;                // of stack i: from first_level_[i] to first_level_[i + 1]
  std::vector<std::size_t> first_level_;
};

}  // namespace ashlar::cli
