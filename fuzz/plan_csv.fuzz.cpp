// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a CSV file: refused or parsed; a parsed problem is planned validly, and written as it was read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <ashlar/plan/csv.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/plan/validate.hpp>

namespace plan = ashlar::plan;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const plan::csv_result r = plan::parse_csv({static_cast<const char*>(static_cast<const void*>(data)), size});
  if (!r.ok()) return r.document.content.buffers.empty() && !r.error->text().empty() ? 0 : (std::abort(), 0);
  const plan::problem& p = r.document.content;
  const plan::csv_result again = plan::parse_csv(plan::format_csv(p, nullptr, r.document.names));
  if (!again.ok() || again.document.names != r.document.names) std::abort();
  if (again.document.content.buffers != p.buffers || again.document.content.gaps != p.gaps) std::abort();
  if (p.buffers.size() > 64) return 0;
  const plan::layout l = plan::solve(p, {.nodes = 200});
  if (plan::validate(p, l)) std::abort();
  return 0;
}
