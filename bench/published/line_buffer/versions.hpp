// The two versions of the article, as texts for high-level synthesis: one reads every element of a window from memory,
// the other reads every element once and keeps what it needs in a line buffer. Both call the same operation, which
// knows where it stands.
//
// As in the article but for templates instead of macros; the rows of the line buffer lie side by side in one memory
// (what ARRAY_PARTITION dim=1 makes of them), so that one read and one write a clock are enough.
#pragma once

#include <tessera_port.h>

#ifndef TESSERA_HLS
#define TESSERA_TICK()
#define TESSERA_MEMORY(type, name, size, distance) static type name[size]
#endif

typedef unsigned char pixel;

template <class Operation, int HEIGHT, int WIDTH>
void filter_v1(TESSERA_PORT(int) data_out, TESSERA_PORT(pixel) data_in) {
  const int size = Operation::size, half = (size - 1) / 2;
  pixel window[size][size] = {};
#pragma HLS ARRAY_PARTITION variable = window complete
for_y:
  for (int y = 0; y < HEIGHT; y++) {
  for_x:
    for (int x = 0; x < WIDTH; x++) {
#pragma HLS PIPELINE
      TESSERA_TICK();
    load_i:
      for (int i = -half; i <= half; i++)
      load_j:
        for (int j = -half; j <= half; j++)
          if (0 <= y + i && y + i < HEIGHT && 0 <= x + j && x + j < WIDTH)
            window[i + half][j + half] = data_in[(y + i) * WIDTH + x + j];
      data_out[y * WIDTH + x] = Operation::template at<HEIGHT, WIDTH>(window, y, x);
    }
  }
}

template <int ROWS>
struct column {
  pixel row[ROWS];
};

template <class Operation, int HEIGHT, int WIDTH>
void filter_v2(hls::stream<int>& out_stream, hls::stream<pixel>& in_stream) {
  const int size = Operation::size, half = (size - 1) / 2, rows = size - 1;
  TESSERA_MEMORY(column<rows>, line_buf, WIDTH, 1);
  pixel window[size][size] = {};
#pragma HLS ARRAY_PARTITION variable = window complete dim = 0
  int read_count = WIDTH * half + half + 1;
  // Loads initial values into the line buffer: the end of one row, then whole rows.
buf_x1:
  for (int x = WIDTH - half - 1; x < WIDTH; x++) {
#pragma HLS PIPELINE
    TESSERA_TICK();
    column<rows> c = {};
    c.row[half - 1] = in_stream.read();
    line_buf[x] = c;
  }
buf_y:
  for (int y = half; y < rows; y++)
  buf_x2:
    for (int x = 0; x < WIDTH; x++) {
#pragma HLS PIPELINE
      TESSERA_TICK();
      column<rows> c = line_buf[x];
      c.row[y] = in_stream.read();
      line_buf[x] = c;
    }
win_x:
  for (int x = half; x < size; x++) {
#pragma HLS PIPELINE
    TESSERA_TICK();
    const column<rows> c = line_buf[x + WIDTH - size];
    for (int y = half; y < size; y++) window[y][x] = c.row[y - 1];
  }
for_y:
  for (int y = 0; y < HEIGHT; y++) {
  for_x:
    for (int x = 0; x < WIDTH; x++) {
#pragma HLS PIPELINE
      TESSERA_TICK();
      out_stream.write(Operation::template at<HEIGHT, WIDTH>(window, y, x));
      pixel val_in = 0;
      if (read_count < HEIGHT * WIDTH) {
        val_in = in_stream.read();
        read_count++;
      }
      // The rightmost column of the window; the line buffer's column goes one up.
      const column<rows> c = line_buf[x];
      column<rows> next;
      pixel right[size];
      for (int r = 0; r < rows; r++) right[r] = c.row[r];
      right[size - 1] = val_in;
      for (int r = 0; r < rows; r++) next.row[r] = right[r + 1];
      line_buf[x] = next;
      for (int r = 0; r < size; r++) {
        for (int k = 0; k < size - 1; k++) window[r][k] = window[r][k + 1];
        window[r][size - 1] = right[r];
      }
    }
  }
}
