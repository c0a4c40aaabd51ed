// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code modules of the process and their address ranges, needed to resolve return addresses later.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/algorithm.hpp>

#if __has_include(<link.h>)
#include <link.h>
#include <unistd.h>
#define ASHLAR_HAS_MODULES 1
#else
#define ASHLAR_HAS_MODULES 0
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// Whether this system supports `for_each_module`.
inline constexpr bool has_modules = ASHLAR_HAS_MODULES != 0;

/// The program or a shared library: [begin, end) in memory; `address - bias` is an address in the file.
struct module_place {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t bias = 0;
  std::string_view path;

  [[nodiscard]] bool contains(const void* p) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    return address >= begin && address < end;
  }
};

#if ASHLAR_HAS_MODULES
[[nodiscard]] inline module_place place_of(const ::dl_phdr_info& info) noexcept {
  module_place m = {.begin = UINTPTR_MAX, .end = 0, .bias = info.dlpi_addr, .path = info.dlpi_name};
  for (std::size_t i = 0; i < info.dlpi_phnum; ++i) {
    const auto& part = info.dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t from = m.bias + static_cast<std::uintptr_t>(part.p_vaddr);
    m.begin = detail::min(m.begin, from);
    m.end = detail::max(m.end, from + static_cast<std::uintptr_t>(part.p_memsz));
  }
  return m;
}

/// Effects: calls `f(const module_place&)` for each module; paths are valid during the call. Expects: `f` does not
/// throw.
template <class F>
void for_each_module(F f) noexcept {
  std::array<char, 4096> program{};
  const ::ssize_t length = ::readlink("/proc/self/exe", program.data(), program.size());
  struct visit {
    F& f;
    std::string_view program;
  } all = {f, {program.data(), length > 0 ? static_cast<std::size_t>(length) : 0}};
  const auto each = [](::dl_phdr_info* info, std::size_t, void* argument) noexcept {
    auto& to = *static_cast<visit*>(argument);
    module_place m = place_of(*info);
    if (m.path.empty()) m.path = to.program;  // the first module is the program, without a name
    to.program = {};
    if (!m.path.empty() && m.begin < m.end) to.f(m);
    return 0;
  };
  static_cast<void>(::dl_iterate_phdr(each, &all));
}
#else
template <class F>
void for_each_module(F) noexcept {}
#endif

/// Returns: the module that contains `p`, without its path, or an empty one.
[[nodiscard]] inline module_place module_around(const void* p) noexcept {
  module_place found;
  for_each_module([&](const module_place& each) {
    if (each.contains(p)) found = each;
  });
  found.path = {};
  return found;
}

}  // namespace ashlar::ASHLAR_ABI::detail
