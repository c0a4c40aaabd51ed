// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts the stacks of a trace, names their frames, each once, and puts both in order.
#include "cli/export/profile.hpp"

#include <filesystem>
#include <future>
#include <map>
#include <unordered_map>
#include <utility>

#include "cli/export/count.hpp"
#include "cli/export/formats.hpp"
#include "cli/report/trace.hpp"
#include "cli/support/function_names.hpp"
#include "cli/support/symbolise.hpp"
#include "cli/support/text.hpp"
#include "cli/support/wrappers.hpp"

namespace ashlar::cli {

namespace {

/// Stacks by what tells them apart.
using stack_numbers = std::map<std::vector<std::uint32_t>, std::size_t>;

/// Fills the tables of a profile, with each function and each frame once.
class frame_namer {
public:
  frame_namer(stack_profile& to, symboliser& names) : to_(to), names_(names) { no_stack_.function = "(no stack)"; }

  /// Returns: the frames, by number; for none the frame "(no stack)".
  std::vector<std::uint32_t> numbers_of(std::span<const std::uint64_t> frames) {
    std::vector<std::uint32_t> all;
    for (const std::uint64_t frame : frames) all.push_back(number_of(frame));
    if (all.empty()) all.push_back(number_of(0));
    return all;
  }

  /// Returns: the call at a place, which outlives this.
  profile_call call_at(const source_place& place) {
    const auto [at, is_new] = calls_.try_emplace(&place);
    if (is_new) at->second = {function_of(place), place.line};
    return at->second;
  }

  [[nodiscard]] const source_place& no_stack() const noexcept { return no_stack_; }

  /// Effects: numbers the functions in the order of their names, so that one program has one order in each recording.
  void finish() {
    std::vector<std::uint32_t> numbers(functions_.size());
    for (const auto& [function, number] : functions_) {
      numbers[number] = static_cast<std::uint32_t>(to_.functions.size());
      to_.functions.push_back(function);
    }
    for (profile_frame& frame : to_.frames)
      for (profile_call& call : frame.calls) call.function = numbers[call.function];
    for (profile_stack& stack : to_.stacks) stack.site.function = numbers[stack.site.function];
  }

private:
  std::uint32_t number_of(std::uint64_t frame) {
    const auto [at, is_new] = frames_.try_emplace(frame, static_cast<std::uint32_t>(to_.frames.size()));
    if (is_new) to_.frames.push_back(frame == 0 ? profile_frame{0, 0, {call_at(no_stack_)}} : named(frame));
    return at->second;
  }

  profile_frame named(std::uint64_t frame) {
    const trace::mapped_module* const module = trace::find_module(to_.modules, frame);
    profile_frame made{frame - 1, 0, {}};
    if (module != nullptr) made.module = static_cast<std::size_t>(module - to_.modules.data()) + 1;
    for (const source_place& place : names_.places(frame, to_.modules)) made.calls.push_back(call_at(place));
    return made;
  }

  std::uint32_t function_of(const source_place& place) {
    const std::string name = place.whole.empty() ? place.function : long_function_name(place.whole);
    const std::string file =
        place.path == nullptr ? "" : std::filesystem::path(*place.path).lexically_normal().string();
    profile_function made{clean_text(name), clean_text(file), clean_text(place.module)};
    return functions_.emplace(std::move(made), static_cast<std::uint32_t>(functions_.size())).first->second;
  }

  stack_profile& to_;
  symboliser& names_;
  source_place no_stack_;
  std::unordered_map<std::uint64_t, std::uint32_t> frames_;
  std::unordered_map<const source_place*, profile_call> calls_;
  std::map<profile_function, std::uint32_t> functions_;
};

/// Effects: puts the stacks in the order of their calls, from the outermost on.
void sort_stacks(stack_profile& profile) {
  std::vector<profile_stack> stacks = std::exchange(profile.stacks, {});
  stack_numbers order;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    std::vector<std::uint32_t> key;
    for (const profile_call& call : calls_of(profile, stacks[i]))
      key.insert(key.end(), {call.function, static_cast<std::uint32_t>(call.line)});
    key.push_back(static_cast<std::uint32_t>(i));
    order.emplace(std::move(key), i);
  }
  for (const auto& [key, number] : order) profile.stacks.push_back(std::move(stacks[number]));
}

void add_stacks(stack_profile& profile, const std::vector<stack_amounts>& sums, const trace_input& input,
                symboliser& names) {
  frame_namer namer(profile, names);
  wrapper_finder wrappers;
  std::vector<std::vector<const source_place*>> calls;
  stack_numbers numbers;  // by frames
  for (std::uint32_t id = 0; id < sums.size(); ++id) {
    if (sums[id].allocated.objects == 0) continue;
    std::vector<std::uint32_t> frames = namer.numbers_of(input.stacks()[id]);
    const auto [at, is_new] = numbers.emplace(frames, profile.stacks.size());
    if (is_new) profile.stacks.push_back({{}, std::move(frames), {}, {}});
    profile.stacks[at->second].ids.push_back(id);
    profile.stacks[at->second].sum += sums[id];
    if (is_new) wrappers.add(calls.emplace_back(names.calls(input.stacks()[id], input.modules())), sums[id].allocated);
  }
  wrappers.decide();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::size_t at = wrappers.call_in(calls[i]).at;
    const source_place& site = calls[i].empty() ? namer.no_stack() : *calls[i][at == calls[i].size() ? 0 : at];
    profile.stacks[i].site = namer.call_at(site);
  }
  namer.finish();
}

}  // namespace

std::vector<profile_call> calls_of(const stack_profile& profile, const profile_stack& stack) {
  std::vector<profile_call> all;
  for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
    const std::vector<profile_call>& calls = profile.frames[*frame].calls;
    all.insert(all.end(), calls.rbegin(), calls.rend());
  }
  return all;
}

stack_profile read_profile(trace_input& input) {
  symboliser names;
  std::future<void> named = std::async(std::launch::async, [&] { names.look_up(input.stacks(), input.modules()); });
  const counted_stacks counted = count_stacks(input);
  named.get();
  stack_profile profile;
  profile.info = input.info();
  profile.program = clean_text(input.program());
  profile.build_id = clean_text(input.build_id());
  profile.duration_ns = counted.duration_ns;
  profile.peak_ns = counted.peak_ns;
  profile.live_bytes = counted.live_bytes;
  profile.modules = input.modules();
  add_stacks(profile, counted.sums, input, names);
  sort_stacks(profile);
  profile.notes = names.notes();
  return profile;
}

}  // namespace ashlar::cli
