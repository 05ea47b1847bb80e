// Sequences of Python as lists that the library takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core.hpp"

namespace tessera::python {

// The elements of a tuple or list without a copy of it, of any other sequence with one.
class Items {
 public:
  explicit Items(nb::handle sequence) : object_(nb::borrow(sequence)) {
    if (PyTuple_Check(sequence.ptr()) != 0) {
      size_ = static_cast<std::size_t>(PyTuple_Size(sequence.ptr()));
    } else {
      object_ = nb::steal(PySequence_Tuple(sequence.ptr()));
      if (!object_.is_valid()) throw nb::python_error();
      size_ = static_cast<std::size_t>(PyTuple_Size(object_.ptr()));
    }
  }
  std::size_t size() const { return size_; }
  PyObject* operator[](std::size_t k) const { return PyTuple_GetItem(object_.ptr(), static_cast<Py_ssize_t>(k)); }

 private:
  nb::object object_;
  std::size_t size_ = 0;
};

// Pairs of tuples of numbers, or None: regions, places of windows. Lists as the library takes them.
class Boxes {
 public:
  Boxes(nb::handle list, std::size_t count) : firsts_(count, nullptr), lasts_(count, nullptr) {
    const Items items(list);
    if (items.size() != count)
      fail(std::to_string(items.size()) + " boxes are given, expected " + std::to_string(count));
    numbers_.reserve(2 * count);
    for (std::size_t k = 0; k < count; ++k) {
      if (items[k] == Py_None) continue;
      const auto pair = nb::borrow<nb::tuple>(items[k]);
      for (std::size_t side = 0; side < 2; ++side) {
        std::vector<std::int64_t>& numbers = numbers_.emplace_back();
        for (const nb::handle n : nb::borrow<nb::tuple>(pair[side])) numbers.push_back(nb::cast<std::int64_t>(n));
        (side == 0 ? firsts_ : lasts_)[k] = numbers.data();
      }
    }
  }
  const std::int64_t* first(std::size_t k) const { return firsts_[k]; }
  const std::int64_t* last(std::size_t k) const { return lasts_[k]; }
  const std::int64_t* const* firsts() const { return firsts_.data(); }
  const std::int64_t* const* lasts() const { return lasts_.data(); }

 private:
  std::vector<std::vector<std::int64_t>> numbers_;
  std::vector<const std::int64_t*> firsts_, lasts_;
};

}  // namespace tessera::python
