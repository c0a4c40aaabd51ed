// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns a recorded phase into a planning problem.
#include "cli/plan/request.hpp"

#include <unordered_map>

#include "cli/report/trace.hpp"

namespace ashlar::cli {

namespace {

using trace::operation;

/// Follows the events of a phase. Each takes two moments, so that a reallocation can end the old buffer after the birth
/// of the new one.
class phase {
public:
  explicit phase(const phase_bounds& bounds) : bounds_(bounds), inside_(!bounds.marks) {}

  void take(const trace::event& e) {
    now_ += 2;
    if (e.op == operation::mark) pass_mark(e.size);
    const bool in_window =
        !bounds_.window || (bounds_.window->first <= e.time_ns && e.time_ns < bounds_.window->second);
    if (!inside_ || !in_window) return;
    if (is_release(e.op)) end(e.object, now_);
    if (!is_allocation(e.op) || e.object == 0) return;  // a failed call changes nothing
    if (e.op == operation::realloc_ && e.old_object != 0) end(e.old_object, now_ + 1);
    begin(e);
  }

  [[nodiscard]] recorded_problem finish(const std::string& path) {
    if (bounds_.marks && !closed_)
      throw std::runtime_error(path + ": the marks " + std::to_string(bounds_.marks->first) + " and " +
                               std::to_string(bounds_.marks->second) + " must both occur, in this order");
    for (plan::buffer& b : result_.content.buffers)
      if (b.death == 0) {
        b.death = end_ + 2;
        ++result_.outliving;
      }
    result_.threads = static_cast<std::uint32_t>(threads_.size());
    return std::move(result_);
  }

private:
  void pass_mark(std::uint64_t number) {
    if (!bounds_.marks || closed_) return;
    if (inside_ && number == bounds_.marks->second) {
      inside_ = false;
      closed_ = true;
    } else if (!inside_ && number == bounds_.marks->first) {
      inside_ = true;
    }
  }

  void begin(const trace::event& e) {
    end_ = now_;
    const std::uint64_t alignment = std::max<std::uint64_t>(e.alignment, alignof(std::max_align_t));
    live_[e.object] = result_.content.buffers.size();
    result_.content.buffers.push_back(plan::buffer{e.object, std::max<std::uint64_t>(1, e.size), alignment, now_, 0});
    threads_.insert(e.thread);
  }

  void end(std::uint64_t object, std::uint64_t moment) {
    end_ = now_;
    if (object == 0) return;
    const auto at = live_.find(object);
    if (at == live_.end()) {
      ++result_.foreign_frees;
      return;
    }
    result_.content.buffers[at->second].death = moment;
    live_.erase(at);
  }

  phase_bounds bounds_;
  bool inside_;
  bool closed_ = false;
  std::uint64_t now_ = 0;
  std::uint64_t end_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> live_;
  std::set<std::uint32_t> threads_;
  recorded_problem result_;
};

}  // namespace

recorded_problem plan_from_trace(const std::string& path, const phase_bounds& bounds, bool accept_prefix) {
  trace_input input(path, accept_prefix);
  phase recorded(bounds);
  while (const auto e = input.next()) recorded.take(*e);
  return recorded.finish(path);
}

}  // namespace ashlar::cli
