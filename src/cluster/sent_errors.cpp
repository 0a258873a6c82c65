#include "cluster/sent_errors.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <typeinfo>

#include <query/detail/failure.hpp>

#include "runtime/cancellation.hpp"

namespace query::cluster {

namespace {

template <class... E> struct types {};
// The most derived first. Those that are thrown again with their text.
using with_text = types<detail::unplaced_error, runtime::unplaced_cancelled, cancelled, user_error, resource_error, remote_error,
                        cluster_error, internal_error, std::invalid_argument, std::domain_error, std::length_error, std::out_of_range,
                        std::logic_error, std::overflow_error, std::underflow_error, std::range_error, std::runtime_error>;
constexpr std::uint32_t bad_alloc = 100, bad_optional = 101, other = 102;

std::string name_of(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return name ? name.get() : type.name();
}

}  // namespace

void put_exception(byte_writer& to) {
  const auto put = [&](std::uint32_t kind, const std::string& type, const char* text) {
    to.put(kind);
    to.put_text(type);
    to.put_text(text);
  };
  try {
    throw;
  } catch (const std::bad_alloc& e) {
    put(bad_alloc, "", e.what());
  } catch (const std::bad_optional_access& e) {
    put(bad_optional, "", e.what());
  } catch (const std::exception& e) {
    std::uint32_t kind = 0, found = other;
    const auto offer = [&]<class... E>(types<E...>) { ((found == other && typeid(e) == typeid(E) ? found = kind : 0, ++kind), ...); };
    offer(with_text{});
    put(found, name_of(typeid(e)), e.what());
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    put(other, type ? name_of(*type) : "an unknown type", "");
  }
}

void rethrow(byte_reader& from, const std::string& where) {
  const auto kind = from.get<std::uint32_t>();
  const std::string type = from.get_text(), text = from.get_text();
  if (kind == bad_alloc) throw std::bad_alloc();
  if (kind == bad_optional) throw std::bad_optional_access();
  std::uint32_t number = 0;
  const auto offer = [&]<class... E>(types<E...>) { ((kind == number++ ? throw E(text) : 0), ...); };
  offer(with_text{});
  throw remote_error("cluster: " + where + " threw " + type + (text.empty() ? "" : ": " + text));
}

}  // namespace query::cluster
