// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions that the kernel maps into each process (the vDSO), found without the C library's loader.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>

#if defined(__linux__) && ASHLAR_POSIX && defined(__LP64__)
#include <elf.h>
#define ASHLAR_HAS_VDSO 1
#else
#define ASHLAR_HAS_VDSO 0
#endif

namespace ashlar::ASHLAR_ABI::detail {

#if ASHLAR_HAS_VDSO

/// The symbols of the image of a shared library in memory. Lifetime: the image outlives it.
class vdso_symbols {
public:
  explicit vdso_symbols(std::uintptr_t image) noexcept {
    const auto& head = *at<Elf64_Ehdr>(image);
    const auto* const parts = at<Elf64_Phdr>(image + head.e_phoff);
    const Elf64_Phdr *dynamic = nullptr, *loaded = nullptr;
    for (std::size_t i = 0; i != head.e_phnum; ++i) {
      if (parts[i].p_type == PT_LOAD && loaded == nullptr) loaded = &parts[i];
      if (parts[i].p_type == PT_DYNAMIC) dynamic = &parts[i];
    }
    if (loaded == nullptr || dynamic == nullptr) return;
    bias_ = image + loaded->p_offset - loaded->p_vaddr;
    for (const auto* each = at<Elf64_Dyn>(image + dynamic->p_offset); each->d_tag != DT_NULL; ++each)
      note(each->d_tag, bias_ + each->d_un.d_ptr);
  }

  /// Returns: the address of the function, or 0.
  [[nodiscard]] std::uintptr_t find(const char* name) const noexcept {
    if (names_ == nullptr || symbols_ == nullptr) return 0;
    for (std::uint32_t i = 0; i < count_; ++i)
      if (symbols_[i].st_shndx != SHN_UNDEF && is_same(names_ + symbols_[i].st_name, name))
        return bias_ + symbols_[i].st_value;
    return 0;
  }

private:
  template <class T>
  [[nodiscard]] static const T* at(std::uintptr_t address) noexcept {
    return reinterpret_cast<const T*>(address);
  }

  [[nodiscard]] static bool is_same(const char* a, const char* b) noexcept {
    while (*a != '\0' && *a == *b) ++a, ++b;
    return *a == *b;
  }

  void note(std::int64_t tag, std::uintptr_t address) noexcept {
    if (tag == DT_STRTAB) names_ = at<char>(address);
    else if (tag == DT_SYMTAB) symbols_ = at<Elf64_Sym>(address);
    else if (tag == DT_HASH) count_ = at<std::uint32_t>(address)[1];
    else if (tag == DT_GNU_HASH && count_ == 0) count_ = count_in(at<std::uint32_t>(address));
  }

  // The table has no count: the last chain of symbols ends with the last symbol.
  [[nodiscard]] static std::uint32_t count_in(const std::uint32_t* table) noexcept {
    const std::uint32_t buckets = table[0], first = table[1], words = table[2];
    const std::uint32_t* const bucket = table + 4 + words * 2;
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i != buckets; ++i)
      if (bucket[i] > last) last = bucket[i];
    if (last < first) return first;
    const std::uint32_t* const chain = bucket + buckets;
    while ((chain[last - first] & 1) == 0) ++last;
    return last + 1;
  }

  std::uintptr_t bias_ = 0;
  const char* names_ = nullptr;
  const Elf64_Sym* symbols_ = nullptr;
  std::uint32_t count_ = 0;
};

#endif

}  // namespace ashlar::ASHLAR_ABI::detail
