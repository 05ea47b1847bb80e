// The record of a thread; see imports.hpp.
#include "lang/imports.hpp"

namespace tessera::lang {
namespace {

thread_local ImportRecord* current = nullptr;

}  // namespace

ImportRecord::ImportRecord() {
  current = this;
}

ImportRecord::~ImportRecord() {
  current = nullptr;
}

void ImportRecord::add(const std::string& path) {
  if (current != nullptr) current->files_.push_back(path);
}

}  // namespace tessera::lang
