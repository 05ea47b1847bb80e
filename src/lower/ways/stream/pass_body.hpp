// What a pass reads and computes in a block of rows, wherever in the tile it runs: found once, before its loops are
// written.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lower/ways/stream/stream_group.hpp"

namespace tessera::lower {

struct PassBody {
  // rows * stages: row r of stage k is roots[r * stages + k]. Where columns are computed in pairs, these are the even
  // ones, and as many roots for the odd ones follow; in quads, those of every fourth column, from the first, the second
  // ... on.
  std::vector<ir::ExprId> roots;
  // The rows of producers that the block reads. Rows that a reduction variable chooses form one table.
  struct Source {
    ir::StageId stage = 0;
    std::vector<ir::Index> outer;  // without the column; offsets 0 where `table` says that variables move it
    std::vector<Border> outer_border;
    Border column_border;
    std::vector<std::pair<i64, i64>> table;  // per outer dimension: first and last offset, when variables move it
    i64 lo = 0, hi = 0, scale = 1;           // of the column index, over all accesses
    ir::SizeId shift;
    std::set<i64> shifted;  // offsets of columns that are taken from two whole vectors
    i64 entries() const;
    bool is_long() const;  // pointers to its rows are found by a loop: their text would take minutes to compile
  };
  std::vector<Source> sources;
  std::map<const ir::ExprNode*, std::size_t> source_of;  // access -> source; nodes of a graph stay where they are
  // Products of four bytes (rewrite/sums/bytes.hpp), in the order of what they read.
  struct Product {
    std::size_t source = 0;
    i64 column = 0, weights = 0;
    std::size_t total = 0;
  };
  std::vector<Product> products;
  struct Total {  // of one sum; `high`: the total of what is multiplied by 128
    ir::ExprId sum;
    std::size_t low = 0;
    std::optional<std::size_t> high;
  };
  std::vector<Total> totals;
};

// Of every pass; those of composed stages and of tiles of transforms have none. The graph gets what is shifted along
// rows and columns.
std::vector<PassBody> bodies_of(const StreamGroup&);

// What bodies of some forms hold besides, once sources are known (FormLowering::complete): of whole vectors the columns
// that are taken from two of them; of sums of bytes the products, bytes.cpp.
void take_shifted(const StreamGroup&, const plan::Pass&, PassBody&);
void add_products(const StreamGroup&, const plan::Pass&, PassBody&);

}  // namespace tessera::lower
