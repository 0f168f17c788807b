#include <fmt/format.h>

#include "cluster/launched_group.h"
#include "sharpmax/error.h"

namespace sharpmax {

std::unique_ptr<Group> mpi_group(const Launch& launch, double) {
  throw Error(ErrorCode::unsupported,
              fmt::format("{} started {} processes, and this build of sharpmax has no MPI to let them work together; start one, "
                          "or build it with -DSHARPMAX_MPI=ON",
                          launch.launcher, launch.size));
}

}  // namespace sharpmax
