// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares build ids, as paths stay the same when a program is built again.
#include "cli/report/recorded_build.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "cli/routes/build_id.hpp"

namespace ashlar::cli {

std::string recorded_build(const trace_input& input) {
  return input.modules().empty() ? std::string() : input.modules().front().build_id;
}

void refuse_other_build(const trace_input& input, const std::string& file) {
  const std::string recorded = recorded_build(input), now = build_id_of(file);
  if (recorded.empty() || recorded == now) return;
  throw std::runtime_error(
      fmt::format("{} is of another build than {}: of build id {}, and that file has {}; record it "
                  "again",
                  input.path(), file, recorded, now.empty() ? "none" : now));
}

std::string unknown_build_note(const trace_input& input, const std::string& file) {
  if (!recorded_build(input).empty()) return {};
  return fmt::format("{} has no build id: nothing shows that {} is the recorded program.", input.path(), file);
}

}  // namespace ashlar::cli
