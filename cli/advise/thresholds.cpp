// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of names, which docs/advise-rules.md has too.
#include "cli/advise/thresholds.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace ashlar::cli {

namespace {

constexpr double most_bytes = 1e15;
constexpr double most_count = 1e12;
constexpr double most_ratio = 1000;

constexpr std::array thresholds = {
    advice_threshold{"small.objects", &advice_limits::least_objects, most_count},
    advice_threshold{"small.share", &advice_limits::least_share},
    advice_threshold{"small.ns", &advice_limits::least_estimate_ns, 1e15},
    advice_threshold{"small.bytes", &advice_limits::least_bytes, most_bytes},
    advice_threshold{"owner.share", &advice_limits::owner_share},
    advice_threshold{"same_function.bytes", &advice_limits::buffer_bytes, most_bytes},
    advice_threshold{"same_function.epochs", &advice_limits::buffer_epochs, most_count},
    advice_threshold{"growth.share", &advice_limits::growth_share},
    advice_threshold{"growth.chains", &advice_limits::growth_chains, most_count},
    advice_threshold{"growth.spread", &advice_limits::growth_spread, most_ratio},
    advice_threshold{"temporary.share", &advice_limits::temporary_share},
    advice_threshold{"other_thread.share", &advice_limits::hand_over_share},
    advice_threshold{"never_freed.share", &advice_limits::never_freed_share},
    advice_threshold{"never_freed.bytes", &advice_limits::never_freed_bytes, most_bytes},
    advice_threshold{"long_among_short.share", &advice_limits::long_share},
    advice_threshold{"long_among_short.life", &advice_limits::long_life, most_bytes},
    advice_threshold{"long_among_short.of_all", &advice_limits::long_of_all},
    advice_threshold{"long_among_short.bytes", &advice_limits::long_bytes, most_bytes},
    advice_threshold{"long_among_short.pages", &advice_limits::long_pages, most_ratio},
    advice_threshold{"lifo.share", &advice_limits::lifo_share},
    advice_threshold{"lifo.held", &advice_limits::lifo_held, most_ratio},
    advice_threshold{"batch.objects", &advice_limits::batch_objects, most_count},
    advice_threshold{"batch.share", &advice_limits::batch_share},
    advice_threshold{"batch.ended", &advice_limits::batch_ended},
    advice_threshold{"batch_in_function.held", &advice_limits::arena_held, most_ratio},
    advice_threshold{"fixed_phase.phases", &advice_limits::phases, most_count},
    advice_threshold{"fixed_phase.objects", &advice_limits::phase_objects, most_count},
    advice_threshold{"fixed_phase.share", &advice_limits::phase_share},
    advice_threshold{"batch.held", &advice_limits::counted_held, most_ratio},
    advice_threshold{"few_sizes.sizes", &advice_limits::pool_sizes, most_count},
    advice_threshold{"few_sizes.held", &advice_limits::pool_held, most_ratio},
};

std::string name_in(const std::string& text) { return text.substr(0, text.find('=')); }

/// Returns: null if there is none of the name.
const advice_threshold* find_threshold(const std::string& name) {
  const auto* const at =
      std::find_if(thresholds.begin(), thresholds.end(), [&](const advice_threshold& t) { return t.name == name; });
  return at == thresholds.end() ? nullptr : at;
}

std::optional<double> value_in(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == text.npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string known_names() {
  std::string all;
  for (const advice_threshold& t : thresholds) all += (all.empty() ? "" : ", ") + std::string(t.name);
  return all;
}

}  // namespace

std::string check_threshold_text(const std::string& text) {
  const std::string name = name_in(text);
  const advice_threshold* const found = find_threshold(name);
  if (found == nullptr) return fmt::format("there is no threshold '{}'; known are {}", name, known_names());
  const auto value = value_in(text);
  if (value && *value >= 0 && *value <= found->most) return "";
  return fmt::format("'{}' is not {}=VALUE with a number from 0 to {:g}", text, name, found->most);
}

void set_threshold(advice_limits& limits, const std::string& text) {
  limits.*find_threshold(name_in(text))->value = *value_in(text);
}

std::map<std::string, double> all_thresholds(const advice_limits& limits) {
  std::map<std::string, double> all;
  for (const advice_threshold& t : thresholds) all[std::string(t.name)] = limits.*t.value;
  return all;
}

std::map<std::string, double> changed_thresholds(const advice_limits& limits) {
  const advice_limits standard;
  std::map<std::string, double> changed;
  for (const advice_threshold& t : thresholds)
    if (limits.*t.value != standard.*t.value) changed[std::string(t.name)] = limits.*t.value;
  return changed;
}

}  // namespace ashlar::cli
