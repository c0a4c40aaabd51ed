// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The containers of objects behind handles, and a vector, which has none and is the limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ashlar/face/slot_map.hpp>

namespace bench {

struct object {
  std::uint64_t words[8];  // a cache line
};

// The limit: an index is no handle, and the place of an erased object stays in the sequence until it is filled again.
class vector_objects {
public:
  using handle = std::size_t;

  handle add(std::uint64_t value) {
    if (free_.empty()) {
      objects_.push_back({{value}});
      return objects_.size() - 1;
    }
    const std::size_t index = free_.back();
    free_.pop_back();
    objects_[index] = {{value}};
    return index;
  }
  void erase(handle h) { free_.push_back(h); }
  object* get(handle h) { return &objects_[h]; }
  template <class F>
  void for_each(F f) {
    for (object& each : objects_) f(each);
  }

private:
  std::vector<object> objects_;
  std::vector<std::size_t> free_;
};

// Objects side by side, as in a vector; the last one replaces an erased one, so objects move. Hand-written.
class dense_objects {
public:
  struct handle {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
  };

  handle add(std::uint64_t value) {
    std::uint32_t slot = free_;
    if (slot == none) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.push_back({});
    } else {
      free_ = slots_[slot].position;
    }
    slots_[slot].position = static_cast<std::uint32_t>(objects_.size());
    objects_.push_back({{value}});
    homes_.push_back(slot);
    return {slot, slots_[slot].generation};
  }

  void erase(handle h) {
    entry& leaving = slots_[h.slot];
    if (leaving.generation != h.generation) return;
    objects_[leaving.position] = objects_.back();
    homes_[leaving.position] = homes_.back();
    slots_[homes_.back()].position = leaving.position;
    objects_.pop_back();
    homes_.pop_back();
    ++leaving.generation;
    leaving.position = std::exchange(free_, h.slot);
  }

  object* get(handle h) {
    const entry& e = slots_[h.slot];
    return e.generation == h.generation ? &objects_[e.position] : nullptr;
  }
  template <class F>
  void for_each(F f) {
    for (object& each : objects_) f(each);
  }

private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct entry {
    std::uint32_t position = 0;
    std::uint32_t generation = 1;
  };
  std::vector<object> objects_;
  std::vector<std::uint32_t> homes_;
  std::vector<entry> slots_;
  std::uint32_t free_ = none;
};

// The usual first version: a table of generations, and each object on the heap.
class heap_objects {
public:
  struct handle {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
  };

  handle add(std::uint64_t value) {
    auto made = std::make_unique<object>(object{{value}});
    if (free_.empty()) {
      slots_.push_back({std::move(made), 1});
      return {static_cast<std::uint32_t>(slots_.size() - 1), 1};
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot].held = std::move(made);
    return {slot, slots_[slot].generation};
  }

  void erase(handle h) {
    entry& leaving = slots_[h.slot];
    if (leaving.generation != h.generation) return;
    leaving.held = nullptr;
    ++leaving.generation;
    free_.push_back(h.slot);
  }
  object* get(handle h) {
    const entry& e = slots_[h.slot];
    return e.generation == h.generation ? e.held.get() : nullptr;
  }
  template <class F>
  void for_each(F f) {
    for (entry& each : slots_)
      if (each.held != nullptr) f(*each.held);
  }

private:
  struct entry {
    std::unique_ptr<object> held;
    std::uint32_t generation;
  };
  std::vector<entry> slots_;
  std::vector<std::uint32_t> free_;
};

class hashed_objects {
public:
  using handle = std::uint64_t;

  handle add(std::uint64_t value) {
    objects_.emplace(++last_, object{{value}});
    return last_;
  }
  void erase(handle h) { objects_.erase(h); }
  object* get(handle h) {
    const auto found = objects_.find(h);
    return found != objects_.end() ? &found->second : nullptr;
  }
  template <class F>
  void for_each(F f) {
    for (auto& [key, each] : objects_) f(each);
  }

private:
  std::unordered_map<std::uint64_t, object> objects_;
  std::uint64_t last_ = 0;
};

class ashlar_objects {
public:
  using handle = ashlar::slot_handle<object>;

  handle add(std::uint64_t value) { return objects_.emplace(object{{value}}); }
  void erase(handle h) { objects_.erase(h); }
  object* get(handle h) { return objects_.get(h); }
  template <class F>
  void for_each(F f) {
    objects_.for_each_live(f);
  }

private:
  ashlar::slot_map<object> objects_;
};

}  // namespace bench
