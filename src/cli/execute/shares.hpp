// What each of several devices did of a run, told when it is done.
#pragma once

#include <map>
#include <mutex>

#include "tessera/options.hpp"
#include "tessera/program.hpp"

namespace tessera::cli {

class ShareSummary {
 public:
  // Watches runs with these options, where they name devices. Has to outlive them.
  explicit ShareSummary(RunOptions&);
  ShareSummary(const ShareSummary&) = delete;
  ShareSummary& operator=(const ShareSummary&) = delete;
  // A line for each device, or why one alone has run.
  void tell_of(const Program&) const;

 private:
  bool asked_ = false;
  int first_ = 0;
  mutable std::mutex mutex_;
  std::map<int, DeviceShare> shares_;  // by number, all parts of the program together
};

}  // namespace tessera::cli
