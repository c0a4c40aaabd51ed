// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs that are refused, each for the reason that its regular expression gives; with ASHLAR_CONTROL all compile.
// The advised ones are mistakes of beginners.
#include <coroutine>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

#include <ashlar/adaptor/fallback.hpp>
#include <ashlar/adaptor/segregator.hpp>
#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/coroutine_frame.hpp>
#include <ashlar/face/node_bytes.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/offset_ptr.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/face/shared_memory_allocator.hpp>
#include <ashlar/face/shared_pooled.hpp>
#include <ashlar/face/stateless_allocator.hpp>
#include <ashlar/face/unique.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/shared_memory.hpp>

#ifdef ASHLAR_CONTROL
template <class Good, class Bad>
using either = Good;
constexpr bool is_good = true;
#else
template <class Good, class Bad>
using either = Bad;
constexpr bool is_good = false;
#endif

using operator_new = ashlar::new_delete_resource;
using nothing = ashlar::null_resource;

using of_arena = ashlar::allocator<int, ashlar::arena<>>;

// advised allocator_of_a_temporary: name the resource as a variable, which outlives the container
// A container outlives the arena that ends with the expression.
std::size_t allocator_of_a_temporary() {
  ashlar::arena<> memory;
  const std::vector<int, of_arena> numbers(3, static_cast<either<ashlar::arena<>&, ashlar::arena<>&&>>(memory));
  return numbers.size();
}

// advised allocator_of_an_address: name the resource itself, not its address
// std::pmr takes addresses; an allocator refers to its resource.
std::size_t allocator_of_an_address(ashlar::arena<>& memory) {
#ifdef ASHLAR_CONTROL
  const std::list<int, of_arena> numbers(memory);
#else
  const std::list<int, of_arena> numbers(&memory);
#endif
  return numbers.size();
}

// refused allocator_of_other_resource: (no matching|no viable|could not convert|conversion)
// An allocator refers to its named resource type, and to no other.
bool allocator_of_other_resource() {
  either<operator_new, nothing> source;
  const ashlar::allocator<int, operator_new> numbers = source;
  return numbers == numbers;
}

// advised allocator_without_resource: name the resource, as the last argument of the constructor
// An allocator that refers to a resource cannot choose one.
std::size_t allocator_without_resource() {
  const std::vector<int, either<ashlar::pool_allocator<int>, of_arena>> numbers;
  return numbers.size();
}

// advised block_pool_without_cell_bytes: give the size of a cell: block_pool<> pool\(\{.cell_bytes = 48\}\)
void block_pool_without_cell_bytes() { either<ashlar::fixed_block_pool<48>, ashlar::block_pool<>> pool; }

// advised container_of_other_elements: (must have the same value_type as its allocator|value_type)
// The elements of a map are pairs.
int container_of_other_elements() {
  using allocator = ashlar::pool_allocator<either<std::pair<const int, int>, int>>;
  const std::map<int, int, std::less<>, allocator> numbers;
  return static_cast<int>(numbers.size());
}

// advised coroutine_without_resource: begin the coroutine's parameters with std::allocator_arg_t, R&
// The frame of a coroutine needs a resource.
struct job {
  struct promise_type : ashlar::coroutine_frame<ashlar::arena<>> {
    job get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept {}
  };
};
job coroutine_without_resource(either<std::allocator_arg_t, int> /*tag*/, ashlar::arena<>& /*frames*/) { co_return; }

// refused enum_table_too_short: no matching|could not convert|no viable|constraint
// A table that lacks the value of an enumerator.
enum class two { nothing, pool };
enum class three { nothing, pool, arena };
[[maybe_unused]] constexpr ashlar::detail::enum_table<either<two, three>, const char*> names = {"nothing", "pool"};

// refused fallback_first_owns_nothing: owning_resource
// The first side of a fallback must know its blocks: operator new does not.
void fallback_first_owns_nothing() {
  ashlar::fallback<either<ashlar::inline_buffer<64>, operator_new>, operator_new> memory;
  memory.deallocate(memory.allocate(1, 1), 1, 1);
}

// refused fixed_pool_alignment: (constant expression|constexpr)
// A pool of cells whose alignment is not a power of two is refused while it is compiled.
void fixed_pool_alignment() { ashlar::fixed_block_pool<24, is_good ? 8 : 24> pool; }

// refused fixed_pool_of_nothing: (constant expression|constexpr)
// A pool of cells of 0 bytes is refused while it is compiled.
void fixed_pool_of_nothing() { ashlar::fixed_block_pool<is_good ? 1 : 0, 1> pool; }

// advised node_larger_than_a_cell: give the pool larger cells: those of a container's nodes have node_bytes<Container>
// A list whose nodes no cell of its pool can hold is refused; the elements, and arrays of pointers, are not.
int node_larger_than_a_cell() {
  struct element {
    long words[4];
  };
  using pool_type = ashlar::fixed_block_pool<is_good ? ashlar::node_bytes<std::list<element>> : sizeof(element)>;
  pool_type pool;
  ashlar::fixed_block_pool<4> numbers;
  std::deque<int, ashlar::allocator<int, ashlar::fixed_block_pool<4>>> queue(1, 0, numbers);
  std::list<element, ashlar::allocator<element, pool_type>> elements(pool);
  elements.emplace_back();
  return queue.front();
}

// refused object_pool_destructor_throws: static assertion failed.*a destructor that throws
// A destructor that may throw would leave a pool in an invalid state.
struct fragile {
  ~fragile() noexcept(is_good) {}
};
void object_pool_destructor_throws() {
  ashlar::object_pool<fragile, ashlar::with_capacity<4>> pool;
  pool.release(pool.acquire());
}

// refused object_pool_moved: (call to (implicitly-)?deleted (copy )?constructor|use of deleted function)
// A pool of objects cannot be moved: its objects lie in it.
using objects_inside = ashlar::object_pool<int, ashlar::with_capacity<8>>;
bool object_pool_moved(objects_inside& pool) {
  either<objects_inside&&, objects_inside> other = std::move(pool);
  return other.empty();
}

// advised object_pool_of_a_number: a growing pool takes \(\{.max_count = 64\}\)
void object_pool_of_a_number() { ashlar::object_pool<int> pool(either<ashlar::object_pool_options, std::size_t>{64}); }

// refused object_pool_reset_throws: static assertion failed.*Reset takes a T& and is noexcept
// A reset of a kept object must not throw: no caller could catch it.
struct message {
  void clear() noexcept(is_good) {}
};
struct message_traits : ashlar::object_pool_traits {
  static constexpr std::size_t capacity = 4;
  using lifetime = ashlar::keep_constructed<ashlar::reset_with<&message::clear>>;
};
void object_pool_reset_throws() {
  ashlar::object_pool<message, message_traits> pool;
  pool.release(pool.acquire());
}

// refused owner_of_an_arena_moved: what shall move holds it in a std::unique_ptr
// The line of the arena names the repair.
struct request {
  either<std::unique_ptr<ashlar::arena<>>, ashlar::arena<>> memory;
};
request owner_of_an_arena_moved(request& from) { return std::move(from); }

// refused pool_allocator_lock: pool_traits
// A lock policy that cannot be locked is refused by the name of its concept.
bool pool_allocator_lock() {
  const ashlar::pool_allocator<int, either<ashlar::spin_lock, int>> numbers;
  return numbers == numbers;
}

// refused pool_copied: (call to (implicitly-)?deleted (copy )?constructor|use of deleted function)
// A pool cannot be copied: live cells point into it.
bool pool_copied(ashlar::block_pool<>& pool) {
  either<ashlar::block_pool<>&, ashlar::block_pool<>> other = pool;
  return other.live() == 0;
}

// refused pool_moved: (call to (implicitly-)?deleted (copy )?constructor|use of deleted function)
// A pool cannot be moved: live cells point into it.
bool pool_moved(ashlar::fixed_block_pool<8>& pool) {
  either<ashlar::fixed_block_pool<8>&&, ashlar::fixed_block_pool<8>> other = std::move(pool);
  return other.live() == 0;
}

// refused pool_over_no_resource: (one_way. does not satisfy .resource|constraints? .*resource)
// A pool refuses an upstream that cannot take blocks back, and names the concept that it does not model.
struct one_way {
  void* allocate(std::size_t, std::size_t) { return nullptr; }
#ifdef ASHLAR_CONTROL
  void deallocate(void*, std::size_t, std::size_t) {}
#endif
  bool operator==(const one_way&) const = default;
};
void pool_over_no_resource() { ashlar::block_pool<one_way> pool({.cell_bytes = 8}); }

// refused resource_ref_of_no_resource: (constraints? not satisfied|constraint failure)
// resource_ref refuses types that do not provide blocks.
using reference = ashlar::resource_ref<either<std::pmr::memory_resource, int>>;

// refused segregator_is_not_divisible: least_part_bytes
// A part of a block has another size, and so perhaps another side: a segregator does not take blocks back in parts.
using composed =
    either<ashlar::resource_ref<ashlar::page_resource>, ashlar::segregator<ashlar::inline_buffer<64>, operator_new>>;
[[maybe_unused]] constexpr bool is_divisible = composed::least_part_bytes != 0;

// refused shared_counts_of_more_bytes: this standard library counts the owners of shared objects in more bytes
// A standard library is refused whose counts have more bytes than the buffer that measures them.
struct counts_and_object {
  std::byte bytes[is_good ? 32 : 64];
};
[[maybe_unused]] constexpr bool are_measured =
    ashlar::detail::may_be_in_cell_of<counts_and_object, ashlar::detail::measuring_resource<32, 8>>;

// refused shared_in_small_cells: the cells of this pool cannot hold the object and its counts
// A pool whose cells are too small by their type for a shared object and its counts is refused.
int shared_in_small_cells() {
  ashlar::fixed_block_pool<is_good ? ashlar::most_shared_cell_bytes<int> : sizeof(int)> pool;
  return *ashlar::allocate_shared_pooled<int>(pool, 0);
}

// refused shared_memory_of_addresses: this container keeps addresses, which are of one process only
// Pointers of one process do not go into shared memory.
std::size_t shared_memory_of_addresses(ashlar::interprocess::shared_memory& memory) {
  using element = either<ashlar::interprocess::offset_ptr<int>, int*>;
  std::vector<element, ashlar::interprocess::allocator<element>> elements(1, memory);
  return elements.size();
}

// refused stateless_allocator_of_a_thread: process_wide_resource
// An allocator without data over a pool of the calling thread is refused: moved to another thread it would free there.
struct pool_of_this_thread {
#ifdef ASHLAR_CONTROL
  static constexpr bool is_process_wide = true;
#endif
  static ashlar::inline_buffer<1024>& pool() {
    static thread_local ashlar::inline_buffer<1024> mine;
    return mine;
  }
  void* allocate(std::size_t bytes, std::size_t alignment) { return pool().allocate(bytes, alignment); }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    pool().deallocate(p, bytes, alignment);
  }
  bool operator==(const pool_of_this_thread&) const = default;
};
int stateless_allocator_of_a_thread() {
  const std::vector<int, ashlar::stateless_allocator<int, pool_of_this_thread>> numbers(3);
  return numbers[0];
}

// refused stateless_allocator_of_an_instance: process_wide_resource
// An allocator without data cannot know its pool among several, regardless of the pool.
struct heap_with_data : operator_new {
  int blocks_of_this_heap = 0;
};
int stateless_allocator_of_an_instance() {
  const std::vector<int, ashlar::stateless_allocator<int, either<operator_new, heap_with_data>>> numbers(3);
  return numbers[0];
}

// refused statistics_invents_no_refinement: owns
// An adaptor has only refinements of its upstream: operator new does not know its blocks.
bool statistics_invents_no_refinement(const ashlar::statistics<either<nothing, operator_new>>& counted) {
  return counted.owns(&counted);
}

// refused statistics_of_no_resource: (int. does not satisfy .resource|constraints? .*resource)
// An adaptor refuses a type that is not a resource.
using counted_int = ashlar::statistics<either<nothing, int>>;

// refused unique_of_a_base: (no viable conversion|conversion from|could not convert)
// A unique pointer to a derived object does not become one to its base: it would be freed with the size of the base.
struct base {
  int of_base = 0;
};
struct derived : base {
  int more = 0;
};
int unique_of_a_base(ashlar::block_pool<>& pool) {
  using target =
      either<ashlar::unique_base_from<base, ashlar::block_pool<>>, ashlar::unique_from<base, ashlar::block_pool<>>>;
  const target held = ashlar::allocate_unique<derived>(pool);
  return held->of_base;
}

// refused unique_of_a_temporary: (no matching function|resource_argument)
// An object cannot be made in a pool that ends with the expression.
int unique_of_a_temporary() {
  using pool = either<operator_new, ashlar::fixed_block_pool<8>>;
  return *ashlar::allocate_unique<int>(pool());
}
