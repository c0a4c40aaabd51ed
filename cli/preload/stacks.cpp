// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The unwinder, and the table of stacks.
#include "cli/preload/stacks.hpp"

#include <cstddef>
#include <cstdlib>
#include <span>

#include <dlfcn.h>

#include <ashlar/detail/trace/checksum.hpp>
#include <ashlar/detail/trace/table_chunks.hpp>

#include "cli/preload/recorder.hpp"
#include "cli/preload/settings.hpp"
#include "cli/preload/workspace.hpp"
#include "cli/preload/written_once.hpp"

namespace ashlar::recorder {

std::uint32_t stack_depth = 0;

namespace {

constexpr int own_frames = 2;  // take_stack and the interposed function

using stack_table = written_once<detail::trace_io::chunk_kind::stacks, std::size_t{1} << 20, 64 * 1024>;
using unwinder = int (*)(void**, int);

stack_table* table = nullptr;  // its pages are fresh from the system, and so all zeros
unwinder unwind = nullptr;
unwinder unwind_without_locks = nullptr;  // the C library's, slower, if it has _dl_find_object to look modules up

std::uint32_t id_of(std::span<const std::uint64_t> frames) noexcept {
  const std::uint64_t hash = detail::trace_io::checksum(std::as_bytes(frames)) | 1;
  return table->id_of(hash, detail::trace_io::stack_bound(frames.size()),
                      [frames](std::byte* to) { return detail::trace_io::put_stack(to, frames); });
}

}  // namespace

void prepare_stacks() noexcept {
  void* warm[4];  // an unwinder may load and allocate at its first use
  const char* const wanted = std::getenv(stacks_variable);
  const long depth = wanted == nullptr ? 0 : std::atol(wanted);
  if (depth <= 0) return;
  void* const library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) unwind = reinterpret_cast<unwinder>(dlsym(library, "unw_backtrace"));
  const auto backtrace = reinterpret_cast<unwinder>(dlsym(RTLD_DEFAULT, "backtrace"));
  if (unwind == nullptr) unwind = backtrace;
  if (unwind == nullptr) return;  // a C library without an unwinder: no stacks
  unwind(warm, 4);
  if (backtrace != nullptr && dlsym(RTLD_DEFAULT, "_dl_find_object") != nullptr) unwind_without_locks = backtrace;
  if (unwind_without_locks != nullptr) unwind_without_locks(warm, 4);
  table = static_cast<stack_table*>(map_memory(sizeof(stack_table)));
  if (table != nullptr)
    stack_depth = depth < long{max_stack_depth} ? static_cast<std::uint32_t>(depth) : max_stack_depth;
}

ASHLAR_NOINLINE std::uint32_t take_stack() noexcept {
  if (self.busy) return 0;
  const inside_recorder inside;
  void* raw[max_stack_depth + own_frames];
  std::uint64_t frames[max_stack_depth];
  const int n = unwind(raw, static_cast<int>(stack_depth) + own_frames);
  std::size_t kept = 0;
  for (int i = own_frames; i < n; ++i) frames[kept++] = reinterpret_cast<std::uintptr_t>(raw[i]);
  return kept == 0 ? 0 : id_of({frames, kept});
}

bool write_stacks() noexcept { return stack_depth == 0 || table->write(); }

void reset_stacks(bool locks_are_orphaned) noexcept {
  if (locks_are_orphaned) unwind = unwind_without_locks;
  if (unwind == nullptr) stack_depth = 0;
  if (table != nullptr) table->reset();
}

}  // namespace ashlar::recorder
