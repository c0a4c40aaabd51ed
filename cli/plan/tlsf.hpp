// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A model of a two-level segregated fit heap: the addresses that it would give, without any memory.
//
//     After M. Masmano, I. Ripoll, A. Crespo and J. Real, "TLSF: a new dynamic memory allocator for real-time systems",
//     ECRTS 2004. Free blocks hang in lists by size: a power of two (first level), cut into 32 (second level). A request
//     is rounded up to the next list, so that the first block there fits; the rest of the block goes back; neighbouring
//     free blocks become one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace ashlar::cli {

/// Addresses count from 0; the heap grows at its end as required.
class tlsf_model {
public:
  static constexpr std::uint64_t granule = 16;  ///< Blocks are multiples of it.
  static constexpr std::uint64_t header = 8;    ///< Bytes before every block, which a real heap needs.

  /// Returns: the address of the bytes. Expects: `alignment` is a power of two.
  std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment);

  /// Expects: `address` was returned and not yet given back.
  void deallocate(std::uint64_t address);

  /// Returns: the end of the highest block so far.
  [[nodiscard]] std::uint64_t peak() const noexcept { return end_; }

private:
  static constexpr unsigned split_bits = 5;

  struct block {
    std::uint64_t size = 0;
    bool free = false;
  };
  using block_map = std::map<std::uint64_t, block>;

  [[nodiscard]] static std::size_t list_of(std::uint64_t size) noexcept;
  [[nodiscard]] block_map::iterator find_free(std::uint64_t size);
  [[nodiscard]] block_map::iterator grow(std::uint64_t size);
  void put(block_map::iterator at);
  void split(block_map::iterator at, std::uint64_t size);

  block_map blocks_;  // by address, without holes
  // Newest last. Blocks that were taken or joined since are skipped at their turn.
  std::array<std::vector<std::uint64_t>, std::size_t{64} << split_bits> lists_;
  std::uint64_t end_ = 0;
};

}  // namespace ashlar::cli
