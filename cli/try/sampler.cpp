// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads perf_event_open's ring buffers once, when the program has ended.
#include "cli/try/sampler.hpp"

#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>
#include <unordered_map>

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace ashlar::cli {

namespace {

constexpr std::size_t data_pages = 32;  // a power of two; within the limit of locked memory for users

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
std::size_t buffer_bytes() { return (data_pages + 1) * page_bytes(); }

/// Inherited by the children, each of which samples from its exec on; this process has no samples.
int open_clock(int processor, std::uint64_t period_ns) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = period_ns;
  attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
  attributes.disabled = attributes.enable_on_exec = attributes.inherit = 1;
  attributes.exclude_kernel = attributes.exclude_hv = 1;
  attributes.mmap = attributes.task = 1;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, processor, -1, PERF_FLAG_FD_CLOEXEC));
}

struct code_range {
  std::uint64_t from;
  std::uint64_t to;
};

/// The records of all processors, without an order between processors.
struct sampled_program {
  std::unordered_map<std::uint32_t, std::uint32_t> parents;
  std::unordered_map<std::uint32_t, std::vector<code_range>> calls;  ///< Addresses of libc and malloc in a process.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> samples;
  bool lost = false;

  /// A process that has forked and not called exec has its parent's mappings.
  [[nodiscard]] bool is_call(std::uint32_t process, std::uint64_t address) const {
    for (std::size_t generation = 0; generation < 8; ++generation) {
      if (const auto found = calls.find(process); found != calls.end())
        for (const code_range& range : found->second)
          if (address - range.from < range.to - range.from) return true;
      const auto parent = parents.find(process);
      if (parent == parents.end()) return false;
      process = parent->second;
    }
    return false;
  }
};

bool serves_calls(std::string_view path, std::string_view library) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  for (const std::string_view libc : {"libc.so", "libc-2.", "ld-linux", "ld-musl"})
    if (name.starts_with(libc)) return true;
  return !library.empty() && path == library;
}

/// A ring of bytes that has not wrapped.
class record_reader {
public:
  explicit record_reader(const void* pages)
      : head_(static_cast<const perf_event_mmap_page*>(pages)->data_head),
        data_(static_cast<const std::byte*>(pages) + page_bytes()) {}

  /// Returns: whether there was another record.
  bool next() {
    if (at_ + sizeof header_ > head_) return false;
    std::memcpy(&header_, data_ + at_, sizeof header_);
    body_ = data_ + at_ + sizeof header_;
    at_ += header_.size;
    return header_.size >= sizeof header_ && at_ <= head_;
  }
  /// Returns: whether a record may have been lost. The kernel reports that in the next record with room, and there is
  /// none without a reader.
  [[nodiscard]] bool is_full() const noexcept { return head_ + page_bytes() > data_pages * page_bytes(); }
  [[nodiscard]] std::uint32_t type() const noexcept { return header_.type; }
  template <class T>
  [[nodiscard]] T field(std::size_t offset) const {
    T value;
    std::memcpy(&value, body_ + offset, sizeof value);
    return value;
  }
  /// Returns: the path at the end of the record.
  [[nodiscard]] std::string_view path(std::size_t offset) const {
    return reinterpret_cast<const char*>(body_ + offset);
  }

private:
  std::uint64_t head_;
  const std::byte* data_;
  const std::byte* body_ = nullptr;
  perf_event_header header_{};
  std::uint64_t at_ = 0;
};

/// The offsets come from the manual page of `perf_event_open`.
void add(sampled_program& program, const record_reader& record, std::string_view library) {
  const auto process = record.field<std::uint32_t>(0);
  switch (record.type()) {
    case PERF_RECORD_SAMPLE: ++program.samples[{record.field<std::uint32_t>(8), record.field<std::uint64_t>(0)}]; break;
    case PERF_RECORD_MMAP:
      if (const auto from = record.field<std::uint64_t>(8); serves_calls(record.path(32), library))
        program.calls[process].push_back({from, from + record.field<std::uint64_t>(16)});
      break;
    case PERF_RECORD_FORK:
      if (const auto parent = record.field<std::uint32_t>(4); parent != process) program.parents[process] = parent;
      break;
    case PERF_RECORD_LOST: program.lost = true; break;
    default: break;
  }
}

}  // namespace

code_sampler::code_sampler(std::uint64_t period_ns) {
  const auto processors = static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF));
  for (int i = 0; permitted_ && i < processors; ++i) {
    buffer b{open_clock(i, period_ns), MAP_FAILED};
    if (b.descriptor < 0 && errno == ENODEV) continue;  // switched off
    if (b.descriptor >= 0)
      b.pages = ::mmap(nullptr, buffer_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, b.descriptor, 0);
    permitted_ = b.pages != MAP_FAILED;
    buffers_.push_back(b);
  }
}

code_sampler::~code_sampler() {
  for (const buffer& b : buffers_) {
    if (b.pages != MAP_FAILED) ::munmap(b.pages, buffer_bytes());
    if (b.descriptor >= 0) ::close(b.descriptor);
  }
}

std::optional<code_samples> code_sampler::samples(const std::string& library) const {
  if (!permitted_) return std::nullopt;
  sampled_program program;
  for (const buffer& b : buffers_) {
    record_reader record(b.pages);
    while (record.next()) add(program, record, library);
    program.lost = program.lost || record.is_full();
  }
  code_samples all;
  for (const auto& [place, count] : program.samples)
    (program.is_call(place.first, place.second) ? all.calls : all.own) += count;
  if (program.lost || all.own + all.calls == 0) return std::nullopt;
  return all;
}

}  // namespace ashlar::cli
