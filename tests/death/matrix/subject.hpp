// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interfaces of the fault matrix, each with the misuse that it can express.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace fault_matrix {

/// One misuse, or one of its forms that a resource may treat differently. A column of the matrix.
enum class misuse : std::uint32_t {
  double_free,
  double_free_later,
  interior,
  foreign,
  stack_address,
  other_instance,
  null_pointer,
  half_size,
  double_size,
  one_byte_less,
  one_byte_more,
  wrong_alignment,
  leak,
  dead_first_word,
  dead_middle,
  dead_last_byte,
  exact_over_1,
  exact_over_8,
  loose_over_1,
  loose_over_8,
  under_1,
  under_8,
};
inline constexpr std::uint32_t misuse_count = static_cast<std::uint32_t>(misuse::under_8) + 1;

/// A set of misuses.
class misuses {
public:
  constexpr misuses() = default;
  constexpr misuses(misuse one) : bits_(std::uint32_t{1} << static_cast<std::uint32_t>(one)) {}
  [[nodiscard]] constexpr bool has(misuse one) const { return (bits_ & misuses(one).bits_) != 0; }
  [[nodiscard]] friend constexpr misuses operator|(misuses a, misuses b) {
    a.bits_ |= b.bits_;
    return a;
  }

private:
  std::uint32_t bits_ = 0;
};

[[nodiscard]] constexpr misuses operator|(misuse a, misuse b) { return misuses(a) | misuses(b); }

inline constexpr misuses frees = misuse::double_free | misuse::double_free_later | misuse::interior | misuse::foreign |
                                 misuse::stack_address | misuse::other_instance | misuse::null_pointer;
inline constexpr misuses sizes =
    misuse::half_size | misuse::double_size | misuse::one_byte_less | misuse::one_byte_more;
inline constexpr misuses sizes_and_alignment = sizes | misuse::wrong_alignment;
inline constexpr misuses loose_writes = misuse::loose_over_1 | misuse::loose_over_8;
inline constexpr misuses no_sizes = sizes_and_alignment | loose_writes;
inline constexpr misuses writes_beside =
    loose_writes | misuse::exact_over_1 | misuse::exact_over_8 | misuse::under_1 | misuse::under_8;

/// The alignment of every request and free.
inline constexpr std::size_t block_alignment = 8;

/// A resource, or an interface to one, whose blocks are misused.
class subject {
public:
  subject() = default;
  subject(const subject&) = delete;
  subject& operator=(const subject&) = delete;
  virtual ~subject() = default;

  [[nodiscard]] virtual void* take(std::size_t bytes) = 0;
  virtual void give(void* p, std::size_t bytes, std::size_t alignment) = 0;
  virtual void trim() = 0;
};

/// A row of the matrix.
struct interface {
  std::string name;
  std::function<std::unique_ptr<subject>()> make;
  std::size_t exact = 64;       ///< bytes of a request that fills its block
  std::size_t loose = 37;       ///< bytes of a request that leaves slack behind it
  misuses cannot_express{};     ///< entries `-`
  misuses allows{};             ///< nothing happens, by contract
  misuses promised_at_fast{};   ///< reported at every level
  bool reads_in_front = false;  ///< a free reads in front of the block, so that only readable memory is tried
  bool is_stack = false;        ///< blocks are freed in the reverse order of their allocation
};

/// @{ The rows, one file each.
[[nodiscard]] std::span<const interface> pools();
[[nodiscard]] std::span<const interface> pool_sets();
[[nodiscard]] std::span<const interface> objects();
[[nodiscard]] std::span<const interface> stacks_and_arenas();
[[nodiscard]] std::span<const interface> heaps();
[[nodiscard]] std::span<const interface> adaptors();
/// @}

}  // namespace fault_matrix
