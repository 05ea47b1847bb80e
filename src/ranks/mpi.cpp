// Ranks of Open MPI; see ranks.hpp. Every call begins something that is looked at until it is done, so that nobody
// waits within the library.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "ranks/mpi_library.hpp"
#include "ranks/ranks.hpp"
#include "tessera/error.hpp"

namespace tessera::ranks {
namespace {

void check(const mpi::Library& library, int code, const char* what) {
  if (code == mpi::success) return;
  std::array<char, mpi::longest_text> text{};
  int length = 0;
  library.MPI_Error_string(code, text.data(), &length);
  throw Error(ErrorClass::device, fmt::format("{} failed: {}", what, text.data()));
}

// One request of MPI for each part of a message. Those that are given up are left alone: their bytes stay.
class Parts : public Request::Operation {
 public:
  explicit Parts(const mpi::Library& library) : library_(library) {}
  void add(mpi::RequestHandle handle) { handles_.push_back(handle); }

  bool done() override {
    while (!handles_.empty()) {
      int flag = 0;
      mpi::Status status;
      check(library_, library_.MPI_Test(&handles_.back(), &flag, &status), "MPI_Test");
      if (flag == 0) return false;
      handles_.pop_back();
    }
    return true;
  }

 private:
  const mpi::Library& library_;
  std::vector<mpi::RequestHandle> handles_;
};

class MpiRanks : public Ranks {
 public:
  explicit MpiRanks(const std::atomic<bool>* cancel) : Ranks(cancel), library_(mpi::library()) {
    int level = 0, begun = 0;
    check(library_, library_.MPI_Initialized(&begun), "MPI_Initialized");
    if (begun != 0) throw Error(ErrorClass::internal, "MPI is begun twice");
    check(library_, library_.MPI_Init_thread(nullptr, nullptr, mpi::thread_funneled, &level), "MPI_Init_thread");
    if (level < mpi::thread_funneled)
      throw Error(ErrorClass::device, "this MPI knows no threads, but MPI_THREAD_FUNNELED is needed");
    check(library_, library_.MPI_Comm_set_errhandler(library_.world, library_.errors_return),
          "MPI_Comm_set_errhandler");
    check(library_, library_.MPI_Comm_rank(library_.world, &rank_), "MPI_Comm_rank");
    check(library_, library_.MPI_Comm_size(library_.world, &size_), "MPI_Comm_size");
  }
  ~MpiRanks() override { library_.MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Request send(std::span<const std::byte> bytes, int to, int tag) override {
    return in_parts("MPI_Isend", bytes, [&](const std::byte* from, int count, mpi::RequestHandle* handle) {
      return library_.MPI_Isend(from, count, library_.byte, to, tag, library_.world, handle);
    });
  }
  Request send_until_received(std::span<const std::byte> bytes, int to, int tag) override {
    return in_parts("MPI_Issend", bytes, [&](const std::byte* from, int count, mpi::RequestHandle* handle) {
      return library_.MPI_Issend(from, count, library_.byte, to, tag, library_.world, handle);
    });
  }
  Request receive(std::span<std::byte> bytes, int from, int tag) override {
    return in_parts("MPI_Irecv", bytes, [&](std::byte* to, int count, mpi::RequestHandle* handle) {
      return library_.MPI_Irecv(to, count, library_.byte, from, tag, library_.world, handle);
    });
  }

 protected:
  std::optional<Incoming> look(int tag) override {
    int come = 0, count = 0;
    mpi::Status status;
    check(library_, library_.MPI_Iprobe(mpi::any_source, tag, library_.world, &come, &status), "MPI_Iprobe");
    if (come == 0) return std::nullopt;
    check(library_, library_.MPI_Get_count(&status, library_.byte, &count), "MPI_Get_count");
    return Incoming{status.source, static_cast<std::size_t>(count)};
  }
  void begin_abort(int status) override { library_.MPI_Abort(library_.world, status); }
  Request begin_all_gather(std::span<const std::byte> from, std::span<std::byte> to, const std::vector<int>& sizes,
                           const std::vector<int>& places) override {
    return in_parts("MPI_Iallgatherv", from, [&](const std::byte* own, int count, mpi::RequestHandle* handle) {
      return library_.MPI_Iallgatherv(own, count, library_.byte, to.data(), sizes.data(), places.data(), library_.byte,
                                      library_.world, handle);
    });
  }

 private:
  template <class Byte, class F>
  Request in_parts(const char* name, std::span<Byte> bytes, const F& begin) {
    auto parts = std::make_unique<Parts>(library_);
    do {  // a message may be empty
      const std::size_t part = std::min(bytes.size(), largest_part);
      mpi::RequestHandle handle = nullptr;
      check(library_, begin(bytes.data(), static_cast<int>(part), &handle), name);
      parts->add(handle);
      bytes = bytes.subspan(part);
    } while (!bytes.empty());
    return Request(std::move(parts));
  }

  const mpi::Library& library_;
  int rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<Ranks> start_mpi(const std::atomic<bool>* cancel) {
  auto ranks = std::make_unique<MpiRanks>(cancel);
  // The mpirun of another MPI has started several, and each believes that it is the only one.
  const char* text = std::getenv("PMI_SIZE");
  const auto started = text != nullptr ? base::parse_integer(text) : std::nullopt;
  if (ranks->size() == 1 && started.value_or(1) > 1)
    throw Error(
        ErrorClass::device,
        fmt::format("{} processes were started, but by another MPI than Open MPI: each of them is alone", *started), {},
        "start them with the mpirun of Open MPI (mpirun.openmpi)");
  return ranks;
}

}  // namespace tessera::ranks
