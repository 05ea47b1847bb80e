// What tells a library of MPICH from one of Open MPI: functions of the same names, and integers for handles.
#include <cstring>

extern "C" int MPI_Get_library_version(char* text, int* length) {
  std::strcpy(text, "MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7\n");
  *length = static_cast<int>(std::strlen(text));
  return 0;
}

extern "C" int MPI_Init_thread(int*, char***, int, int*) {
  return 0;
}
