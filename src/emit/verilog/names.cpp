// Keywords of SystemVerilog (IEEE 1800-2017), for check_module_name.
#include "emit/verilog/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::emit {

namespace {

constexpr std::string_view keywords =
    " accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin "
    "bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos "
    "config const constraint context continue cover covergroup coverpoint cross deassign default defparam design "
    "disable dist do edge else end endcase endchecker endclass endclocking endconfig endfunction endgenerate "
    "endgroup endinterface endmodule endpackage endprimitive endprogram endproperty endspecify endsequence "
    "endtable endtask enum event eventually expect export extends extern final first_match for force foreach "
    "forever fork forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins "
    "implements implies import incdir include initial inout input inside instance int integer interconnect "
    "interface intersect join join_any join_none large let liblist library local localparam logic longint "
    "macromodule matches medium modport module nand negedge nettype new nexttime nmos nor noshowcancelled not "
    "notif0 notif1 null or output package packed parameter pmos posedge primitive priority program property "
    "protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase "
    "randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 "
    "rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal "
    "showcancelled signed small soft solve specify specparam static string strong strong0 strong1 struct super "
    "supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit "
    "tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until "
    "until_with untyped use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard "
    "wire with within wor xnor xor ";

bool is_identifier(std::string_view name) {
  const auto starts = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !name.empty() && name.size() <= 200 && starts(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return starts(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace

void check_module_name(std::string_view name) {
  std::string why;
  if (!is_identifier(name))
    why = "is not a name in Verilog; expected letters, digits and _, a letter first";
  else if (keywords.find(fmt::format(" {} ", name)) != std::string_view::npos)
    why = "is a keyword of SystemVerilog; expected a free name";
  if (!why.empty())
    throw Error(ErrorClass::argument,
                fmt::format("the module cannot be called {}: it {}", base::quoted(std::string(name)), why), {},
                "name it otherwise, as in --name my_filter");
}

}  // namespace tessera::emit
