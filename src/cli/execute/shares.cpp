// See shares.hpp.
#include "cli/execute/shares.hpp"

#include "base/text.hpp"
#include "cli/tell.hpp"
#include "engine/device/several.hpp"

namespace tessera::cli {

ShareSummary::ShareSummary(RunOptions& options) {
  if (options.devices.empty()) return;
  engine::resolve_devices(options);
  first_ = options.device;
  asked_ = options.devices.size() > 1;
  if (!asked_) return;
  options.on_shares = [this](const std::vector<DeviceShare>& shares) {
    const std::lock_guard lock(mutex_);
    for (const DeviceShare& share : shares) {
      DeviceShare& all = shares_[share.device];
      engine::add_work(all, share);
      all.parts += share.parts, all.of += share.of, all.seconds += share.seconds;
    }
  };
}

void ShareSummary::tell_of(const Program& program) const {
  if (!asked_) return;
  const std::lock_guard lock(mutex_);
  if (shares_.size() < 2) {
    const std::string why = engine::why_alone(program.impl());
    tell("note: device {} alone has run: {}\n", first_, why.empty() ? "the others would repeat its work" : why);
    return;
  }
  for (const auto& [number, s] : shares_) {
    tell("device {} ({}): {} of {} parts in {:.3g} s, {} up, {} down", number, s.name, s.parts, s.of, s.seconds,
         base::format_bytes(static_cast<double>(s.uploaded)), base::format_bytes(static_cast<double>(s.downloaded)));
    if (s.upload + s.compute + s.download > 0)
      tell("; its queues took {:.3g} s to copy up, {:.3g} s to compute, {:.3g} s to copy down, and waited {:.3g} s",
           s.upload, s.compute, s.download, s.wait);
    tell("\n");
  }
}

}  // namespace tessera::cli
