// Types and expression trees as bytes: what a cluster's tasks carry, and plan caches keep.
//
// Types come first, each after the types it is made of, then nodes, each after its kids: shared nodes stay shared. Input is
// not trusted: every count is checked against the bytes that are left before memory is taken, every index against what came
// before, every operation against its number of kids. What is wrong throws std::runtime_error.
//
//   std::vector<std::byte> bytes = serialise(traced.root);
//   type_registry types;  arena nodes;
//   const node* root = deserialise(bytes, nodes, types);
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <ir/type_registry.hpp>
#include <query/detail/node.hpp>

namespace query::ir {

inline constexpr auto no_resolver = [](std::string_view, std::size_t) -> const type* { return nullptr; };

std::vector<std::byte> serialise(const type* t);
std::vector<std::byte> serialise(const node* root);

// `resolve` finds the program's own types; without it, types are rebuilt from their layout (see type_registry.hpp).
const type* deserialise_type(std::span<const std::byte> bytes, type_registry& types, type_resolver resolve = no_resolver);
const node* deserialise(std::span<const std::byte> bytes, arena& nodes, type_registry& types, type_resolver resolve = no_resolver);

// The nodes alone, of which both sides know the types: each that occurs, at the same place of the list.
std::vector<std::byte> serialise_nodes(const node* root, std::span<const type* const> types);
const node* deserialise_nodes(std::span<const std::byte> bytes, arena& nodes, std::span<const type* const> types);

}  // namespace query::ir
