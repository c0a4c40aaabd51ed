// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The codec of recorded traces: Zstandard, by libzstd.
#pragma once

#include <zstd.h>

#include <ashlar/base/trace_source.hpp>
#include <ashlar/trace/reader.hpp>

namespace ashlar::cli {

/// A codec with one compression and one decompression context, each made at its first use.
class zstd_codec {
public:
  static constexpr trace::codec_id id = trace::codec_id::zstd;

  zstd_codec() = default;
  zstd_codec(const zstd_codec&) = delete;
  zstd_codec& operator=(const zstd_codec&) = delete;
  ~zstd_codec() {
    ZSTD_freeCCtx(packer_);
    ZSTD_freeDCtx(unpacker_);
  }

  [[nodiscard]] static std::size_t bound(std::size_t n) noexcept { return ZSTD_compressBound(n); }

  [[nodiscard]] std::size_t pack(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
    if (packer_ == nullptr) packer_ = ZSTD_createCCtx();
    if (packer_ == nullptr) return 0;
    const std::size_t used = ZSTD_compressCCtx(packer_, to.data(), to.size(), from.data(), from.size(), level);
    return ZSTD_isError(used) != 0 ? 0 : used;
  }

  [[nodiscard]] bool unpack(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
    if (unpacker_ == nullptr) unpacker_ = ZSTD_createDCtx();
    if (unpacker_ == nullptr) return false;
    return ZSTD_decompressDCtx(unpacker_, to.data(), to.size(), from.data(), from.size()) == to.size();
  }

private:
  static constexpr int level = 1;

  ZSTD_CCtx* packer_ = nullptr;
  ZSTD_DCtx* unpacker_ = nullptr;
};

static_assert(trace::codec<zstd_codec>);

/// Reads all traces of this command and its recorder.
using trace_reader = trace::reader<zstd_codec>;

}  // namespace ashlar::cli
