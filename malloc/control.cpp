// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mallctl of jemalloc: the names by which programs ask for their memory back act on the heap of the process. All others
// are of the jemalloc behind it, which other libraries may be linked with, and unknown without one.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <ashlar/base/bits.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/c_library.hpp"
#include "malloc/export.hpp"
#include "malloc/option_words.hpp"
#include "malloc/settings.hpp"

namespace ashlar::drop_in {

namespace {

using control = void() noexcept;

// Returns: what a name without a value does, or null. Each arena is the heap of the process.
[[nodiscard]] control* control_of(std::string_view name) noexcept {
  constexpr std::size_t all_arenas = 4096;
  if (name == "thread.idle" || name == "thread.tcache.flush") return []() noexcept { process_heap().flush(); };
  if (!words::take_prefix(name, "arena.")) return nullptr;
  const std::string_view index = words::first(name, '.');
  std::uint32_t number = 0;
  if (!words::parse_number(index, all_arenas, number)) return nullptr;
  name.remove_prefix(index.size());
  if (name == ".purge") return []() noexcept { static_cast<void>(process_heap().trim()); };
  if (name == ".decay") return []() noexcept { static_cast<void>(process_heap().trim(settings().retain_bytes)); };
  return nullptr;
}

// Returns: 0; EINVAL if there is room for another number of bytes, of which as many are written as fit.
[[nodiscard]] int read(unsigned figure, void* to, std::size_t* bytes) noexcept {
  if (to == nullptr || bytes == nullptr) return 0;
  const bool fits = *bytes == sizeof figure;
  std::memcpy(to, &figure, *bytes = detail::min(*bytes, sizeof figure));
  return fits ? 0 : EINVAL;
}

}  // namespace

}  // namespace ashlar::drop_in

namespace drop_in = ashlar::drop_in;

/// Returns: 0, or an error as of jemalloc: EPERM where nothing can be read or written, EINVAL, ENOENT.
extern "C" ASHLAR_EXPORT int mallctl(const char* name, void* old, std::size_t* old_bytes, void* value,
                                     std::size_t bytes) noexcept {
  const bool writes = value != nullptr || bytes != 0;
  if (auto* const act = drop_in::control_of(name)) {
    if (writes || old != nullptr || old_bytes != nullptr) return EPERM;
    return act(), 0;
  }
  if (std::string_view(name) == "arenas.narenas") return writes ? EPERM : drop_in::read(1, old, old_bytes);
  const auto next = drop_in::find_next<decltype(mallctl)>("mallctl");
  return next != nullptr ? next(name, old, old_bytes, value, bytes) : ENOENT;
}
