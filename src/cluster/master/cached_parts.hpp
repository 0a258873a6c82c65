// Which processes of a session's cluster keep the rows of cached() queries, each those of its partition. They know such a query by a
// number, which is never given again. Where some of the parts are lost, all are made anew, under another number: the sources may have
// changed since the others were made.
//
//   const std::uint64_t number = cached.number_of(node.kept_as);
//   cached.keeps(number, 2, process);                // its task is done
//   if (cached.are_kept(number, 2, process)) ...     // in a later query
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace query::cluster {

class local_process;

class cached_parts {
 public:
  std::uint64_t number_of(const std::shared_ptr<const void>& kept_as);
  std::uint64_t make_anew(const std::shared_ptr<const void>& kept_as);  // the new number
  void keeps(std::uint64_t number, std::size_t partition, const std::shared_ptr<local_process>& by);
  bool are_kept(std::uint64_t number, std::size_t partition, const std::shared_ptr<local_process>& by) const;
  // Of queries that are gone: all numbers, as a process that was told some of them may not have heard it.
  std::vector<std::uint64_t> gone();

 private:
  struct query {
    std::weak_ptr<const void> kept_as;
    std::uint64_t number = 0;
    std::map<std::size_t, std::weak_ptr<local_process>> by;
  };
  mutable std::mutex lock_;
  std::map<const void*, query> queries_;
  std::vector<std::uint64_t> gone_;
  std::uint64_t last_ = 0;
};

}  // namespace query::cluster
