// See tables.hpp.
#include "fft/tables.hpp"

#include <cmath>
#include <complex>

#include "base/process/deadline.hpp"
#include "fft/butterfly.hpp"
#include "fft/cpu/passes.hpp"

namespace tessera::fft {

namespace {

using Number = Circle::Number;

void put(std::vector<double>& table, const Number& w) {
  table.push_back(w.real());
  table.push_back(w.imag());
}

// Without the tests for infinities that the operator has.
Number product(const Number& a, const Number& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

i64 multiply(i64 a, i64 b, i64 modulus) {
  return static_cast<i64>(static_cast<__int128>(a) * b % modulus);
}
i64 power(i64 base, i64 exponent, i64 modulus) {
  i64 result = 1;
  for (; exponent > 0; exponent /= 2, base = multiply(base, base, modulus))
    if (exponent % 2 == 1) result = multiply(result, base, modulus);
  return result;
}

i64 generator(i64 p) {
  std::vector<i64> primes;
  i64 rest = p - 1;
  for (i64 q = 2; q * q <= rest; ++q)
    for (; rest % q == 0; rest /= q)
      if (primes.empty() || primes.back() != q) primes.push_back(q);
  if (rest > 1) primes.push_back(rest);
  for (i64 g = 2;; ++g) {
    bool all = true;
    for (const i64 q : primes) all = all && power(g, (p - 1) / q, p) != 1;
    if (all) return g;
  }
}

std::vector<double> spectrum_of(std::vector<Number> x) {
  const auto n = static_cast<i64>(x.size());
  for (Number& v : x) v /= static_cast<double>(n);
  std::vector<double> pairs;
  for (const Number& v : plain_transform(std::move(x), Circle(n))) put(pairs, v);
  return pairs;
}

void fill_sequence(Node& node) {
  i64 done = 1;
  for (const i64 r : node.radices) {
    if (done > 1) {
      const Circle circle(done * r);
      for (i64 k = 0; k < done; ++k)
        for (i64 b = 1; b < r; ++b) put(node.twiddles, circle(b * k));
    }
    done *= r;
    std::vector<double> table;
    if (r > 16)
      for (i64 m = 1; m <= r / 2; ++m)
        for (i64 k = 1; k <= r / 2; ++k) put(table, {cosine(m * k, r), sine(m * k, r)});
    node.odd.push_back(std::move(table));
  }
}

// X[g^-q] = x0 + sum over t of x[g^t] w^(g^(t - q)): the convolution of a_t = x[g^t] with b_s = w^(g^-s).
void fill_rader(Node& node) {
  const i64 p = node.n, g = generator(p), inverse = power(g, p - 2, p);
  std::vector<Number> b;
  i64 up = 1, down = 1;
  for (i64 q = 0; q < p - 1; ++q) {
    node.input.push_back(up);
    node.output.push_back(down);
    b.emplace_back(cosine(down, p), -sine(down, p));
    up = multiply(up, g, p);
    down = multiply(down, inverse, p);
  }
  node.spectrum = spectrum_of(std::move(b));
}

// j k = (j^2 + k^2 - (k - j)^2) / 2: X[k] = c_k sum over j of (x_j c_j) conj(c_(k - j)) with c_j = exp(-pi i j^2 / n).
void fill_bluestein(Node& node) {
  const i64 n = node.n, m = node.first->n;
  std::vector<Number> b(static_cast<std::size_t>(m));
  for (i64 j = 0; j < n; ++j) {
    const i64 square = multiply(j, j, 2 * n);
    const Number c(cosine(square, 2 * n), -sine(square, 2 * n));
    put(node.twiddles, c);
    b[static_cast<std::size_t>(j)] = std::conj(c);
    if (j > 0) b[static_cast<std::size_t>(m - j)] = std::conj(c);
  }
  node.spectrum = spectrum_of(std::move(b));
}

}  // namespace

Circle::Circle(i64 n) : n_(n) {
  while (n > (i64{1} << 12) && fine_ * fine_ < n) fine_ *= 2;
  for (i64 k = 0; k < fine_ && fine_ > 1; ++k) low_.emplace_back(cosine(k, n), -sine(k, n));
  for (i64 k = 0; k < n; k += fine_) high_.emplace_back(cosine(k, n), -sine(k, n));
}

Circle::Number Circle::operator()(i64 k) const {
  if (fine_ == 1) return high_[static_cast<std::size_t>(k)];
  return product(high_[static_cast<std::size_t>(k / fine_)], low_[static_cast<std::size_t>(k & (fine_ - 1))]);
}

// Stockham passes of prime radices.
std::vector<Circle::Number> plain_transform(std::vector<Circle::Number> x, const Circle& circle) {
  base::look_at_deadline();
  const auto n = static_cast<i64>(x.size());
  std::vector<Number> y(x.size()), turns, legs;
  for (i64 done = 1, r = 2; done < n; done *= r) {
    while (n / done % r != 0) ++r;
    const i64 rest = n / done / r;
    const auto radix = static_cast<std::size_t>(r);
    legs.resize(radix);
    turns.clear();
    for (i64 b = 0; b < r; ++b) turns.push_back(circle(b * (n / r)));
    for (i64 k = 0; k < done; ++k) {
      std::vector<Number> w;
      for (i64 b = 0; b < r; ++b) w.push_back(circle(b * k * rest));
      for (i64 s = 0; s < rest; ++s) {
        for (std::size_t b = 0; b < radix; ++b)
          legs[b] = product(x[static_cast<std::size_t>((s + rest * static_cast<i64>(b)) * done + k)], w[b]);
        for (std::size_t c = 0; c < radix; ++c) {
          Number sum = legs[0];
          for (std::size_t b = 1, turn = c; b < radix; ++b, turn = turn + c < radix ? turn + c : turn + c - radix)
            sum += product(legs[b], turns[turn]);
          y[static_cast<std::size_t>(s * done * r + k + done * static_cast<i64>(c))] = sum;
        }
      }
    }
    std::swap(x, y);
  }
  return x;
}

std::vector<double> twiddle_matrix(i64 n, i64 rows, i64 columns) {
  const Circle circle(n);
  std::vector<double> table;
  table.reserve(static_cast<std::size_t>(2 * rows * columns));
  for (i64 k = 0; k < rows; ++k) {
    i64 turn = 0;
    for (i64 j = 0; j < columns; ++j) {
      put(table, circle(turn));
      turn += k;
      if (turn >= n) turn -= n;
    }
  }
  return table;
}

void fill_tables(Node& node) {
  switch (node.kind) {
    case Node::Kind::sequence:
      return fill_sequence(node);
    case Node::Kind::split:
      node.twiddles = twiddle_matrix(node.n, node.first->n, node.second->n);
      return;
    case Node::Kind::rader:
      return fill_rader(node);
    case Node::Kind::bluestein:
      return fill_bluestein(node);
  }
}

}  // namespace tessera::fft
