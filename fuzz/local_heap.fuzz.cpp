// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes as calls of three heaps and failures of their upstreams, beside models.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tests/support/heap_session.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ashlar_test::walk_bounds bounds{.most_blocks = 64, .most_bytes = std::size_t{64} << 20};
  std::make_unique<ashlar_test::heap_session>(ashlar_test::decisions(data, size), bounds)->run(size);
  return 0;
}
