// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes as operations on compositions of adaptors over small buffers and a failing upstream, beside an oracle.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include <ashlar/adaptor/budget.hpp>
#include <ashlar/adaptor/chain.hpp>
#include <ashlar/adaptor/fallback.hpp>
#include <ashlar/adaptor/fallback_monitor.hpp>
#include <ashlar/adaptor/guarding.hpp>
#include <ashlar/adaptor/limiting.hpp>
#include <ashlar/adaptor/logging.hpp>
#include <ashlar/adaptor/segregator.hpp>
#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/adaptor/tracking.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "fuzz/resource_session.hpp"
#include "fuzz/support.hpp"

namespace {

using namespace ashlar_fuzz;
using upstream_ref = ashlar::resource_ref<unreliable>;
using small_heap = ashlar::tlsf_resource<ashlar::null_resource>;
using small_heap_ref = ashlar::resource_ref<small_heap>;
using cells = ashlar::block_pool<upstream_ref>;
using cells_ref = ashlar::resource_ref<cells>;

struct no_log {
  static constexpr bool is_thread_safe = true;
  static void write(std::string_view) noexcept {}
};

/// The memory under the compositions. All of it is back at the end.
struct ground {
  unreliable upstream;
  alignas(64) std::array<std::byte, 4096> room;
  small_heap buffer{room};
  cells pool;
  ashlar::budget budget;

  explicit ground(input& bytes)
      : pool({.cell_bytes = 1u + bytes.next(), .slab_bytes = 4096, .max_count = bytes.next()}, upstream),
        budget(bytes.size(10)) {}
};

// A heap in a buffer, then the upstream; every call is counted, every block tracked.
void buffer_then_upstream(input& bytes, ground& on) {
  ashlar::statistics<ashlar::tracking<ashlar::fallback<small_heap_ref, upstream_ref>>> r(on.buffer, on.upstream);
  use_resource(bytes, r, on.upstream, [&] { return on.upstream.dry; });
}

// Small blocks from a pool, larger ones from the upstream, with canaries around all, within a budget.
void guarded_by_size(input& bytes, ground& on) {
  using parted = ashlar::segregator<cells_ref, upstream_ref>;
  struct by_size : parted {
    explicit by_size(ground& g) : parted(ashlar::threshold{300, 16}, g.pool, g.upstream) {}
  };
  ashlar::limiting<ashlar::guarding<by_size>> r(on.budget, on);
  use_resource(bytes, r, on.upstream, [] { return true; });
}

// A chain of buffers that come and go, behind a lock and a log.
void chained(input& bytes, ground& on) {
  using buffers = ashlar::chain<ashlar::buffer_resource, upstream_ref>;
  struct few_buffers : buffers {
    explicit few_buffers(const ashlar::chain_options& options, ground& g) : buffers(options, {}, g.upstream) {}
  };
  const ashlar::chain_options options{.max_count = 1u + bytes.next() % 5,
                                      .retain_count = bytes.next() % 3u,
                                      .room_bytes = std::size_t{64} * bytes.next(),
                                      .renew_empty = bytes.next() % 2 == 0};
  ashlar::logging<ashlar::synchronized<few_buffers>, no_log> r(no_log(), options, on);
  use_resource(bytes, r, on.upstream, [] { return true; });
}

// Two sides that are adaptors themselves: canaries in a buffer, then a budget over a growing resource.
void deep(input& bytes, ground& on) {
  using growing_heap = ashlar::tlsf_resource<upstream_ref>;
  using inner = ashlar::fallback<ashlar::guarding<small_heap_ref>, ashlar::limiting<growing_heap>>;
  struct made : inner {
    explicit made(ground& g)
        : inner(std::piecewise_construct, std::forward_as_tuple(g.buffer),
                std::forward_as_tuple(g.budget, ashlar::tlsf_resource_options{}, g.upstream)) {}
  };
  ashlar::tracking<ashlar::statistics<made>> r(on);
  use_resource(bytes, r, on.upstream, [] { return true; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input bytes(data, size);
  constexpr std::array compositions = {&buffer_then_upstream, &guarded_by_size, &chained, &deep};
  const auto compose = compositions[bytes.next() % compositions.size()];
  ground on(bytes);
  compose(bytes, on);
  expect(on.pool.live() == 0 && on.buffer.used() == 0);
  on.pool.release();
  expect(on.upstream.held == 0);
  return 0;
}
