// The form of an apply for the GPU: a function of the user's that gets rows in device memory and a stream, and gives rows there.
//
//   samples.as_accelerated().apply(on_cpu, query::on_gpu([](auto& rows) {
//     const auto stream = static_cast<cudaStream_t>(rows.stream());
//     Scores* out = rows.results(rows.size());
//     score<<<blocks, 256, 0, stream>>>(rows.rows(), rows.size(), out);
//   }));
//
// It runs in the host's process, with the device's primary context current: the CUDA runtime, cuBLAS, Thrust and the driver's
// calls work as they are. It gives work to the stream and need not wait for it; the engine does, before it hands the rows on.
// Memory from here is good until then. It is called once for all rows, where the CPU's form may be called for runs of them, or
// once a partition, one after the other. What it throws reaches the caller of the terminal verb. Without a GPU, where rows own
// memory (strings, lists) and without as_accelerated(), the CPU's form runs: explain() says which.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <query/detail/type.hpp>

namespace query {

namespace detail {

// What an engine gives to such a function. Offsets and types are those of parts of the host's rows.
class gpu_apply_port {
 public:
  virtual std::size_t size() const = 0;
  virtual void* stream() const = 0;
  virtual int device() const = 0;
  virtual const void* column(std::size_t offset, const ir::type* t) = 0;
  virtual void* scratch(std::size_t bytes) = 0;
  virtual void* result_column(std::size_t offset, const ir::type* t, std::size_t n) = 0;
  virtual void keep(std::size_t n) = 0;
  virtual void wait() = 0;

 protected:
  ~gpu_apply_port() = default;
};

// Where a member lies; T is default constructible.
template <class T, class Field> std::size_t offset_of(Field T::*member) {
  const T row{};
  return static_cast<std::size_t>(reinterpret_cast<const char*>(&(row.*member)) - reinterpret_cast<const char*>(&row));
}

}  // namespace detail

// Rows of In on the device, and room for rows of Out. Pointers are device addresses, multiples of 256 unless said otherwise.
template <class In, class Out> class gpu_rows {
 public:
  using row = In;
  using result = Out;
  explicit gpu_rows(detail::gpu_apply_port& port) : port_(&port) {}

  std::size_t size() const { return port_->size(); }
  void* stream() const { return port_->stream(); }  // a CUstream, which cudaStream_t is too; ordered with nothing but its own work
  int device() const { return port_->device(); }    // its ordinal

  // All rows, side by side in the host's layout; or one field of them, side by side. Laid out anew where they do not lie so.
  const In* rows() const { return static_cast<const In*>(port_->column(0, ir::describe<In>())); }
  template <class R, class Field> requires std::is_same_v<R, In> const Field* column(Field R::*field) const {
    return static_cast<const Field*>(port_->column(detail::offset_of(field), ir::describe<Field>()));
  }

  // Room for n rows of the result, uninitialised: whole rows side by side, or one field of them. Either the rows, or a column
  // for every field and the same n for each. A second call gives the same room.
  Out* results(std::size_t n) { return static_cast<Out*>(port_->result_column(0, ir::describe<Out>(), n)); }
  template <class R, class Field> requires std::is_same_v<R, Out> Field* results(Field R::*field, std::size_t n) {
    return static_cast<Field*>(port_->result_column(detail::offset_of(field), ir::describe<Field>(), n));
  }
  void keep(std::size_t n) { port_->keep(n); }  // only the first n rows of the result count

  void* scratch(std::size_t bytes) { return port_->scratch(bytes); }  // uninitialised memory for this call
  void wait() { port_->wait(); }  // until the stream has done its work; throws query::cancelled when the query is

 private:
  detail::gpu_apply_port* port_;
};

template <class G> class gpu_form {
 public:
  explicit gpu_form(G g) : g_(std::move(g)) {}
  const G& inner() const { return g_; }

 private:
  [[no_unique_address]] G g_;
};
// g(query::gpu_rows<In, Out>&), for apply and apply_all.
template <class G> auto on_gpu(G g) { return gpu_form<G>(std::move(g)); }

}  // namespace query
