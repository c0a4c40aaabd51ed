// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that a test shares with its children, and maps several times.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace ashlar_test {

/// An unnamed file in memory.
class shared_file {
public:
  explicit shared_file(std::size_t bytes) : file_(::memfd_create("ashlar", 0)) {
    if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) ::_exit(2);
  }
  shared_file(const shared_file&) = delete;
  shared_file& operator=(const shared_file&) = delete;
  ~shared_file() { ::close(file_); }

  [[nodiscard]] int descriptor() const noexcept { return file_; }

private:
  int file_;
};

/// One mapping of it.
class shared_mapping {
public:
  shared_mapping(const shared_file& file, std::size_t bytes)
      : at(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0)), size(bytes) {}
  shared_mapping(const shared_mapping&) = delete;
  shared_mapping& operator=(const shared_mapping&) = delete;
  ~shared_mapping() { ::munmap(at, size); }

  void* const at;
  const std::size_t size;
};

}  // namespace ashlar_test
