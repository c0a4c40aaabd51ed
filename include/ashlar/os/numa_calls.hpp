// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The system calls that place pages on the memories of a machine (NUMA nodes), as a policy: tests substitute others.
#pragma once

#include <array>
#include <cstddef>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Nodes by number: one bit each.
struct numa_nodes {
  static constexpr std::size_t most = 1024;  ///< as in Linux
  static constexpr std::size_t bits = sizeof(unsigned long) * 8;

  std::array<unsigned long, most / bits> words{};

  /// Expects: `node` is less than `most`.
  constexpr void add(std::size_t node) noexcept { words[node / bits] |= 1ul << node % bits; }
  [[nodiscard]] constexpr bool has(std::size_t node) const noexcept {
    return node < most && (words[node / bits] >> node % bits & 1) != 0;
  }
  [[nodiscard]] constexpr std::size_t count() const noexcept {
    std::size_t sum = 0;
    for (const unsigned long word : words) sum += count_bits(word);
    return sum;
  }
};

/// How pages that are not yet resident are spread over nodes.
enum class numa_policy : unsigned char {
  preferred = 1,   ///< MPOL_PREFERRED: on the node given, or on another if that one is full
  interleaved = 3  ///< MPOL_INTERLEAVE: in turn on all nodes given
};

/// Linux without libnuma, by the calls that libnuma makes; other systems refuse. `errno` is preserved.
struct numa_calls {
  /// Returns: the nodes from which the process may have memory; none where the system does not tell.
  [[nodiscard]] static numa_nodes allowed() noexcept {
    numa_nodes nodes;
#if defined(SYS_get_mempolicy)
    constexpr unsigned long of_allowed = 4;  // MPOL_F_MEMS_ALLOWED
    if (call_kernel(SYS_get_mempolicy, nullptr, nodes.words.data(), numa_nodes::most, nullptr, of_allowed) != 0)
      nodes = {};
#endif
    return nodes;
  }

  /// Effects: sets the policy of the pages, a hint. Returns: whether the system follows it.
  static bool place([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] numa_policy policy,
                    [[maybe_unused]] const numa_nodes& nodes) noexcept {
#if defined(SYS_mbind)
    // The kernel reads one bit fewer than it is told.
    return call_kernel(SYS_mbind, p, bytes, policy, nodes.words.data(), numa_nodes::most + 1, 0) == 0;
#else
    return false;
#endif
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
