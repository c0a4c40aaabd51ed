// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any lines as the arguments of `ashlar plan`: refused with a status, or a request that makes sense.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "cli/plan/output.hpp"
#include "cli/plan/request.hpp"
#include "cli/support/verb.hpp"

namespace {

namespace cli = ashlar::cli;

// The verb's name and the lines, one argument each.
[[nodiscard]] std::vector<std::string> arguments_of(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> all{"ashlar plan", {}};
  for (std::size_t i = 0; i < size; ++i)
    if (data[i] == '\n') all.emplace_back();
    else if (data[i] != 0) all.back() += static_cast<char>(data[i]);
  return all;
}

[[nodiscard]] bool is_between(double x, double least, double most) { return x >= least && x <= most; }

[[nodiscard]] bool makes_sense(const cli::plan_request& r) {
  if (r.input.empty() == r.trace.empty() || r.name.empty() || cli::is_taken_word(r.name)) return false;
  if (!r.trace.empty() && r.validate) return false;
  if (!(r.between.empty() || (r.between.size() == 2 && r.window.empty() && !r.trace.empty()))) return false;
  if (!(r.window.empty() || (r.window.size() == 2 && !r.trace.empty()))) return false;
  const cli::phase_bounds bounds = r.bounds();
  if (bounds.window && bounds.window->first > bounds.window->second) return false;
  return is_between(r.seconds, 0, 1e6);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> arguments = arguments_of(data, size);
  std::vector<char*> words;
  for (std::string& each : arguments) words.push_back(each.data());
  words.push_back(nullptr);
  cli::plan_request r;
  const std::optional<int> status = cli::parse_plan(static_cast<int>(arguments.size()), words.data(), r);
  if (status ? *status != cli::exit_ok && *status != cli::exit_usage : !makes_sense(r)) std::abort();
  return 0;
}
