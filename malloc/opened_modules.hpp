// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The modules of the process, for names in those that were opened without RTLD_GLOBAL.
#pragma once

#include <climits>
#include <cstddef>
#include <cstring>

#include <dlfcn.h>
#include <link.h>

#include "malloc/c_library.hpp"

// Absent from static programs, whose weak references take nothing out of libc.a.
extern "C" {
__attribute__((weak)) void* dlopen(const char* file, int mode) noexcept;
__attribute__((weak)) int dlclose(void* handle) noexcept;
__attribute__((weak)) int dl_iterate_phdr(int (*each)(::dl_phdr_info*, std::size_t, void*), void* argument);
}

namespace ashlar::drop_in {

/// The path of one module, copied: a loader that lists its modules may be asked for none of them.
class module_path {
public:
  /// Returns: whether there are more than `number` modules; the path is empty where it is too long, and for the
  /// program.
  [[nodiscard]] bool read(std::size_t number) noexcept {
    left_ = number;
    return ::dl_iterate_phdr(copy, this) != 0;
  }
  [[nodiscard]] const char* text() const noexcept { return text_; }

private:
  static int copy(::dl_phdr_info* info, std::size_t, void* to) noexcept {
    auto& path = *static_cast<module_path*>(to);
    if (path.left_-- != 0) return 0;
    const std::size_t bytes = std::strlen(info->dlpi_name) + 1;
    path.text_[0] = '\0';
    if (bytes <= sizeof path.text_) std::memcpy(path.text_, info->dlpi_name, bytes);
    return 1;
  }

  std::size_t left_ = 0;
  char text_[PATH_MAX];
};

/// Returns: a handle of the first module for which `is_it(handle)`; it stays loaded until `dlclose`. Null: of none.
template <class Predicate>
[[nodiscard]] void* open_module_that(Predicate is_it) noexcept {
  if (&::dlopen == nullptr || &::dlsym == nullptr || &::dlclose == nullptr || &::dl_iterate_phdr == nullptr)
    return nullptr;
  module_path path;
  for (std::size_t number = 0; path.read(number); ++number) {
    void* const module = path.text()[0] != '\0' ? ::dlopen(path.text(), RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (module == nullptr) continue;
    if (is_it(module)) return module;
    ::dlclose(module);
  }
  return nullptr;
}

}  // namespace ashlar::drop_in
