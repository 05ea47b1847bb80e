// The extents of a result whose points have names: those of the dimensions that the names index.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "lang/images/images.hpp"

namespace tessera::lang {

using ir::SizeId;

// Where a name stands alone in a dimension, that one's extent, of all of them the same; else the smallest
// floor(n / step) over the dimensions in which it is the only name, or that of the place to be filled, where what lies
// outside has a value; else that of the place.
ImageEvaluator::Domain ImageEvaluator::named_domain(const Function& f, const NamedReads& reads, Span at,
                                                    const Wanted* wanted) {
  Domain out;
  for (std::size_t d = 0; d < f.points.size(); ++d) {
    const std::string name = base::quoted(f.points[d].text);
    const PointExtent* fixed = nullptr;
    std::optional<SizeId> found;
    for (const PointExtent& e : reads.extents) {
      if (e.point != d || !e.alone) continue;
      if (fixed == nullptr) {
        fixed = &e, found = e.extent;
      } else {
        context_.require(e.place, {fixed->extent, e.extent, false,
                                   fmt::format("{} runs over {} and over {}, whose extents are not the same", name,
                                               fixed->what, e.what)});
      }
    }
    for (const PointExtent& e : reads.extents) {
      if (e.point != d || e.alone) continue;
      const SizeId n = extents_.divide(at, e.extent, e.step);
      if (fixed == nullptr)
        found = found ? extents_.least(at, *found, n) : n;
      else if (e.bounded)
        context_.require(
            e.place, {fixed->extent, n, true,
                      fmt::format("{} runs over {}, which is more than {} has and its argument has no boundary mode",
                                  name, fixed->what, e.what)});
    }
    const bool anywhere =
        fixed == nullptr && std::none_of(reads.extents.begin(), reads.extents.end(),
                                         [&](const PointExtent& e) { return e.point == d && e.bounded; });
    if (const std::optional<SizeId> place = wanted_extent(wanted, f.points.size(), d); place && anywhere) found = place;
    if (!found && context_.lenient) found = graph_.size(1);
    if (!found)
      context_.report.fail(
          f.points[d].span,
          fmt::format("how far {} runs is not known: expected an image that is read with no other name in a dimension",
                      name),
          {{fmt::format("{} is called at {}", base::quoted(f.name.text), describe_place(at, f.points[d].span))},
           fmt::format("give the extents where the result is stored, as in out[0..M-1, 0..N-1] = {}(...);",
                       f.name.text)});
    out.push_back(*found);
  }
  extents_.check_count(at, out);
  return out;
}

}  // namespace tessera::lang
