// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What others of this folder stand on: the functions of Windows that the library calls, declared as <windows.h>
// declares them, but without its macros; and the thread whose stack contains an object: a forked child may lack it, and
// use the stack again.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>

#if ASHLAR_WINDOWS

#if defined(_WIN64)
#define ASHLAR_WINDOWS_SIZE unsigned long long
#else
#define ASHLAR_WINDOWS_SIZE unsigned long  // not std::size_t, which has the same size
#endif

struct _MEMORY_BASIC_INFORMATION;
struct _FILETIME;
struct HINSTANCE__;

extern "C" {
__declspec(dllimport) void* __stdcall VirtualAlloc(void*, ASHLAR_WINDOWS_SIZE, unsigned long, unsigned long);
__declspec(dllimport) int __stdcall VirtualFree(void*, ASHLAR_WINDOWS_SIZE, unsigned long);
__declspec(dllimport) int __stdcall VirtualProtect(void*, ASHLAR_WINDOWS_SIZE, unsigned long, unsigned long*);
__declspec(dllimport) ASHLAR_WINDOWS_SIZE __stdcall VirtualQuery(const void*, _MEMORY_BASIC_INFORMATION*,
                                                                 ASHLAR_WINDOWS_SIZE);
__declspec(dllimport) unsigned long __stdcall FlsAlloc(void(__stdcall*)(void*));
__declspec(dllimport) int __stdcall FlsSetValue(unsigned long, void*);
__declspec(dllimport) int __stdcall GetModuleHandleExA(unsigned long, const char*, HINSTANCE__**);
__declspec(dllimport) unsigned long long __stdcall GetTickCount64();
__declspec(dllimport) unsigned long __stdcall GetCurrentThreadId();
__declspec(dllimport) void* __stdcall GetCurrentProcess();
__declspec(dllimport) void* __stdcall GetProcessHeap();
__declspec(dllimport) int __stdcall GetProcessTimes(void*, _FILETIME*, _FILETIME*, _FILETIME*, _FILETIME*);
__declspec(dllimport) void __stdcall Sleep(unsigned long);
}

namespace ashlar::ASHLAR_ABI::detail::windows {

using size = ASHLAR_WINDOWS_SIZE;

inline constexpr unsigned long mem_commit = 0x1000, mem_reserve = 0x2000, mem_decommit = 0x4000, mem_release = 0x8000;
inline constexpr unsigned long page_no_access = 0x01, page_read_write = 0x04;
inline constexpr unsigned long module_of_address = 0x4, module_stays = 0x1;
inline constexpr unsigned long no_fls_index = 0xFFFFFFFF;

/// The layout of MEMORY_BASIC_INFORMATION.
struct region {
  void* start = nullptr;
  void* reservation = nullptr;
  unsigned long first_protection = 0;
  size bytes = 0;
  unsigned long state = 0;
  unsigned long protection = 0;
  unsigned long type = 0;
};

/// Returns: the pages of one state around `p`, up to the end of those; state 0 if the address is not valid.
[[nodiscard]] inline region region_at(const void* p) noexcept {
  region found;
  static_cast<void>(::VirtualQuery(p, reinterpret_cast<::_MEMORY_BASIC_INFORMATION*>(&found), sizeof found));
  return found;
}

/// Returns: the time at which the process began, in 100 ns.
[[nodiscard]] inline unsigned long long start_of_process() noexcept {
  unsigned long times[4][2] = {};  // of the layout of FILETIME: the low half first
  const auto at = [&](int i) noexcept { return reinterpret_cast<::_FILETIME*>(times[i]); };
  static_cast<void>(::GetProcessTimes(::GetCurrentProcess(), at(0), at(1), at(2), at(3)));
  return times[0][0] | static_cast<unsigned long long>(times[0][1]) << 32;
}

/// Returns: an address that the system chose for the process.
[[nodiscard]] inline size place_of_process() noexcept { return reinterpret_cast<size>(::GetProcessHeap()); }

/// Effects: the program or library with this address stays loaded until the end of the process.
inline void keep_module_of(const void* address) noexcept {
  ::HINSTANCE__* module = nullptr;
  static_cast<void>(::GetModuleHandleExA(module_of_address | module_stays, static_cast<const char*>(address), &module));
}

}  // namespace ashlar::ASHLAR_ABI::detail::windows

#undef ASHLAR_WINDOWS_SIZE
#endif

#if defined(__linux__) && ASHLAR_POSIX
#include <pthread.h>
#define ASHLAR_FINDS_STACK 1
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// The thread whose stack contains an object; none for other objects, and on the stack of the main thread. A
/// forked child lacks all threads but one, and glibc gives their stacks to its next threads, but not the main one's.
class stack_thread {
public:
  constexpr stack_thread() noexcept = default;
  /// Expects: the thread that makes the object calls it; the stack of another thread is not found. Complexity: two
  /// compares, except that each thread asks the C library for its stack, once.
  explicit constexpr stack_thread([[maybe_unused]] const void* object) noexcept {
#if defined(ASHLAR_FINDS_STACK)
    if (!std::is_constant_evaluated() && is_on_own_stack(reinterpret_cast<std::uintptr_t>(object))) thread_ = own();
#endif
  }

  [[nodiscard]] constexpr bool is_any() const noexcept { return thread_ != 0; }
  /// Returns: whether a forked child lacks the thread. Expects: the child has no second thread yet.
  [[nodiscard]] bool is_gone() const noexcept { return is_any() && thread_ != own(); }

  /// Returns: whether an object that `is_any()` held for lies on the stack of this thread.
  [[nodiscard]] static bool is_on_own([[maybe_unused]] const void* object) noexcept {
#if defined(ASHLAR_FINDS_STACK)
    const auto at = reinterpret_cast<std::uintptr_t>(object);
    return lowest_ != 0 && at >= lowest_ && at < own();  // its maker has asked
#else
    return true;
#endif
  }

private:
#if defined(ASHLAR_FINDS_STACK)
  // It lies behind the thread's stack, but before the main thread's.
  [[nodiscard]] static std::uintptr_t own() noexcept { return std::bit_cast<std::uintptr_t>(::pthread_self()); }

  // Not inlined: objects of its caller lie above its frame.
  [[nodiscard]] ASHLAR_NOINLINE static bool is_on_own_stack(std::uintptr_t object) noexcept {
    if (object < reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) || object >= own()) return false;
    if (lowest_ == 0) ask();  // the frame may be in a stack that the program has made
    return object >= lowest_;
  }

  ASHLAR_COLD static void ask() noexcept {
    lowest_ = UINTPTR_MAX;  // if this fails, or allocates and comes here again
    ::pthread_attr_t all;
    if (::pthread_getattr_np(::pthread_self(), &all) != 0) return;
    void* start = nullptr;
    std::size_t bytes = 0;
    if (::pthread_attr_getstack(&all, &start, &bytes) == 0) lowest_ = reinterpret_cast<std::uintptr_t>(start);
    ::pthread_attr_destroy(&all);
  }

  static inline constinit ASHLAR_THREAD_LOCAL std::uintptr_t lowest_ = 0;  // of the stack; 0: not asked yet
#else
  [[nodiscard]] static std::uintptr_t own() noexcept { return 0; }
#endif

  std::uintptr_t thread_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail

#undef ASHLAR_FINDS_STACK
