// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call stack of an allocation or a free, taken inside malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar::drop_in {

/// Return addresses, the innermost first, and the thread.
struct call_stack {
  static constexpr std::size_t most_frames = 16;

  const void* frames[most_frames];
  std::uint32_t depth;
  std::int32_t thread;
};

/// The frame of a function that malloc and its relatives call last: so its caller is the caller of malloc.
struct caller_frame {
  const void* return_address;
  const void* const* frame;  ///< the frame pointer of the caller, and the return address after it
};
#define ASHLAR_OWN_FRAME()                                                               \
  ::ashlar::drop_in::caller_frame {                                                      \
    ASHLAR_RETURN_ADDRESS(), static_cast<const void* const*>(__builtin_frame_address(0)) \
  }

/// Names the caller of malloc in a function with more to do after its call, which so is not the last one: by frame
/// pointers the caller would be missing. `const caller_scope within(ASHLAR_OWN_FRAME());`
class caller_scope {
public:
  explicit caller_scope(const caller_frame& caller) noexcept : caller_(caller), former_(named_) { named_ = &caller_; }
  caller_scope(const caller_scope&) = delete;
  caller_scope& operator=(const caller_scope&) = delete;
  ~caller_scope() { named_ = former_; }

  /// Returns: the caller that the thread has named, else `last`.
  [[nodiscard]] static caller_frame or_else(const caller_frame& last) noexcept {
    return named_ != nullptr ? *named_ : last;
  }

private:
  ASHLAR_IN_STATIC_TLS static constinit inline thread_local const caller_frame* named_ = nullptr;
  const caller_frame caller_;
  const caller_frame* const former_;
};
/// The caller of malloc, in a function that malloc and its relatives call last.
#define ASHLAR_CALLER_FRAME() ::ashlar::drop_in::caller_scope::or_else(ASHLAR_OWN_FRAME())

/// Effects: writes the return addresses from `from` on, at most `most`: by the unwinder of C++, if a shared library
/// of the program has it and no other thread is in it, else by frame pointers, as far as they lead. Returns: their
/// number. Complexity: about 1 us a frame. Neither allocates nor waits for a lock.
[[nodiscard]] std::uint32_t take_frames(const void** to, std::uint32_t most, const caller_frame& from) noexcept;

/// Effects: writes a number for the module of each frame: another one where another file is loaded at the address; 0
/// for none, or not known before glibc 2.35. Neither allocates nor waits for a lock.
void identify_modules(const void* const* frames, std::uint32_t depth, std::uint64_t* to) noexcept;

/// As `take_frames`, and the thread.
void take_stack(call_stack& to, const caller_frame& from) noexcept;

/// As `take_stack`, from the registers of an interrupted function.
void take_stack_at(call_stack& to, const void* instruction, const void* const* frame) noexcept;

/// Effects: writes a line for each frame to a descriptor: its address, its file, and its place in the file.
/// Async-signal-safe.
void write_frames(const void* const* frames, std::uint32_t depth, int descriptor) noexcept;

}  // namespace ashlar::drop_in
