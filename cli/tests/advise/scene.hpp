// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Traces written by hand, event by event.
#pragma once

#include <gtest/gtest.h>

#include "cli/advise/call_tree.hpp"
#include "cli/advise/observer.hpp"
#include "cli/advise/sites.hpp"

namespace ashlar_test {

namespace cli = ashlar::cli;
namespace trace = ashlar::trace;

/// A trace written by hand, or several. Frames of `program` are addresses from 0x1000 on, its bias.
class scene {
public:
  scene() : modules_{{.begin = 0x1000, .end = 0x9000, .bias = 0x1000, .path = "/no/program", .build_id = "ab12"}} {}

  /// Returns: the id of the stack, innermost first.
  std::uint32_t stack(const std::vector<std::uint64_t>& frames) { return stacks_.add(frames); }

  /// Returns: the object.
  std::uint64_t allocate(std::uint64_t size, std::uint32_t stack, std::uint32_t thread = 0) {
    traces_.back().push_back({.time_ns = tick(),
                              .thread = thread,
                              .op = trace::operation::new_,
                              .size = size,
                              .object = ++objects_,
                              .stack = stack,
                              .slot = slot_of(objects_)});
    return objects_;
  }
  std::uint64_t reallocate(std::uint64_t old, std::uint64_t size, std::uint32_t stack) {
    traces_.back().push_back({.time_ns = tick(),
                              .op = trace::operation::realloc_,
                              .size = size,
                              .object = ++objects_,
                              .old_object = old,
                              .stack = stack,
                              .slot = slot_of(objects_),
                              .old_slot = slot_of(old)});
    return objects_;
  }
  void free(std::uint64_t object, std::uint32_t stack = 0, std::uint32_t thread = 0) {
    traces_.back().push_back({.time_ns = tick(),
                              .thread = thread,
                              .op = trace::operation::delete_,
                              .object = object,
                              .stack = stack,
                              .slot = slot_of(object)});
  }

  void mark(std::uint64_t number) {
    traces_.back().push_back({.time_ns = tick(), .op = trace::operation::mark, .size = number});
  }

  /// Effects: what follows is another trace.
  void next_trace() {
    traces_.emplace_back();
    objects_ = now_ = 0;
  }

  /// Effects: plays all traces `times` times.
  cli::site_observer& play(int times = 1) {
    std::vector<std::size_t> numbers;
    for (int i = 0; i < times; ++i)
      for (std::size_t k = 0; k < traces_.size(); ++k) numbers.push_back(k);
    return play_traces(numbers);
  }

  cli::site_observer& play_traces(const std::vector<std::size_t>& numbers) {
    std::vector<cli::call_tree::stack_ids> ids;
    for (std::size_t i = 0; i < numbers.size(); ++i) ids.push_back(tree.add(stacks_, modules_));
    tree.finish();
    seen_ = std::make_unique<cli::site_observer>(tree);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      seen_->begin_trace(ids[i]);
      for (const trace::event& e : traces_[numbers[i]]) seen_->add(e);
      seen_->end_trace();
    }
    return *seen_;
  }

  /// Returns: the features of the suffix of `depth` frames of a stack.
  const cli::site_features& site(std::uint32_t stack, std::uint32_t depth = 1) {
    for (const std::uint32_t node : tree.levels(stack))
      if (tree.nodes()[node].depth == depth) return seen_->of(node);
    ADD_FAILURE() << "no such site";
    return seen_->of(0);
  }

  /// Returns: the phases of the innermost call of a stack.
  cli::phase_features phases(std::uint32_t stack) { return seen_->phases_of(tree.levels(stack).front()); }

  /// Expects: `play` was called.
  cli::site_names& names() {
    names_ = std::make_unique<cli::site_names>(tree);
    return *names_;
  }
  cli::site_observer& seen() { return *seen_; }

  std::vector<cli::advised_site> advise(const cli::advice_limits& limits = {}) {
    return cli::choose_sites(tree, *seen_, names(), limits);
  }

  cli::call_tree tree;

private:
  std::uint64_t tick() { return now_ += 10; }
  static std::uint32_t slot_of(std::uint64_t object) { return static_cast<std::uint32_t>(object); }

  std::vector<trace::mapped_module> modules_;
  trace::stack_table stacks_;
  std::vector<std::vector<trace::event>> traces_{1};
  std::unique_ptr<cli::site_observer> seen_;
  std::unique_ptr<cli::site_names> names_;
  std::uint64_t objects_ = 0;
  std::uint64_t now_ = 0;
};

}  // namespace ashlar_test
