// A cache of its own for these tests: made before the first use, removed at the end.
#pragma once

#include <string>

// The folder that TESSERA_CACHE names during the tests.
const std::string& test_cache_folder();
