// Cells of an ECP5 as Yosys leaves them behind, for simulation: what is told of them in the family's data sheets, as far as
// circuits use it. What a block of memory gives for an address that is written in the same clock is not known.
module LUT4(input A, B, C, D, output Z);
  parameter [15:0] INIT = 0;
  // Of an input that is not known and does not matter the simulator says so: of `?`, not of an index.
  wire [7:0] of_d = D ? INIT[15:8] : INIT[7:0];
  wire [3:0] of_c = C ? of_d[7:4] : of_d[3:0];
  wire [1:0] of_b = B ? of_c[3:2] : of_c[1:0];
  assign Z = A ? of_b[1] : of_b[0];
endmodule

module PFUMX(input ALUT, BLUT, C0, output Z);
  assign Z = C0 ? ALUT : BLUT;
endmodule

module L6MUX21(input D0, D1, SD, output Z);
  assign Z = SD ? D1 : D0;
endmodule

module CCU2C(input CIN, A0, B0, C0, D0, A1, B1, C1, D1, output S0, S1, COUT);
  parameter [15:0] INIT0 = 0, INIT1 = 0;
  parameter INJECT1_0 = "YES", INJECT1_1 = "YES";
  wire whole_0, low_0, whole_1, low_1;
  LUT4 #(.INIT(INIT0)) lut_0 (.A(A0), .B(B0), .C(C0), .D(D0), .Z(whole_0));
  LUT4 #(.INIT(INIT1)) lut_1 (.A(A1), .B(B1), .C(C1), .D(D1), .Z(whole_1));
  LUT4 #(.INIT(INIT0)) part_0 (.A(A0), .B(B0), .C(1'b0), .D(1'b0), .Z(low_0));
  LUT4 #(.INIT(INIT1)) part_1 (.A(A1), .B(B1), .C(1'b0), .D(1'b0), .Z(low_1));
  wire carry_0 = whole_0 ? CIN : low_0 & (INJECT1_0 == "NO");
  wire carry_1 = whole_1 ? carry_0 : low_1 & (INJECT1_1 == "NO");
  assign S0 = whole_0 ^ (CIN & (INJECT1_0 == "NO"));
  assign S1 = whole_1 ^ (carry_0 & (INJECT1_1 == "NO"));
  assign COUT = carry_1;
endmodule

module TRELLIS_FF(input CLK, LSR, CE, DI, M, output reg Q);
  parameter GSR = "ENABLED", CEMUX = "1", CLKMUX = "CLK", LSRMUX = "LSR", LSRMODE = "LSR", SRMODE = "LSR_OVER_CE", REGSET = "RESET";
  wire ce = CEMUX == "1" ? 1'b1 : CEMUX == "INV" ? ~CE : CE;
  wire lsr = LSRMUX == "INV" ? ~LSR : LSR;
  wire set = REGSET == "SET";
  initial Q = set;
  always @(posedge CLK)
    if (SRMODE == "LSR_OVER_CE") begin
      if (lsr === 1'b1) Q <= set; else if (ce) Q <= DI;
    end else if (ce) Q <= lsr === 1'b1 ? set : DI;
endmodule

module TRELLIS_DPR16X4(input [3:0] DI, WAD, RAD, input WRE, WCK, output [3:0] DO);
  parameter WCKMUX = "WCK", WREMUX = "WRE";
  parameter [63:0] INITVAL = 0;
  reg [3:0] memory [0:15];
  integer k;
  initial for (k = 0; k < 16; k = k + 1) memory[k] = ^INITVAL[4 * k +: 4] === 1'bx ? $random : INITVAL[4 * k +: 4];
  wire write = WREMUX == "1" ? 1'b1 : WREMUX == "INV" ? ~WRE : WRE;
  always @(posedge WCK) if (write) memory[WAD] <= DI;
  assign DO = memory[RAD];
endmodule

module MULT18X18D(
  input A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12, A13, A14, A15, A16, A17, B0, B1, B2, B3, B4, B5, B6, B7, B8, B9, B10, B11, B12, B13, B14, B15, B16, B17, C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13, C14, C15, C16, C17,
  input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB, CLK0, CLK1, CLK2, CLK3, CE0, CE1, CE2, CE3, RST0, RST1, RST2, RST3,
  output P0, P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12, P13, P14, P15, P16, P17, P18, P19, P20, P21, P22, P23, P24, P25, P26, P27, P28, P29, P30, P31, P32, P33, P34, P35
);
  parameter REG_INPUTA_CLK = "NONE", REG_INPUTB_CLK = "NONE", REG_PIPELINE_CLK = "NONE", REG_OUTPUT_CLK = "NONE";
  wire [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
  wire [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
  reg [17:0] a_1, b_1;
  always @(posedge CLK0) begin if (CE0 !== 1'b0) begin a_1 <= a; b_1 <= b; end end
  wire [17:0] x = REG_INPUTA_CLK == "CLK0" ? a_1 : a;
  wire [17:0] y = REG_INPUTB_CLK == "CLK0" ? b_1 : b;
  wire signed [18:0] x_signed = {SIGNEDA & x[17], x};
  wire signed [18:0] y_signed = {SIGNEDB & y[17], y};
  wire signed [37:0] product = x_signed * y_signed;
  assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18, P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} = REG_OUTPUT_CLK == "CLK0" ? product_1 : product[35:0];
  reg [35:0] product_1;
  always @(posedge CLK0) if (CE0 !== 1'b0) product_1 <= product[35:0];
  initial if (REG_PIPELINE_CLK != "NONE" || (REG_OUTPUT_CLK != "NONE" && REG_OUTPUT_CLK != "CLK0")) begin $display("MULT18X18D: a register that has no model"); $finish; end
endmodule

// Two ports of up to 18 bits, or one that reads 36 and one that writes them: then the low half is DIA and DOA, the high one DIB and DOB.
module DP16KD(
  input DIA0, DIA1, DIA2, DIA3, DIA4, DIA5, DIA6, DIA7, DIA8, DIA9, DIA10, DIA11, DIA12, DIA13, DIA14, DIA15, DIA16, DIA17,
  input ADA0, ADA1, ADA2, ADA3, ADA4, ADA5, ADA6, ADA7, ADA8, ADA9, ADA10, ADA11, ADA12, ADA13,
  input CEA, OCEA, CLKA, WEA, RSTA, CSA2, CSA1, CSA0,
  output DOA0, DOA1, DOA2, DOA3, DOA4, DOA5, DOA6, DOA7, DOA8, DOA9, DOA10, DOA11, DOA12, DOA13, DOA14, DOA15, DOA16, DOA17,
  input DIB0, DIB1, DIB2, DIB3, DIB4, DIB5, DIB6, DIB7, DIB8, DIB9, DIB10, DIB11, DIB12, DIB13, DIB14, DIB15, DIB16, DIB17,
  input ADB0, ADB1, ADB2, ADB3, ADB4, ADB5, ADB6, ADB7, ADB8, ADB9, ADB10, ADB11, ADB12, ADB13,
  input CEB, OCEB, CLKB, WEB, RSTB, CSB2, CSB1, CSB0,
  output DOB0, DOB1, DOB2, DOB3, DOB4, DOB5, DOB6, DOB7, DOB8, DOB9, DOB10, DOB11, DOB12, DOB13, DOB14, DOB15, DOB16, DOB17
);
  parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18;
  parameter REGMODE_A = "NOREG", REGMODE_B = "NOREG", RESETMODE = "SYNC", ASYNC_RESET_RELEASE = "SYNC";
  parameter CSDECODE_A = "0b000", CSDECODE_B = "0b000", WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL";
  parameter CLKAMUX = "CLKA", CLKBMUX = "CLKB", GSR = "AUTO", WID = 0, INIT_DATA = "STATIC";
  parameter [319:0] INITVAL_00 = 0, INITVAL_01 = 0, INITVAL_02 = 0, INITVAL_03 = 0;
  parameter [319:0] INITVAL_04 = 0, INITVAL_05 = 0, INITVAL_06 = 0, INITVAL_07 = 0;
  parameter [319:0] INITVAL_08 = 0, INITVAL_09 = 0, INITVAL_0A = 0, INITVAL_0B = 0;
  parameter [319:0] INITVAL_0C = 0, INITVAL_0D = 0, INITVAL_0E = 0, INITVAL_0F = 0;
  parameter [319:0] INITVAL_10 = 0, INITVAL_11 = 0, INITVAL_12 = 0, INITVAL_13 = 0;
  parameter [319:0] INITVAL_14 = 0, INITVAL_15 = 0, INITVAL_16 = 0, INITVAL_17 = 0;
  parameter [319:0] INITVAL_18 = 0, INITVAL_19 = 0, INITVAL_1A = 0, INITVAL_1B = 0;
  parameter [319:0] INITVAL_1C = 0, INITVAL_1D = 0, INITVAL_1E = 0, INITVAL_1F = 0;
  parameter [319:0] INITVAL_20 = 0, INITVAL_21 = 0, INITVAL_22 = 0, INITVAL_23 = 0;
  parameter [319:0] INITVAL_24 = 0, INITVAL_25 = 0, INITVAL_26 = 0, INITVAL_27 = 0;
  parameter [319:0] INITVAL_28 = 0, INITVAL_29 = 0, INITVAL_2A = 0, INITVAL_2B = 0;
  parameter [319:0] INITVAL_2C = 0, INITVAL_2D = 0, INITVAL_2E = 0, INITVAL_2F = 0;
  parameter [319:0] INITVAL_30 = 0, INITVAL_31 = 0, INITVAL_32 = 0, INITVAL_33 = 0;
  parameter [319:0] INITVAL_34 = 0, INITVAL_35 = 0, INITVAL_36 = 0, INITVAL_37 = 0;
  parameter [319:0] INITVAL_38 = 0, INITVAL_39 = 0, INITVAL_3A = 0, INITVAL_3B = 0;
  parameter [319:0] INITVAL_3C = 0, INITVAL_3D = 0, INITVAL_3E = 0, INITVAL_3F = 0;
  localparam [64*320-1:0] initial_words = {INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B, INITVAL_3A, INITVAL_39, INITVAL_38,
    INITVAL_37, INITVAL_36, INITVAL_35, INITVAL_34, INITVAL_33, INITVAL_32, INITVAL_31, INITVAL_30,
    INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C, INITVAL_2B, INITVAL_2A, INITVAL_29, INITVAL_28,
    INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24, INITVAL_23, INITVAL_22, INITVAL_21, INITVAL_20,
    INITVAL_1F, INITVAL_1E, INITVAL_1D, INITVAL_1C, INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18,
    INITVAL_17, INITVAL_16, INITVAL_15, INITVAL_14, INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10,
    INITVAL_0F, INITVAL_0E, INITVAL_0D, INITVAL_0C, INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08,
    INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04, INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00};
  // Words of 18 bits, of which 20 are told; narrow words lie in a byte of nine.
  reg [17:0] memory [0:1023];
  integer k;
  initial for (k = 0; k < 1024; k = k + 1)
    memory[k] = ^initial_words[20 * k +: 18] === 1'bx ? $random : initial_words[20 * k +: 18];
  wire [13:0] at_a = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
  wire [13:0] at_b = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
  wire [17:0] in_a = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
  wire [17:0] in_b = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0};
  wire [9:0] word_a = DATA_WIDTH_A == 36 ? {at_a[13:5], 1'b0} : at_a[13:4];
  wire [9:0] word_b = DATA_WIDTH_B == 36 ? {at_b[13:5], 1'b0} : at_b[13:4];

  // The first bit of a word in its 18, and its bits.
  function [4:0] first(input [3:0] low, input integer width);
    first = width >= 18 ? 0 : width == 9 ? 9 * low[3] : width == 4 ? 9 * low[3] + 4 * low[2] :
            width == 2 ? 9 * low[3] + 2 * low[2:1] : 9 * low[3] + low[2:0];
  endfunction
  function [17:0] mask(input integer width);
    mask = width >= 18 ? 18'h3ffff : (18'd1 << width) - 1;
  endfunction
  // Bits that are written: the lowest bits of an address of 18 and 36 bits say which bytes.
  function [17:0] bytes(input [3:0] low, input integer width);
    bytes = width >= 18 ? {{9{low[1]}}, {9{low[0]}}} : mask(width) << first(low, width);
  endfunction

  reg [17:0] out_a, out_b, high, out_a_1, out_b_1, high_1;
  wire [17:0] bits_a = bytes(at_a[3:0], DATA_WIDTH_A), bits_b = bytes(at_b[3:0], DATA_WIDTH_B);
  wire [17:0] bits_high = DATA_WIDTH_A == 36 ? bytes(at_a[3:2], 18) : 0;
  // Not without a byte.
  wire writes_a = CEA & WEA & |{bits_a, bits_high}, writes_b = CEB & WEB & |bits_b;
  // What is read while it is written.
  wire near = DATA_WIDTH_A == 36 || DATA_WIDTH_B == 36 ? word_a[9:1] == word_b[9:1] : word_a == word_b;
  wire [17:0] read_a = mask(DATA_WIDTH_A) << first(at_a[3:0], DATA_WIDTH_A);
  wire [17:0] read_b = mask(DATA_WIDTH_B) << first(at_b[3:0], DATA_WIDTH_B);
  wire lost_a = writes_b & near & |(read_a & bits_b);
  wire lost_b = writes_a & near & |(read_b & (bits_a | bits_high));
  always @(posedge CLKA) begin
    if (writes_a) memory[word_a] <= memory[word_a] & ~bits_a | in_a << first(at_a[3:0], DATA_WIDTH_A) & bits_a;
    if (writes_a & DATA_WIDTH_A == 36) memory[word_a | 1] <= memory[word_a | 1] & ~bits_high | in_b & bits_high;
    if (CEA & ~WEA) out_a <= lost_a ? 18'bx : memory[word_a] >> first(at_a[3:0], DATA_WIDTH_A) & mask(DATA_WIDTH_A);
    if (OCEA) out_a_1 <= out_a;
  end
  always @(posedge CLKB) begin
    if (writes_b) memory[word_b] <= memory[word_b] & ~bits_b | in_b << first(at_b[3:0], DATA_WIDTH_B) & bits_b;
    if (CEB & ~WEB) begin
      out_b <= lost_b ? 18'bx : memory[word_b] >> first(at_b[3:0], DATA_WIDTH_B) & mask(DATA_WIDTH_B);
      high <= lost_b ? 18'bx : memory[word_b | 1];
    end
    if (OCEB) begin out_b_1 <= out_b; high_1 <= high; end
  end
  wire [17:0] given_a = REGMODE_A == "OUTREG" ? out_a_1 : out_a, given_b = REGMODE_B == "OUTREG" ? out_b_1 : out_b;
  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0} = DATA_WIDTH_B == 36 ? given_b : given_a;
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} = DATA_WIDTH_B != 36 ? given_b : REGMODE_B == "OUTREG" ? high_1 : high;
endmodule
