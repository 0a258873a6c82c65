// The descriptions of the types that most rows are made of.
#include <query/detail/type.hpp>

namespace query::ir {

#define QUERY_DETAIL_DESCRIBED_HERE(T) template const type* describe<T>();
QUERY_DETAIL_DESCRIBED(QUERY_DETAIL_DESCRIBED_HERE)

}  // namespace query::ir
