// Everything a user of Tessera includes.
#pragma once

#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/program.hpp"
