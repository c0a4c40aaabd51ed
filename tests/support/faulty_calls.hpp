// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The system calls of os/pages with failures chosen by a test, and a balance of mapped bytes.
#pragma once

#include <cstddef>
#include <vector>

#include <ashlar/base/resource.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/test/ledger.hpp>

namespace ashlar_test {

/// The state of `Tag`'s calls, and their planned failures. A mapping whose release was made to fail counts as lost, not
/// as mapped: its address space stays, until `give_back_lost`. Does not use GoogleTest. Thread safety: none.
struct call_faults {
  ashlar::detail::failure_plan maps, unmaps, discards, grows, moves;
  std::size_t refusals = 0;  ///< of any call
  std::size_t calls = 0;
  std::size_t mapped_bytes = 0;
  std::vector<ashlar::block> lost;

  [[nodiscard]] bool refuses(ashlar::detail::failure_plan& plan) {
    ++calls;
    const bool refused = plan.fails_next();
    refusals += refused ? 1 : 0;
    return refused;
  }

  void fail_never() {
    for (ashlar::detail::failure_plan* const each : {&maps, &unmaps, &discards, &grows, &moves}) each->fail_never();
  }

  void give_back_lost() {
    for (const ashlar::block& each : lost) static_cast<void>(ashlar::os::system_calls::unmap(each.data, each.size));
    lost.clear();
  }
};

template <class Tag, class System = ashlar::os::system_calls>
struct faulty_calls : System {
  static inline call_faults faults;

  [[nodiscard]] static void* map(std::size_t bytes, bool accessible) noexcept {
    return mapped(bytes, [&] { return System::map(bytes, accessible); });
  }

  [[nodiscard]] static void* map_near(void* place, std::size_t bytes, bool accessible) noexcept
    requires requires { System::map_near(place, bytes, accessible); }
  {
    return mapped(bytes, [&] { return System::map_near(place, bytes, accessible); });
  }

  [[nodiscard]] static void* map_aligned(std::size_t bytes, std::size_t alignment, bool accessible) noexcept
    requires requires { System::map_aligned(bytes, alignment, accessible); }
  {
    return mapped(bytes, [&] { return System::map_aligned(bytes, alignment, accessible); });
  }

  [[nodiscard]] static bool unmap(void* p, std::size_t bytes) noexcept {
    faults.mapped_bytes -= bytes;
    if (!faults.refuses(faults.unmaps)) return System::unmap(p, bytes);
    faults.lost.push_back({p, bytes});
    return false;
  }

  [[nodiscard]] static bool grow(void* p, std::size_t bytes, std::size_t new_bytes) noexcept
    requires requires { System::grow(p, bytes, new_bytes); }
  {
    const bool done = !faults.refuses(faults.grows) && System::grow(p, bytes, new_bytes);
    faults.mapped_bytes += done ? new_bytes - bytes : 0;
    return done;
  }

  // The place was mapped and no longer is; one unknown to the system is lost.
  [[nodiscard]] static bool move(void* p, std::size_t bytes, void* place, std::size_t new_bytes) noexcept
    requires requires { System::move(p, bytes, place, new_bytes); }
  {
    const bool refused = faults.refuses(faults.moves);
    const bool done = !refused && System::move(p, bytes, place, new_bytes);
    faults.mapped_bytes -= done ? bytes : new_bytes;
    if (refused) faults.lost.push_back({place, new_bytes});
    return done;
  }

  [[nodiscard]] static bool discard(void* p, std::size_t bytes) noexcept {
    return !faults.refuses(faults.discards) && System::discard(p, bytes);
  }

private:
  template <class Map>
  [[nodiscard]] static void* mapped(std::size_t bytes, Map map_it) noexcept {
    if (faults.refuses(faults.maps)) return nullptr;
    void* const p = map_it();
    p != nullptr ? faults.mapped_bytes += bytes : ++faults.refusals;
    return p;
  }
};

template <class Tag>
using faulty_pages = ashlar::basic_page_resource<ashlar::fresh::plain, ashlar::os::basic_pages<faulty_calls<Tag>>>;

}  // namespace ashlar_test
