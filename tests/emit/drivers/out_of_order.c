/* Two kernels on a queue that may run them in any order, ten times, against the entry point that waits. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

#include "smooth.h"

enum { rows = 2000, columns = 2000 };
static float image[rows * columns], wanted[rows * columns], got[rows * columns];

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  int bad = 0;
  if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 1;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
  if (error == CL_INVALID_QUEUE_PROPERTIES) return 0; /* this device keeps the order */
  for (int i = 0; i < rows * columns; ++i) image[i] = (float)(i * 7919LL % 1000);
  smooth(image, rows, columns, wanted);
  cl_mem in = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof image, image, &error);
  cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof got, NULL, &error);
  for (int k = 0; k < 10; ++k) {
    memset(got, 0, sizeof got);
    clEnqueueWriteBuffer(queue, out, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL);
    error = smooth_enqueue(queue, in, rows, columns, out);
    clFinish(queue);
    clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL);
    bad += error != 0 || memcmp(got, wanted, sizeof got) != 0;
  }
  if (bad) printf("%d of 10 results differ, error %d\n", bad, error);
  clReleaseMemObject(in);
  clReleaseMemObject(out);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return bad != 0;
}
