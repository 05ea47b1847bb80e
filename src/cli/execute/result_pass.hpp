// The pass that writes results of the same extents: pieces are read, computed and written beside each other, and named
// in a journal.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/execute/in_pieces.hpp"
#include "cli/execute/piece_program.hpp"
#include "engine/passes/passes.hpp"
#include "pieces/grid.hpp"
#include "pieces/journal.hpp"

namespace tessera::cli {

class ResultPass {
 public:
  // `outputs`: of the command's program, in the order of the pass. All that it is given outlives it.
  ResultPass(const PieceRun&, const engine::Pass&, std::vector<std::size_t> outputs, std::vector<Source>,
             const std::vector<i64>& parameters);

  // Bytes of all of it at once.
  i64 in_memory() const { return demand(whole_, 1).memory; }

  // Each output is this process's while it is written. Throws Error(argument) where it is another one's.
  void lock();
  // Opens what is written and chooses pieces, in so much memory of the process; goes on with what stands there.
  void open(i64 memory, const base::Digest& work);
  // Nothing was begun.
  void leave();
  bool is_done() const { return journals_.front()->count() == grid_.count(); }
  // The sources are there.
  void run(std::vector<Source>);
  void commit();

 private:
  void plan(i64 memory);
  void go();
  std::vector<i64> pieces_left() const;
  Format joined(const Format&) const;
  pieces::Demand demand(const Region& box, i64 ahead) const;
  Region at_origin(Region box) const;
  io::RegionWriteOptions write_options(std::size_t output) const;
  Shape common_chunk() const;
  std::vector<std::string> identities() const;
  pieces::Arrays read(const Region& box);
  pieces::Arrays compute(const Region& box, const pieces::Arrays& raw);
  pieces::Arrays fitted(pieces::Arrays) const;
  void write(const Region& box, const pieces::Arrays&);
  void sync();
  void tell_of_values() const;

  const PieceRun& run_;
  const Program& of_;
  std::vector<std::size_t> outputs_;
  const std::size_t lanes_;
  PieceProgram program_;
  std::vector<Format> formats_;                             // lanes joined
  Region whole_;                                            // of the result, what is wanted
  std::vector<std::unique_ptr<pieces::Journal>> journals_;  // the first one says what is done
  std::vector<std::unique_ptr<io::RegionWriter>> writers_;
  pieces::Grid grid_;
  pieces::Buffers buffers_;
  bool noted_ = false;
};

}  // namespace tessera::cli
