// What a folder holds that is not of the result whose place it has.
#pragma once

#include <string>

namespace tessera::io::zarr {

// A result may take the place of nothing, of an empty folder, of an array, and of an image as OME-Zarr of version 3
// that is nothing but its levels. Throws Error(io), about `path`, where `target` holds anything else.
void check_replaceable(const std::string& path, const std::string& target);
// The same of a folder in which a result was begun, or which is on its way to be removed: it may lack anything.
void check_begun(const std::string& path, const std::string& partial);

// In which folder files lie that are not whole.
inline constexpr const char* writing_folder = ".writing";

}  // namespace tessera::io::zarr
