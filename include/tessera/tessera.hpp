// Everything a user of Tessera includes.
#pragma once

#include "tessera/array.hpp"
#include "tessera/border.hpp"
#include "tessera/device.hpp"
#include "tessera/distributed.hpp"
#include "tessera/error.hpp"
#include "tessera/expression.hpp"
#include "tessera/filters.hpp"
#include "tessera/hardware.hpp"
#include "tessera/pipeline.hpp"
#include "tessera/program.hpp"
