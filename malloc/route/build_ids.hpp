// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The build ids of loaded modules, in the notes of their program headers.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include <link.h>

namespace ashlar::route {

/// Effects: writes the bytes in lower-case hexadecimal. Returns: their end. Expects: room for two characters each.
inline char* put_hexadecimal(std::span<const unsigned char> bytes, char* to) noexcept {
  for (const unsigned char byte : bytes)
    for (const int digit : {byte >> 4, byte & 15}) *to++ = "0123456789abcdef"[digit];
  return to;
}

/// Returns: whether the text is the bytes in lower-case hexadecimal.
[[nodiscard]] inline bool is_hexadecimal_of(std::span<const unsigned char> bytes, std::string_view text) noexcept {
  if (text.size() != 2 * bytes.size()) return false;
  char digits[2];
  for (std::size_t i = 0; i != bytes.size(); ++i) {
    put_hexadecimal(bytes.subspan(i, 1), digits);
    if (std::memcmp(text.data() + 2 * i, digits, sizeof digits) != 0) return false;
  }
  return true;
}

/// Returns: the build id among notes: each has three words, then name and contents, padded to 4 bytes.
[[nodiscard]] inline std::span<const unsigned char> build_id_in(const unsigned char* p, std::size_t bytes) noexcept {
  const auto padded = [](std::size_t n) { return (n + 3) & ~std::size_t{3}; };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, p, sizeof note);
    const std::size_t id_at = sizeof note + padded(note.n_namesz);
    const std::size_t end = id_at + padded(note.n_descsz);
    if (end > bytes) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(p + sizeof note, "GNU", 4) == 0)
      return {p + id_at, note.n_descsz};
    p += end;
    bytes -= end;
  }
  return {};
}

/// Returns: the build id of a loaded module; empty if it has none.
[[nodiscard]] inline std::span<const unsigned char> build_id_of(const dl_phdr_info& info) noexcept {
  for (const auto& part : std::span(info.dlpi_phdr, info.dlpi_phnum))
    if (part.p_type == PT_NOTE)
      if (const auto id =
              build_id_in(reinterpret_cast<const unsigned char*>(info.dlpi_addr + part.p_vaddr), part.p_memsz);
          !id.empty())
        return id;
  return {};
}

}  // namespace ashlar::route
