// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory that a pool or a counted arena would have held for the objects of a call site: exact, since neither
// depends on anything but the order of requests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ashlar::cli {

/// A pool keeps every cell that it ever had, and uses a free one before it takes a new slab.
///
///     pool_allocator<T>, block_pool    24 B objects in cells of 24 B
///     the pool of a plan of routes     24 B objects in cells of 32 B: malloc promises 16-byte alignment
struct pool_model {
  static constexpr std::uint64_t slab_bytes = 64 * 1024;
  static constexpr std::uint64_t header_bytes = 64;

  std::uint64_t cell_bytes = 0;
  std::uint64_t slabs = 0;
  std::uint64_t held_bytes = 0;
  std::uint64_t holes = 0;  ///< Cells without an object at the moment of the most objects.

  /// `peak_objects`: the most that were alive at once. `alignment`: of the cells, in bytes; cells of a multiple of 16
  /// bytes are aligned to 16 anyhow.
  [[nodiscard]] static pool_model of(std::uint64_t largest_bytes, std::uint64_t peak_objects,
                                     std::uint64_t alignment = 8) noexcept {
    pool_model m;
    m.cell_bytes = (std::max<std::uint64_t>(largest_bytes, 1) + alignment - 1) / alignment * alignment;
    const std::uint64_t cells = std::max<std::uint64_t>((slab_bytes - header_bytes) / m.cell_bytes, 1);
    m.slabs = (peak_objects + cells - 1) / cells;
    m.held_bytes = m.slabs * std::max(slab_bytes, m.cell_bytes + header_bytes);
    m.holes = m.slabs * cells - peak_objects;
    return m;
  }

  /// Returns: the held bytes by the most live bytes and one slab: the last slab is no loss.
  [[nodiscard]] double held_by_live(std::uint64_t peak_bytes) const noexcept {
    return static_cast<double>(held_bytes) / static_cast<double>(peak_bytes + slab_bytes);
  }
};

/// An arena of chunks. Objects are laid one after the other; a chunk whose last object dies is free again, unless it is
/// the one being filled.
///
///     chunks in use = those with objects, and the one being filled
///
/// Requests above a quarter of a chunk are left to the upstream.
class counted_arena_model {
public:
  static constexpr std::uint64_t chunk_bytes = 64 * 1024;
  static constexpr std::uint64_t header_bytes = 64;
  static constexpr std::uint64_t largest_bytes = chunk_bytes / 4;
  static constexpr std::uint32_t no_chunk = ~std::uint32_t{0};

  /// Returns: the chunk of the object, to be passed to `release`.
  [[nodiscard]] std::uint32_t allocate(std::uint64_t bytes) {
    if (bytes > largest_bytes) return no_chunk;
    const std::uint64_t taken = (std::max<std::uint64_t>(bytes, 1) + 15) / 16 * 16;
    live_bytes_ += bytes;
    ++served_;
    if (filling_ == no_chunk || filled_ + taken > chunk_bytes) open_chunk();
    filled_ += taken;
    ++objects_[filling_];
    peak_live_bytes_ = std::max(peak_live_bytes_, live_bytes_);
    note_excess();
    return filling_;
  }

  void release(std::uint32_t chunk, std::uint64_t bytes) {
    if (chunk == no_chunk) return;
    live_bytes_ -= bytes;
    const bool is_empty = --objects_[chunk] == 0;
    if (is_empty && chunk == filling_) filled_ = header_bytes;  // begins again
    else if (is_empty) close_chunk(chunk);
    note_excess();
  }

  /// Effects: forgets the objects, neither the peaks nor how many were served: another trace begins.
  void restart() {
    objects_ = {};
    free_ = {};
    filling_ = no_chunk;
    chunks_ = live_bytes_ = 0;
  }

  /// Effects: adds the peaks of another one, of which no object is alive.
  void merge(const counted_arena_model& other) noexcept {
    served_ += other.served_;
    peak_chunks_ += other.peak_chunks_;
    peak_live_bytes_ += other.peak_live_bytes_;
    peak_excess_ += other.peak_excess_;
    pinned_ += other.pinned_;
  }

  /// Returns: the objects that had a chunk; the others were too large.
  [[nodiscard]] std::uint64_t served() const noexcept { return served_; }
  [[nodiscard]] std::uint64_t chunks() const noexcept { return chunks_; }
  [[nodiscard]] std::uint64_t peak_chunks() const noexcept { return peak_chunks_; }
  [[nodiscard]] std::uint64_t peak_held_bytes() const noexcept { return peak_chunks_ * chunk_bytes; }
  [[nodiscard]] std::uint64_t peak_live_bytes() const noexcept { return peak_live_bytes_; }
  /// Returns: the most bytes at once that chunks held beyond the live objects.
  [[nodiscard]] std::uint64_t peak_excess_bytes() const noexcept { return peak_excess_; }
  /// Returns: the most chunks at once that the live objects of that moment would not have filled.
  [[nodiscard]] std::uint64_t pinned_chunks() const noexcept { return pinned_; }
  /// Returns: peak of held bytes by peak of live bytes; the chunk being filled is no loss.
  [[nodiscard]] double held_by_live() const noexcept {
    return std::max(1.0, static_cast<double>(peak_held_bytes()) / static_cast<double>(peak_live_bytes_ + chunk_bytes));
  }

private:
  void open_chunk() {
    if (filling_ != no_chunk && objects_[filling_] == 0) close_chunk(filling_);
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(objects_.size()));
      objects_.push_back(0);
    }
    filling_ = free_.back();
    free_.pop_back();
    filled_ = header_bytes;
    peak_chunks_ = std::max(peak_chunks_, ++chunks_);
    pinned_ = std::max(pinned_, chunks_ - std::min(chunks_, live_bytes_ / chunk_bytes + 1));
  }

  void note_excess() noexcept { peak_excess_ = std::max(peak_excess_, chunks_ * chunk_bytes - live_bytes_); }

  void close_chunk(std::uint32_t chunk) {
    free_.push_back(chunk);
    --chunks_;
  }

  std::vector<std::uint32_t> objects_;  // of each chunk
  std::vector<std::uint32_t> free_;
  std::uint32_t filling_ = no_chunk;
  std::uint64_t filled_ = 0;
  std::uint64_t served_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t peak_chunks_ = 0;
  std::uint64_t peak_live_bytes_ = 0;
  std::uint64_t peak_excess_ = 0;
  std::uint64_t pinned_ = 0;
};

}  // namespace ashlar::cli
