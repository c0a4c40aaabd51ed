// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Techniques of pools without a packaged library, written here: they measure the technique, not the product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#if ASHLAR_BENCH_HAS_BOOST
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#endif

namespace bench {

// The technique of steinwurf/recycle: objects stay constructed, each in its own `shared_ptr`, on a `std::list`. The
// user gets a second `shared_ptr`, whose deleter puts the first one back.
template <class T>
class recycled_objects {
public:
  using handle = std::shared_ptr<T>;

  explicit recycled_objects(std::size_t) : spare_(std::make_shared<std::list<handle>>()) {}

  handle acquire(std::uint64_t value) {
    handle object = take();
    object->init(value);
    T* const raw = object.get();
    return handle(raw, give_back{spare_, std::move(object)});
  }
  void release(handle& object) noexcept { object = nullptr; }

private:
  struct give_back {
    void operator()(T*) {
      if (const auto home = pool.lock()) home->push_back(object);
      object = nullptr;
    }
    std::weak_ptr<std::list<handle>> pool;
    handle object;
  };

  handle take() {
    if (spare_->empty()) return std::make_shared<T>();
    handle object = std::move(spare_->back());
    spare_->pop_back();
    return object;
  }

  std::shared_ptr<std::list<handle>> spare_;
};

#if ASHLAR_BENCH_HAS_BOOST

class arena_item;

class arena_owner : public boost::intrusive_ref_counter<arena_owner, boost::thread_unsafe_counter> {
public:
  virtual ~arena_owner() = default;
  virtual void recycle(arena_item* item) = 0;
};

// 32 bytes in every object: the pointer to the virtual functions, a count, the next free object, a counted pointer to
// the pool.
class arena_item {
public:
  virtual ~arena_item() = default;
  friend void intrusive_ptr_add_ref(arena_item* item) noexcept { ++item->uses_; }
  friend void intrusive_ptr_release(arena_item* item) {
    if (--item->uses_ != 0) return;
    if (item->owner_) item->owner_->recycle(item);
    else delete item;
  }

protected:
  std::size_t uses_ = 0;

public:
  arena_item* next_free = nullptr;
  void belong_to(arena_owner* owner) { owner_ = owner; }

private:
  boost::intrusive_ptr<arena_owner> owner_;
};

// The technique of boost-intrusive-pool: arrays of constructed objects with such a base, found again by `dynamic_cast`
// and a virtual call. The last object of an array, when handed out, fetches the next array.
template <class T>
class arena_objects {
  class item : public arena_item, public T {};

public:
  using handle = boost::intrusive_ptr<item>;

  explicit arena_objects(std::size_t step) : owner_(new owner(step)) {}
  arena_objects(const arena_objects&) = delete;
  arena_objects& operator=(const arena_objects&) = delete;
  ~arena_objects() { owner_->disown_spares(); }

  handle acquire(std::uint64_t value) {
    item* const object = owner_->take();
    object->init(value);
    return handle(object);
  }
  void release(handle& object) { object = nullptr; }

private:
  class owner final : public arena_owner {
  public:
    explicit owner(std::size_t step) : step_(step) { grow(); }

    item* take() {
      item* const object = dynamic_cast<item*>(spare_);
      --spares_;
      ++used_;
      spare_ = object->next_free;
      if (spare_ == nullptr) grow();
      object->next_free = nullptr;
      return object;
    }

    void recycle(arena_item* freed) override {
      item* const object = dynamic_cast<item*>(freed);
      object->next_free = spare_;
      spare_ = object;
      ++spares_;
      --used_;
    }

    // Objects refer to their pool and the pool to its arenas: this breaks the cycle.
    void disown_spares() {
      const boost::intrusive_ptr<owner> alive(this);
      for (arena_item* each = spare_; each != nullptr; each = each->next_free) each->belong_to(nullptr);
    }

  private:
    void grow() {
      arenas_.push_back(std::make_unique_for_overwrite<item[]>(step_));
      for (std::size_t i = step_; i-- != 0;) {
        item& fresh = arenas_.back()[i];
        fresh.next_free = spare_;
        fresh.belong_to(this);
        spare_ = &fresh;
      }
      spares_ += step_;
    }

    std::size_t step_;
    std::size_t spares_ = 0;
    std::size_t used_ = 0;
    arena_item* spare_ = nullptr;
    std::vector<std::unique_ptr<item[]>> arenas_;
  };

  boost::intrusive_ptr<owner> owner_;
};

#endif

}  // namespace bench
