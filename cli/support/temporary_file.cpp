// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The file never has a name, so that no end of the process leaves it; on file systems without such files it loses its
// name as soon as it is open.
#include "cli/support/temporary_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

#include "cli/support/write_all.hpp"

namespace ashlar::cli {

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

}  // namespace

temporary_file::temporary_file() {
  const std::filesystem::path directory = std::filesystem::temp_directory_path();
  name_ = (directory / "ashlar-XXXXXX").string();
  descriptor_ = ::open(directory.c_str(), O_TMPFILE | O_RDWR, 0600);  // not O_CLOEXEC: the replays inherit it
  if (descriptor_ >= 0) return;
  descriptor_ = ::mkstemp(name_.data());
  if (descriptor_ < 0) fail("cannot make a temporary file " + name_);
  ::unlink(name_.c_str());
}

temporary_file::~temporary_file() { ::close(descriptor_); }

void temporary_file::write(std::span<const std::byte> bytes) {
  if (!write_all(descriptor_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
    fail("cannot write to the temporary file " + name_ + " (TMPDIR chooses where)");
}

void temporary_file::rewrite_start(std::span<const std::byte> bytes) {
  if (::lseek(descriptor_, 0, SEEK_SET) != 0) fail("cannot rewind the temporary file");
  write(bytes);
}

}  // namespace ashlar::cli
