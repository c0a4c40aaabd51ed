// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes heaptrack's text, version 3, of which each event is a line. Texts, frames, stacks and kinds of allocation,
// which are a size and a stack, have numbers; their lines stand before their first use.
#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <map>
#include <utility>

#include <ashlar/detail/support/block_table.hpp>

#include "cli/export/formats.hpp"
#include "cli/report/trace.hpp"

namespace ashlar::cli {

namespace {

class heaptrack_writer {
public:
  explicit heaptrack_writer(const stack_profile& profile) : profile_(profile) {
    file_ = "v 10400 3\nX " + profile.program + '\n';
    line('I', {profile.info.page_bytes, 0});
    for (const profile_frame& frame : profile.frames) write(frame);
    for (const profile_stack& stack : profile.stacks)
      for (const std::uint32_t id : stack.ids) stacks_[id] = number_of(stack);
  }

  void add(const trace::event& e) {
    if (const std::uint64_t now = e.time_ns / 1'000'000; now != now_ms_) {
      now_ms_ = now;
      line('c', {now});
    }
    if (trace::is_allocation(e.op) && e.object != 0) {
      if (e.old_object != 0) release(e.old_object, e.old_slot);
      allocate(e);
    }
    if (trace::is_release(e.op)) release(e.object, e.slot);
  }

  [[nodiscard]] std::string finish() {
    const std::uint64_t page = std::max(profile_.info.page_bytes, 1U);
    line('R', {profile_.info.resident_peak_bytes / page});
    return std::move(file_);
  }

private:
  struct object {
    std::uint64_t id = 0;
    std::uint64_t kind = 0;
  };

  void append(std::uint64_t number) {
    std::array<char, 17> digits{' '};
    file_.append(digits.data(), std::to_chars(digits.begin() + 1, digits.end(), number, 16).ptr);
  }

  void line(char kind, std::initializer_list<std::uint64_t> numbers) {
    file_ += kind;
    for (const std::uint64_t number : numbers) append(number);
    file_ += '\n';
  }

  std::uint64_t number_of(const std::string& text) {
    if (text.empty()) return 0;
    const auto [at, is_new] = texts_.try_emplace(text, texts_.size() + 1);
    if (!is_new) return at->second;
    file_ += 's';
    append(text.size());
    file_ += ' ' + text + '\n';
    return at->second;
  }

  void write(const profile_frame& frame) {
    std::vector<std::uint64_t> numbers = {frame.address,
                                          number_of(profile_.functions[frame.calls.front().function].module)};
    for (const profile_call& call : frame.calls) {
      const profile_function& f = profile_.functions[call.function];
      for (const std::string* const text : {&f.name, &f.file}) numbers.push_back(number_of(*text));
      numbers.push_back(static_cast<std::uint64_t>(call.line));
    }
    file_ += 'i';
    for (const std::uint64_t number : numbers) append(number);
    file_ += '\n';
  }

  /// Returns: the number of the stack, which hangs on that of its callers.
  std::uint64_t number_of(const profile_stack& stack) {
    std::uint64_t parent = 0;
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
      const auto [at, is_new] = nodes_.try_emplace({parent, std::uint64_t{*frame}}, nodes_.size() + 1);
      if (is_new) line('t', {*frame + std::uint64_t{1}, parent});
      parent = at->second;
    }
    return parent;
  }

  void allocate(const trace::event& e) {
    const auto stack = stacks_.find(e.stack);
    // Of a process that still runs, this pass may read stacks that the first one has not seen.
    const std::uint64_t node = stack == stacks_.end() ? stacks_[0] : stack->second;
    const auto [at, is_new] = kinds_.try_emplace({e.size, node}, kinds_.size());
    if (is_new) line('a', {e.size, node});
    live_.reach(e.slot);
    live_[e.slot] = {e.object, at->second};
    line('+', {at->second});
  }

  void release(std::uint64_t id, std::uint32_t slot) {
    if (id == 0 || slot >= live_.size() || live_[slot].id != id) return;
    line('-', {std::exchange(live_[slot], {}).kind});
  }

  const stack_profile& profile_;
  std::string file_;
  std::uint64_t now_ms_ = 0;
  std::map<std::string, std::uint64_t> texts_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> nodes_;  // by parent and frame
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> kinds_;  // by size and node
  std::map<std::uint32_t, std::uint64_t> stacks_;                           // nodes by id
  detail::block_table<object> live_;                                        // by slot
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
