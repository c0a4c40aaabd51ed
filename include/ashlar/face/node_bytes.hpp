// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The size of the nodes of a standard container, for a pool whose cells hold them.
#pragma once

#include <cstddef>
#include <forward_list>
#include <list>
#include <memory>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {

// The nodes of a set, a map or a hash table, by its node handle, which names them in every standard library.
template <class Handle>
struct node_of_handle;
// libstdc++: the key, the value, and the allocator of nodes
template <template <class, class, class> class Handle, class Key, class Value, class Allocator>
struct node_of_handle<Handle<Key, Value, Allocator>> {
  using type = typename std::allocator_traits<Allocator>::value_type;
};
// libc++, and the library of Microsoft: the node, and the allocator of values
template <template <class, class, template <class, class> class> class Handle, class Node, class Allocator,
          template <class, class> class Access>
struct node_of_handle<Handle<Node, Allocator, Access>> {
  using type = Node;
};
template <template <class, class, template <class...> class, class...> class Handle, class Node, class Allocator,
          template <class...> class Access, class... Types>
struct node_of_handle<Handle<Node, Allocator, Access, Types...>> {
  using type = Node;
};

// The nodes of lists: links to neighbours, and the element.
template <class Container, std::size_t Links>
struct linked_element {
  typename std::allocator_traits<typename Container::allocator_type>::void_pointer links[Links];
  typename Container::value_type element;
};

template <class Container>
struct node_of;
template <class Container>
  requires requires { typename node_of_handle<typename Container::node_type>::type; }
struct node_of<Container> : node_of_handle<typename Container::node_type> {};
template <class T, class Allocator>
struct node_of<std::list<T, Allocator>> {
  using type = linked_element<std::list<T, Allocator>, 2>;
};
template <class T, class Allocator>
struct node_of<std::forward_list<T, Allocator>> {
  using type = linked_element<std::forward_list<T, Allocator>, 1>;
};

}  // namespace detail

/// The bytes that a node of a standard list, set, map or hash table asks of its allocator; with any allocator, since
/// nodes have no part of it. The standard does not tell them, and they differ between its libraries.
///
///     ashlar::fixed_block_pool<ashlar::node_bytes<std::set<int>>> nodes;
///     std::set<int, std::less<>, ashlar::allocator<int, decltype(nodes)>> numbers(nodes);
template <class Container>
inline constexpr std::size_t node_bytes = sizeof(typename detail::node_of<Container>::type);

}  // namespace ashlar::ASHLAR_ABI
