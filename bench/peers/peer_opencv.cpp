// OpenCV: the library that most users would reach for, called as they would call it. Outputs are preallocated; what
// OpenCV allocates inside a call is its own cost. Images between two calls are kept from run to run.
#include "job.hpp"

#ifdef TESSERA_BENCH_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/core/ocl.hpp>
#include <opencv2/imgproc.hpp>

#include "random.hpp"
#endif

namespace tessera::bench {
#ifdef TESSERA_BENCH_OPENCV
namespace {

using Filter = std::function<void(const cv::Mat& in, cv::Mat& out)>;

int depth_of(ElementType type) {
  switch (type) {
    case ElementType::u8:
      return CV_8UC1;
    case ElementType::u16:
      return CV_16UC1;
    case ElementType::i16:
      return CV_16SC1;
    default:
      return CV_32FC1;
  }
}

cv::Mat view(const Array& a) {
  return {int(a.shape()[0]), int(a.shape()[1]), depth_of(a.format().scalar), a.data()};
}

Filter dense(int k) {
  const cv::Mat weights = cv::Mat(random_weights(k * k, 7), true).reshape(1, k);
  return [weights](const cv::Mat& in, cv::Mat& out) { cv::filter2D(in, out, -1, weights); };
}

Filter gauss(int k) {
  return [k](const cv::Mat& in, cv::Mat& out) { cv::GaussianBlur(in, out, {k, k}, 0); };
}

Filter dilate(int k) {
  const cv::Mat element = cv::getStructuringElement(cv::MORPH_RECT, {k, k});
  return [element](const cv::Mat& in, cv::Mat& out) { cv::dilate(in, out, element); };
}

// The detail of each of four levels is amplified, the fifth level is kept.
Filter laplacian() {
  struct Level {
    cv::Mat down, up, detail;
  };
  return [levels = std::vector<Level>(5)](const cv::Mat& in, cv::Mat& out) mutable {
    const double gain[] = {1.5, 1.3, 1.2, 1.1};
    levels[0].down = in;
    for (std::size_t i = 0; i < 4; ++i) {
      cv::pyrDown(levels[i].down, levels[i + 1].down);
      cv::pyrUp(levels[i + 1].down, levels[i].up, levels[i].down.size());
      cv::subtract(levels[i].down, levels[i].up, levels[i].detail);
    }
    cv::Mat sum = levels[4].down;
    for (std::size_t i = 4; i-- > 0;) {
      cv::pyrUp(sum, levels[i].up, levels[i].down.size());
      cv::Mat target = i == 0 ? out : levels[i].up;
      cv::scaleAdd(levels[i].detail, gain[i], levels[i].up, target);
      sum = target;
    }
  };
}

// Canny of OpenCV: bytes, without the Gaussian, with hysteresis. Related, not equal.
Filter canny() {
  return [bytes = cv::Mat(), edges = cv::Mat()](const cv::Mat& in, cv::Mat&) mutable {
    if (bytes.empty()) in.convertTo(bytes, CV_8U, 255);
    cv::Canny(bytes, edges, 50, 150, 3, true);
  };
}

Filter filter_of(const std::string& job) {
  if (job == "blur3_f32" || job == "box3_u8") return [](auto& in, auto& out) { cv::blur(in, out, {3, 3}); };
  if (job == "conv3_f32") return dense(3);
  if (job == "conv5_f32") return dense(5);
  if (job == "conv7_f32") return dense(7);
  if (job == "sobel_f32") return [](auto& in, auto& out) { cv::Sobel(in, out, CV_32F, 1, 0, 3); };
  if (job == "sobel_u8") return [](auto& in, auto& out) { cv::Sobel(in, out, CV_16S, 1, 0, 3); };
  if (job == "gauss3_u8" || job == "tiny_u8") return gauss(3);
  if (job == "gauss5_u8") return gauss(5);
  if (job == "median3_u8" || job == "median3_f32") return [](auto& in, auto& out) { cv::medianBlur(in, out, 3); };
  if (job == "dilate3_u8") return dilate(3);
  if (job == "dilate15_u8") return dilate(15);
  if (job == "bilateral5_f32") return [](auto& in, auto& out) { cv::bilateralFilter(in, out, 5, 0.1, 2); };
  if (job == "unsharp5_f32")
    return [](auto& in, auto& out) {
      cv::GaussianBlur(in, out, {5, 5}, 1.5);
      cv::addWeighted(in, 1.7, out, -0.7, 0, out);
    };
  if (job == "chain_f32")
    return [a = cv::Mat(), b = cv::Mat()](const cv::Mat& in, cv::Mat& out) mutable {
      cv::GaussianBlur(in, a, {5, 5}, 0);
      cv::Sobel(a, b, CV_32F, 1, 0, 3);
      cv::blur(b, out, {3, 3});
    };
  if (job == "canny_f32") return canny();
  if (job == "harris_f32") return [](auto& in, auto& out) { cv::cornerHarris(in, out, 3, 3, 0.04); };
  if (job == "pyrdown_f32") return [](auto& in, auto& out) { cv::pyrDown(in, out); };
  if (job == "laplacian_f32") return laplacian();
  return nullptr;
}

class OpencvPeer final : public Peer {
 public:
  OpencvPeer() { cv::ocl::setUseOpenCL(false); }
  std::string name() const override { return "opencv"; }
  std::string version() const override {
    const std::string text = cv::getBuildInformation();
    const auto line = [&](const std::string& key) {
      std::size_t at = text.find(key);
      if (at == std::string::npos) return std::string("unknown");
      at = text.find_first_not_of(' ', at + key.size());
      return text.substr(at, text.find('\n', at) - at);
    };
    return cv::getVersionString() + " of the distribution, baseline " + line("Baseline:") + ", threads " +
           line("Parallel framework:");
  }
  void set_threads(int threads) override { cv::setNumThreads(threads); }
  std::optional<Prepared> prepare(const Job& job, const Settings&) override {
    const Filter filter = filter_of(job.name);
    if (!filter) return std::nullopt;
    const bool same = job.name != "canny_f32";
    return Prepared{[filter](const Buffers& set) {
                      cv::Mat out = view(set.output);
                      filter(view(set.inputs[0]), out);
                      if (out.data != set.output.as<uchar>()) throw std::runtime_error("opencv moved the output");
                    },
                    same ? "" : "cv::Canny of bytes: no Gaussian; hysteresis", same};
  }
};

}  // namespace

PeerEntry opencv_peer() {
  return {"opencv", "", std::make_unique<OpencvPeer>()};
}
#else
PeerEntry opencv_peer() {
  return {"opencv", "OpenCV was not found at build time (Debian: libopencv-dev)", nullptr};
}
#endif
}  // namespace tessera::bench
