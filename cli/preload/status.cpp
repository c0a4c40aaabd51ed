// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attaches the shared page and writes into it.
#include "cli/preload/status.hpp"

#include <cstdlib>
#include <cstring>

#include <sys/shm.h>
#include <unistd.h>

namespace ashlar::recorder {

namespace {

recording_status* page = nullptr;
constinit std::atomic<recorded_process*> own{nullptr};
constinit std::atomic<std::uint32_t> threads{0};
constinit std::atomic<bool> has_failed{false};

recording_status* attach(int id) noexcept {
  shmid_ds facts{};
  if (shmctl(id, IPC_STAT, &facts) != 0 || facts.shm_segsz != sizeof(recording_status)) return nullptr;
  void* const memory = shmat(id, nullptr, 0);
  if (memory == reinterpret_cast<void*>(-1)) return nullptr;
  auto* const found = static_cast<recording_status*>(memory);
  if (found->magic == status_magic) return found;
  shmdt(memory);
  return nullptr;
}

recorded_process* list_process() noexcept {
  for (recorded_process& p : page->unfinished) {
    std::int32_t none = 0;
    if (p.id.load(std::memory_order_relaxed) == 0 && p.id.compare_exchange_strong(none, getpid())) return &p;
  }
  return nullptr;
}

}  // namespace

void connect_status() noexcept {
  const char* const id = std::getenv(status_variable);
  if (id != nullptr && *id != '\0') page = attach(static_cast<int>(std::atol(id)));
}

void tell_trace() noexcept {
  if (page != nullptr) page->traces.fetch_add(1, std::memory_order_relaxed);
}

bool claim_bytes(std::uint64_t bytes) noexcept {
  if (page == nullptr || page->max_bytes == 0) return true;
  return page->bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= page->max_bytes;
}

void tell_process(std::uint64_t start_ns, std::uint64_t inherited) noexcept {
  if (page == nullptr || own.load(std::memory_order_relaxed) != nullptr) return;
  recorded_process* const listed = list_process();
  if (listed != nullptr) {
    listed->threads.store(threads.load(std::memory_order_relaxed), std::memory_order_relaxed);
    listed->inherited.store(inherited, std::memory_order_relaxed);
    listed->start_ns.store(start_ns, std::memory_order_release);
  }
  own.store(listed, std::memory_order_relaxed);
}

void tell_threads(std::int32_t change) noexcept {
  const std::uint32_t now = threads.fetch_add(static_cast<std::uint32_t>(change), std::memory_order_relaxed);
  recorded_process* const listed = own.load(std::memory_order_relaxed);
  if (listed != nullptr) listed->threads.store(now + static_cast<std::uint32_t>(change), std::memory_order_relaxed);
}

void tell_end() noexcept {
  recorded_process* const listed = own.exchange(nullptr, std::memory_order_relaxed);
  if (listed != nullptr) listed->id.store(0, std::memory_order_release);
}

void disconnect_status() noexcept { page = nullptr; }

void reset_status() noexcept {
  own.store(nullptr, std::memory_order_relaxed);
  threads.store(0, std::memory_order_relaxed);
  has_failed.store(false, std::memory_order_relaxed);
}

void tell_failure(int error, const char* path) noexcept {
  if (page == nullptr || has_failed.exchange(true, std::memory_order_relaxed)) return;
  if (page->failures.fetch_add(1, std::memory_order_relaxed) != 0) return;
  page->first_error.store(error, std::memory_order_relaxed);
  const std::size_t length = strnlen(path, sizeof page->path - 1);
  std::memcpy(page->path, path, length);
  page->path_length.store(static_cast<std::uint32_t>(length), std::memory_order_release);
}

}  // namespace ashlar::recorder
