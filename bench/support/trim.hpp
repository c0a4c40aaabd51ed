// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trims the malloc of this process, by the call that it has for that.
#pragma once

#include <dlfcn.h>
#include <malloc.h>

#include <cstddef>
#include <string_view>

#include "preload.hpp"

namespace bench {

template <class Function>
Function* function_named(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

inline void purge_jemalloc() noexcept {
  auto* const control = function_named<int(const char*, void*, std::size_t*, void*, std::size_t)>("mallctl");
  if (control == nullptr) return;
  control("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
  control("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // 4096 stands for all arenas
}

// snmalloc exports no such call.
inline void trim_malloc() noexcept {
  if (auto* const mimalloc = function_named<void(bool)>("mi_collect")) mimalloc(true);
  else if (auto* const tcmalloc = function_named<void()>("MallocExtension_ReleaseFreeMemory")) tcmalloc();
  else if (auto* const rpmalloc = function_named<void()>("rpmalloc_thread_collect")) rpmalloc();
  else if (function_named<void()>("mallctl") != nullptr) purge_jemalloc();
  else ::malloc_trim(0);
}

}  // namespace bench
