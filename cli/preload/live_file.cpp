// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens, grows and maps the live file. Its descriptor is closed each time: the program may close it, or use its number.
#include "cli/preload/live_file.hpp"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "cli/preload/trace_file.hpp"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

namespace ashlar::recorder {

constinit live_file live;

namespace {

/// A page of these, once allocated, has its room on the disk: a store into it cannot fail. Overlayfs is not one of
/// them, as it may lie over any.
bool has_room_for_good(int fd) noexcept {
  struct statfs found{};
  if (fstatfs(fd, &found) != 0) return false;
  const auto kind = static_cast<unsigned long>(found.f_type);
  return kind == EXT4_SUPER_MAGIC || kind == XFS_SUPER_MAGIC || kind == TMPFS_MAGIC;
}

/// A file beyond the limit would raise a signal.
bool is_within_limit(std::uint64_t bytes) noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes <= limit.rlim_cur;
}

std::uint64_t system_page() noexcept { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

/// The part is the parent's alone: a child that the recorder does not learn of would append to it.
void* live_file::grow(int fd, std::uint64_t bytes) noexcept {
  const std::uint64_t part = live_part_bytes(bytes, system_page());
  const auto at = static_cast<off_t>(bytes_);
  if (!is_within_limit(bytes_ + part) || fallocate(fd, 0, at, static_cast<off_t>(part)) != 0) return nullptr;
  void* const memory = mmap(nullptr, part, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
  if (memory == MAP_FAILED) return nullptr;
  if (madvise(memory, part, MADV_DONTFORK) != 0) {
    munmap(memory, part);
    return nullptr;
  }
  bytes_ += part;
  return memory;
}

bool live_file::open() noexcept {
  if (system_page() != page_of_guard) return false;
  file.wish_path(path_);
  const std::size_t length = std::strlen(path_);
  int fd = -1;
  for (int i = 1; i < 1000 && fd < 0; ++i) {
    if (i == 1) std::snprintf(path_ + length, sizeof path_ - length, "%s", live_suffix);
    else std::snprintf(path_ + length, sizeof path_ - length, "%s.%d", live_suffix, i);
    fd = ::open(path_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0 && errno != EEXIST) return false;
  }
  if (fd < 0) return false;
  flock(fd, LOCK_SH | LOCK_NB);  // the mapping keeps it, and a kill ends it
  struct stat made{};
  const bool is_known = fstat(fd, &made) == 0 && has_room_for_good(fd);
  device_ = made.st_dev;
  inode_ = made.st_ino;
  auto* const head = is_known ? static_cast<live_head*>(grow(fd, sizeof(live_head))) : nullptr;
  close(fd);
  if (head == nullptr) {
    unlink(path_);
    return false;
  }
  head->page_bytes = static_cast<std::uint32_t>(system_page());
  file.describe(*head);
  head->magic.store(live_magic, std::memory_order_release);
  head_.store(head, std::memory_order_release);
  return true;
}

live_records* live_file::take() noexcept {
  const ashlar::lock_scope hold(lock_);
  if (is_refused_ || getpid() != file.process()) return nullptr;
  is_refused_ = head() == nullptr && !open();
  if (is_refused_) return nullptr;
  const int fd = ::open(path_, O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return nullptr;
  struct stat now{};  // after a chroot, or a removal, the path may be another file's
  const bool is_ours = fstat(fd, &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
  void* const memory = is_ours ? grow(fd, sizeof(live_records)) : nullptr;
  close(fd);
  return static_cast<live_records*>(memory);
}

void live_file::tell_trace(const char* path) noexcept {
  live_head* const to = head();
  if (to == nullptr) return;
  std::snprintf(to->trace, sizeof to->trace, "%s", path);
  to->has_trace.store(1, std::memory_order_release);
}

void live_file::tell_over(bool is_over) noexcept {
  if (live_head* const to = head()) to->is_over.store(is_over ? 1 : 0, std::memory_order_release);
}

void live_file::tell_dropped(std::uint64_t events) noexcept {
  if (live_head* const to = head()) to->dropped.store(events, std::memory_order_relaxed);
}

void live_file::forget() noexcept {
  lock_.unlock();
  head_.store(nullptr, std::memory_order_relaxed);
  bytes_ = 0;
  is_refused_ = false;
}

void live_file::remove() noexcept {
  if (head() != nullptr) unlink(path_);
}

}  // namespace ashlar::recorder
