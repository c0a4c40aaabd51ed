// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three heaps side by side, over pages and over an upstream that refuses at times, each beside its model.
#pragma once

#include <cstddef>

#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/test/ledger.hpp>

#include "tests/support/faulty_calls.hpp"
#include "tests/support/heap_model.hpp"

namespace ashlar_test {

/// Pages without known properties, which run out on demand.
struct unreliable_pages {
  ashlar::detail::failure_plan plan;
  std::size_t refusals = 0;
  std::size_t held_bytes = 0;

  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = plan.fails_next() ? nullptr : ashlar::page_resource().try_allocate(bytes, alignment);
    p != nullptr ? held_bytes += bytes : ++refusals;
    return p;
  }
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return ashlar::allocate_or_throw(*this, bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    held_bytes -= bytes;
    ashlar::page_resource().deallocate(p, bytes, alignment);
  }
  [[nodiscard]] bool operator==(const unreliable_pages& other) const noexcept { return this == &other; }
};

/// Each step uses one of the heaps; at times, the failing calls change. All memory is back at the end.
class heap_session {
  using calls = faulty_calls<heap_session>;
  using page_heap = ashlar::local_heap<faulty_pages<heap_session>>;
  using other_heap = ashlar::local_heap<ashlar::resource_ref<unreliable_pages>>;

public:
  heap_session(decisions from, const walk_bounds& bounds) : from_(from), bounds_(bounds) {}

  /// Effects: makes `steps` steps, or fewer if the decisions end.
  void run(std::size_t steps) {
    for (std::size_t i = 0; i < steps && !from_.is_over(); ++i) {
      const std::size_t turn = from_.below(32);
      turn < 16 ? one_.step() : turn < 22 ? two_.step() : turn < 31 ? three_.step() : compare();
      if (from_.is_endless() ? i % (bounds_.is_huge ? 32 : 512) == 31 : turn == 31) change_faults();
    }
    fail_never();
    one_.end(), two_.end(), three_.end();
    require(calls::faults.mapped_bytes == 0 && unreliable_.held_bytes == 0);
  }

private:
  void fail_never() {
    calls::faults.fail_never();
    calls::faults.give_back_lost();
    unreliable_.plan.fail_never();
  }

  void change_faults() {
    fail_never();
    const std::size_t k = from_.below(4);
    switch (from_.below(12)) {
      case 0: return calls::faults.maps.fail_at(k);
      case 1: return calls::faults.maps.fail_from(k);
      case 2: return calls::faults.unmaps.fail_at(k);
      case 3: return calls::faults.unmaps.fail_from(k);
      case 4: return calls::faults.discards.fail_from(k);
      case 5: return unreliable_.plan.fail_at(k);
      case 6: return unreliable_.plan.fail_from(k);
      case 7: return calls::faults.maps.fail_from(k), calls::faults.discards.fail_at(k);
      case 8: return calls::faults.grows.fail_from(k), calls::faults.moves.fail_at(k);
      case 9: return calls::faults.moves.fail_from(k);
      default: return;
    }
  }

  // No heap owns memory of another one, and the upstream has given the memory of the heaps and their tables.
  void compare() {
    constexpr std::size_t tables = std::size_t{2} << 20;
    require(one_.heap() == one_.heap() && one_.heap() != two_.heap());
    if (!one_.blocks().empty()) {
      const std::byte* const p = one_.blocks()[from_.below(one_.blocks().size())].p;
      require(one_.heap().owns(p) && !two_.heap().owns(p) && !three_.heap().owns(p));
    }
    const std::size_t held = one_.heap().held_bytes() + two_.heap().held_bytes();
    require(calls::faults.mapped_bytes >= held && calls::faults.mapped_bytes - held <= tables);
    const std::size_t others = three_.heap().held_bytes();
    require(unreliable_.held_bytes >= others && unreliable_.held_bytes - others <= tables);
  }

  decisions from_;
  walk_bounds bounds_;
  unreliable_pages unreliable_;
  heap_model<page_heap> one_{from_, calls::faults.refusals, bounds_};
  heap_model<page_heap> two_{from_, calls::faults.refusals, bounds_};
  heap_model<other_heap> three_{from_, unreliable_.refusals, bounds_, unreliable_};
};

}  // namespace ashlar_test
