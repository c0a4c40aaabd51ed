// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The statistics of a heap as JSON; each key is the C++ name of its figure.
#pragma once

#include <cstddef>
#include <string_view>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/json_writer.hpp>
#include <ashlar/detail/support/text_writer.hpp>
#include <ashlar/heap/heap_statistics.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {

template <class Json>
void write_members(Json& json, const heap_statistics::share& share) {
  json.member("live_blocks", share.live_blocks)
      .member("live_bytes", share.live_bytes)
      .member("spare_blocks", share.spare_blocks)
      .member("spare_bytes", share.spare_bytes)
      .member("dropped_bytes", share.dropped_bytes)
      .member("waste_bytes", share.waste_bytes)
      .member("slabs", share.slabs);
}

template <class Json>
void write_share(Json& json, std::string_view name, const heap_statistics::share& share) {
  json.key(name).begin_object();
  write_members(json, share);
  json.end_object();
}

}  // namespace detail

/// Effects: writes the statistics as one JSON object to `out(std::string_view)`, in pieces. Size classes without a slab
/// are left out. Allocates nothing. Throws: as `out`.
template <class Out>
  requires detail::text_sink<Out>
ASHLAR_INLINE_FOR_SIZE inline void write_json(const heap_statistics& statistics, Out&& out) {
  detail::json_writer json(out);
  json.begin_object()
      .member("held_bytes", statistics.held_bytes)
      .member("free_bytes", statistics.free_bytes)
      .member("fresh_bytes", statistics.fresh_bytes)
      .member("head_bytes", statistics.head_bytes)
      .member("table_bytes", statistics.table_bytes)
      .member("cached_bytes", statistics.cached_bytes)
      .member("segments", statistics.segments)
      .member("page_faults_avoided", statistics.page_faults_avoided);
  detail::write_share(json, "all", statistics.all);
  detail::write_share(json, "runs", statistics.runs);
  detail::write_share(json, "huge", statistics.huge);
  json.key("classes").begin_array();
  for (std::size_t size_class = 1; size_class <= detail::size_classes::count; ++size_class) {
    if (statistics.of_class[size_class].slabs == 0) continue;
    json.begin_object()
        .member("size_class", size_class)
        .member("cell_bytes", detail::size_classes::bytes_of(size_class));
    detail::write_members(json, statistics.of_class[size_class]);
    json.end_object();
  }
  json.end_array().end_object().finish();
}

}  // namespace ashlar::ASHLAR_ABI
