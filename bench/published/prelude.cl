// Ahead of every text of the published experiments: what CUDA lacks of OpenCL C, so that one text serves both. The words
// for kernels and memories (__kernel, __global, __local, __constant) and barriers are exchanged in the text itself.
// Functions that kernels call are FUNCTION; an address is GLOBAL, or SHARED by a group.
#ifdef PUBLISHED_CUDA
#define SHARED
#define GLOBAL
#define FUNCTION static __device__ __forceinline__
typedef unsigned char uchar;
typedef unsigned int uint;
FUNCTION int get_local_id(int d) { return (int)(d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z); }
FUNCTION int get_group_id(int d) { return (int)(d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : blockIdx.z); }
FUNCTION int get_local_size(int d) { return (int)(d == 0 ? blockDim.x : d == 1 ? blockDim.y : blockDim.z); }
FUNCTION int get_global_id(int d) { return get_group_id(d) * get_local_size(d) + get_local_id(d); }
#else
#define SHARED __local
#define GLOBAL __global
#define FUNCTION static
#endif
