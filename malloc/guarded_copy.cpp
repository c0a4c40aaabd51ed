// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// memcpy and its relatives at level hardened: a copy may not write beside a live block of the heap. An object of its
// own: the linker gives the rest of the library `__wrap_memcpy` and so on, since a heap writes to its free blocks.
#include <cstddef>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/live_room.hpp>
#include <ashlar/detail/support/hints.hpp>

#include "malloc/export.hpp"

// What glibc calls for a checked destination of known size; there is no other name for its copies.
extern "C" {
void* ashlar_plain_memcpy(void*, const void*, std::size_t, std::size_t) noexcept __asm__("__memcpy_chk");
void* ashlar_plain_memmove(void*, const void*, std::size_t, std::size_t) noexcept __asm__("__memmove_chk");
void* ashlar_plain_memset(void*, int, std::size_t, std::size_t) noexcept __asm__("__memset_chk");
std::size_t ashlar_plain_strlen(const char*) noexcept __asm__("strlen");
}

namespace {

// Opaque, since a compiler makes memcpy of `__memcpy_chk` with a constant here: a call of itself.
[[nodiscard]] ASHLAR_INLINE std::size_t any_room() noexcept {
  auto room = static_cast<std::size_t>(-1);
  ASHLAR_IN_REGISTER(room);
  return room;
}

[[noreturn]] ASHLAR_COLD void refuse(const void* p, std::size_t room, std::size_t bytes) noexcept {
  ashlar::detail::report({.kind = ashlar::fault::overflow,
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
  return ashlar_plain_memcpy(to, from, bytes, any_room());
}

ASHLAR_EXPORT void* memmove(void* to, const void* from, std::size_t bytes) noexcept {
  expect_room(to, bytes);
  return ashlar_plain_memmove(to, from, bytes, any_room());
}

ASHLAR_EXPORT void* memset(void* at, int byte, std::size_t bytes) noexcept {
  expect_room(at, bytes);
  return ashlar_plain_memset(at, byte, bytes, any_room());
}

ASHLAR_EXPORT char* strcpy(char* to, const char* from) noexcept {
  const std::size_t bytes = ashlar_plain_strlen(from) + 1;
  expect_room(to, bytes);
  return static_cast<char*>(ashlar_plain_memcpy(to, from, bytes, any_room()));
}

void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) noexcept {
  return ashlar_plain_memcpy(to, from, bytes, any_room());
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) noexcept {
  return ashlar_plain_memmove(to, from, bytes, any_room());
}
void* __wrap_memset(void* at, int byte, std::size_t bytes) noexcept {
  return ashlar_plain_memset(at, byte, bytes, any_room());
}

}  // extern "C"
