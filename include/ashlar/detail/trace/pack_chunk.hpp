// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes a chunk of a payload: packed, with checksum and header, in memory of the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/trace/checksum.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/trace/codec.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

/// Returns: the largest size of a chunk with `raw_bytes` of payload.
template <trace::packer Packer>
[[nodiscard]] constexpr std::size_t chunk_bound(std::size_t raw_bytes) noexcept {
  const std::size_t packed = Packer::bound(raw_bytes);
  return chunk_header_bytes + (packed > raw_bytes ? packed : raw_bytes);
}

/// Effects: writes a whole chunk to `out`; a payload that does not shrink, or cannot be packed, is stored raw. Returns:
/// the chunk. Expects: the caller's fields of `header` are set; `chunk_bound(payload.size())` bytes at `out`.
template <trace::packer Packer>
std::span<const std::byte> pack_chunk(Packer& codec, detail::trace_io::chunk_header header,
                                      std::span<const std::byte> payload, std::byte* out) noexcept {
  std::byte* const body = out + chunk_header_bytes;
  header.codec = Packer::id;
  std::size_t stored = codec.pack(payload, {body, Packer::bound(payload.size())});
  if (stored == 0 || stored > payload.size()) {
    header.codec = trace::codec_id::raw;
    stored = trace::raw_codec{}.pack(payload, {body, payload.size()});
  }
  header.raw_bytes = static_cast<std::uint32_t>(payload.size());
  header.stored_bytes = static_cast<std::uint32_t>(stored);
  header.payload_sum = checksum({body, stored});
  put_header(out, header);
  return {out, chunk_header_bytes + stored};
}

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
