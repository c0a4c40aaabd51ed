// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared memory found by its id.
#include "cli/record/status.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <sys/shm.h>

#include <ashlar/detail/trace/format.hpp>

#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

/// A zombie has ended.
bool runs(int process) {
  std::ifstream from("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(from, line);
  const std::size_t name_end = line.rfind(") ");
  return name_end != line.npos && line.size() > name_end + 2 && line[name_end + 2] != 'Z';
}

}  // namespace

/// Marked for removal at once: it ends with the last attached process, and can be attached until then.
record_status::record_status() : id_(shmget(IPC_PRIVATE, sizeof *page_, IPC_CREAT | 0600)) {
  if (id_ < 0) return;
  void* const memory = shmat(id_, nullptr, 0);
  shmctl(id_, IPC_RMID, nullptr);
  if (memory == reinterpret_cast<void*>(-1)) return;
  page_ = static_cast<recorder::recording_status*>(memory);
  page_->magic = recorder::status_magic;
}

record_status::~record_status() {
  if (page_ != nullptr) shmdt(page_);
}

std::string record_status::id() const { return page_ == nullptr ? std::string() : std::to_string(id_); }

bool record_status::any_trace() const noexcept { return page_ != nullptr && page_->traces.load() != 0; }

std::vector<record_status::unfinished> record_status::unfinished_processes() const {
  std::vector<unfinished> all;
  if (page_ == nullptr) return all;
  for (const recorder::recorded_process& p : page_->unfinished)
    if (const int id = p.id.load(); id != 0) all.push_back({id, p.threads.load(), runs(id)});
  std::sort(all.begin(), all.end(), [](const unfinished& a, const unfinished& b) { return a.process < b.process; });
  return all;
}

std::string record_status::failure() const {
  const std::uint32_t failures = page_ == nullptr ? 0 : page_->failures.load();
  if (failures == 0) return {};
  const std::string path(page_->path, page_->path_length.load());
  const std::string others = failures == 1 ? "" : "; so it went in " + counted(failures, "process", "processes");
  return path + ": " + describe_write_error(page_->first_error.load()) + others;
}

std::string describe_write_error(int error) {
  if (error == detail::trace_io::cut_by_program) return "the program cut its own trace short";
  if (error == ENOSPC) return "the disk was full";
  return std::string("writing failed: ") + std::strerror(error);
}

}  // namespace ashlar::cli
