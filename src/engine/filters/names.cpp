// Names by meaning: words for what is wanted (blur, edges, denoise), and the names of SciPy, OpenCV, scikit-image,
// Pillow, ImageJ, MATLAB and ITK. Case, blanks, '_' and '-' do not matter, nor do endings such as _filter.
#include "engine/filters/names.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace tessera::engine {
namespace {

struct Meaning {
  std::string_view help;
  std::vector<std::string_view> names;
};

const Meaning meanings[] = {
    {"write gaussian or box", {"blur", "blurring", "smooth", "smoothing", "soften", "smear"}},
    {"write gaussian",
     {"gaussianblur", "gauss", "gaussblur", "imgaussfilt", "imgaussfilt3", "discretegaussian", "gaussiansmooth",
      "smoothinggaussian", "recursivegaussian", "smoothinggaussianimage", "gaussianfilter1d"}},
    {"write box",
     {"uniform", "uniformfilter1d", "boxblur", "boxfilter", "mean", "average", "averaging", "movingaverage", "meanblur",
      "boxmean", "runningmean", "stackblur"}},
    {"write median, bilateral, nonlocal_means or gaussian",
     {"denoise", "denoising", "despeckle", "noise", "removenoise", "wiener"}},
    {"write median", {"medianblur", "medfilt", "medfilt2", "medfilt2d", "removeoutliers"}},
    {"write percentile", {"quantile", "percentilefilter1d"}},
    {"write rank", {"rankorder", "rankfilters", "order", "ordfilt2", "orderstatistic"}},
    {"write bilateral",
     {"bilateralblur", "denoisebilateral", "surfaceblur", "selectivegaussian", "edgepreserving", "guided",
      "anisotropic"}},
    {"write erode",
     {"minimum", "min", "erosion", "greyerosion", "grayerosion", "binaryerosion", "imerode", "minimumfilter1d"}},
    {"write dilate",
     {"maximum", "max", "dilation", "greydilation", "graydilation", "binarydilation", "imdilate", "maximumfilter1d"}},
    {"write opening", {"open", "greyopening", "grayopening", "binaryopening", "imopen", "morphopen"}},
    {"write closing", {"close", "greyclosing", "grayclosing", "binaryclosing", "imclose", "morphclose"}},
    {"write tophat", {"whitetophat", "imtophat", "morphtophat", "rollingball", "subtractbackground"}},
    {"write blackhat", {"blacktophat", "bottomhat", "imbothat", "morphblackhat"}},
    {"write morphological_gradient", {"morphologygradient", "morphgradient", "beucher", "beuchergradient", "range"}},
    {"write deviation", {"std", "stdev", "stdfilt", "standarddeviation", "variance", "localstd", "localvariance"}},
    {"write local_contrast",
     {"contrast", "normalize", "normalise", "localnormalization", "lcn", "localcontrastnormalization"}},
    {"write laplacian_of_gaussian",
     {"log", "laplacianofgaussian", "gaussianlaplace", "laplacianrecursivegaussian", "blob", "blobs"}},
    {"write difference_of_gaussians", {"dog", "differenceofgaussian"}},
    {"write gaussian_derivative", {"derivativeofgaussian", "gaussianderivative", "derivative"}},
    {"write sobel or canny",
     {"edge", "edges", "edgedetect", "edgedetection", "findedges", "contour", "contours", "outline"}},
    {"write sobel",
     {"gradient", "gradientmagnitude", "grad", "prewitt", "scharr", "roberts", "slope", "imgradient",
      "gaussiangradientmagnitude", "generategradient"}},
    {"write laplacian", {"laplace", "laplacesharpening", "secondderivative"}},
    {"write harris", {"corner", "corners", "cornerharris", "cornerdetect", "features", "goodfeaturestotrack"}},
    {"write unsharp", {"sharpen", "sharpening", "sharp", "unsharpmask", "unsharpmasking", "imsharpen", "sharpness"}},
    {"write correlate",
     {"correlation", "filter2d", "imfilter", "crosscorrelation", "xcorr", "correlate1d", "correlate2d"}},
    {"write convolve",
     {"convolution", "conv", "conv2", "convn", "convolve1d", "convolve2d", "convolver", "fftconvolve", "oaconvolve",
      "kernel", "custom"}},
    {"write equalize",
     {"equalizehist", "equalisation", "equalization", "equalise", "histeq", "histogramequalization", "exposure"}},
    {"write local_threshold",
     {"adaptivethreshold", "thresholdlocal", "localthreshold", "niblack", "thresholdniblack", "adaptthresh",
      "adaptive"}},
    {"write sauvola", {"thresholdsauvola", "wolf", "documentthreshold"}},
    {"write structure_tensor",
     {"structuretensor", "structure", "orientation", "coherence", "cornereigenvalsandvecs", "tensor"}},
    {"write nonlocal_means",
     {"nlmeans", "nlm", "nonlocalmeans", "nonlocal", "denoisenlmeans", "fastnlmeansdenoising", "imnlmfilt"}},
    {"write clahe",
     {"createclahe", "equalizeadapthist", "adapthisteq", "adaptiveequalization", "localequalization", "ahe"}},
    {"write otsu", {"thresholdotsu", "otsuthreshold", "graythresh", "binarize", "imbinarize", "autothreshold"}},
    {"write lowpass", {"lowpassfilter", "butterworth", "butter", "lowfrequencies"}},
    {"write highpass", {"highpassfilter", "highfrequencies", "detail"}},
    {"write bandpass", {"bandpassfilter", "bandfilter"}},
};

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : base::to_lower(name))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) out += c;
  return out;
}

}  // namespace

std::string meant_by(const std::string& name, const std::vector<std::string>& filters) {
  const std::string whole = plain(name);
  std::vector<std::string> forms = {whole};
  for (const std::string_view ending : {"filter", "imagefilter", "image", "2d", "3d"})
    if (whole.size() > ending.size() && whole.ends_with(ending))
      forms.push_back(whole.substr(0, whole.size() - ending.size()));
  for (const std::string& form : forms)
    for (const Meaning& m : meanings)
      for (const std::string_view known : m.names)
        if (known == form) return std::string(m.help);
  for (const std::string& form : forms)
    if (std::find(filters.begin(), filters.end(), form) != filters.end()) return "write " + form;
  return "";
}

}  // namespace tessera::engine
