// Declarations: structs, functions, parameters, inputs and tables of the program and its imports.
#pragma once

#include <memory>
#include <vector>

#include "lang/context.hpp"

namespace tessera::lang {

using Modules = std::vector<std::unique_ptr<Module>>;  // imported ones first, the program last

// Enters every name, finds duplicates, fixes the types of structs.
void declare_names(Context&, const Modules&);
// Gives every parameter its value or its place among the run-time parameters; `given` are those set from outside.
void resolve_parameters(Context&, const Modules&, const std::map<std::string, double>& given);
// The same for one parameter when an expression needs it; throws Failed when it is faulty.
const Parameter& resolve_parameter(Context&, Parameter&);
// Evaluates every table into Graph::tables; `given` are the values from outside.
void evaluate_tables(Context&, const Modules&, const std::map<std::string, Array>& given);
// Adds the inputs of the program to Graph::arguments and makes their stages. `images` and `scalars` take the names.
void declare_inputs(Context&, const Module& program, std::map<std::string, std::optional<Image>>& images,
                    std::map<std::string_view, std::optional<PointValue>>& scalars);

}  // namespace tessera::lang
