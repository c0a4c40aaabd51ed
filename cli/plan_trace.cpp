// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns a recorded phase into a planning problem.
#include "plan_trace.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <unordered_map>

#include <ashlar/trace/event.hpp>

#include "zstd_codec.hpp"

namespace ashlar::cli {

namespace {

using trace::operation;

/// Follows the events of a phase.
class phase {
public:
  explicit phase(std::optional<std::pair<std::uint64_t, std::uint64_t>> between)
      : between_(between), inside_(!between) {}

  void take(const trace::event& e) {
    ++now_;
    if (e.op == operation::mark) return pass_mark(e.size);
    if (!inside_ || e.op == operation::thread_end) return;
    if (e.op == operation::realloc_) end(e.old_object);
    if (e.op == operation::free_ || e.op == operation::delete_ || e.op == operation::delete_array_)
      return end(e.object);
    begin(e);
  }

  [[nodiscard]] recorded_problem finish(const std::string& path) {
    if (between_ && !closed_) throw std::runtime_error(path + ": the marks of the phase are not both there, in order");
    for (plan::buffer& b : result_.content.buffers)
      if (b.death == 0) {
        b.death = end_ + 1;
        ++result_.outliving;
      }
    return std::move(result_);
  }

private:
  void pass_mark(std::uint64_t number) {
    if (!between_ || closed_) return;
    if (inside_ && number == between_->second) {
      inside_ = false;
      closed_ = true;
    } else if (!inside_ && number == between_->first) {
      inside_ = true;
    }
  }

  void begin(const trace::event& e) {
    end_ = now_;
    if (e.object == 0) return;  // the call failed
    const std::uint64_t alignment = e.alignment != 0 ? e.alignment : alignof(std::max_align_t);
    live_[e.object] = result_.content.buffers.size();
    result_.content.buffers.push_back(plan::buffer{e.object, std::max<std::uint64_t>(1, e.size), alignment, now_, 0});
  }

  void end(std::uint64_t object) {
    end_ = now_;
    if (object == 0) return;
    const auto at = live_.find(object);
    if (at == live_.end()) {
      ++result_.foreign_frees;
      return;
    }
    result_.content.buffers[at->second].death = now_;
    live_.erase(at);
  }

  std::optional<std::pair<std::uint64_t, std::uint64_t>> between_;
  bool inside_;
  bool closed_ = false;
  std::uint64_t now_ = 0;
  std::uint64_t end_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> live_;
  recorded_problem result_;
};

}  // namespace

recorded_problem plan_from_trace(const std::string& path,
                                 std::optional<std::pair<std::uint64_t, std::uint64_t>> between) {
  trace_reader reader(path);
  phase recorded(between);
  while (const auto e = reader.next()) recorded.take(*e);
  if (reader.error()) throw std::runtime_error(path + ": " + reader.error()->message);
  return recorded.finish(path);
}

}  // namespace ashlar::cli
