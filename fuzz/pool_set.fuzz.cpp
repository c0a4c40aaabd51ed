// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes as operations on a pool_set or a shared_pool_set of small bounds, beside an oracle.
#include <cstddef>
#include <cstdint>

#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

#include "fuzz/resource_session.hpp"
#include "fuzz/support.hpp"

namespace {

using namespace ashlar_fuzz;
using upstream_ref = ashlar::resource_ref<unreliable>;

ashlar::pool_set_options options_of(input& bytes) {
  return {.max_cell_bytes = bytes.size(8),
          .max_growth_count = bytes.next() % 2 == 0 ? ashlar::max_size : bytes.next(),
          .retain_slabs = bytes.next() % 4u};
}

template <class Set>
void run(input& bytes) {
  unreliable upstream;
  {
    Set set(options_of(bytes), upstream);
    use_resource(bytes, set, upstream, [&] { return upstream.dry; });
    expect(set.live() == 0);
    set.release();
    expect(set.invariant());
  }
  expect(upstream.held == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input bytes(data, size);
  bytes.next() % 2 == 0 ? run<ashlar::pool_set<upstream_ref>>(bytes)
                        : run<ashlar::shared_pool_set<ashlar::synchronized<upstream_ref>>>(bytes);
  return 0;
}
