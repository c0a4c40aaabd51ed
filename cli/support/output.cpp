// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes a file at once, and reports the error of its end too.
#include "cli/support/output.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ashlar/detail/trace/format.hpp>

namespace ashlar::cli {

bool write_all(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

namespace {

[[noreturn]] void fail_at(const std::string& name) { throw std::runtime_error(name + ": " + std::strerror(errno)); }

/// Another flush would report the same error again.
void forget_unwritten(std::FILE* file) {
  ::__fpurge(file);
  std::clearerr(file);
}

/// Returns: whether standard output or error goes to this file, which then keeps its inode.
bool is_open_stream(const struct stat& file) {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat open{};
    if (::fstat(descriptor, &open) == 0 && open.st_dev == file.st_dev && open.st_ino == file.st_ino) return true;
  }
  return false;
}

/// Returns: the descriptor of a file without a name in the folder of `path`, or -1 with errno.
int open_nameless_beside(const std::string& path) {
  const std::string folder = std::filesystem::absolute(path).parent_path().string();
  return ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

/// A file to take the place of its target. It has no name until it is whole, so that an end of the process while it is
/// written leaves nothing; on file systems without such files it has one beside its target, and removes itself unless
/// it replaces that.
class replacement {
public:
  /// Expects: `target` is no symbolic link.
  explicit replacement(std::string target) : target_(std::move(target)) {
    descriptor_ = open_nameless_beside(target_);
    if (descriptor_ < 0 && errno != ENOSPC && errno != EDQUOT) open_named();
  }
  replacement(const replacement&) = delete;
  replacement& operator=(const replacement&) = delete;
  ~replacement() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  [[nodiscard]] bool exists() const noexcept { return descriptor_ >= 0; }

  /// Returns: whether owner and permissions are now the file's.
  [[nodiscard]] bool take_owner(const struct stat& of) noexcept {
    owner_ = of;
    struct stat own{};
    if (::fstat(descriptor_, &own) != 0) return false;
    const bool same = own.st_uid == of.st_uid && own.st_gid == of.st_gid;
    return (same || ::fchown(descriptor_, of.st_uid, of.st_gid) == 0) && ::fchmod(descriptor_, of.st_mode & 07777) == 0;
  }

  /// Returns: whether all was written, and the target replaced; else errno has the reason.
  [[nodiscard]] bool replace_with(std::string_view text) {
    if (!write_all(descriptor_, text) || ::fsync(descriptor_) != 0) return false;
    if (name_.empty() && take_name(target_)) return true;
    if (name_.empty() && (errno != EEXIST || !take_name(target_ + "." + std::to_string(::getpid())))) {
      ::close(std::exchange(descriptor_, -1));  // without /proc a file gets no name
      if (!open_named() || (owner_ && !take_owner(*owner_))) return false;
      return replace_with(text);
    }
    if (::rename(name_.c_str(), target_.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

private:
  /// Effects: opens a file with a name of its own, and the permissions that a new file has. Returns: whether it is
  /// open.
  bool open_named() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    name_ = target_ + ".XXXXXX";
    descriptor_ = ::mkstemp(name_.data());
    if (descriptor_ < 0) return name_.clear(), false;
    return ::fchmod(descriptor_, 0666 & ~mask) == 0;
  }

  /// Returns: whether the nameless file has this name now; no if there is such a file.
  [[nodiscard]] bool take_name(std::string name) {
    const std::string own = "/proc/self/fd/" + std::to_string(descriptor_);
    if (::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) return false;
    if (name != target_) name_ = std::move(name);
    return true;
  }

  std::string target_;
  std::string name_;
  std::optional<struct stat> owner_;
  int descriptor_ = -1;
};

/// Effects: puts a new file in the place of an older one, which a full disk would else cut short, or where there is
/// none. Returns: false, with no effect, for a path that leads to no regular file, one with several names, or one in a
/// directory that takes no files.
bool replace_text(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  std::error_code none;
  const bool is_new = path != "-" && fs::symlink_status(path, none).type() == fs::file_type::not_found;
  const std::string target = path == "-" ? "" : is_new ? path : fs::canonical(path, none).string();
  struct stat before{};
  if (target.empty() || (!is_new && (::stat(target.c_str(), &before) != 0 || !S_ISREG(before.st_mode)))) return false;
  if (!is_new && (before.st_nlink != 1 || ::access(target.c_str(), W_OK) != 0 || is_open_stream(before))) return false;
  replacement made(target);
  if (!made.exists() && (errno == ENOSPC || errno == EDQUOT)) fail_at(path);
  if (!made.exists() || (!is_new && !made.take_owner(before))) return false;
  if (!made.replace_with(text)) fail_at(path);
  return true;
}

/// A recording cannot be repeated. Throws: `std::runtime_error` naming the file, if it is a trace.
void expect_no_trace(const std::string& path) {
  std::error_code none;
  std::array<std::byte, detail::trace_io::file_magic.size()> start{};
  if (!std::filesystem::is_regular_file(path, none)) return;
  std::ifstream from(path, std::ios::binary);
  if (from.read(reinterpret_cast<char*>(start.data()), std::streamsize{start.size()}) &&
      detail::trace_io::begins_as_trace(start))
    throw std::runtime_error(path + " is a trace: nothing was written");
}

/// Throws: `std::runtime_error` naming the file, if `write_text` could not open it now. Effects: none that lasts.
void expect_writable(const std::string& path) {
  if (path == "-") return;
  expect_no_trace(path);
  namespace fs = std::filesystem;
  std::error_code none;
  const bool is_new = fs::symlink_status(path, none).type() == fs::file_type::not_found;
  const fs::file_type type = fs::status(path, none).type();
  if (!is_new && type != fs::file_type::regular && type != fs::file_type::directory) {
    // A reader at the other end of a pipe would see its end.
    if (type != fs::file_type::not_found && ::access(path.c_str(), W_OK) != 0) fail_at(path);
    return;
  }
  int descriptor = is_new ? open_nameless_beside(path) : -1;
  const bool takes_name = descriptor < 0;  // also where the file system has no nameless files
  if (takes_name) descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0), 0666);
  if (descriptor < 0) fail_at(path);
  ::close(descriptor);
  if (is_new && takes_name) ::unlink(path.c_str());
}

/// Returns: whether two texts written to these paths would get to one file or stream.
bool is_same_output(const std::string& a, const std::string& b) {
  if (a == "-" || b == "-") return a == b;
  namespace fs = std::filesystem;
  std::error_code none;
  const auto place = [&none](const std::string& path) { return fs::weakly_canonical(fs::absolute(path, none), none); };
  return is_same_file(a, b) || place(a) == place(b);
}

}  // namespace

std::ifstream open_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw std::runtime_error(path + ": is a directory");
  std::ifstream from(path, std::ios::binary);
  if (!from) throw std::runtime_error(path + ": " + (errno == ENOENT ? "no such file" : std::strerror(errno)));
  return from;
}

std::string read_text(const std::string& path) {
  std::ifstream from = open_text(path);
  std::string text{std::istreambuf_iterator<char>(from), {}};
  if (from.bad()) throw std::runtime_error(path + ": " + std::strerror(errno));
  return text;
}

void write_text(const std::string& path, const std::string& text) {
  expect_no_trace(path);
  if (replace_text(path, text)) return;
  const bool to_stdout = path == "-";
  const auto close = [to_stdout](std::FILE* f) { return to_stdout ? std::fflush(f) : std::fclose(f); };
  std::error_code none;
  const bool is_new = !to_stdout && std::filesystem::status(path, none).type() == std::filesystem::file_type::not_found;
  std::FILE* file = to_stdout ? stdout : std::fopen(path.c_str(), "w");
  const std::string name = to_stdout ? "standard output" : path;
  if (file == nullptr) fail_at(name);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (close(file) == 0 && written) return;
  const int error = errno;
  if (to_stdout) forget_unwritten(stdout);
  if (is_new) std::filesystem::remove(std::filesystem::canonical(path, none), none);
  errno = error;
  fail_at(name);
}

void write_json(const std::string& path, nlohmann::json value) {
  constexpr int version = 1;  // packaging/schema/ashlar.json
  value["version"] = version;
  write_text(path, value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  return std::filesystem::equivalent(a, b, none);
}

std::string repeated_file(const std::vector<std::string>& paths) {
  std::set<std::string> names;
  std::set<std::pair<dev_t, ino_t>> files;
  for (const std::string& path : paths) {
    struct stat file{};
    const bool is_new = ::stat(path.c_str(), &file) != 0 || files.emplace(file.st_dev, file.st_ino).second;
    if (!names.insert(path).second || !is_new) return path;
  }
  return {};
}

std::string shared_output(const std::vector<output_file>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t j = i + 1; j < outputs.size(); ++j) {
      const output_file &a = outputs[i], &b = outputs[j];
      if (!a.path.empty() && !b.path.empty() && is_same_output(a.path, b.path))
        return std::string(a.option) + " and " + b.option + " would both write to " +
               (a.path == "-" ? "standard output" : a.path);
    }
  return {};
}

void expect_other_file(const std::string& output, const std::string& input, const std::string& role) {
  if (output.empty() || output == "-" || input.empty() || !is_same_output(output, input)) return;
  throw std::runtime_error(output + " is the " + role + " itself: nothing was written");
}

void expect_outputs(std::initializer_list<std::string> outputs, const std::vector<input_file>& inputs) {
  for (const std::string& output : outputs) {
    if (output.empty()) continue;
    for (const input_file& input : inputs) expect_other_file(output, input.path, input.role);
    expect_writable(output);
  }
}

}  // namespace ashlar::cli
