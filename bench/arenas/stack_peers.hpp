// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sources of temporaries. Each is a class with `with(bytes, alignment, f)`, which calls `f` on the memory, and
// `end()`, called after an evaluation.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <span>

#include <ashlar/base/bits.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/two_ended_stack.hpp>

#if ASHLAR_BENCH_HAS_FOONATHAN
#include <foonathan/memory/memory_stack.hpp>
#endif

namespace bench {

inline constexpr std::size_t most_temporary_bytes = 1024;
inline constexpr std::size_t plenty = std::size_t{4} << 20;  // for all live temporaries at once

// The call stack of the language: an array as large as the largest temporary.
struct local_arrays {
  template <class F>
  void with(std::size_t, std::size_t, F f) {
    alignas(64) std::byte memory[most_temporary_bytes];
    f(memory);
  }
  void end() noexcept {}
};

// A bump pointer without any check.
class bumped_by_hand {
public:
  template <class F>
  void with(std::size_t bytes, std::size_t alignment, F f) {
    std::byte* const before = top_;
    std::byte* const p = ashlar::align_up(top_, alignment);
    top_ = p + bytes;
    f(p);
    top_ = before;
  }
  void end() noexcept {}

private:
  std::unique_ptr<std::byte[]> memory_ = std::make_unique_for_overwrite<std::byte[]>(plenty);
  std::byte* top_ = memory_.get();
};

struct heap_temporaries {
  template <class F>
  void with(std::size_t bytes, std::size_t alignment, F f) {
    void* const p = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, bytes) : std::malloc(bytes);
    if (p == nullptr) std::abort();
    f(p);
    std::free(p);
  }
  void end() noexcept {}
};

// Temporaries freed one by one, in reverse.
template <class Resource>
struct resource_temporaries {
  template <class F>
  void with(std::size_t bytes, std::size_t alignment, F f) {
    void* const p = resource.allocate(bytes, alignment);
    f(p);
    resource.deallocate(p, bytes, alignment);
  }
  void end() noexcept {}

  Resource resource;
};

// Temporaries freed by a rewind of the resource.
template <class Resource>
struct marked_temporaries {
  template <class F>
  void with(std::size_t bytes, std::size_t alignment, F f) {
    const auto before = resource.mark();
    f(resource.allocate(bytes, alignment));
    resource.rewind(before);
  }
  void end() noexcept {}

  Resource resource;
};

// Temporaries kept until the evaluation ends.
struct arena_temporaries : resource_temporaries<ashlar::arena<>> {
  void end() noexcept { resource.reset(); }
};
struct monotonic_temporaries : resource_temporaries<std::pmr::monotonic_buffer_resource> {
  void end() { resource.release(); }
};

class front_temporaries {
public:
  template <class F>
  void with(std::size_t bytes, std::size_t alignment, F f) {
    void* const p = both_.front().allocate(bytes, alignment);
    f(p);
    both_.front().deallocate(p, bytes, alignment);
  }
  void end() noexcept {}

private:
  std::unique_ptr<std::byte[]> memory_ = std::make_unique_for_overwrite<std::byte[]>(plenty);
  ashlar::two_ended_stack both_{std::span(memory_.get(), plenty)};
};

#if ASHLAR_BENCH_HAS_FOONATHAN
class foonathan_temporaries {
public:
  template <class F>
  void with(std::size_t bytes, std::size_t alignment, F f) {
    const auto before = stack_.top();
    f(stack_.allocate(bytes, alignment));
    stack_.unwind(before);
  }
  void end() noexcept {}

private:
  foonathan::memory::memory_stack<> stack_{64 * 1024};
};
#endif

}  // namespace bench
