// Codecs as metadata name them: the list of version 3, compressor and filters of version 2.
#pragma once

#include <nlohmann/json.hpp>

#include "io/zarr/json.hpp"
#include "io/zarr/metadata.hpp"

namespace tessera::io::zarr {

// Fill in chain, shards and unit of an array whose type and chunk are known. Throw Error(io) that names what is not
// known, and what is.
void parse_codecs(const Value& list, ArrayMetadata&);
void parse_compressor(const Value& all, ArrayMetadata&);
nlohmann::ordered_json print_codecs(const ArrayMetadata&);

}  // namespace tessera::io::zarr
