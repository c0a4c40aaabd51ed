// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unlinks the file as soon as it is open.
#include "cli/support/temporary_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <unistd.h>

#include "cli/support/write_all.hpp"

namespace ashlar::cli {

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

}  // namespace

temporary_file::temporary_file() {
  name_ = (std::filesystem::temp_directory_path() / "ashlar-replay-XXXXXX").string();
  descriptor_ = ::mkstemp(name_.data());  // not O_CLOEXEC: the replays inherit it
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
