// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file of the ELF format: its program headers, their contents, and its build id.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include "malloc/route/build_ids.hpp"

namespace ashlar::cli {

/// Open as long as it lives. A file that cannot be read, or is of another format, has no headers.
class elf_file {
public:
  explicit elf_file(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    ::elf_version(EV_CURRENT);
    if (descriptor_ >= 0) elf_ = ::elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
    std::size_t count = 0;
    if (!is_elf() || ::elf_getphdrnum(elf_, &count) != 0) return;
    GElf_Phdr header;
    for (std::size_t i = 0; i != count && ::gelf_getphdr(elf_, static_cast<int>(i), &header) != nullptr; ++i)
      headers_.push_back(header);
  }
  elf_file(const elf_file&) = delete;
  elf_file& operator=(const elf_file&) = delete;
  ~elf_file() {
    ::elf_end(elf_);
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  [[nodiscard]] bool is_elf() const { return elf_ != nullptr && ::elf_kind(elf_) == ELF_K_ELF; }
  [[nodiscard]] Elf* get() const noexcept { return elf_; }
  [[nodiscard]] std::span<const GElf_Phdr> headers() const noexcept { return headers_; }

  /// Returns: what the file has of a segment; nothing if it ends before.
  [[nodiscard]] std::string_view contents(const GElf_Phdr& of) const {
    std::size_t bytes = 0;
    const char* const file = ::elf_rawfile(elf_, &bytes);
    if (file == nullptr || of.p_offset > bytes || of.p_filesz > bytes - of.p_offset) return {};
    return {file + of.p_offset, of.p_filesz};
  }

private:
  int descriptor_;
  Elf* elf_ = nullptr;
  std::vector<GElf_Phdr> headers_;
};

/// Returns: the build id of an ELF file in lower-case hexadecimal; empty for other files and without one.
[[nodiscard]] inline std::string build_id_of(const std::string& path) {
  const elf_file file(path);
  const void* bytes = nullptr;
  const ssize_t size = file.is_elf() ? ::dwelf_elf_gnu_build_id(file.get(), &bytes) : 0;
  const std::span id(static_cast<const unsigned char*>(bytes), static_cast<std::size_t>(size > 0 ? size : 0));
  std::string text(2 * id.size(), '\0');
  route::put_hexadecimal(id, text.data());
  return text;
}

}  // namespace ashlar::cli
