// The same words through Open MPI: mpirun starts this program (../CMakeLists.txt).
#include <gtest/gtest.h>

#include <cstdlib>

#include "ranks/conversation.hpp"
#include "ranks/ranks.hpp"
#include "tessera/error.hpp"

namespace tessera::ranks {
namespace {

TEST(Mpi, SpeaksToEachOther) {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  ASSERT_NE(size, nullptr) << "not started by mpirun";
  const auto ranks = start_mpi();
  EXPECT_EQ(ranks->size(), std::atoi(size));
  EXPECT_EQ(ranks->rank(), rank_in_environment());
  expect_all(*ranks);
  EXPECT_THROW(start_mpi(), Error);  // once in a process
}

}  // namespace
}  // namespace tessera::ranks
