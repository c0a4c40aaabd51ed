// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a live file as its process left it, at whichever instruction, and checks all that it is led by.
#include "cli/record/leftovers.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ashlar/detail/trace/decode.hpp>
#include <ashlar/detail/trace/index.hpp>

#include "cli/preload/clock.hpp"
#include "cli/preload/live.hpp"
#include "cli/record/processes.hpp"
#include "cli/record/recording.hpp"
#include "cli/record/run_note.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;
namespace io = detail::trace_io;
using recorder::live_head;
using recorder::live_records;

/// A file whose process has ended: no process has it mapped.
class orphan {
public:
  explicit orphan(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat found{};
    is_alone_ = fd_ >= 0 && ::fstat(fd_, &found) == 0 && S_ISREG(found.st_mode) && ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
  }
  ~orphan() {
    if (fd_ >= 0) ::close(fd_);
  }
  orphan(const orphan&) = delete;
  orphan& operator=(const orphan&) = delete;

  [[nodiscard]] bool is_alone() const noexcept { return is_alone_; }

  /// Returns: the part at an offset; null at the end of the file.
  template <class Part>
  [[nodiscard]] std::unique_ptr<Part> part(std::uint64_t offset) const {
    auto found = std::make_unique<Part>();
    const ssize_t n = ::pread(fd_, static_cast<void*>(found.get()), sizeof(Part), static_cast<off_t>(offset));
    return n == static_cast<ssize_t>(sizeof(Part)) ? std::move(found) : nullptr;
  }

  /// Returns: whether its process was killed before it had begun.
  [[nodiscard]] bool is_blank() const {
    std::uint64_t magic = 0;
    return ::pread(fd_, &magic, sizeof magic, 0) >= 0 && magic == 0;
  }

private:
  int fd_;
  bool is_alone_;
};

bool is_sound(const live_head& head, std::uint64_t session) {
  return head.magic.load() == recorder::live_magic && (session == 0 || head.session == session) &&
         head.header_bytes >= io::file_header_bytes && head.header_bytes <= recorder::max_header_bytes &&
         io::refuse_file_header(head.header) == nullptr && head.page_bytes >= 4096 && head.page_bytes <= 65536 &&
         std::memchr(head.trace, 0, sizeof head.trace) != nullptr;
}

/// The trace under construction, with the number of the next chunk of each kind and stream.
class continued_trace {
public:
  explicit continued_trace(const std::string& path) : path_(path), source_(path), index_(source_) {
    for (const io::chunk_entry& entry : index_.chunks()) last_[{entry.header.kind, entry.header.stream}] = entry.header;
  }

  [[nodiscard]] bool is_damaged() const { return index_.has_header() && index_.error() && !is_cut(); }

  /// Returns: whether chunks may follow: a write that a kill has cut goes, and an error that was met stays the last
  /// word. A newer recording may have taken the name.
  [[nodiscard]] bool prepare(const live_head& head) {
    const io::file_header& h = index_.header();
    if (is_damaged()) return false;
    if (!index_.has_header() || h.write_error != 0 || h.session != head.session || h.process != head.process)
      return false;
    bytes_ = index_.error() ? index_.error()->offset : source_.bytes();
    std::error_code error;
    fs::resize_file(path_, bytes_, error);
    to_.open(path_, std::ios::binary | std::ios::app);
    return !error && to_.is_open();
  }

  [[nodiscard]] const io::chunk_header* last(io::chunk_kind kind, std::uint32_t stream = 0) const {
    const auto found = last_.find({kind, stream});
    return found == last_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::uint32_t next(io::chunk_kind kind, std::uint32_t stream = 0) const {
    const io::chunk_header* const before = last(kind, stream);
    return before == nullptr ? 0 : before->sequence + 1;
  }

  /// Returns: whether there was room for the chunk; else the trace is as before it.
  [[nodiscard]] bool append(const io::chunk_header& header, std::span<const std::byte> payload) {
    const std::vector<std::byte> chunk = raw_chunk(header, payload);
    to_.write(reinterpret_cast<const char*>(chunk.data()), static_cast<std::streamsize>(chunk.size())).flush();
    std::error_code ignored;
    if (!to_) fs::resize_file(path_, bytes_, ignored);
    else bytes_ += chunk.size();
    return static_cast<bool>(to_);
  }

  [[nodiscard]] bool has_room() const { return static_cast<bool>(to_); }

  /// Returns: whether both clocks went on until now: neither did the machine restart nor sleep.
  [[nodiscard]] bool has_clocks() const {
    const std::uint64_t ran = recorder::clock_ns(CLOCK_MONOTONIC) - index_.header().start_ns;
    const std::uint64_t passed = recorder::clock_ns(CLOCK_REALTIME) - index_.header().start_unix_ns;
    return std::abs(static_cast<std::int64_t>(passed - ran)) < 1'000'000'000;
  }

private:
  [[nodiscard]] bool is_cut() const { return std::string_view(index_.error()->message) == io::chunk_index::is_cut_off; }

  std::string path_;
  trace::byte_source source_;
  io::chunk_index index_;
  std::map<std::pair<io::chunk_kind, std::uint32_t>, io::chunk_header> last_;
  std::ofstream to_;
  std::uint64_t bytes_ = 0;
};

/// Each returns whether the trace lacks nothing of this part now.
template <std::size_t Bytes>
bool append_table(continued_trace& to, io::chunk_kind kind, const recorder::pending_items<Bytes>& items) {
  const std::uint32_t count = items.count();
  if (count == 0 || to.next(kind) == items.sequence + 1) return true;  // it was written before it could be forgotten
  if (items.used() > Bytes || to.next(kind) != items.sequence) return false;
  return to.append({.kind = kind, .sequence = items.sequence, .count = count}, items.payload());
}

bool append_records(continued_trace& to, const live_records& log, std::uint64_t start_ticks) {
  if (log.count.load() > std::size(log.records)) return false;
  auto records = log.unwritten();
  std::uint64_t last_time = log.last_time;
  const io::chunk_header* const last = to.last(io::chunk_kind::events, log.thread);
  const std::uint32_t next = to.next(io::chunk_kind::events, log.thread);
  if (next == log.sequence() + 1) {  // written, and killed before it could note so
    records = records.subspan(std::min<std::size_t>(last->count, records.size()));
    last_time = last->last_time + start_ticks;
  } else if (next != log.sequence()) return records.empty();
  if (records.empty()) return true;
  if (std::ranges::any_of(records, [](const io::record& r) { return r.code >= io::opcode::count; })) return false;
  const auto encoder = std::make_unique<io::record_encoder>();
  std::vector<std::byte> payload(io::record_encoder::bound(records.size()));
  const std::uint64_t first = std::max({records.front().time, last_time, start_ticks});
  payload.resize(encoder->encode(records, first, payload.data()));
  if (last != nullptr && first < last->last_time + start_ticks) return false;
  const bool has_clocks = to.has_clocks();
  return to.append({.stream = log.thread,
                    .sequence = next,
                    .count = static_cast<std::uint32_t>(records.size()),
                    .events = encoder->events(),
                    .first_time = first - start_ticks,
                    .last_time = encoder->last_time() - start_ticks,
                    .sync_ticks = has_clocks ? recorder::ticks() - start_ticks : 0,
                    .sync_ns = has_clocks ? recorder::clock_ns(CLOCK_MONOTONIC) : 0},
                   payload);
}

/// Returns: whether the process of the live file wrote the header of the trace, and was perhaps killed there.
bool has_begun(const live_head& head, const std::string& path) {
  const process_trace t = read_process_trace(path);
  return t.session == head.session && t.process == head.process &&
         t.start_ns == io::get_file_header(head.header).start_ns;
}

/// Returns: the trace beside the live file, which may have been moved with it. It is made if the process had not begun
/// it, under the name that it would have taken.
std::string trace_of(const live_head& head, const std::string& wished) {
  if (head.has_trace.load() != 0) return fs::path(wished).replace_filename(fs::path(head.trace).filename()).string();
  std::string path = wished;
  std::error_code error;
  for (int n = 2; fs::exists(path, error) && fs::file_size(path, error) != 0; ++n) {
    if (has_begun(head, path)) return path;
    path = wished + "." + std::to_string(n);
  }
  std::ofstream to(path, std::ios::binary);
  to.write(reinterpret_cast<const char*>(head.header), static_cast<std::streamsize>(head.header_bytes)).flush();
  if (!to) fs::resize_file(path, 0, error);
  return path;
}

enum class ending {
  whole,  ///< The trace lacks nothing now.
  later,  ///< The disk is full, or the trace is damaged in its midst.
  refused
};

ending append_all(const orphan& from, const live_head& head, const std::string& wished) {
  const std::uint64_t page = head.page_bytes;
  continued_trace to(trace_of(head, wished));
  if (!to.prepare(head)) return head.has_trace.load() == 0 || to.is_damaged() ? ending::later : ending::refused;
  bool is_whole =
      to.last(io::chunk_kind::modules) != nullptr || append_table(to, io::chunk_kind::modules, head.modules);
  is_whole = is_whole && append_table(to, io::chunk_kind::stacks, head.stacks) &&
             append_table(to, io::chunk_kind::names, head.names);
  std::uint64_t at = recorder::live_part_bytes(sizeof(live_head), page);
  for (auto log = from.part<live_records>(at); is_whole && log; log = from.part<live_records>(at)) {
    is_whole = append_records(to, *log, head.start_ticks);
    at += recorder::live_part_bytes(sizeof(live_records), page);
  }
  const io::chunk_header end{.kind = io::chunk_kind::end, .sequence = to.next(io::chunk_kind::end), .count = 1};
  std::array<std::byte, io::max_varint_bytes> dropped{};
  const auto bytes = static_cast<std::size_t>(io::put_varint(dropped.data(), head.dropped.load()) - dropped.data());
  is_whole = is_whole && to.append(end, std::span(dropped).first(bytes));
  if (is_whole) return ending::whole;
  return to.has_room() ? ending::refused : ending::later;
}

/// Returns: the trace that a live file of this name stands beside; empty if it has no such name.
std::string trace_beside(const std::string& name) {
  const std::size_t suffix = name.rfind(recorder::live_suffix);
  if (suffix == name.npos) return {};
  const std::string_view number = std::string_view(name).substr(suffix + sizeof recorder::live_suffix - 1);
  return number.find_first_not_of("0123456789.") == number.npos ? name.substr(0, suffix) : std::string();
}

}  // namespace

std::set<int> take_leftovers(const std::string& path, const std::string& output, std::uint64_t session) {
  recorder::choose_clock();
  std::set<int> whole;
  std::error_code error;
  const fs::path folder = fs::absolute(path, error).parent_path();
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string trace = trace_beside(entry.path().filename().string());
    if (!trace.empty() && is_name_of_recording(trace, path, output)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  for (const fs::path& file : found) {
    const orphan left(file.string());
    if (left.is_alone() && left.is_blank()) fs::remove(file, error);
    const auto head = left.is_alone() ? left.part<live_head>(0) : nullptr;
    if (head == nullptr || !is_sound(*head, session)) continue;
    const int process = static_cast<int>(head->process);
    const bool is_over = head->is_over.load() != 0;
    const std::string wished = (folder / trace_beside(file.filename().string())).string();
    const ending reached = is_over ? ending::whole : append_all(left, *head, wished);
    if (reached == ending::whole && !is_over) whole.insert(process);
    if (reached != ending::later) fs::remove(file, error);
  }
  return whole;
}

}  // namespace ashlar::cli
