// What comes from outside: tables without values, and the parameters that their extents are; borders and types.
#pragma once

#include "lang/declarations.hpp"

namespace tessera::lang {

// Whether a table of the module takes its values from outside and has this parameter for an extent.
bool measures_table(const Module&, std::string_view parameter);
// Sets the parameters that are extents of given tables, before other parameters are resolved. What is missing or does
// not fit is reported, and everything that depends on it is faulty.
void bind_given_tables(Context&, const Modules&, const std::map<std::string, Array>& given);
// The values of such a table, whose extents are known by now.
void given_values(Context&, const TableDeclaration&, const Array&, ir::Table&);
// Sets the border and type parameters that are named; reports those that do not exist. Then gives all types their
// value.
void set_borders_and_types(Context&, const Modules&, const CompileInput&);

}  // namespace tessera::lang
