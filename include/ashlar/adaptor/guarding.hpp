// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor that puts canaries around every block and checks them when the block is freed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/adaptor/forwarding.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/os/random_bits.hpp>

namespace ashlar::ASHLAR_ABI {

/// Owns an `R`, made from the arguments, and behaves as it does at every level of checking. Has exactly the refinements
/// of `R`. A block with canaries:
///
///      upstream's block                                     p = start + front_bytes(alignment)
///      | canary | label: size, alignment, sum | canary 32 B | bytes as requested | canary 32 B |
///
/// On a free, a write before the block is an `underflow` and a write after it an `overflow`. Another size or alignment
/// than the allocation's is a `size_mismatch`, and a pointer that is not the start of a block an `invalid_free`.
/// The label of a freed block marks it until its memory is reused, so that a second free is a `double_free`; over a
/// resource that poisons freed memory it is an `invalid_free`. The canary is of a secret of the process and of its
/// address, without text and terminators: one in 128 writes of a single byte passes, and none of 8 in practice.
///
/// Under a tool that watches memory (`marks_memory`), canaries and label are marked as free. An access beside a block
/// is reported at once with its call stack; the canaries detect writes of code that was not compiled for the tool.
/// Detection is exact to the byte after a block, and before a block that is aligned to 8 bytes.
///
/// Expects: the bytes before a pointer that is freed are readable.
/// Complexity: as `R` and O(alignment). Thread safety: as `R`.
template <resource R>
class guarding : public forwarding<R> {
public:
  static constexpr std::size_t canary_bytes = 32;  ///< bytes at each side of a block
  static constexpr bool is_thread_safe = thread_safe_resource<R>;

  using forwarding<R>::forwarding;
  using forwarding<R>::upstream_resource;

  /// Returns: the bytes requested from the upstream for a block, for sizing a pool. Expects: no overflow.
  [[nodiscard]] static constexpr std::size_t guarded_bytes(std::size_t bytes, std::size_t alignment) noexcept {
    return front_bytes(alignment) + bytes + canary_bytes;
  }

  /// As `R::allocate`. Expects: `alignment` is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    if (!is_possible(bytes, alignment)) throw_bad_alloc(bytes, alignment);
    return guard(upstream_resource().allocate(guarded_bytes(bytes, alignment), alignment), {bytes, alignment});
  }

  /// As `R::try_allocate`. Expects: `alignment` is a power of two.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<R>
  {
    if (!is_possible(bytes, alignment)) return nullptr;
    void* const start = upstream_resource().try_allocate(guarded_bytes(bytes, alignment), alignment);
    return start != nullptr ? guard(start, {bytes, alignment}) : nullptr;
  }

  /// As `R::deallocate`, after a check of the canaries.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    check(p, {bytes, alignment});
    give_back(p, {bytes, alignment});
  }

  /// As above; the label has the size. Effects: none if `p` is null.
  void deallocate(void* p) noexcept
    requires self_describing_resource<R>
  {
    if (p == nullptr) return;
    const extent was = read_label(p);
    check_canaries(p, was);
    give_back(p, was);
  }

  /// As `R::try_expand`, after a check of the canaries.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires expanding_resource<R>
  {
    check(p, {bytes, alignment});
    std::byte* const start = static_cast<std::byte*>(p) - front_bytes(alignment);
    const std::size_t whole = guarded_bytes(bytes, alignment);
    const bool grown = is_possible(new_bytes, alignment) &&
                       upstream_resource().try_expand(start, whole, guarded_bytes(new_bytes, alignment), alignment);
    if (grown) static_cast<void>(guard(start, {new_bytes, alignment}));
    else hide_zones(static_cast<std::byte*>(p), {bytes, alignment});
    return grown;
  }

  [[nodiscard]] friend bool operator==(const guarding& a, const guarding& b) noexcept {
    return a.upstream_resource() == b.upstream_resource();  // all state of a block is beside the block
  }

private:
  // The arguments of an allocation.
  struct extent {
    std::size_t bytes;
    std::size_t alignment;
  };

  struct label {
    extent of;
    std::size_t sum;
  };

  static constexpr std::size_t label_and_canary = sizeof(label) + canary_bytes;

  [[nodiscard]] static constexpr std::size_t front_bytes(std::size_t alignment) noexcept {
    return align_up(label_and_canary, alignment);
  }

  [[nodiscard]] static bool is_possible(std::size_t bytes, std::size_t alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    return is_valid_request(bytes, alignment) && is_valid_request(guarded_bytes(bytes, alignment), alignment);
  }

  [[nodiscard]] static const std::byte* first_changed(const std::byte* from, const std::byte* to) noexcept {
    if (ASHLAR_LIKELY(detail::is_canary(from, to))) return to;
    return std::find_if(from, to, [](const std::byte& each) { return each != detail::canary_byte(&each); });
  }

  [[nodiscard]] static std::size_t sum_of(const std::byte* block, const extent& of) noexcept {
    return (address_of(block) ^ 0x5A17AB1Eu) + of.bytes * 31 + of.alignment * 17;
  }

  [[nodiscard]] void* guard(void* start, const extent& of) noexcept {
    auto* const from = static_cast<std::byte*>(start);
    std::byte* const block = from + front_bytes(of.alignment);
    const label written = {of, sum_of(block, of)};
    show_zones(block, of);  // for an upstream that marks nothing when it reuses memory
    detail::fill_canary(from, block - label_and_canary);
    std::memcpy(block - label_and_canary, &written, sizeof written);
    detail::fill_canary(block - canary_bytes, block);
    detail::fill_canary(block + of.bytes, block + of.bytes + canary_bytes);
    hide_zones(block, of);
    return block;
  }

  static void hide_zones(const std::byte* block, const extent& of) noexcept {
    detail::mark_free(block - front_bytes(of.alignment), front_bytes(of.alignment));
    detail::mark_free(block + of.bytes, canary_bytes);
  }

  static void show_zones(const std::byte* block, const extent& of) noexcept {
    detail::mark_readable(block - front_bytes(of.alignment), front_bytes(of.alignment));
    detail::mark_readable(block + of.bytes, canary_bytes);
  }

  void give_back(void* p, const extent& of) noexcept {
    auto* const block = static_cast<std::byte*>(p);
    void* const start = block - front_bytes(of.alignment);
    const label freed = {of, ~sum_of(block, of)};
    std::memcpy(block - label_and_canary, &freed, sizeof freed);
    upstream_resource().deallocate(start, guarded_bytes(of.bytes, of.alignment), of.alignment);
  }

  // Returns: the arguments of the block's allocation. Reports a pointer that starts no block, or an overwritten label.
  [[nodiscard]] extent read_label(const void* p) const noexcept {
    const auto* const block = static_cast<const std::byte*>(p);
    if (ASHLAR_UNLIKELY(block == nullptr)) found(fault::invalid_free, "freed a null pointer", p, {});
    label read;
    detail::mark_readable(block - label_and_canary, label_and_canary);
    std::memcpy(&read, block - label_and_canary, sizeof read);
    if (ASHLAR_LIKELY(read.sum == sum_of(block, read.of))) return read.of;
    if (read.sum == ~sum_of(block, read.of)) found(fault::double_free, "freed a block that is free", p, {});
    if (first_changed(block - canary_bytes, block) == block)
      found(fault::underflow, "bytes before a block were written to", p, {.got = label_and_canary});
    found(fault::invalid_free, "freed a pointer that is not the start of a block, or the block's label was overwritten",
          p, {});
  }

  void check(const void* p, const extent& given) const noexcept {
    const extent was = read_label(p);
    if (was.bytes != given.bytes)
      found(fault::size_mismatch, "freed a block with another size than it was allocated with", p,
            {.size = was.bytes, .expected = was.bytes, .got = given.bytes});
    if (was.alignment != given.alignment)
      found(fault::size_mismatch, "freed a block with another alignment than it was allocated with", p,
            {.size = was.bytes, .expected = was.alignment, .got = given.alignment});
    check_canaries(p, was);
  }

  // `got` is the reach of the writes: bytes before the block's start, or after its end.
  void check_canaries(const void* p, const extent& of) const noexcept {
    const auto* const block = static_cast<const std::byte*>(p);
    show_zones(block, of);
    const auto before = [block](const std::byte* at) { return static_cast<std::size_t>(block - at); };
    const std::byte* const label_at = block - label_and_canary;
    const std::byte* const outer = first_changed(block - front_bytes(of.alignment), label_at);
    const std::byte* const inner = outer != label_at ? outer : first_changed(block - canary_bytes, block);
    if (inner != block)
      found(fault::underflow, "bytes before a block were written to", p, {.size = of.bytes, .got = before(inner)});
    const std::byte* const end = block + of.bytes;
    if (detail::is_canary(end, end + canary_bytes)) return;
    const auto got = static_cast<std::size_t>(detail::end_of_changes(end, end + canary_bytes) - block);
    found(fault::overflow, "bytes past the end of a block were written to", p,
          {.size = of.bytes, .expected = of.bytes, .got = got});
  }

  struct figures {
    std::size_t size = 0;
    std::size_t expected = 0;
    std::size_t got = 0;
  };

  [[noreturn]] ASHLAR_COLD void found(fault kind, const char* what, const void* p, const figures& f) const noexcept {
    report({.kind = kind,
            .what = what,
            .pointer = p,
            .resource = this,
            .size = f.size,
            .expected = f.expected,
            .got = f.got});
  }
};

}  // namespace ashlar::ASHLAR_ABI
