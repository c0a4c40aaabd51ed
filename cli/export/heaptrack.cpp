// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes heaptrack's text, version 3, of which each event is a line. Texts, frames, stacks and kinds of allocation,
// which are a size and a stack, have numbers; their lines stand before their first use.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <ashlar/detail/support/block_table.hpp>

#include "cli/export/formats.hpp"
#include "cli/report/trace.hpp"

namespace ashlar::cli {

namespace {

class heaptrack_writer {
public:
  explicit heaptrack_writer(const stack_profile& profile) : profile_(profile) {
    fmt::format_to(end(), "v 10400 3\nX {}\nI {:x} 0\n", profile.program, profile.info.page_bytes);
    for (const profile_frame& frame : profile.frames) write(frame);
    for (const profile_stack& stack : profile.stacks)
      for (const std::uint32_t id : stack.ids) stacks_[id] = number_of(stack);
  }

  void add(const trace::event& e) {
    if (const std::uint64_t now = e.time_ns / 1'000'000; now != now_ms_) {
      now_ms_ = now;
      fmt::format_to(end(), "c {:x}\n", now);
    }
    if (trace::is_allocation(e.op) && e.object != 0) {
      if (e.old_object != 0) release(e.old_object, e.old_slot);
      allocate(e);
    }
    if (trace::is_release(e.op)) release(e.object, e.slot);
  }

  [[nodiscard]] std::string finish() {
    const std::uint64_t page = std::max(profile_.info.page_bytes, 1U);
    fmt::format_to(end(), "R {:x}\n", profile_.info.resident_peak_bytes / page);
    return std::move(file_);
  }

private:
  struct object {
    std::uint64_t id = 0;
    std::uint32_t kind = 0;
  };

  std::back_insert_iterator<std::string> end() { return std::back_inserter(file_); }

  std::size_t number_of(const std::string& text) {
    if (text.empty()) return 0;
    const auto [at, is_new] = texts_.try_emplace(text, texts_.size() + 1);
    if (is_new) fmt::format_to(end(), "s {:x} {}\n", text.size(), text);
    return at->second;
  }

  void write(const profile_frame& frame) {
    const std::size_t module = number_of(profile_.functions[frame.calls.front().function].module);
    std::string line = fmt::format("i {:x} {:x}", frame.address, module);
    for (const profile_call& call : frame.calls) {
      const profile_function& f = profile_.functions[call.function];
      const std::size_t name = number_of(f.name), file = number_of(f.file);
      line += fmt::format(" {:x} {:x} {:x}", name, file, call.line);
    }
    file_ += line + '\n';
  }

  /// Returns: the number of the stack, which hangs on that of its callers.
  std::size_t number_of(const profile_stack& stack) {
    std::size_t parent = 0;
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
      const auto [at, is_new] = nodes_.try_emplace({parent, *frame}, nodes_.size() + 1);
      if (is_new) fmt::format_to(end(), "t {:x} {:x}\n", *frame + std::size_t{1}, parent);
      parent = at->second;
    }
    return parent;
  }

  void allocate(const trace::event& e) {
    const auto stack = stacks_.find(e.stack);
    const std::size_t node = (stack == stacks_.end() ? stacks_.find(0) : stack)->second;
    const auto [at, is_new] = kinds_.try_emplace({e.size, node}, static_cast<std::uint32_t>(kinds_.size()));
    if (is_new) fmt::format_to(end(), "a {:x} {:x}\n", e.size, node);
    live_.reach(e.slot);
    live_[e.slot] = {e.object, at->second};
    fmt::format_to(end(), "+ {:x}\n", at->second);
  }

  void release(std::uint64_t id, std::uint32_t slot) {
    if (id == 0 || slot >= live_.size() || live_[slot].id != id) return;
    fmt::format_to(end(), "- {:x}\n", std::exchange(live_[slot], {}).kind);
  }

  const stack_profile& profile_;
  std::string file_;
  std::uint64_t now_ms_ = 0;
  std::map<std::string, std::size_t> texts_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> nodes_;    // by parent and frame
  std::map<std::uint32_t, std::size_t> stacks_;                           // nodes by id
  std::map<std::pair<std::uint64_t, std::size_t>, std::uint32_t> kinds_;  // by size and node
  detail::block_table<object> live_;                                      // by slot
};

}  // namespace

std::string heaptrack_file(const stack_profile& profile, const export_request& request) {
  trace_input input(request.trace, request.prefix);
  heaptrack_writer writer(profile);
  for (auto batch = input.next_batch(); !batch.empty(); batch = input.next_batch())
    for (const trace::event& e : batch) writer.add(e);
  return writer.finish();
}

}  // namespace ashlar::cli
