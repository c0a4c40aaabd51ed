// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The workspaces: mapped at their first use, then kept.
#include "cli/preload/workspace.hpp"

#include <atomic>
#include <new>

#include <sys/mman.h>

namespace ashlar::recorder {

namespace {

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

}  // namespace

void* map_memory(std::size_t bytes) noexcept {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

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

void reset_workspaces() noexcept {
  for (auto& slot : bench)
    if (workspace* w = slot.load(std::memory_order_relaxed)) w->lock.unlock();
}

}  // namespace ashlar::recorder
