// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layer below a freestanding program: its first instruction, its last, and the functions that any compiler expects.
// Nothing of it allocates.
#include "tests/freestanding/machine.hpp"

#include <cstddef>

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n  xor %ebp, %ebp\n  call machine_start\n");
#elif defined(__arm__)
__asm__(".syntax unified\n.thumb\n.globl _start\n.thumb_func\n_start:\n  bl machine_start\n");
#endif

namespace {

int lines = 0;

// Returns: the result of the kernel. Without a kernel (a microcontroller) the program is linked and not run.
long call_kernel(long number, long a, long b, long c) noexcept {
#if defined(__x86_64__)
  long result = number;
  __asm__ volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
#elif defined(__arm__)
  register long r0 __asm__("r0") = a;
  register long r1 __asm__("r1") = b;
  register long r2 __asm__("r2") = c;
  register long r4 __asm__("r4") = number;  // r7 may be the frame pointer, which no operand may name
  __asm__ volatile("push {r7}\n mov r7, r4\n svc #0\n pop {r7}" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r4) : "memory");
  return r0;
#endif
}

#if defined(__x86_64__)
constexpr long write_number = 1;
constexpr long exit_number = 231;
#else
constexpr long write_number = 4;
constexpr long exit_number = 248;
#endif

}  // namespace

namespace machine {

void leave(int status) noexcept {
  call_kernel(exit_number, status, 0, 0);
  __builtin_trap();
}

int lines_written() noexcept { return lines; }

}  // namespace machine

extern "C" {

[[noreturn]] void machine_start() noexcept;
void machine_start() noexcept {
  run();
  machine::leave(0);
}

void ashlar_write_error(const char* text, std::size_t bytes) noexcept;
void ashlar_write_error(const char* text, std::size_t bytes) noexcept {
  ++lines;
  call_kernel(write_number, 2, static_cast<long>(reinterpret_cast<std::size_t>(text)), static_cast<long>(bytes));
}

void* memcpy(void* to, const void* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
  return to;
}

void* memmove(void* to, const void* from, std::size_t bytes) {
  if (to <= from) return memcpy(to, from, bytes);
  for (std::size_t i = bytes; i != 0; --i) static_cast<char*>(to)[i - 1] = static_cast<const char*>(from)[i - 1];
  return to;
}

void* memset(void* to, int value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) static_cast<char*>(to)[i] = static_cast<char>(value);
  return to;
}

int memcmp(const void* a, const void* b, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const int difference = static_cast<const unsigned char*>(a)[i] - static_cast<const unsigned char*>(b)[i];
    if (difference != 0) return difference;
  }
  return 0;
}

std::size_t strlen(const char* text) {
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

}  // extern "C"
