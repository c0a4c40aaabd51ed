// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes folded stacks, and the JSON of speedscope and of DHAT, as text: a large trace has millions of numbers.
#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "cli/export/formats.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

std::string json_list(const std::vector<std::string>& elements) { return '[' + joined(elements, ",") + ']'; }

/// A frame is a function: with the line of the call one function would be several.
std::string speedscope_frame(const profile_function& function) {
  const std::string file = function.file.empty() ? "" : R"(,"file":)" + json_text(function.file);
  return fmt::format(R"({{"name":{}{}}})", json_text(function.name), file);
}

std::string speedscope_profile(const stack_profile& profile, const stack_value& value) {
  std::vector<std::string> samples, weights;
  std::uint64_t sum = 0;
  for (const profile_stack& stack : profile.stacks) {
    const std::uint64_t own = value.of(stack.sum);
    if (own == 0) continue;
    sum += own;
    weights.push_back(std::to_string(own));
    std::vector<std::string> functions;
    for (const profile_call& call : calls_of(profile, stack)) functions.push_back(std::to_string(call.function));
    samples.push_back(json_list(functions));
  }
  const char* const unit = value.unit == std::string_view("bytes") ? "bytes" : "none";
  return fmt::format(
      R"({{"type":"sampled","name":"{}","unit":"{}","startValue":0,"endValue":{},"samples":{},"weights":{}}})",
      value.name, unit, sum, json_list(samples), json_list(weights));
}

/// The frames of DHAT, as it prints them: each inlined call is one.
class dhat_frames {
public:
  explicit dhat_frames(const stack_profile& profile) {
    for (const profile_frame& frame : profile.frames) {
      first_.push_back(texts_.size());
      for (const profile_call& call : frame.calls) texts_.push_back(json_text(text(profile, frame, call)));
    }
    first_.push_back(texts_.size());
  }

  /// Returns: the numbers of the frames of a stack, innermost first, as a list of JSON.
  [[nodiscard]] std::string of(const profile_stack& stack) const {
    std::vector<std::string> all;
    for (const std::uint32_t frame : stack.frames)
      for (std::size_t i = first_[frame]; i < first_[frame + std::size_t{1}]; ++i) all.push_back(std::to_string(i));
    return json_list(all);
  }
  [[nodiscard]] std::string texts() const { return json_list(texts_); }

private:
  static std::string text(const stack_profile& profile, const profile_frame& frame, const profile_call& call) {
    const profile_function& f = profile.functions[call.function];
    const std::string place = call.line != 0 ? fmt::format("{}:{}", f.file, call.line) : "in " + f.module;
    return fmt::format("{:#x}: {} ({})", frame.address, f.name, place);
  }

  std::vector<std::string> texts_ = {"\"[root]\""};
  std::vector<std::size_t> first_;  // text of each frame
};

std::string dhat_point(const dhat_frames& frames, const profile_stack& stack) {
  const stack_amounts& s = stack.sum;
  return fmt::format(R"({{"tb":{},"tbk":{},"tl":{},"mb":{},"mbk":{},"gb":{},"gbk":{},"eb":{},"ebk":{},"fs":{}}})",
                     s.allocated.bytes, s.allocated.objects, s.lifetime_ns / 1000, s.most.bytes, s.most.objects,
                     s.at_peak.bytes, s.at_peak.objects, s.live.bytes, s.live.objects, frames.of(stack));
}

}  // namespace

std::string folded_stack(const stack_profile& profile, const profile_stack& stack) {
  std::string all;
  for (const profile_call& call : calls_of(profile, stack)) {
    std::string name = profile.functions[call.function].name;
    std::ranges::replace(name, ';', ':');
    all += (all.empty() ? "" : ";") + name;
  }
  return all;
}

std::string folded_file(const stack_profile& profile, const export_request& request) {
  std::map<std::string, std::uint64_t> sums;
  for (const profile_stack& stack : profile.stacks)
    if (const std::uint64_t value = request.value->of(stack.sum)) sums[folded_stack(profile, stack)] += value;
  std::string all;
  for (const auto& [stack, sum] : sums) all += stack + ' ' + std::to_string(sum) + '\n';
  return all;
}

std::string speedscope_file(const stack_profile& profile, const export_request& request) {
  std::vector<std::string> frames, profiles;
  for (const profile_function& each : profile.functions) frames.push_back(speedscope_frame(each));
  for (const stack_value& value : stack_values) profiles.push_back(speedscope_profile(profile, value));
  return fmt::format(
      R"({{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"ashlar","name":{},)"
      R"("activeProfileIndex":{},"shared":{{"frames":{}}},"profiles":{}}})"
      "\n",
      json_text(profile.program), request.value - stack_values.data(), json_list(frames), json_list(profiles));
}

std::string dhat_file(const stack_profile& profile, const export_request& /*request*/) {
  const dhat_frames frames(profile);
  std::vector<std::string> points;
  for (const profile_stack& stack : profile.stacks) points.push_back(dhat_point(frames, stack));
  return fmt::format(R"({{"dhatFileVersion":2,"mode":"heap","verb":"Allocated","bklt":true,"bkacc":false,)"
                     R"("tu":"µs","Mtu":"s","tuth":10,"cmd":{},"pid":{},"te":{},"tg":{},"pps":{},"ftbl":{}}})"
                     "\n",
                     json_text(profile.program), profile.info.process, profile.duration_ns / 1000,
                     profile.peak_ns / 1000, json_list(points), frames.texts());
}

}  // namespace ashlar::cli
