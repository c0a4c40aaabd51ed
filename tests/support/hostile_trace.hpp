// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Made-up traces: repaired checksums after a change, and the promises of the reader for any input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ashlar/base/event.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/trace/reader.hpp>

namespace ashlar_test {

namespace trace = ashlar::trace;
namespace trace_io = ashlar::detail::trace_io;

/// Effects: repairs the checksums of the leading headers, so that readers get behind them.
inline void mend_trace(std::vector<std::byte>& image) {
  if (image.size() < trace_io::file_header_bytes + 8) return;
  const std::size_t text = std::min<std::size_t>(trace_io::get_word<std::uint32_t>(&image[56]), image.size());
  std::size_t at = trace_io::file_header_bytes + text;
  if (at + 8 > image.size()) return;
  trace_io::put_word(&image[at], trace_io::checksum({image.data(), at}));
  for (at += 8; at + trace_io::chunk_header_bytes <= image.size();) {
    const std::size_t room = image.size() - at - trace_io::chunk_header_bytes;
    const std::size_t stored = std::min<std::size_t>(trace_io::get_word<std::uint32_t>(&image[at + 24]), room);
    trace_io::put_word(&image[at + 64], trace_io::checksum({&image[at] + trace_io::chunk_header_bytes, stored}));
    trace_io::put_word(&image[at + 72], trace_io::checksum({&image[at], trace_io::chunk_header_bytes - 8}));
    at += trace_io::chunk_header_bytes + stored;
  }
}

/// The objects by slot. Complexity: memory grows with the greatest slot.
class slot_owners {
public:
  /// Returns: whether the objects of `e` have, and leave, slots of their own.
  [[nodiscard]] bool accept(const trace::event& e) {
    if (trace::is_release(e.op) && e.object != 0) return leave(e.slot, e.object);
    if (!trace::is_allocation(e.op) || e.object == 0) return true;
    if (e.old_object != 0 && !leave(e.old_slot, e.old_object)) return false;
    if (e.slot >= owners_.size()) owners_.resize(e.slot + std::size_t{1});
    return std::exchange(owners_[e.slot], e.object) == 0;
  }

private:
  bool leave(std::uint32_t slot, std::uint64_t object) {
    return slot < owners_.size() && std::exchange(owners_[slot], 0) == object;
  }

  std::vector<std::uint64_t> owners_;
};

/// Effects: calls `use(event)` for every event. Returns: whether each kept the promises of `event`: time does not go
/// back, objects are numbered in order, none is released before its allocation, and live ones have different slots.
template <class Use>
[[nodiscard]] bool keeps_promises(std::span<const std::byte> image, bool accept_prefix, Use use) {
  trace::reader<> r(image, {.accept_prefix = accept_prefix});
  std::uint64_t time = 0;
  std::uint64_t last_object = 0;
  slot_owners slots;
  while (const auto e = r.next()) {
    if (e->time_ns < time) return false;
    time = e->time_ns;
    if (trace::is_allocation(e->op) && e->object != 0 && e->object != ++last_object) return false;
    if ((trace::is_release(e->op) && e->object > last_object) || e->old_object > last_object) return false;
    if (!slots.accept(*e)) return false;
    use(*e);
  }
  return !r.error() || r.error()->offset <= image.size();
}

}  // namespace ashlar_test
