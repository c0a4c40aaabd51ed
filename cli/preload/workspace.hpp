// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Workspaces in which records and tables become chunks: threads borrow a few, so that memory does not grow with their
// number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include <ashlar/base/trace_source.hpp>
#include <ashlar/detail/trace/decode.hpp>
#include <ashlar/trace/writer.hpp>

#include "cli/preload/sleeping_lock.hpp"
#include "cli/preload/thread_log.hpp"

namespace ashlar::recorder {

/// Packs with a context in its own memory: zstd must not call malloc here.
class static_packer {
public:
  static constexpr trace::codec_id id = trace::codec_id::zstd;
  static constexpr int level = 1;

  [[nodiscard]] static constexpr std::size_t bound(std::size_t n) noexcept { return ZSTD_COMPRESSBOUND(n); }

  [[nodiscard]] std::size_t pack(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
    if (context_ == nullptr) context_ = ZSTD_initStaticCCtx(memory_, sizeof memory_);
    if (context_ == nullptr) return 0;
    const std::size_t used = ZSTD_compressCCtx(context_, to.data(), to.size(), from.data(), from.size(), level);
    return ZSTD_isError(used) != 0 ? 0 : used;
  }

private:
  ZSTD_CCtx* context_ = nullptr;
  alignas(64) std::byte memory_[1536 * 1024];  // more than ZSTD_estimateCCtxSize(level); touched only as needed
};

static_assert(trace::packer<static_packer>);

inline constexpr std::size_t payload_bytes = detail::trace_io::record_encoder::bound(log_records);

struct workspace {
  sleeping_lock lock;
  detail::trace_io::record_encoder encoder;
  static_packer packer;
  std::byte payload[payload_bytes];
  std::byte chunk[detail::trace_io::chunk_bound<static_packer>(payload_bytes)];
};

/// Effects: waits for a workspace. Returns: it, locked, or null if there is no memory for one.
[[nodiscard]] workspace* borrow_workspace() noexcept;

/// Effects: in a forked child: frees all workspaces.
void reset_workspaces() noexcept;

/// Returns: `bytes` of fresh zeroed memory from the system, or null.
[[nodiscard]] void* map_memory(std::size_t bytes) noexcept;

}  // namespace ashlar::recorder
