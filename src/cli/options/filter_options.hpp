// Options of filters, as the filters declare them: `--sigma 2.5`, `--sigma 2mm`, `--sigma 2,2,1`, `--border mirror`,
// `--kernel psf.npy`, and `--extent`, `--type`, `--alpha` and `--arithmetic`, which all have; `--fwhm` of those that
// have a sigma; `--mask` and `--ignore-nan` of those that take them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "io/header.hpp"
#include "io/regions/regions.hpp"
#include "tessera/error.hpp"
#include "tessera/filters.hpp"

namespace CLI {
class App;
}

namespace tessera::cli {

class FilterOptions {
 public:
  // Declares them when the verb is met, so that others do not read the filters. Takes the words of all filters;
  // request() refuses those of others.
  void declare_later(CLI::App&);

  // The tables are read, and the mask; of one whose file has parts nothing is, and its array is one point, repeated.
  // `rank`: of the image; `header`: where lengths get their points from.
  FilterRequest request(const std::string& name, int rank, const io::ImageHeader& header) const;
  // An option that the command reads itself, since others have one of that name.
  void give(const std::string& name, const std::string& text);
  // The largest rank of the tables that are given, or 0: images of more dimensions lose slow ones of extent 1.
  int table_rank() const;
  const std::optional<std::string>& type() const { return type_; }
  const std::optional<std::string>& mask() const { return mask_; }  // its file
  std::shared_ptr<io::RegionReader> mask_parts() const;             // once it is requested; null where it has none
  // Says that no point of an image can have a value of --nodata.
  void note_nodata(const Format& image) const;
  // Says that integers of more than 8 bits are rounded, where no type was asked for and the files hold fractions.
  void note_rounding(const std::string& name, const Format& image, const std::vector<std::string>& files) const;

 private:
  struct Given {
    std::optional<std::string> text;
    std::string type;  // of the option: "float", "table", ...
  };
  void declare(CLI::App&);
  Array mask_array() const;
  const Array& table(const std::string& name) const;
  bool is_row(const std::string& name) const;  // weights as text, without rows
  void take_nodata(FilterRequest& request, bool takes_mask, const io::ImageHeader& header) const;

  std::map<std::string, Given> given_;
  std::string extent_ = "same";
  std::optional<std::string> type_, mask_, fwhm_, alpha_, arithmetic_;
  std::vector<std::string> nodata_;
  bool ignore_nan_ = false;
  mutable std::map<std::string, Array> tables_;  // that were read
  mutable std::optional<std::shared_ptr<io::RegionReader>> mask_reader_;
};

// An error of the library, which is called from C++ as well, in the words of the command line.
Error at_shell(const Error&);
// What `tessera filter --list` prints.
std::string list_of_filters(const std::string& name);  // of all without a name

}  // namespace tessera::cli
