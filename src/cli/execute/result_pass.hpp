// The pass that writes results of the same extents: pieces are read, computed and written beside each other, and named
// in a journal.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/execute/in_pieces.hpp"
#include "cli/execute/passes.hpp"
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

  // Bytes of all of it at once: a run in memory computes into its results.
  i64 in_memory() const;
  // What such a run takes beside it to pack results that are written chunk by chunk, by files in another folder, which
  // go again.
  i64 packing(const std::string& folder);

  // Rank 0 begins the files and chooses pieces, in so much memory; goes on with what stands there. Throws
  // Error(argument) where an output is another process's.
  void begin(i64 memory, const base::Digest& work);
  // All ranks: they have the pieces of rank 0, and open its files.
  void share(const Room&);
  // What a run says before its first piece: as begin() and share(), of files in another folder, which go again.
  std::string forecast(const std::string& folder, const Room&);
  // Its least piece, by files in another folder, which go again.
  pieces::TooLittle least(const std::string& folder);
  // Nothing was begun.
  void leave();
  bool is_done() const { return left_.empty(); }
  // What a rank is going to read of the sources; empty where it has no piece.
  std::vector<Region> reads_of(int rank) const;
  const PieceProgram& program() const { return program_; }

  // The sources are there, where passes made some. Every rank has its share of the pieces, out of step.
  void run(const Room&, std::vector<Source>);
  void commit();  // by rank 0
  void tell_of_values() const;

 private:
  class FilesElsewhere;
  void open_writers(const std::string& folder, bool resume);
  void choose(i64 memory);
  std::string said(const Room&) const;
  std::string beyond() const;
  void go();
  std::vector<i64> counts() const;
  Format joined(const Format&) const;
  pieces::Demand demand(const Region& box, i64 ahead) const;
  Region at_origin(Region box) const;
  io::RegionWriteOptions write_options(std::size_t output, bool resume) const;
  Shape common_chunk() const;
  std::vector<std::string> identities() const;
  pieces::Arrays read(const Region& box);
  pieces::Arrays compute(const Region& box, const pieces::Arrays& raw);
  pieces::Arrays fitted(pieces::Arrays) const;
  void write(const Region& box, const pieces::Arrays&);

  const PieceRun& run_;
  ranks::Ranks& ranks_;
  const bool first_;  // rank 0
  const Program& of_;
  std::vector<std::size_t> outputs_;
  const std::size_t lanes_;
  PieceProgram program_;
  std::vector<Format> formats_;                             // lanes joined
  Region whole_;                                            // of the result, what is wanted
  std::vector<std::unique_ptr<pieces::Journal>> journals_;  // of rank 0; the first one says what is done
  std::vector<std::unique_ptr<io::RegionWriter>> writers_;
  std::vector<std::string> identities_;  // of inputs, when the work was begun
  pieces::Grid grid_;
  i64 of_pieces_ = 0;      // bytes that they take
  std::vector<i64> left_;  // pieces that nobody has written, of all ranks
  pieces::Buffers buffers_;
  std::vector<bool> noted_;  // of inputs: points of the value for no data were read
  std::vector<i64> counts_;  // as counts(), of all ranks
};

}  // namespace tessera::cli
