// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An arena with the interface of the standard's monotonic buffer resource: `ashlar::pmr` replaces `std::pmr`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <span>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/arena.hpp>

namespace ashlar::ASHLAR_ABI::pmr {

/// Has the constructors and members of `std::pmr::monotonic_buffer_resource`, and `reset()`, which keeps the memory.
///
/// - The buffer is used first; blocks of the upstream go back with the same size and alignment.
/// - Constructors allocate nothing. Deallocation has no effect.
/// - Each request upstream is larger than the last one, up to the larger of 16 MiB and the first. If the upstream
///   refuses, smaller ones are tried down to the necessary size; the exception of the last one passes through.
/// - `release()` restores the state after construction: with the buffer, and the first size.
///
/// Lifetime: buffer and upstream outlive it. Thread safety: none.
class monotonic_buffer_resource : public std::pmr::memory_resource {
  using upstream_ref = resource_ref<std::pmr::memory_resource>;

public:
  monotonic_buffer_resource() : monotonic_buffer_resource(std::pmr::get_default_resource()) {}
  explicit monotonic_buffer_resource(std::pmr::memory_resource* upstream)
      : monotonic_buffer_resource(nullptr, 0, least_bytes, upstream) {}
  explicit monotonic_buffer_resource(std::size_t initial_size)
      : monotonic_buffer_resource(initial_size, std::pmr::get_default_resource()) {}
  /// Expects: `initial_size` is not 0, `upstream` not null.
  monotonic_buffer_resource(std::size_t initial_size, std::pmr::memory_resource* upstream)
      : monotonic_buffer_resource(nullptr, 0, initial_size, upstream) {
    ASHLAR_EXPECTS(initial_size != 0, "made a monotonic_buffer_resource with an initial size of 0");
  }
  monotonic_buffer_resource(void* buffer, std::size_t bytes)
      : monotonic_buffer_resource(buffer, bytes, std::pmr::get_default_resource()) {}
  monotonic_buffer_resource(void* buffer, std::size_t bytes, std::pmr::memory_resource* upstream)
      : monotonic_buffer_resource(buffer, bytes, 2 * bytes, upstream) {}
  monotonic_buffer_resource(const monotonic_buffer_resource&) = delete;
  monotonic_buffer_resource& operator=(const monotonic_buffer_resource&) = delete;
  ~monotonic_buffer_resource() override = default;

  /// Effects: gives everything back upstream; the buffer is used from its start again.
  void release() noexcept { blocks_.release(); }

  /// Effects: takes all blocks back and keeps the memory, as one chunk: a phase as large as the last one makes no
  /// request upstream. The standard's resource has no such call.
  void reset() noexcept { blocks_.reset(); }

  [[nodiscard]] std::pmr::memory_resource* upstream_resource() const noexcept {
    return &blocks_.upstream_resource().get();
  }

  /// Returns: the bytes held from the upstream. Complexity: O(1). Thread safety: none.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return blocks_.held_bytes(); }

  /// Returns: the arena, for queries and calls that the standard's resource lacks.
  [[nodiscard]] arena<upstream_ref>& blocks() noexcept { return blocks_; }
  [[nodiscard]] bool invariant() const noexcept { return blocks_.invariant(); }

private:
  static constexpr std::size_t least_bytes = 1024;

  monotonic_buffer_resource(void* buffer, std::size_t bytes, std::size_t initial_bytes,
                            std::pmr::memory_resource* upstream)
      : blocks_(std::span<std::byte>(static_cast<std::byte*>(buffer), bytes), options_for(initial_bytes),
                upstream_ref(dereferenced(upstream))) {}

  [[nodiscard]] static arena_options options_for(std::size_t initial_bytes) noexcept {
    arena_options options;
    options.initial_bytes =
        arena<upstream_ref>::chunk_bytes_for(std::clamp(initial_bytes, least_bytes, max_block_bytes / 2));
    options.max_growth_bytes = std::max(options.initial_bytes, options.max_growth_bytes);
    return options;
  }

  [[nodiscard]] static std::pmr::memory_resource& dereferenced(std::pmr::memory_resource* upstream) noexcept {
    ASHLAR_REQUIRE(upstream != nullptr, "made a monotonic_buffer_resource with a null upstream");
    return *upstream;
  }

  void* do_allocate(std::size_t bytes, std::size_t alignment) override { return blocks_.allocate(bytes, alignment); }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    blocks_.deallocate(p, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  arena<upstream_ref> blocks_;
};

}  // namespace ashlar::ASHLAR_ABI::pmr
