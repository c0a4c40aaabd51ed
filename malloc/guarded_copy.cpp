// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// memcpy and its relatives at level hardened: a copy may not write beside a live block of the heap. An object of its
// own: the linker gives the rest of the library `__wrap_memcpy` and so on, since a heap writes to its free blocks.
#include <cstddef>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/heap/live_room.hpp>

#include "malloc/c_library.hpp"
#include "malloc/export.hpp"

// What glibc calls for a checked destination of known size; there is no other name for its copies. musl has none of it.
extern "C" {
__attribute__((weak)) void* ashlar_checked_memcpy(void*, const void*, std::size_t, std::size_t) noexcept
    __asm__("__memcpy_chk");
__attribute__((weak)) void* ashlar_checked_memmove(void*, const void*, std::size_t, std::size_t) noexcept
    __asm__("__memmove_chk");
__attribute__((weak)) void* ashlar_checked_memset(void*, int, std::size_t, std::size_t) noexcept
    __asm__("__memset_chk");
std::size_t ashlar_plain_strlen(const char*) noexcept __asm__("strlen");
}

namespace {

// Opaque, since a compiler makes memcpy of `__memcpy_chk` with a constant here: a call of itself.
[[nodiscard]] ASHLAR_INLINE std::size_t any_room() noexcept {
  auto room = static_cast<std::size_t>(-1);
  ASHLAR_IN_REGISTER(room);
  return room;
}

// The function of the C library behind the function of the same name here, found at its first call.
template <class Function>
class next_function {
public:
  explicit constexpr next_function(const char* name) noexcept : name_(name) {}

  [[nodiscard]] Function* get() noexcept {
    Function* found = found_.load(ashlar::detail::memory_order_relaxed);  // each thread finds the same
    if (found != nullptr) return found;
    found = ashlar::drop_in::find_next<Function>(name_);
    if (found == nullptr) ashlar::detail::panic("ashlar: no C library behind its copies");
    found_.store(found, ashlar::detail::memory_order_relaxed);
    return found;
  }

private:
  const char* name_;
  ashlar::detail::atomic<Function*> found_ = nullptr;
};

constinit next_function<void*(void*, const void*, std::size_t)> next_memcpy("memcpy");
constinit next_function<void*(void*, const void*, std::size_t)> next_memmove("memmove");
constinit next_function<void*(void*, int, std::size_t)> next_memset("memset");

[[nodiscard]] ASHLAR_INLINE void* plain_memcpy(void* to, const void* from, std::size_t bytes) noexcept {
  if (ASHLAR_LIKELY(&ashlar_checked_memcpy != nullptr)) return ashlar_checked_memcpy(to, from, bytes, any_room());
  return next_memcpy.get()(to, from, bytes);
}

[[nodiscard]] ASHLAR_INLINE void* plain_memmove(void* to, const void* from, std::size_t bytes) noexcept {
  if (ASHLAR_LIKELY(&ashlar_checked_memmove != nullptr)) return ashlar_checked_memmove(to, from, bytes, any_room());
  return next_memmove.get()(to, from, bytes);
}

[[nodiscard]] ASHLAR_INLINE void* plain_memset(void* at, int byte, std::size_t bytes) noexcept {
  if (ASHLAR_LIKELY(&ashlar_checked_memset != nullptr)) return ashlar_checked_memset(at, byte, bytes, any_room());
  return next_memset.get()(at, byte, bytes);
}

[[noreturn]] ASHLAR_COLD void refuse(const void* p, std::size_t room, std::size_t bytes) noexcept {
  ashlar::report({.kind = ashlar::fault::overflow,
                  .what = "a copy or fill writes beside a live block",
                  .pointer = p,
                  .expected = room,
                  .got = bytes});
}

ASHLAR_INLINE void expect_room(const void* p, std::size_t bytes) noexcept {
  const std::size_t room = ashlar::detail::live_room(p);
  if (ASHLAR_UNLIKELY(bytes > room)) refuse(p, room, bytes);
}

}  // namespace

extern "C" {

ASHLAR_EXPORT void* memcpy(void* to, const void* from, std::size_t bytes) noexcept {
  expect_room(to, bytes);
  return plain_memcpy(to, from, bytes);
}

ASHLAR_EXPORT void* memmove(void* to, const void* from, std::size_t bytes) noexcept {
  expect_room(to, bytes);
  return plain_memmove(to, from, bytes);
}

ASHLAR_EXPORT void* memset(void* at, int byte, std::size_t bytes) noexcept {
  expect_room(at, bytes);
  return plain_memset(at, byte, bytes);
}

ASHLAR_EXPORT char* strcpy(char* to, const char* from) noexcept {
  const std::size_t bytes = ashlar_plain_strlen(from) + 1;
  expect_room(to, bytes);
  return static_cast<char*>(plain_memcpy(to, from, bytes));
}

void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) noexcept { return plain_memcpy(to, from, bytes); }
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) noexcept { return plain_memmove(to, from, bytes); }
void* __wrap_memset(void* at, int byte, std::size_t bytes) noexcept { return plain_memset(at, byte, bytes); }

}  // extern "C"
