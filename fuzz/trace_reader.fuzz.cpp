// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzzes the trace reader: any bytes end in events or in an error, and each event keeps every promise.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fuzz/support.hpp"
#include "tests/support/hostile_trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto ignore = [](const ashlar::trace::event&) {};
  const auto given = std::as_bytes(std::span(data, size));
  ashlar_fuzz::expect(ashlar_test::keeps_promises(given, false, ignore));
  std::vector<std::byte> image(given.begin(), given.end());
  ashlar_test::mend_trace(image);
  ashlar_fuzz::expect(ashlar_test::keeps_promises(image, size % 2 == 0, ignore));
  return 0;
}
