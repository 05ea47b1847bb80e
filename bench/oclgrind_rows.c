/* Between our program and Oclgrind, whose record of what was written forgets copies of rectangles and copies on the device
   (21.10): here they are writes of rows from the host. What such a copy brings counts as written. Everything else is
   Oclgrind's: cc -shared -fPIC oclgrind_rows.c -o FILE /usr/lib/oclgrind/liboclgrind-rt.so */
#include <stddef.h>
#include <stdlib.h>

typedef struct object* Object; /* a queue, a block of memory, an event */

int clEnqueueWriteBuffer(Object, Object, unsigned, size_t, size_t, const void*, unsigned, const Object*, Object*);
int clEnqueueReadBuffer(Object, Object, unsigned, size_t, size_t, void*, unsigned, const Object*, Object*);

static size_t offset(const size_t* origin, size_t pitch, size_t slice, size_t y, size_t z) {
  return (origin[2] + z) * slice + (origin[1] + y) * pitch + origin[0];
}

/* The last row's event is that of the whole: queues are in order. */
static Object* event_of(const size_t* region, size_t y, size_t z, Object* event) {
  return y + 1 == region[1] && z + 1 == region[2] ? event : NULL;
}

int clEnqueueWriteBufferRect(Object queue, Object to, unsigned wait, const size_t* to_origin, const size_t* from_origin,
                             const size_t* region, size_t to_pitch, size_t to_slice, size_t from_pitch, size_t from_slice,
                             const void* from, unsigned count, const Object* after, Object* event) {
  int code = 0;
  for (size_t z = 0; z < region[2]; ++z)
    for (size_t y = 0; y < region[1] && code == 0; ++y)
      code = clEnqueueWriteBuffer(queue, to, wait, offset(to_origin, to_pitch, to_slice, y, z), region[0],
                                  (const char*)from + offset(from_origin, from_pitch, from_slice, y, z), count, after,
                                  event_of(region, y, z, event));
  return code;
}

/* Waits for what it copies. */
int clEnqueueCopyBuffer(Object queue, Object from, Object to, size_t from_offset, size_t to_offset, size_t bytes,
                        unsigned count, const Object* after, Object* event) {
  void* between = malloc(bytes > 0 ? bytes : 1);
  if (between == NULL) return -6; /* CL_OUT_OF_HOST_MEMORY */
  int code = clEnqueueReadBuffer(queue, from, 1, from_offset, bytes, between, count, after, NULL);
  if (code == 0) code = clEnqueueWriteBuffer(queue, to, 1, to_offset, bytes, between, 0, NULL, event);
  free(between);
  return code;
}

int clEnqueueCopyBufferRect(Object queue, Object from, Object to, const size_t* from_origin, const size_t* to_origin,
                            const size_t* region, size_t from_pitch, size_t from_slice, size_t to_pitch, size_t to_slice,
                            unsigned count, const Object* after, Object* event) {
  int code = 0;
  for (size_t z = 0; z < region[2]; ++z)
    for (size_t y = 0; y < region[1] && code == 0; ++y)
      code = clEnqueueCopyBuffer(queue, from, to, offset(from_origin, from_pitch, from_slice, y, z),
                                 offset(to_origin, to_pitch, to_slice, y, z), region[0], count, after,
                                 event_of(region, y, z, event));
  return code;
}
