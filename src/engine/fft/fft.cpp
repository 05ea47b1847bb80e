// See fft.hpp. What a transform is made of:
//
//   one dimension: groups of V rows: in, tree, out.
//
//   two dimensions: groups of V rows of all planes: in, tree, blocks out; then blocks of V columns: tree into the
//   columns of the result.
//
//   three: the same, with a pass over blocks along y within the intermediate, then along z.
//
//   complex to real: the other way round, columns into blocks, blocks into rows.
//
//   one long row of n = a b: columns of the a x b matrix, twiddles, blocks; then blocks into columns.
//
// The intermediate holds blocks of V columns, in each the points of a column behind one another. As many planes as fit
// the second-level caches go together.
#include "engine/fft/fft.hpp"

#include "engine/fft/axes.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

struct Fft::Impl {
  std::unique_ptr<FftRunner> runner;
  std::string description;
};

Fft::Fft(fft::Problem problem, const std::string& compiler) : impl_(std::make_unique<Impl>()) {
  problem = fft::complete(std::move(problem));
  if (!problem.along.empty() || problem.from_numbers || problem.to_numbers)
    throw Error(ErrorClass::argument,
                "a transform along some dimensions, or of numbers with whole spectra, is for devices");
  impl_->runner =
      problem.type == ElementType::f32 ? make_runner<float>(problem, compiler) : make_runner<double>(problem, compiler);
  impl_->description = impl_->runner->description();
}
Fft::~Fft() = default;
Fft::Fft(Fft&&) noexcept = default;

void Fft::run(const void* from, void* to, int threads) const {
  impl_->runner->run(from, to, threads);
}

const std::string& Fft::description() const {
  return impl_->description;
}

}  // namespace tessera::engine
