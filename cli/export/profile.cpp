// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts the stacks of a trace, names their frames, each once, and puts both in order.
#include "cli/export/profile.hpp"

#include <algorithm>
#include <filesystem>
#include <future>
#include <map>
#include <numeric>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "cli/export/count.hpp"
#include "cli/report/trace.hpp"
#include "cli/support/function_names.hpp"
#include "cli/support/symbolise.hpp"
#include "cli/support/text.hpp"
#include "cli/support/wrappers.hpp"

namespace ashlar::cli {

namespace {

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
    const auto [at, is_new] = functions_.try_emplace(made, static_cast<std::uint32_t>(to_.functions.size()));
    if (is_new) to_.functions.push_back(std::move(made));
    return at->second;
  }

  stack_profile& to_;
  symboliser& names_;
  source_place no_stack_;
  std::unordered_map<std::uint64_t, std::uint32_t> frames_;
  std::unordered_map<const source_place*, profile_call> calls_;
  std::map<profile_function, std::uint32_t> functions_;
};

/// Effects: numbers the functions in the order of their names, so that one program has one order in each recording.
void sort_functions(stack_profile& profile) {
  std::vector<std::uint32_t> order(profile.functions.size()), numbers(order.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t f) -> const profile_function& { return profile.functions[f]; });
  std::vector<profile_function> sorted;
  for (const std::uint32_t each : order) {
    numbers[each] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(std::move(profile.functions[each]));
  }
  profile.functions = std::move(sorted);
  for (profile_frame& frame : profile.frames)
    for (profile_call& call : frame.calls) call.function = numbers[call.function];
  for (profile_stack& stack : profile.stacks) stack.site.function = numbers[stack.site.function];
}

void sort_stacks(stack_profile& profile) {
  std::vector<std::pair<std::vector<profile_call>, profile_stack>> all;
  for (profile_stack& stack : profile.stacks) {
    std::vector<profile_call> calls = calls_of(profile, stack);
    all.emplace_back(std::move(calls), std::move(stack));
  }
  std::ranges::stable_sort(all, {}, [](const auto& each) -> const auto& { return each.first; });
  std::ranges::transform(all, profile.stacks.begin(), [](auto& each) { return std::move(each.second); });
}

void add_stacks(stack_profile& profile, const std::vector<stack_amounts>& sums, const trace_input& input,
                symboliser& names) {
  frame_namer namer(profile, names);
  wrapper_finder wrappers;
  std::vector<std::vector<const source_place*>> calls;
  std::map<std::vector<std::uint32_t>, std::size_t> numbers;  // by frames
  for (std::uint32_t id = 0; id < sums.size(); ++id) {
    if (sums[id].allocated.objects == 0) continue;
    std::vector<std::uint32_t> frames = namer.numbers_of(input.stacks()[id]);
    const auto [at, is_new] = numbers.try_emplace(frames, profile.stacks.size());
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
}

}  // namespace

std::string clean_text(const std::string& text) {
  using nlohmann::json;
  return printable(json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>());
}

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
  stack_counter counter(input.stacks().size());
  for (auto batch = input.next_batch(); !batch.empty(); batch = input.next_batch())
    for (const trace::event& e : batch) counter.add(e);
  named.get();
  stack_profile profile;
  profile.info = input.info();
  profile.program = clean_text(input.program());
  profile.build_id = input.build_id();
  profile.duration_ns = counter.duration_ns();
  profile.peak_ns = counter.peak_ns();
  profile.modules = input.modules();
  add_stacks(profile, counter.finish(), input, names);
  sort_functions(profile);
  sort_stacks(profile);
  profile.notes = names.notes();
  return profile;
}

}  // namespace ashlar::cli
