// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The workspaces: mapped at their first use, then kept.
#include "cli/preload/workspace.hpp"

#include <atomic>
#include <new>

#include <sched.h>
#include <sys/mman.h>

namespace ashlar::recorder {

namespace {

constexpr std::size_t benches = 4;
constinit std::atomic<workspace*> bench[benches]{};

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

}  // namespace

void* map_memory(std::size_t bytes) noexcept {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

workspace* borrow_workspace() noexcept {
  for (;;) {
    bool any = false;
    for (auto& slot : bench) {
      workspace* w = slot.load(std::memory_order_acquire);
      if (w == nullptr) w = fill(slot);
      if (w == nullptr) continue;
      any = true;
      if (w->lock.try_lock()) return w;
    }
    if (!any) return nullptr;
    sched_yield();
  }
}

void reset_workspaces() noexcept {
  for (auto& slot : bench)
    if (workspace* w = slot.load(std::memory_order_relaxed)) w->lock.unlock();
}

}  // namespace ashlar::recorder
