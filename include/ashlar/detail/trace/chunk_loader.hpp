// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a chunk's payload, checks it against its header and unpacks it with its codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/trace/checksum.hpp>
#include <ashlar/detail/trace/index.hpp>
#include <ashlar/trace/codec.hpp>
#include <ashlar/trace/source.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

template <trace::codec... Codecs>
class chunk_loader {
public:
  /// Returns: the reason why the payload cannot be read, or null; then it is in `payload()`.
  [[nodiscard]] const char* load(trace::byte_source& source, const chunk_entry& entry) {
    stored_.resize(entry.header.stored_bytes);
    if (!source.read(entry.offset + chunk_header_bytes, stored_)) return "cannot be read";
    if (checksum(stored_) != entry.header.payload_sum) return "a chunk's payload is damaged";
    payload_.resize(entry.header.raw_bytes);
    return unpack(entry.header.codec);
  }

  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return payload_; }

private:
  [[nodiscard]] const char* unpack(trace::codec_id id) noexcept {
    bool known = false;
    bool sound = false;
    const auto try_one = [&](auto& one) {
      if (known || one.id != id) return;
      known = true;
      sound = one.unpack(stored_, payload_);
    };
    std::apply([&](auto&... each) { (try_one(each), ...); }, codecs_);
    if (!known) return "a chunk is compressed by a method unknown to this program";
    return sound ? nullptr : "a chunk cannot be decompressed";
  }

  std::vector<std::byte> stored_;
  std::vector<std::byte> payload_;
  std::tuple<trace::raw_codec, Codecs...> codecs_;
};

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
