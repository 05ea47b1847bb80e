// Weights that are no outer product may be the sum of few: a difference of Gaussians is one of two, and so are the
// Laplacian of a Gaussian and the real part of a Gabor function. Each costs K + L terms in place of K * L.
//
// The weights are a matrix, of one dimension against the others together. Floats: of all sums of r outer products the
// one of the r greatest singular values leaves the least over. The space of its left vectors is found in double:
// columns of greatest residual make an orthonormal basis of r vectors that nearly spans it, and multiplying by A A^T
// turns that into the space itself, since what is to be left over is smaller by orders of magnitude. Then A is Q (Q^T
// A) but for what is measured, entry by entry, and has to be less than 1e-7 of all weights. Vectors of length 1 do not
// cancel each other, so roundings are those of sums of that many terms.
//
// Integers: the rows of the matrix span a lattice, whose basis in echelon form (Euclid's algorithm on rows) has as many
// rows as the matrix has ranks; every row is a sum of these with whole coefficients, exactly.
//
// Three and four dimensions: what stands for the others is split in the same way.
#include "rewrite/sums/low_rank.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::rewrite {

namespace {

using Vector = std::vector<double>;

constexpr double most_integer = 0x1p50;  // on the way
constexpr double nearly = 1e4;           // times what may be left over: worth a closer look
constexpr std::size_t most_inner = 4;    // products of what stands for several dimensions

struct Matrix {
  std::size_t rows = 0, columns = 0;
  Vector at;

  double& operator()(std::size_t i, std::size_t j) { return at[i * columns + j]; }
  double operator()(std::size_t i, std::size_t j) const { return at[i * columns + j]; }
};

// A column and a row, whose product is a term.
struct Half {
  Vector column, row;
};

double size_of_all(const Vector& v) {
  double sum = 0;
  for (const double x : v) sum += std::fabs(x);
  return sum;
}

// ---- floats --------------------------------------------------------------------------------------------------------

// Makes v orthogonal to the basis and 1 long; false where nothing is left of it.
bool append(std::vector<Vector>& basis, Vector v) {
  double before = 0;
  for (const double x : v) before += x * x;
  for (int round = 0; round < 2; ++round)  // the second one for what cancelled in the first
    for (const Vector& q : basis) {
      double dot = 0;
      for (std::size_t i = 0; i < v.size(); ++i) dot += q[i] * v[i];
      for (std::size_t i = 0; i < v.size(); ++i) v[i] -= dot * q[i];
    }
  double length = 0;
  for (const double x : v) length += x * x;
  if (!(length > before * 1e-28)) return false;
  for (double& x : v) x /= std::sqrt(length);
  basis.push_back(std::move(v));
  return true;
}

Vector row_of(const Matrix& a, const Vector& q) {  // q^T A
  Vector row(a.columns);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.columns && q[i] != 0; ++j) row[j] += q[i] * a(i, j);
  return row;
}

Vector column_of(const Matrix& a, const Vector& row) {  // A row^T
  Vector column(a.rows);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.columns; ++j) column[i] += a(i, j) * row[j];
  return column;
}

void subtract(Matrix& a, const Half& h) {
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.columns; ++j) a(i, j) -= h.column[i] * h.row[j];
}

// The products of a basis that was turned towards the greatest singular values; nothing where too much is left over.
std::optional<std::vector<Half>> turned(const Matrix& a, std::vector<Vector> basis, double tolerance) {
  for (int round = 0; round < 2; ++round) {
    std::vector<Vector> next;
    for (const Vector& q : basis)
      if (!append(next, column_of(a, row_of(a, q)))) return {};
    basis = std::move(next);
  }
  std::vector<Half> halves;
  Matrix left = a;
  for (const Vector& q : basis) {
    halves.push_back({q, row_of(a, q)});
    subtract(left, halves.back());
  }
  if (size_of_all(left.at) > tolerance) return {};
  return halves;
}

std::optional<std::vector<Half>> of_floats(const Matrix& a, std::size_t most, double tolerance) {
  std::vector<Vector> basis;
  Matrix left = a;
  while (basis.size() < std::min({most, a.rows, a.columns})) {
    Vector lengths(a.columns);
    for (std::size_t i = 0; i < a.rows; ++i)
      for (std::size_t j = 0; j < a.columns; ++j) lengths[j] += left(i, j) * left(i, j);
    const auto greatest = std::max_element(lengths.begin(), lengths.end()) - lengths.begin();
    Vector column(a.rows);
    for (std::size_t i = 0; i < a.rows; ++i) column[i] = left(i, static_cast<std::size_t>(greatest));
    if (!append(basis, std::move(column))) return {};
    subtract(left, {basis.back(), row_of(left, basis.back())});
    if (size_of_all(left.at) > nearly * tolerance) continue;
    if (auto found = turned(a, basis, tolerance)) return found;
  }
  return {};
}

// ---- integers ------------------------------------------------------------------------------------------------------

// Row i less q times row k, from a column on; false where numbers become too large.
bool reduce(Matrix& a, std::size_t i, std::size_t k, double q, std::size_t from) {
  for (std::size_t j = from; j < a.columns; ++j) {
    a(i, j) -= q * a(k, j);
    if (std::fabs(a(i, j)) > most_integer) return false;
  }
  return true;
}

std::optional<std::vector<Half>> of_integers(const Matrix& a, std::size_t most) {
  Matrix h = a;
  std::vector<std::size_t> pivots;  // columns
  for (std::size_t j = 0; j < a.columns && pivots.size() < a.rows; ++j) {
    const std::size_t top = pivots.size();
    for (;;) {  // Euclid: the least of the column is taken from the others until it is alone
      std::size_t least = a.rows;
      int others = 0;
      for (std::size_t i = top; i < a.rows; ++i) {
        if (h(i, j) == 0) continue;
        ++others;
        if (least == a.rows || std::fabs(h(i, j)) < std::fabs(h(least, j))) least = i;
      }
      if (least == a.rows) break;
      for (std::size_t c = 0; c < a.columns && least != top; ++c) std::swap(h(least, c), h(top, c));
      if (others == 1) {
        if (top == most) return {};
        for (std::size_t i = 0; i < top; ++i)  // rows above become smaller
          if (!reduce(h, i, top, std::round(h(i, j) / h(top, j)), j)) return {};
        pivots.push_back(j);
        break;
      }
      for (std::size_t i = top + 1; i < a.rows; ++i)
        if (!reduce(h, i, top, std::trunc(h(i, j) / h(top, j)), j)) return {};
    }
  }
  std::vector<Half> halves(pivots.size());
  for (std::size_t k = 0; k < pivots.size(); ++k) {
    for (std::size_t j = 0; j < a.columns; ++j) halves[k].row.push_back(h(k, j));
    halves[k].column.resize(a.rows);
  }
  Matrix left = a;
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < pivots.size(); ++k) {
      const double q = left(i, pivots[k]) / h(k, pivots[k]);
      halves[k].column[i] = q;
      for (std::size_t j = pivots[k]; j < a.columns; ++j) left(i, j) -= q * h(k, j);
    }
  for (const Half& half : halves)
    for (const Vector* v : {&half.column, &half.row})
      for (const double x : *v)
        if (std::fabs(x) >= 0x1p31 || std::trunc(x) != x) return {};
  if (size_of_all(left.at) != 0) return {};
  return halves;
}

// ---- several dimensions --------------------------------------------------------------------------------------------

class Splitter {
 public:
  Splitter(const Tensor& w, ElementType type) : w_(w), type_(type) {}

  // `values` row-major over `dims`, the slowest first. Each term has a factor for each dimension.
  std::optional<std::vector<Product>> run(const Vector& values, const std::vector<std::size_t>& dims, std::size_t most,
                                          double tolerance) const {
    if (dims.size() == 1) return std::vector<Product>{{1, {{dims, values}}, {}}};
    Matrix a;
    a.rows = static_cast<std::size_t>(w_.extent[dims[0]]);
    a.columns = values.size() / a.rows;
    a.at = values;
    const bool inner = dims.size() > 2;  // half of what may be left over is for the others
    auto halves = is_float(type_) ? of_floats(a, most, inner ? tolerance / 2 : tolerance) : of_integers(a, most);
    if (!halves) return {};
    const std::vector<std::size_t> others(dims.begin() + 1, dims.end());
    std::vector<Product> terms;
    for (Half& h : *halves) {
      const double share = tolerance / 2 / static_cast<double>(halves->size()) / size_of_all(h.column);
      auto rest = run(h.row, others, most_inner, share);
      if (!rest) rest = std::vector<Product>{{1, {together(h.row, others)}, {}}};
      for (Product& p : *rest) {
        p.factors.insert(p.factors.begin(), Product::Factor{{dims[0]}, h.column});
        terms.push_back(std::move(p));
      }
    }
    return terms;
  }

 private:
  // One factor of several dimensions: these in ascending order.
  Product::Factor together(const Vector& values, const std::vector<std::size_t>& dims) const {
    Product::Factor f{dims, Vector(values.size())};
    std::sort(f.dims.begin(), f.dims.end());
    for (std::size_t k = 0; k < values.size(); ++k) {
      std::array<i64, 4> at{};
      i64 rest = static_cast<i64>(k);
      for (std::size_t i = dims.size(); i-- > 0;) {
        at[dims[i]] = rest % w_.extent[dims[i]];
        rest /= w_.extent[dims[i]];
      }
      i64 place = 0;
      for (const std::size_t d : f.dims) place = place * w_.extent[d] + at[d];
      f.weights[static_cast<std::size_t>(place)] = values[k];
    }
    return f;
  }

  const Tensor& w_;
  ElementType type_;
};

// What the products say of an entry, and how far a term reaches.
struct Said {
  double value = 0;
  bool reached = false;
};

Said said(const std::vector<Product>& terms, const Tensor& w, i64 entry) {
  Said all;
  for (const Product& p : terms) {
    double x = p.scale;
    for (const Product::Factor& f : p.factors) {
      i64 place = 0;
      for (const std::size_t d : f.dims) place = place * w.extent[d] + w.index(d, entry);
      x *= f.weights[static_cast<std::size_t>(place)];
    }
    all.value += x;
    all.reached = all.reached || x != 0;
  }
  return all;
}

}  // namespace

std::optional<std::vector<Product>> low_rank(const Tensor& w, ElementType type, const std::vector<std::size_t>& order,
                                             std::size_t most, bool finite) {
  if (order.size() < 2) return {};
  Vector values(w.at.size());  // of the dimensions in that order
  for (std::size_t k = 0; k < values.size(); ++k) {
    i64 entry = 0, rest = static_cast<i64>(k);
    for (std::size_t i = order.size(); i-- > 0;) {
      entry += rest % w.extent[order[i]] * w.step(order[i]);
      rest /= w.extent[order[i]];
    }
    values[k] = w.at[static_cast<std::size_t>(entry)];
  }
  const double weight = size_of_all(w.at);
  const double tolerance = weight * (type == ElementType::f64 ? dropped_of_doubles : dropped_of_floats);
  auto terms = Splitter(w, type).run(values, order, most, tolerance);
  if (!terms || terms->empty()) return {};
  double left = 0;
  for (i64 entry = 0; entry < w.count(); ++entry) {
    const Said s = said(*terms, w, entry);
    const double x = w.at[static_cast<std::size_t>(entry)];
    left += std::fabs(s.value - x);
    if (!finite && x == 0 && s.reached) return {};
  }
  if (left > (is_float(type) ? tolerance : 0)) return {};
  return terms;
}

bool have_fewer_terms(const std::vector<Product>& products, const Tensor& w) {
  const auto terms_of = [](const Vector& v) {
    return std::count_if(v.begin(), v.end(), [](double x) { return x != 0; });
  };
  auto terms = std::ptrdiff_t{0};
  for (const Product& p : products)
    for (const Product::Factor& f : p.factors) terms += terms_of(f.weights);
  return terms < terms_of(w.at);
}

}  // namespace tessera::rewrite
