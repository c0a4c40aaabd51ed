// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens, names and writes the trace file without ever disturbing the recorded program. Makes a chunk in a workspace, a
// few of which threads borrow, so that memory does not grow with their number.
#include "cli/preload/trace_file.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include <ashlar/trace/writer.hpp>

#include "cli/preload/clock.hpp"
#include "cli/preload/live_file.hpp"
#include "cli/preload/memory_use.hpp"

namespace ashlar::recorder {

constinit trace_file file;

namespace {

/// Our descriptor is moved to here or above, so that the program gets the same numbers as without us.
int lowest_descriptor() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 1024) return 1000;
  return limit.rlim_cur > 16 ? static_cast<int>(limit.rlim_cur) - 8 : 0;
}

// `substr` would need the C++ library.

std::string_view last_part(std::string_view path) noexcept {
  path.remove_prefix(path.rfind('/') + 1);
  return path;
}

/// Returns: whether `*`, for any characters, and `?`, for one, make a name of the pattern.
bool fits(std::string_view pattern, std::string_view name) noexcept {
  std::size_t p = 0, n = 0, star = pattern.npos, after = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') star = p++, after = n;
    else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) ++p, ++n;
    else if (star != pattern.npos) p = star + 1, n = ++after;
    else return false;
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

bool fits_any(std::string_view patterns, std::string_view name) noexcept {
  while (!patterns.empty()) {
    const std::size_t end = std::min(patterns.find('\n'), patterns.size());
    if (fits({patterns.data(), end}, name)) return true;
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
  }
  return false;
}

/// A write that fails with EFBIG or EPIPE has raised a signal too. All signals are blocked here, so it is pending.
void swallow_signal(int error) noexcept {
  using calls = ashlar::detail::quiet_calls;
  if (const int raised = calls::signal_of(-error); raised != 0) calls::take(raised, {});
}

}  // namespace

bool trace_file::configure() noexcept {
  const char* const given = std::getenv(file_variable);
  if (given == nullptr || *given == '\0' || std::strlen(given) >= sizeof pattern_storage_) return false;
  std::strcpy(pattern_storage_, given);
  const char* const first = std::getenv(first_variable);
  const char* const stacks = std::getenv(stacks_variable);
  const char* const session = std::getenv(session_variable);
  process_ = getpid();
  parent_ = getppid();
  session_ = session == nullptr ? 0 : std::strtoull(session, nullptr, 10);
  is_first_ = first == nullptr || std::atol(first) == process_;
  stack_depth_ = stacks == nullptr ? 0 : static_cast<std::uint32_t>(std::atol(stacks));
  const char* const children = std::getenv(children_variable);
  records_children_ = children == nullptr || std::strcmp(children, "0") != 0;
  read_command_line();
  start_clock();
  return is_wanted();
}

/// A program has two names: its first word, and its executable, which a symbolic link may have led to.
bool trace_file::is_wanted() const noexcept {
  if (!is_first_ && !records_children_) return false;
  const char* const only = std::getenv(only_variable);
  if (only == nullptr || *only == '\0') return true;
  char executable[max_path_bytes] = {};
  if (readlink("/proc/self/exe", executable, sizeof executable - 1) < 0) executable[0] = '\0';
  const char* const word = reinterpret_cast<const char*>(&header_[detail::trace_io::file_header_bytes]);
  return fits_any(only, last_part(executable)) || (command_bytes_ != 0 && fits_any(only, last_part(word)));
}

void trace_file::restart() noexcept {
  lock_.unlock();
  if (fd_ >= 0 && still_ours()) close(fd_);
  fd_ = -1;
  started_ = failed_ = is_first_ = false;
  written_ = 0;
  process_ = getpid();
  parent_ = getppid();
  start_clock();
}

void trace_file::start_clock() noexcept {
  start_unix_ns_ = clock_ns(CLOCK_REALTIME);
  start_ns_ = clock_ns(CLOCK_MONOTONIC);
  start_ticks_ = ticks();
}

void trace_file::read_command_line() noexcept {
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char* const text = reinterpret_cast<char*>(&header_[detail::trace_io::file_header_bytes]);
  const std::size_t room = sizeof header_ - detail::trace_io::file_header_bytes - 8;
  const ssize_t n = read(fd, text, room);
  close(fd);
  command_bytes_ = n > 0 ? static_cast<std::size_t>(n) : 0;
  if (command_bytes_ != 0) text[command_bytes_ - 1] = '\0';
}

/// "%p" becomes the process id. A path without it belongs to the first process, the others append theirs.
void trace_file::wish_path(std::span<char> to) const noexcept {
  const char* const hole = std::strstr(pattern_storage_, "%p");
  if (hole == nullptr) {
    std::snprintf(to.data(), to.size(), is_first_ ? "%s" : "%s.%d", pattern_storage_, static_cast<int>(process_));
  } else {
    std::snprintf(to.data(), to.size(), "%.*s%d%s", static_cast<int>(hole - pattern_storage_), pattern_storage_,
                  static_cast<int>(process_), hole + 2);
  }
}

void trace_file::describe(live_head& to) noexcept {
  const ashlar::lock_scope hold(lock_);
  const std::span header = make_file_header(0);
  std::memcpy(to.header, header.data(), header.size());
  to.header_bytes = static_cast<std::uint32_t>(header.size());
  to.process = static_cast<std::uint32_t>(process_);
  to.session = session_;
  to.start_ticks = start_ticks_;
  if (!started_) return;
  std::snprintf(to.trace, sizeof to.trace, "%s", path_);
  to.has_trace.store(1, std::memory_order_release);
}

bool trace_file::write(std::span<const std::byte> chunk) noexcept {
  const ashlar::lock_scope hold(lock_);
  if (failed_) return false;
  if (!claim_bytes(chunk.size())) return give_up(detail::trace_io::size_was_reached);
  if (!ensure_open()) return give_up(errno);
  if (!is_whole()) return give_up(detail::trace_io::cut_by_program);
  return write_all(chunk) || give_up(errno);
}

bool trace_file::give_up(int error) noexcept {
  failed_ = true;
  live.tell_over(true);  // what it has is no longer all
  mark_failure(error);
  tell_failure(error, path_);
  return false;
}

/// In place, which needs no room on a full disk. No append follows, so the descriptor may move to the start.
void trace_file::mark_failure(int error) noexcept {
  if (!started_ || !still_ours() || fcntl(fd_, F_SETFL, 0) != 0) return;
  const std::span header = make_file_header(error);
  if (pwrite(fd_, header.data(), header.size(), 0) < 0) swallow_signal(errno);
}

bool trace_file::ensure_open() noexcept {
  if (started_) return still_ours() || open_path(0);
  if (!create()) return false;
  started_ = write_all(make_file_header(0));
  if (started_) tell_trace(), live.tell_trace(path_);
  return started_;
}

/// A program may truncate every descriptor it finds.
bool trace_file::is_whole() const noexcept {
  struct stat now{};
  return fstat(fd_, &now) == 0 && (!S_ISREG(now.st_mode) || static_cast<std::uint64_t>(now.st_size) >= written_);
}

/// A program may close every unknown descriptor, and reuse the number for its own file.
bool trace_file::still_ours() const noexcept {
  struct stat now{};
  return fstat(fd_, &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
}

/// The first process takes the file that `ashlar record` made for it, while it is empty. Every other file is new: after
/// an exec the process id is the same, so a number is appended until the name is free.
bool trace_file::create() noexcept {
  wish_path(path_);
  if (is_first_ && open_path(O_CREAT)) {
    struct stat now{};
    if (fstat(fd_, &now) == 0 && (now.st_size == 0 || !S_ISREG(now.st_mode))) return true;
    close(fd_);
    is_first_ = false;
    wish_path(path_);
  }
  const std::size_t length = std::strlen(path_);
  for (int i = 2; i < 1000; ++i) {
    if (open_path(O_CREAT | O_EXCL)) return true;
    if (errno != EEXIST) return false;
    std::snprintf(path_ + length, sizeof path_ - length, ".%d", i);
  }
  return false;
}

bool trace_file::open_path(int flags) noexcept {
  const int fd = open(path_, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags, 0666);
  return fd >= 0 && adopt(fd);
}

/// Returns: false with the reason in errno, which closing the descriptor does not change.
bool trace_file::adopt(int fd) noexcept {
  struct stat now{};
  if (fstat(fd, &now) != 0) {
    const int error = errno;
    close(fd);
    errno = error;
    return false;
  }
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, lowest_descriptor());
  if (high >= 0) close(fd);
  fd_ = high >= 0 ? high : fd;
  device_ = now.st_dev;
  inode_ = now.st_ino;
  return true;
}

std::span<const std::byte> trace_file::make_file_header(int write_error) noexcept {
  detail::trace_io::put_header(
      header_, detail::trace_io::file_header{.clock = clock_counts ? detail::trace_io::clock_kind::ticks
                                                                   : detail::trace_io::clock_kind::nanoseconds,
                                             .process = static_cast<std::uint32_t>(process_),
                                             .page_bytes = static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE)),
                                             .write_error = static_cast<std::uint16_t>(write_error),
                                             .start_ns = start_ns_,
                                             .start_unix_ns = start_unix_ns_,
                                             .stack_depth = stack_depth_,
                                             .text_bytes = static_cast<std::uint32_t>(command_bytes_),
                                             .session = session_,
                                             .parent = is_first_ ? 0 : static_cast<std::uint32_t>(parent_)});
  const std::span summed(header_, detail::trace_io::file_header_bytes + command_bytes_);
  detail::trace_io::put_word(header_ + summed.size(), detail::trace_io::checksum(summed));
  return {header_, summed.size() + 8};
}

/// Returns: false with the reason in errno. An incomplete chunk is removed, so that the file ends with a complete one.
bool trace_file::write_all(std::span<const std::byte> bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd_, bytes.data() + done, bytes.size() - done);
    if (n > 0) done += static_cast<std::size_t>(n);
    if (n > 0 || (n < 0 && errno == EINTR)) continue;
    const int error = n < 0 ? errno : ENOSPC;
    swallow_signal(error);
    struct stat now{};
    if (done != 0 && fstat(fd_, &now) == 0)
      static_cast<void>(ftruncate(fd_, now.st_size - static_cast<off_t>(done)) == 0);
    errno = error;
    return false;
  }
  written_ += bytes.size();
  return true;
}

namespace {

/// Packs with a context in its own memory: zstd must not call malloc here.
class static_packer {
public:
  static constexpr trace::codec_id id = trace::codec_id::zstd;
  static constexpr int level = 1;

  [[nodiscard]] static constexpr std::size_t bound(std::size_t n) noexcept { return ZSTD_COMPRESSBOUND(n); }

  [[nodiscard]] std::size_t pack(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
    if (context_ == nullptr) context_ = ZSTD_initStaticCCtx(memory_, sizeof memory_);
    if (context_ == nullptr) return 0;
    const std::size_t used = ZSTD_compressCCtx(context_, to.data(), to.size(), from.data(), from.size(), level);
    return ZSTD_isError(used) != 0 ? 0 : used;
  }

private:
  ZSTD_CCtx* context_ = nullptr;
  alignas(64) std::byte memory_[1536 * 1024];  // more than ZSTD_estimateCCtxSize(level); touched only as needed
};

static_assert(trace::packer<static_packer>);

constexpr std::size_t payload_bytes = detail::trace_io::record_encoder::bound(log_records);

struct workspace {
  sleeping_lock lock;
  detail::trace_io::record_encoder encoder;
  static_packer packer;
  std::byte payload[payload_bytes];
  std::byte chunk[detail::trace_io::chunk_bound<static_packer>(payload_bytes)];
};

/// Mapped at their first use, then kept.
constexpr std::size_t benches = 4;
constinit std::atomic<workspace*> bench[benches]{};
constinit std::atomic<std::size_t> waits{0};

/// Two threads may map the same one at once: the slower one unmaps its own.
workspace* fill(std::atomic<workspace*>& slot) noexcept {
  void* const memory = map_memory(sizeof(workspace));
  if (memory == nullptr) return nullptr;
  auto* const fresh = static_cast<workspace*>(memory);  // all zeros: an open lock, an empty encoder, no context
  workspace* present = nullptr;
  if (slot.compare_exchange_strong(present, fresh, std::memory_order_acq_rel)) return fresh;
  munmap(memory, sizeof(workspace));
  return present;
}

/// Returns: the workspace, or null if there is no memory for it.
workspace* at(std::atomic<workspace*>& slot) noexcept {
  workspace* const w = slot.load(std::memory_order_acquire);
  return w != nullptr ? w : fill(slot);
}

/// Effects: waits for a workspace. Returns: it, locked, or null if there is no memory for one.
workspace* borrow_workspace() noexcept {
  workspace* any = nullptr;
  for (auto& slot : bench) {
    workspace* const w = at(slot);
    if (w != nullptr && w->lock.try_lock()) return w;
    if (w != nullptr) any = w;
  }
  if (any == nullptr) return nullptr;
  workspace* const next = at(bench[waits.fetch_add(1, std::memory_order_relaxed) % benches]);  // a queue for each
  workspace* const mine = next != nullptr ? next : any;
  mine->lock.lock();
  return mine;
}

bool pack_and_write(workspace& w, detail::trace_io::chunk_header header, std::span<const std::byte> payload) noexcept {
  header.sync_ticks = ticks() - file.start_ticks();
  header.sync_ns = clock_ns(CLOCK_MONOTONIC);
  return file.write(detail::trace_io::pack_chunk(w.packer, header, payload, w.chunk));
}

bool encode_and_write(workspace& w, live_records& log, std::span<const detail::trace_io::record> records) noexcept {
  const std::uint64_t first = std::max({records.front().time, log.last_time, file.start_ticks()});
  const std::size_t bytes = w.encoder.encode(records, first, w.payload);
  const std::uint64_t last = w.encoder.last_time();
  const bool written = pack_and_write(w,
                                      {.stream = log.thread,
                                       .sequence = log.sequence(),
                                       .count = static_cast<std::uint32_t>(records.size()),
                                       .events = w.encoder.events(),
                                       .first_time = first - file.start_ticks(),
                                       .last_time = last - file.start_ticks()},
                                      {w.payload, bytes});
  log.last_time = last;
  return written;
}

}  // namespace

bool write_chunk(detail::trace_io::chunk_header header, std::span<const std::byte> payload) noexcept {
  workspace* const w = file.failed() ? nullptr : borrow_workspace();
  if (w == nullptr) return false;
  const bool written = pack_and_write(*w, header, payload);
  w->lock.unlock();
  return written;
}

std::uint64_t write_records(live_records& log) noexcept {
  const auto records = log.unwritten();
  if (records.empty()) return 0;
  workspace* const w = file.failed() ? nullptr : borrow_workspace();
  const bool written = w != nullptr && encode_and_write(*w, log, records);
  if (w != nullptr) w->lock.unlock();
  log.note_written(records.size(), w != nullptr);
  return written ? 0 : records.size();
}

std::uint64_t resident_workspaces() noexcept {
  std::uint64_t bytes = 0;
  for (auto& slot : bench)
    if (const workspace* w = slot.load(std::memory_order_acquire)) bytes += resident_part(w, sizeof *w);
  return bytes;
}

void reset_workspaces() noexcept {
  for (auto& slot : bench)
    if (workspace* w = slot.load(std::memory_order_relaxed)) w->lock.unlock();
}

}  // namespace ashlar::recorder
