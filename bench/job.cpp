// The table of jobs. Limits: integers must agree to the rounding of the peers, floats to their rounding; where one
// comparison decides a whole pixel (suppression) only the mean binds.
#include "job.hpp"

#include <limits>

namespace tessera::bench {
namespace {

constexpr ElementType f32 = ElementType::f32, u8 = ElementType::u8, i16 = ElementType::i16, u16 = ElementType::u16;
const Shape uhd{2160, 3840};
constexpr double any = std::numeric_limits<double>::infinity();

Job image(std::string name, std::string title, ElementType in, ElementType out, std::array<double, 2> reach,
          double mean_limit, double max_limit, i64 margin = 32) {
  return {std::move(name), std::move(title), {{in, uhd}}, {out, uhd}, margin, mean_limit, max_limit, reach, false};
}
Job of_floats(std::string name, std::string title, double reach, i64 margin = 32) {
  return image(std::move(name), std::move(title), f32, f32, {reach, reach}, 1e-6, 2e-5, margin);
}
Job of_bytes(std::string name, std::string title, double reach) {
  return image(std::move(name), std::move(title), u8, u8, {reach, reach}, 0, 0);
}
Job slow(Job job) {
  job.long_running = true;
  return job;
}

}  // namespace

std::vector<Job> all_jobs(int shrink, const Shape& size) {
  std::vector<Job> jobs{
      of_floats("blur3_f32", "blur 3x3 f32", 1.15),
      of_floats("conv3_f32", "dense 3x3 f32", 1.15),
      of_floats("conv5_f32", "dense 5x5 f32", 1.35),
      of_floats("conv7_f32", "dense 7x7 f32", 1.75),
      of_floats("sobel_f32", "Sobel x f32", 1.1),
      image("sobel_u8", "Sobel x u8 -> s16", u8, i16, {1.3, 1.3}, 0, 0),
      of_bytes("gauss3_u8", "Gaussian 3x3 u8", 1.3),
      of_bytes("gauss5_u8", "Gaussian 5x5 u8", 1.7),
      of_bytes("box3_u8", "box 3x3 u8", 1.3),
      of_bytes("median3_u8", "median 3x3 u8", 2.2),
      of_floats("median3_f32", "median 3x3 f32", 1.7),
      of_bytes("dilate3_u8", "dilate 3x3 u8", 1.3),
      of_bytes("dilate15_u8", "dilate 15x15 u8", 2.0),
      image("bilateral5_f32", "bilateral d=5 f32", f32, f32, {0, 0}, 1e-4, 5e-3),
      of_floats("unsharp5_f32", "unsharp 5x5 f32", 1.4),
      of_floats("chain_f32", "Gaussian 5, Sobel x, box 3 f32", 1.8),
      image("canny_f32", "Canny front f32", f32, f32, {2.5, 2.5}, 1e-3, any),
      of_floats("harris_f32", "Harris f32", 1.6),
      {"pyrdown_f32", "pyrDown f32", {{f32, uhd}}, {f32, {1080, 1920}}, 32, 1e-6, 2e-5, {1.1, 1.1}, false},
      of_floats("laplacian_f32", "Laplacian pyramid, 5 levels", 4.0, 256),
      {"tiny_u8", "256x256 u8 3x3", {{u8, {256, 256}}}, {u8, {256, 256}}, 8, 0, 0, {0, 0}, false},
      {"camera_u16",
       "camera pipeline 2592x1968 u16",
       {{u16, {1968, 2592}, Content::sensor}},
       {u8, {3, 1968, 2592}},
       32,
       1e-3,
       4,  // at the dark end of the curve, where it is steep
       {0, 0},
       false},
      slow({"jacobi_f32",
            "Jacobi 4096x4096, 100 steps",
            {{f32, {4096, 4096}, Content::random}},
            {f32, {4096, 4096}},
            128,
            1e-6,
            2e-5,
            {25, 25},
            false}),
      slow({"rician_f32",
            "Rician 256^3, 50 steps",
            {{f32, {256, 256, 256}, Content::random}},
            {f32, {256, 256, 256}},
            100,
            1e-4,
            1e-2,
            {0, 0},
            false}),
      slow({"local_laplacian_u16",
            "local Laplacian 4096x2048 u16",
            std::vector<Tensor>(3, {u16, {2048, 4096}}),
            {u16, {3, 2048, 4096}},
            640,
            2,
            400,
            {0, 0},
            false}),
      slow({"bilateral_grid_f32", "bilateral grid f32", {{f32, uhd}}, {f32, uhd}, 64, 1e-5, 1e-3, {0, 0}, false}),
      slow({"interpolate_f32",
            "multiscale interpolate 4096x2048 f32",
            std::vector<Tensor>(4, {f32, {2048, 4096}}),
            {f32, {3, 2048, 4096}},
            960,
            1e-3,
            1e-1,
            {0, 0},
            false}),
      slow({"nl_means_f32",
            "non-local means f32",
            std::vector<Tensor>(3, {f32, uhd}),
            {f32, {3, 2160, 3840}},
            32,
            1e-5,
            1e-3,
            {0, 0},
            false}),
      slow({"exposure_fusion_u8",
            "exposure fusion of 4 photographs u8",
            std::vector<Tensor>(12, {u8, uhd}),
            {u8, {3, 2160, 3840}},
            128,
            1e-2,
            1,
            {0, 0},
            false}),
      slow(image("stencil_chain_u16", "32-stage stencil chain u16", u16, u16, {0, 0}, 0, 0, 80)),
  };
  // OpenCV's Gaussian of bytes rounds twice in some builds.
  for (Job& job : jobs)
    if (job.name == "gauss3_u8" || job.name == "gauss5_u8" || job.name == "tiny_u8")
      job.mean_limit = 0.5, job.max_limit = 1;
  const auto shrunk = [&](Tensor& t) {
    if (!size.empty() && t.shape == uhd) t.shape = size;
    for (std::size_t d = t.shape.size() == 3 && t.shape[0] <= 4 ? 1 : 0; d < t.shape.size(); ++d) t.shape[d] /= shrink;
  };
  for (Job& job : jobs) {
    for (Tensor& t : job.inputs) shrunk(t);
    shrunk(job.output);
  }
  std::erase_if(jobs, [](const Job& job) {
    const i64 height = job.output.shape[job.output.shape.size() - 2];
    const bool odd_pyramid = (job.name == "laplacian_f32" || job.name == "exposure_fusion_u8") && height % 16 != 0;
    const bool odd_mosaic = job.name == "camera_u16" && (height % 2 != 0 || job.output.shape.back() % 2 != 0);
    return height <= 2 * job.margin || odd_pyramid || odd_mosaic;
  });
  return jobs;
}

}  // namespace tessera::bench
